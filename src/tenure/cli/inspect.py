"""`tenure inspect`: where the tokens of recorded sessions went.

Invariant: reads and shows; nothing is replayed, and the bill is what the provider reported.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from tenure.cli.options import (
    PATHS_HELP,
    Commands,
    add_command,
    add_jobs,
    add_model,
    check_model,
    positive,
)
from tenure.cli.work import over_files
from tenure.replay.inspection import Inspection, inspect_one, total
from tenure.replay.recording import Settings
from tenure.traces import read


def add_parser(commands: Commands) -> None:
    """Adds the command to the program."""
    parser = add_command(
        commands,
        "inspect",
        summary="show where the tokens of recorded sessions went, and what the cache did",
        example="tenure inspect ~/.claude/projects --top 5",
    )
    parser.add_argument("paths", nargs="+", metavar="PATH", help=PATHS_HELP)
    add_model(parser)
    parser.add_argument(
        "--top", type=positive, default=10, metavar="N", help="rows of each list (default: 10)"
    )
    parser.add_argument(
        "--each", action="store_true", help="every session in full, not only the total"
    )
    add_jobs(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Inspects all sessions of the paths."""
    check_model(arguments.model)
    work = partial(_inspect_file, settings=Settings(model=arguments.model))
    done = over_files(
        arguments.paths, work, jobs=arguments.jobs, quiet=arguments.quiet or arguments.json
    )
    status = done.report()
    if arguments.json:
        from tenure.cli.inspect_json import as_json
        from tenure.cli.output import emit_json

        sessions = [as_json(one, arguments.top) for one in done.values]
        whole = as_json(total(done.values), arguments.top)
        failed = [{"path": one.path, "error": one.words} for one in done.failures]
        emit_json({"total": whole, "sessions": sessions, "failed": failed})
    elif done.values:
        _show(done.values, arguments.top, each=arguments.each)
    return status


def _show(inspections: Sequence[Inspection], top: int, *, each: bool) -> None:
    from tenure.cli.inspect_view import details, overview
    from tenure.cli.output import emit

    if len(inspections) == 1:
        emit(details(inspections[0], top))
        return
    if each:
        for one in inspections:
            emit(details(one, top))
    emit([*overview(inspections), *details(total(inspections, "all sessions"), top)])


def _inspect_file(path: Path, settings: Settings) -> list[Inspection]:
    return [inspect_one(trace, settings) for trace in read(path)]
