"""The Claude estimator against `ctok`, and beside what others do.

Invariant: only files that `scripts.token_corpus.share_of` gives to "judge" are counted: the fit reads
none of them. Figures to reach: median error 2 %, 95th percentile 6 % on pieces of 4,000 tokens, for
every kind of text; at most 0.1 % of texts above their bound; 20 MB/s.

    python -m benchmarks.tokens [FOLDER ...]

Errors need ctok, hence Python 3.12 or newer; speed is measured on every Python. Without arguments
it reads the interpreter's library, the system's documentation and logs, and the recordings.
"""

from __future__ import annotations

import random
import sys
import sysconfig
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from statistics import median, quantiles

from scripts.token_corpus import KINDS, Text, pieces, read_folder
from tenure.tokens.encoders import TiktokenEncoder, encoder
from tenure.tokens.families import CLAUDE_3, CLAUDE_4_7, CLAUDE_4_8, Family
from tests.shared import absent, find_shared
from tests.tokens.reference import tiktoken_encoding

FAMILIES = (CLAUDE_3, CLAUDE_4_7, CLAUDE_4_8)
SYSTEM = ("/usr/share/doc", "/usr/share/man", "/usr/share/locale", "/usr/share/vim", "/usr/include")
LOGS = "/var/log"
RECORDED = ("agent-sessions-dev", "locomo", "longmemeval-190k", "compactbench")

CHARACTERS = 1_000_000  # a folder's contribution, at most
PIECES = 150  # of a kind
CUTS = 150  # of a kind, of 1 to 3,000 characters, for the bound

WANTED_MEDIAN, WANTED_P95, WANTED_ABOVE, WANTED_SPEED = 2.0, 6.0, 0.1, 20.0


@dataclass(frozen=True)
class Row:
    """One kind of text in one family; errors in % of the true count."""

    kind: str
    family: str
    pieces: int
    median: float
    p95: float
    slack: float  # how far the bound lies above the estimate, median, %
    rivals: dict[str, tuple[float, float]]


def run(folders: Sequence[Path] = ()) -> dict[str, object]:
    """All figures, printed on the way."""
    texts = _read(folders or _default_folders())
    result: dict[str, object] = {"speed": _speeds(texts)}
    if find_spec("ctok") is None:
        print("errors are not measured: ctok is not installed (it needs Python 3.12 or newer)")
        return {**result, "skipped": "ctok is not installed"}
    rows = _errors(texts)
    above = _above_bound(texts)
    missed = [
        f"{row.kind} in {row.family}"
        for row in rows
        if row.median > WANTED_MEDIAN or row.p95 > WANTED_P95
    ]
    print("missed: " + (", ".join(missed) or "nothing"))
    return {**result, "errors": [vars(row) for row in rows], "above": above, "missed": missed}


def _default_folders() -> list[Path]:
    library = sysconfig.get_paths()
    named = [library["stdlib"], library["purelib"], *SYSTEM, LOGS]
    folders = [Path(name) for name in named if Path(name).is_dir()]
    for name in RECORDED:
        found = find_shared("data", name)
        if found is None:
            print(absent("data", name))
        else:
            folders.append(found)
    return folders


def _read(folders: Sequence[Path]) -> dict[str, list[Text]]:
    texts: dict[str, list[Text]] = {kind: [] for kind in KINDS}
    for folder in folders:
        for text in read_folder(folder, share="judge", budget=CHARACTERS):
            texts[text.kind].append(text)
    for kind, found in texts.items():
        print(f"{kind}: {len(found)} files, {sum(len(t.text) for t in found):,} characters")
    return texts


def _errors(texts: dict[str, list[Text]]) -> list[Row]:
    from scripts.claude_reference import count

    print(f"\nerror on pieces of 4,000 tokens, % ({'median':>6} / 95th percentile)")
    print(
        f"{'kind':14}{'family':12}{'pieces':>6}{'tenure':>14}{'o200k x 1.35':>16}{'bytes / 4':>16}"
        f"{'bound above estimate':>22}"
    )
    dice = random.Random(0)
    rows = []
    for kind in KINDS:
        cut = [piece for text in texts[kind] for piece in pieces(text.text)]
        chosen = dice.sample(cut, min(PIECES, len(cut)))
        for family in FAMILIES:
            if len(chosen) < 2:
                print(f"{kind:14}{family.name:12} too little text of this kind here")
                continue
            true = [count(piece, family.name) for piece in chosen]
            row = _row(kind, family, chosen, true)
            rows.append(row)
            others = "".join(f"{m:8.1f} /{p:6.1f}" for m, p in row.rivals.values())
            print(
                f"{kind:14}{family.name:12}{row.pieces:6}{row.median:6.2f} /{row.p95:6.2f}"
                f"{others}{row.slack:20.1f} %"
            )
    return rows


