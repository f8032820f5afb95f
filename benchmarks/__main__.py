"""Runs the benchmarks named, or all: each prints its figures side by side with what to reach.

Invariant: a benchmark is a module with `run() -> dict`; `--json FILE` keeps what they returned.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from importlib import import_module
from pathlib import Path

NAMES = ("machine", "session", "rules", "peers", "tokens", "cache_prediction", "replay", "views")


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(NAMES)}")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures as JSON")
    args = parser.parse_args()
    unknown = [n for n in args.names if n not in NAMES]
    if unknown:
        parser.error(f"no benchmark is called {unknown[0]!r}; there are {', '.join(NAMES)}")
    figures: dict[str, object] = {}
    for name in args.names or NAMES:
        print(f"\n== {name}", flush=True)
        began = time.perf_counter()
        figures[name] = import_module(f"benchmarks.{name}").run()
        print(f"({time.perf_counter() - began:.0f} s)", flush=True)
    if args.json:
        args.json.write_text(json.dumps(figures, indent=1, default=str) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
