"""Draws fresh examples for the properties marked `fuzz` until the time is up, and shows what fell.

    python -m scripts.fuzz --format chat --minutes 10

Invariant: each round has a seed of its own, printed, so that it can be run again; a property that
fell is shown with its smallest example and left out of the later rounds; the exit status is 1 when
one fell, 2 when there was nothing to run. What is found goes into `tests/wire/finds.py`, or beside
its property as an `@example`.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from random import SystemRandom
from time import monotonic, time

ROOT = Path(__file__).parents[1]
FORMATS = ("anthropic", "chat", "responses")
# What takes part in fuzzing one format; without a format all tests do.
OF_A_FORMAT = ("tests/wire", "tests/assembly")


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the rounds; returns the exit status."""
    asked = _arguments(argv)
    found: list[str] = []
    properties = _collected(asked)
    print(f"{len(properties)} properties, {asked.minutes:g} minutes", flush=True)
    start, number = monotonic(), 0
    while properties and (left := asked.minutes * 60 - (monotonic() - start)) > 1:
        number += 1
        seed = SystemRandom().randrange(2**32)
        SystemRandom().shuffle(properties)
        words, fell = _round(asked, properties, seed, left)
        properties = [one for one in properties if one not in fell]
        found += fell
        spent = monotonic() - start
        print(
            f"{spent:5.0f} s  round {number}  seed {seed}  {words}  fell: {len(found)}", flush=True
        )
    for one in found:
        print(f"fell: {one}")
    if not found:
        print("nothing fell" if number else "no property was selected")
    return 1 if found else 0 if number else 2


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make fuzz", description="Fuzzes the properties.")
    parser.add_argument("--format", choices=("", *FORMATS), default="", help="one wire format")
    parser.add_argument("--minutes", type=float, default=10.0, help="how long (10)")
    parser.add_argument("-k", dest="word", default="", help="properties of this name, as in pytest")
    return parser.parse_args(argv)


def _pytest(asked: argparse.Namespace, *arguments: str) -> tuple[list[str], dict[str, str]]:
    """The command and the environment of a pytest run."""
    environment = {**os.environ, "HYPOTHESIS_PROFILE": "fuzz", "TENURE_FUZZ_FORMAT": asked.format}
    command = [sys.executable, "-m", "pytest", "-q", "--no-header", "-p", "no:cacheprovider"]
    return [*command, *arguments], environment


def _collected(asked: argparse.Namespace) -> list[str]:
    """The names of the properties to run."""
    word = ("-k", asked.word) if asked.word else ()
    where = OF_A_FORMAT if asked.format else ()
    command, environment = _pytest(asked, "--collect-only", "-m", "fuzz", *word, *where)
    said = subprocess.run(
        command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False
    )
    if said.returncode not in {0, 5}:
        raise SystemExit(f"pytest could not collect the properties:\n{said.stdout}{said.stderr}")
    return [line for line in said.stdout.splitlines() if line.startswith("tests/") and "::" in line]


def _round(
    asked: argparse.Namespace, properties: Sequence[str], seed: int, seconds: float
) -> tuple[str, list[str]]:
    """Runs each property once, or those that begin in time: pytest's last line, and what fell."""
    command, environment = _pytest(
        asked, "-rf", "--tb=short", f"--hypothesis-seed={seed}", *properties
    )
    environment["TENURE_FUZZ_UNTIL"] = str(time() + seconds)
    ran = subprocess.run(
        command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False
    )
    said = ran.stdout + ran.stderr
    fell = [one for one in properties if f"\nFAILED {one}" in said]
    if fell or ran.returncode:
        print(said, flush=True)
    if ran.returncode not in {0, 1}:
        raise SystemExit("pytest itself failed: see above")
    lines = said.strip().splitlines() or [""]
    return lines[-1].strip("= "), fell


if __name__ == "__main__":
    sys.exit(main())