def _row(kind: str, family: Family, texts: Sequence[str], true: Sequence[int]) -> Row:
    counts = [family.count(text) for text in texts]
    rivals: dict[str, Callable[[str], float]] = {
        "o200k x 1.35": lambda text: encoder("o200k_base").count(text) * 1.35,
        "bytes / 4": lambda text: len(text.encode("utf-8", "surrogatepass")) / 4,
    }
    middle, tail = _spread([count.estimate for count in counts], true)
    return Row(
        kind,
        family.name,
        len(texts),
        middle,
        tail,
        median(100 * (count.upper / count.estimate - 1) for count in counts),
        {name: _spread([rival(text) for text in texts], true) for name, rival in rivals.items()},
    )


def _spread(guesses: Sequence[float], true: Sequence[int]) -> tuple[float, float]:
    errors = [100 * abs(guess / real - 1) for guess, real in zip(guesses, true, strict=True)]
    return median(errors), quantiles(errors, n=20, method="inclusive")[-1]


def _above_bound(texts: dict[str, list[Text]]) -> dict[str, float]:
    """The share of texts, % by family, whose true count exceeds the stated bound."""
    from scripts.claude_reference import count

    dice = random.Random(1)
    cuts = []
    for kind in KINDS:
        for _ in range(CUTS if texts[kind] else 0):
            text = dice.choice(texts[kind]).text
            length = int(10 ** dice.uniform(0, 3.48))
            start = dice.randrange(max(1, len(text) - length))
            cuts.append(text[start : start + length])
        whole = [piece for text in texts[kind] for piece in pieces(text.text)]
        cuts += dice.sample(whole, min(PIECES, len(whole)))
    above: dict[str, int] = defaultdict(int)
    for family in FAMILIES:
        above[family.name] = sum(
            count(text, family.name) > family.count(text).upper for text in cuts
        )
    shares = {name: 100 * number / len(cuts) for name, number in above.items()}
    figures = ", ".join(f"{name} {share:.2f} %" for name, share in shares.items())
    print(f"\nabove the bound, of {len(cuts)} texts of 1 character to 4,000 tokens: {figures}")
    return shares


def _speeds(texts: dict[str, list[Text]]) -> dict[str, float]:
    """MB of UTF-8 a second of one core's time, over one piece after another."""
    work = [piece for found in texts.values() for text in found for piece in pieces(text.text)]
    work = random.Random(2).sample(work, min(1500, len(work)))
    size = sum(len(piece.encode("utf-8", "surrogatepass")) for piece in work) / 1e6
    ways: dict[str, Callable[[str], object]] = {
        "Claude estimate": CLAUDE_4_8.count,
        "o200k exact": encoder("o200k_base").count,
        "bytes / 4": lambda text: len(text.encode("utf-8", "surrogatepass")) // 4,
    }
    if find_spec("tiktoken") is not None and find_spec("quicktok") is not None:
        ways["o200k by tiktoken"] = TiktokenEncoder(tiktoken_encoding("o200k_base")).count
    speeds = {name: size / _seconds(way, work) for name, way in ways.items()}
    figures = ", ".join(f"{name} {speed:,.0f}" for name, speed in speeds.items())
    print(f"\nMB/s over {size:.1f} MB in pieces of 4,000 tokens: {figures}")
    return speeds


def _seconds(way: Callable[[str], object], texts: Sequence[str]) -> float:
    """Processor time of the best of three passes, tables loaded."""
    passes = []
    for _ in range(3):
        start = time.process_time()
        for text in texts:
            way(text)
        passes.append(time.process_time() - start)
    return min(passes)


if __name__ == "__main__":
    run([Path(name) for name in sys.argv[1:]])
