"""Fit the Claude estimator and write src/tenure/tokens/data.

Invariant: the same folders, ctok and quicktok give the same bytes. Files that `share_of` gives to
"judge", half of all, are never read here: they are for `benchmarks/tokens.py`.

    python scripts/fit_claude.py [--characters N] [--processes N] FOLDER[=CHARACTERS] ...

Needs Python 3.12 or newer with ctok, quicktok-v1 and numpy. Give it folders of many kinds (source
trees, manuals, locale files, logs, recorded sessions): each contributes up to N characters.

How: ctok's tiling of a text gives a cost to each byte (`claude_reference.py`), hence to each o200k
token where it stands. A token's first value is the mean of its costs, leaning on the cost it has
alone in a plain context while it is rare. Then a ridge regression moves the values so that sums
over windows of 64 tokens fit best, which is what is asked of them. The bound is set on texts of the
"bound" share, which the values were not fitted on.

What ships was fitted on the folders named in `data/claude.json`: Debian's manuals and translated
handbooks, npm and PyPI packages, locale files, the standard library, system logs, texts of
`generate_texts.py`'s kinds, and recorded agent sessions (of which only these numbers remain).
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import unicodedata
import zlib
from collections.abc import Sequence
from importlib.metadata import version
from multiprocessing.pool import Pool
from pathlib import Path
from typing import Any

import numpy as np
import quicktok

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from scripts.claude_reference import byte_costs, count
from scripts.token_corpus import read_folder

Floats = np.ndarray[Any, np.dtype[np.float64]]
Ints = np.ndarray[Any, np.dtype[np.int64]]

DATA = Path(__file__).resolve().parent.parent / "src/tenure/tokens/data"
VOCABULARIES = {"claude-3": "claude-3", "claude-4.7": "claude-4.8"}  # name -> family to ask for

PRIOR_SIGHTINGS = 2.0  # how many sightings a token's cost in a plain context counts for
WINDOW = 64  # o200k tokens a sum is taken over
RIDGE = 30.0
ITERATIONS = 60

UNIT = 1024  # fixed point: this many to a token
LEVELS = [0, *(round(float(x) * UNIT) for x in np.geomspace(0.2, 64, 255))]

SLICES = 8_000  # cuts of 1 to 12,000 characters that the bound is set on
EXCEEDED = 0.001  # of them may exceed it
MARGIN = 1.75


def main() -> None:
    parser = argparse.ArgumentParser(description="Fit the Claude estimator.")
    parser.add_argument("folders", nargs="+", metavar="FOLDER[=CHARACTERS]")
    parser.add_argument("--characters", type=int, default=500_000)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--out", type=Path, default=DATA)
    parser.add_argument("--only-bound", action="store_true", help="keep the values that are there")
    options = parser.parse_args()
    texts = _read(options.folders, options.characters, "fit")
    slices = _slices(_read(options.folders, options.characters, "bound"))
    print(f"{len(texts)} texts, {sum(map(len, texts)):,} characters", flush=True)
    report: dict[str, Any] = {"unit": UNIT, "levels": LEVELS, "vocabularies": {}}
    with Pool(options.processes) as pool:
        for name, family in VOCABULARIES.items():
            path = options.out / f"{name}.weights"
            if not options.only_bound:
                path.write_bytes(_fit(texts, family, pool))
            chosen = np.frombuffer(zlib.decompress(path.read_bytes()), dtype=np.uint8)
            likely = _sums(slices, np.array(LEVELS)[chosen] / UNIT)
            true = pool.starmap(count, [(text, family) for text in slices], chunksize=100)
            report["vocabularies"][name] = _bound(likely, np.array(true, dtype=np.float64))
            print(name, report["vocabularies"][name], flush=True)
    report["fitted"] = {
        "folders": [Path(folder.partition("=")[0]).name for folder in options.folders],
        "texts": len(texts),
        "characters": sum(map(len, texts)),
        "ctok": version("ctok"),
        "quicktok": version("quicktok-v1"),
    }
    (options.out / "claude.json").write_text(json.dumps(report, indent=1) + "\n")


def _fit(texts: Sequence[str], family: str, pool: Pool) -> bytes:
    """The level of each o200k token, one byte each, compressed."""
    tokens = _token_bytes()
    costs = pool.starmap(byte_costs, [(text, family) for text in texts], chunksize=8)
    alone = pool.starmap(_alone, [(token, family) for token in tokens], chunksize=500)
    values = _values(texts, costs, np.array(alone), tokens)
    chosen = np.abs(values[:, None] * UNIT - np.array(LEVELS)[None, :]).argmin(axis=1)
    return zlib.compress(chosen.astype(np.uint8).tobytes(), 9)


def _read(folders: Sequence[str], characters: int, share: str) -> list[str]:
    """The corpus: each folder's share, in NFC, without blank ends, each text once."""
    texts: dict[str, None] = {}
    for argument in folders:
        name, _, budget = argument.partition("=")
        found = read_folder(Path(name), share=share, budget=int(budget) if budget else characters)
        for text in found:
            texts[unicodedata.normalize("NFC", text.text).strip()] = None
        print(f"{share} {Path(name).name}: {len(found)} files", flush=True)
    return list(texts)


