"""`tenure demo`: a bundled session, replayed under every policy, as a web page.

Invariant: nothing is prepared: the session is read, replayed and reported by the code that does the
same for anyone's.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from tenure.cli.options import Commands, add_command, check_out, out_file
from tenure.cli.replay import show, write_report
from tenure.cli.work import Done
from tenure.core.data import read_data
from tenure.replay.compare import compare
from tenure.replay.trace import Trace
from tenure.traces import read

SESSION = "demo/session.jsonl.gz"


def add_parser(commands: Commands) -> None:
    """Adds the command to the program."""
    parser = add_command(
        commands,
        "demo",
        summary="replay a bundled session and write the report as a web page",
        example="tenure demo --out report.html",
    )
    parser.add_argument(
        "--out",
        type=out_file,
        default=Path("tenure-demo.html"),
        metavar="FILE",
        help="where the report goes (default: %(default)s)",
    )
    parser.set_defaults(run=run, evictions=False, each=False, top=10)


def run(arguments: argparse.Namespace) -> int:
    """Replays the bundled session."""
    check_out(arguments.out)
    comparison = compare(bundled())
    write_report(comparison, arguments.out)
    show(comparison, Done(comparison.results, ()), arguments)
    print(f"report: {arguments.out}", file=sys.stderr)
    return 0


def bundled() -> list[Trace]:
    """The session that ships inside the package."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "demo.jsonl.gz"
        file.write_bytes(read_data(SESSION))
        return [replace(trace, source=f"tenure/{SESSION}") for trace in read(file)]
