"""The cost of one step beside two peers that trim or clear: langchain-core and langchain.

Invariant: the peers run in an environment of their own, made here with pinned versions; both sides
get sessions of the same shape and length, and only the step is timed, not the building.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from benchmarks import session as own

ROOT = Path(__file__).resolve().parent.parent
HOME = ROOT / ".venv-peers"
PINS = ("langchain==1.5.2", "langchain-core==1.8.3")


def run() -> dict[str, object]:
    """Prints median ms per step by length, tenure's and the peers'."""
    python = _environment()
    script = Path(__file__).with_name("peers_step.py")
    done = subprocess.run([python, script], check=True, capture_output=True, text=True)
    peers: dict[str, dict[str, float]] = json.loads(done.stdout)
    mine = own.steps()
    rows = {"tenure: append + plan": mine, **peers}
    lengths = list(mine)
    print(f"{'median ms per step':58}" + "".join(f"{int(n):>10,}" for n in lengths) + "    growth")
    for name, row in rows.items():
        cells = "".join(f"{row[n]:10.3f}" for n in lengths)
        print(f"{name:58}{cells}   {row[lengths[-1]] / row[lengths[0]]:6.1f}x")
    return dict(rows)


def _environment() -> Path:
    """The Python of the peers' environment, which is made when it is not there."""
    python = HOME / "bin" / "python"
    marker = HOME / "pins.txt"
    wanted = "\n".join(PINS)
    if not marker.exists() or marker.read_text() != wanted:
        print(f"installing {', '.join(PINS)} into {HOME.name}", flush=True)
        subprocess.run([sys.executable, "-m", "venv", "--clear", HOME], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *PINS], check=True)
        marker.write_text(wanted)
    return python


if __name__ == "__main__":
    run()
