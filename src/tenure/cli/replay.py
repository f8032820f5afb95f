"""`tenure replay`: what recorded sessions would have cost under other policies.

Invariant: the reference, append-only, is always replayed too; every other figure is beside its own.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from tenure.cli.options import (
    PATHS_HELP,
    Commands,
    add_command,
    add_jobs,
    add_model,
    add_prices,
    check_model,
    check_out,
    not_negative,
    out_file,
    positive,
)
from tenure.cli.work import Done, over_files
from tenure.errors import ConfigError
from tenure.policies import names as names_known
from tenure.replay.compare import BASELINE, POLICIES, Comparison, SessionResult, compare_one
from tenure.replay.oracle import Foresight
from tenure.replay.recording import LIFETIMES, Lifetime, Settings
from tenure.traces import read


def add_parser(commands: Commands) -> None:
    """Adds the command to the program."""
    parser = add_command(
        commands,
        "replay",
        summary="replay recorded sessions under policies, and compare what they would have cost",
        example="tenure replay run.jsonl --policy tenure --window 100k --html report.html",
    )
    parser.add_argument("paths", nargs="+", metavar="PATH", help=PATHS_HELP)
    parser.add_argument(
        "--policy",
        action="append",
        metavar="NAME",
        help=f"a policy to replay; may be given again (default: {', '.join(POLICIES)}; "
        f"{BASELINE} is always among them; {Foresight.name} knows what is used later)",
    )
    parser.add_argument(
        "--window",
        type=positive,
        metavar="N",
        help="context window in tokens (default: the model's)",
    )
    add_model(parser)
    add_prices(parser)
    parser.add_argument(
        "--ttl",
        type=lifetime,
        default="5m",
        metavar="T",
        help="how long an unread cache entry lives: 5m or 1h, the shorter or longer lifetime of the "
        "model at its own write price; recorded, the one that each session wrote; or seconds, at the "
        "write price of the shorter (default: 5m)",
    )
    parser.add_argument(
        "--html", type=out_file, metavar="FILE", help="write a report as a web page"
    )
    parser.add_argument(
        "--evictions", action="store_true", help="every eviction in order, not only the largest"
    )
    parser.add_argument(
        "--top", type=positive, default=10, metavar="N", help="evictions to show (default: 10)"
    )
    parser.add_argument(
        "--each", action="store_true", help="the full table of every session, not only of all"
    )
    add_jobs(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Replays all sessions of the paths."""
    check_model(arguments.model)
    check_out(arguments.html, arguments.paths)
    policies = policies_of(arguments.policy)
    settings = Settings(
        window=arguments.window,
        model=arguments.model,
        read=arguments.read,
        write=arguments.write,
        ttl=arguments.ttl,
    )
    work = partial(_replay_file, policies=policies, settings=settings)
    done = over_files(
        arguments.paths, work, jobs=arguments.jobs, quiet=arguments.quiet or arguments.json
    )
    status = done.report()
    comparison = Comparison(settings, done.values)
    wanted = arguments.html is not None and bool(done.values)
    if wanted:
        # First: whoever reads the tables may go away before their end.
        write_report(comparison, arguments.html)
    show(comparison, done, arguments)
    if wanted:
        print(f"report: {arguments.html}", file=sys.stderr)
    return status


def show(comparison: Comparison, done: Done[SessionResult], arguments: argparse.Namespace) -> None:
    """Prints what was found, as JSON or as tables."""
    if arguments.json:
        from tenure.cli.output import emit_json
        from tenure.cli.replay_json import as_json

        emit_json(as_json(comparison, done.failures, edits=arguments.evictions))
    elif comparison.results:
        from tenure.cli.output import emit
        from tenure.cli.replay_view import tables

        top = None if arguments.evictions else arguments.top
        emit(tables(comparison, top=top, each=arguments.each))


def write_report(comparison: Comparison, path: Path) -> None:
    """Writes the web page."""
    from tenure.cli.report import render

    # Transcripts may hold lone surrogates, which no file can.
    path.write_bytes(render(comparison).encode("utf-8", "replace"))


def policies_of(names: Iterable[str] | None) -> tuple[str, ...]:
    """The policies to replay, the reference first; ConfigError for one that is not known."""
    if names is None:
        return POLICIES
    wanted = [name.strip() for one in names for name in one.split(",")]
    for name in wanted:
        if name not in {*names_known(), Foresight.name}:
            known = ", ".join([*names_known(), Foresight.name])
            raise ConfigError(f"no policy is called {name!r}; known are {known}", key="policy")
    return tuple(dict.fromkeys([BASELINE, *wanted]))


def lifetime(text: str) -> float | Lifetime:
    """A cache lifetime: 5m, 1h, recorded, or a number of seconds."""
    for name in LIFETIMES:
        if text == name:
            return name
    try:
        return not_negative(text)
    except argparse.ArgumentTypeError as error:
        words = f"{text!r} is none of {', '.join(LIFETIMES)} and no number of seconds"
        raise argparse.ArgumentTypeError(words) from error


def _replay_file(path: Path, policies: tuple[str, ...], settings: Settings) -> list[SessionResult]:
    return [compare_one(trace, policies, settings) for trace in read(path)]