def _values(
    texts: Sequence[str], costs: Sequence[Floats | None], alone: Floats, tokens: Sequence[bytes]
) -> Floats:
    """One value for each o200k token."""
    encoding = quicktok.get_encoding("o200k_base")
    lengths = np.array([len(token) for token in tokens])
    ids: list[Ints] = []
    paid: list[Floats] = []
    for text, cost in zip(texts, costs, strict=True):
        if cost is None or not text:
            continue
        own = np.array(encoding.encode_ordinary(text))
        ends = np.cumsum(lengths[own])
        ids.append(own)
        paid.append(np.diff(np.concatenate([[0.0], np.cumsum(cost)[ends - 1]])))
    every, price = np.concatenate(ids), np.concatenate(paid)
    seen = np.bincount(every, minlength=len(tokens))
    total = np.bincount(every, price, minlength=len(tokens))
    start = (total + PRIOR_SIGHTINGS * alone) / (seen + PRIOR_SIGHTINGS)
    windows = np.concatenate([_windows(own) for own in ids])
    target = np.concatenate([_windows(own) for own in paid]).sum(axis=1)
    return start + _ridge(windows, target - start[windows].sum(axis=1), len(tokens))


def _windows(row: Any) -> Any:
    whole = len(row) // WINDOW * WINDOW
    return row[:whole].reshape(-1, WINDOW)


def _ridge(windows: Ints, missing: Floats, size: int) -> Floats:
    """By conjugate gradients: the change of values that explains what the windows' sums miss."""
    flat = windows.ravel()

    def spread(row: Floats) -> Floats:
        return np.bincount(flat, np.repeat(row, WINDOW), minlength=size).astype(np.float64)

    change = np.zeros(size)
    left = spread(missing)
    step = left.copy()
    norm = float(left @ left)
    for _ in range(ITERATIONS):
        image = spread(step[windows].sum(axis=1)) + RIDGE * step
        length = norm / float(step @ image)
        change += length * step
        left -= length * image
        norm, old = float(left @ left), norm
        step = left + norm / old * step
    return change


def _alone(token: bytes, family: str) -> float:
    """What a token costs between plain neighbours: the value of a token that no text held."""
    unknown = 0.9 * len(token)  # a part of a character: nearly a token a byte
    try:
        text = token.decode()
    except UnicodeDecodeError:
        return unknown
    left = "a"
    if text[:1].isdigit():
        left = "="
    elif text[:1].isalnum():
        left = "per" if text[0].isascii() and text[0].islower() else "("
    framed = left + text + (" b" if text[-1:].isalnum() else "ab")
    if not unicodedata.is_normalized("NFC", framed):
        return unknown
    costs = byte_costs(framed, family)
    return unknown if costs is None else float(costs[len(left) :][: len(token)].sum())


def _slices(texts: Sequence[str]) -> list[str]:
    """Random cuts of 1 to 12,000 characters, short ones as frequent as long ones."""
    dice = random.Random(0)
    cuts = []
    for _ in range(SLICES):
        text = dice.choice(texts)
        length = int(10 ** dice.uniform(0, 4.08))
        start = dice.randrange(max(1, len(text) - length))
        cuts.append(text[start : start + length])
    return cuts


def _sums(texts: Sequence[str], values: Floats) -> Floats:
    encoding = quicktok.get_encoding("o200k_base")
    return np.array([values[np.array(encoding.encode_ordinary(t), dtype=int)].sum() for t in texts])


def _bound(likely: Floats, true: Floats) -> dict[str, float]:
    """relative, root and constant of the bound e (1 + relative) + root sqrt(e) + constant.

    Each is what is missing where it counts most: the constant on texts of a token or two, the root
    below 100 tokens, the share above. There what a text is off by is alike in all its parts, so few
    files decide: the share gets MARGIN for kinds of text that no folder held.
    """
    missing = true - likely
    tiny, short, long = likely < 2, (likely >= 2) & (likely < 100), likely >= 100
    constant = _quantile(missing[tiny])
    root = max(0.0, _quantile((missing[short] - constant) / np.sqrt(likely[short])))
    left = missing[long] - constant - root * np.sqrt(likely[long])
    relative = MARGIN * round(max(0.0, _quantile(left / likely[long])), 4)
    return {"relative": round(relative, 4), "root": round(root, 4), "constant": round(constant, 4)}


def _quantile(row: Floats) -> float:
    return float(np.quantile(row, 1 - EXCEEDED))


def _token_bytes() -> list[bytes]:
    encoding = quicktok.get_encoding("o200k_base")
    size = len(encoding.token_byte_values())
    return [encoding.decode_single_token_bytes(token) for token in range(size)]


if __name__ == "__main__":
    main()
