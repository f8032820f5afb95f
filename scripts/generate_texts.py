"""Write texts that few folders hold and agents meet all the time: logs, and what looks like noise.

    python scripts/generate_texts.py FOLDER

Invariant: the same Python writes the same files. Two folders result, for `scripts/fit_claude.py`:
`logs` in a dozen common formats, and `noise` (base64, hashes, numbers, punctuation, every block of
Unicode), without which rare tokens would have no cost.
"""

from __future__ import annotations

import base64
import builtins
import json
import keyword
import random
import string
import sys
import unicodedata
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

SUBJECTS = """connection timeout retry request user session cache worker queue job database query index
    shard replica node cluster pod service gateway upstream proxy token login payload bytes memory disk
    cpu latency handler consumer producer offset partition topic scheduler batch commit rollback lock
    schema config reload signal shutdown health probe metric trace span exporter failed success closed
    opened started finished skipped deleted created updated accepted""".split()
WORDS = sorted({*dir(builtins), *keyword.kwlist, *SUBJECTS})
MARKS = "-=*#_~.+/\\|<>{}[]()&^%$@!;:,\"'`?"
FILES = 24

dice = random.Random(7)


def main() -> None:
    out = Path(sys.argv[1])
    for folder, makers in (("logs", [_log]), ("noise", NOISE)):
        (out / folder).mkdir(parents=True, exist_ok=True)
        for maker in makers:
            name = maker.__name__.strip("_")
            suffix = ".log" if maker is _log else ".txt"
            for number in range(120 if maker in {_log, _blocks} else FILES):
                (out / folder / f"{name}{number}{suffix}").write_text(maker(), encoding="utf-8")


def _log() -> str:
    lines = dice.sample(LINES, dice.randrange(1, 4))
    return "\n".join(dice.choice(lines)() for _ in range(250))


def _word() -> str:
    return dice.choice(WORDS)


def _phrase() -> str:
    return " ".join(_word() for _ in range(dice.randrange(3, 10)))


def _when(form: str) -> str:
    moment = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=dice.uniform(0, 3e7))
    return moment.strftime(form)


def _address() -> str:
    return ".".join(str(dice.randrange(256)) for _ in range(4))


def _hex(digits: int) -> str:
    return f"{dice.getrandbits(4 * digits):0{digits}x}"


LINES: list[Callable[[], str]] = [
    lambda: (
        f"{_when('%Y-%m-%d %H:%M:%S,%f')[:23]} {dice.choice(['INFO', 'DEBUG', 'ERROR'])} "
        f"{_word()}.{_word()}: {_phrase()} id={dice.randrange(10**6)} took {dice.random():.2f}ms"
    ),
    lambda: (
        f"{_address()} - - [{_when('%d/%b/%Y:%H:%M:%S')} +0000] "
        f'"GET /{_word()}/{_word()}?{_word()}={dice.randrange(9999)} HTTP/1.1" '
        f"{dice.choice([200, 301, 404, 500])} {dice.randrange(99999)} "
        f'"-" "Mozilla/5.0 (X11; Linux x86_64) Chrome/{dice.randrange(80, 140)}.0 Safari/537.36"'
    ),
    lambda: (
        f"{_when('%b %d %H:%M:%S')} host-{dice.randrange(99)} {_word()}[{dice.randrange(99999)}]: "
        f"{_phrase()} from {_address()} port {dice.randrange(65535)}"
    ),
    lambda: json.dumps(
        {"ts": _when("%Y-%m-%dT%H:%M:%S.%fZ"), "level": "info", "msg": _phrase(), "trace": _hex(32)}
    ),
    lambda: (
        f'time="{_when("%Y-%m-%dT%H:%M:%SZ")}" level=info msg="{_phrase()}" component={_word()} '
        f"uuid={uuid.UUID(int=dice.getrandbits(128))}"
    ),
    lambda: f"[{_when('%H:%M:%S.%f')[:12]}] [{_word()}-{dice.randrange(20)}/INFO]: {_phrase()}",
    lambda: (
        f"tests/{_word()}/test_{_word()}.py::Test{_word().title()}::test_{_word()}_{_word()} "
        f"{dice.choice(['PASSED', 'FAILED', 'SKIPPED'])}   [ {dice.randrange(100):3d}%]"
    ),
    lambda: f"--- PASS: Test{_word().title()}{_word().title()} ({dice.random():.2f}s)",
    lambda: (
        f"I{_when('%m%d %H:%M:%S.%f')} {dice.randrange(99999):7d} {_word()}.go:"
        f'{dice.randrange(999)}] {_phrase()} "{_word()}-{_hex(8)}-{_hex(5)}"'
    ),
    lambda: (
        f"#{dice.randrange(30)} {dice.random() * 50:.3f} Get:{dice.randrange(90)} lib{_word()} amd64 "
        f"{dice.randrange(9)}.{dice.randrange(30)}-{dice.randrange(4)} [{dice.randrange(999)} kB]"
    ),
    lambda: (
        f'  File "/app/src/{_word()}/{_word()}.py", line {dice.randrange(999)}, in {_word()}\n'
        f"    {_word()} = self.{_word()}({_word()}, {_word()}=None)"
    ),
    lambda: "\t".join(
        (str(dice.randrange(10**9)), f"{dice.random():.6f}", _hex(12), _word().upper())
    ),
]


def _base64() -> str:
    return "\n".join(base64.b64encode(dice.randbytes(57)).decode() for _ in range(80))


def _hashes() -> str:
    return "\n".join(_hex(dice.choice([8, 32, 40, 64])) for _ in range(120))


def _uuids() -> str:
    return "\n".join(str(uuid.UUID(int=dice.getrandbits(128))) for _ in range(100))


def _numbers() -> str:
    def number() -> str:
        whole = str(dice.randrange(10 ** dice.randrange(1, 9)))
        return dice.choice([whole, f"{dice.random():.6f}", f"{dice.gauss(0, 100):.2f}"])

    return "\n".join(",".join(number() for _ in range(8)) for _ in range(90))


def _printable() -> str:
    return "".join(dice.choices(string.printable[:95], k=4000))


def _names() -> str:
    letters = string.ascii_letters + string.digits
    return " ".join("".join(dice.choices(letters, k=dice.randrange(3, 25))) for _ in range(300))


def _capitals() -> str:
    letters = string.ascii_uppercase
    return " ".join("".join(dice.choices(letters, k=dice.randrange(2, 10))) for _ in range(600))


def _blanks() -> str:
    return "".join(
        dice.choice("ab.(") + dice.choice(" \n\t") * dice.randrange(1, 40) for _ in range(200)
    )


def _rules() -> str:
    lengths = [1, 1, 1, 2, 3, 8, 40, 80]
    return "".join(
        dice.choice(MARKS) * dice.choice(lengths) + dice.choice(["", " ", "\n"]) for _ in range(500)
    )


def _blocks() -> str:
    """Words from eight runs of 64 characters, anywhere in Unicode."""
    words = []
    for start in dice.sample(range(0xA0, 0x1FC00, 64), 8):
        block = [
            chr(c) for c in range(start, start + 64) if unicodedata.category(chr(c))[0] in "LMNPS"
        ]
        for _ in range(30 if block else 0):
            words.append("".join(dice.choices(block, k=dice.randrange(1, 9))))  # noqa: PERF401
    return " ".join(words)


def _ideographs() -> str:
    ranges = [(0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0xAC00, 0xD7A3), (0x20000, 0x2A6DF)]
    return "".join(chr(dice.randrange(*dice.choice(ranges))) for _ in range(1500))


def _emoji() -> str:
    ranges = [(0x1F300, 0x1F650), (0x1F680, 0x1F6FF), (0x1F900, 0x1F9FF), (0x2600, 0x27BF)]
    return "".join(
        chr(dice.randrange(*dice.choice(ranges))) + dice.choice(["", " ", "\ufe0f", "\u200d", "a"])
        for _ in range(700)
    )


NOISE = [
    *(_base64, _hashes, _uuids, _numbers, _printable, _names, _capitals, _blanks, _rules),
    *(_blocks, _ideographs, _emoji),
]

if __name__ == "__main__":
    main()
