"""`tenure lint`: what is wrong with transcripts and requests, and what a changed prefix costs.

Invariant: reads and shows; `--fix` writes beside the input and never over it. Exit status: 0 no
error was found, 1 an error was (with --strict a warning too), 2 something that was named could not
be read, whatever else was found.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from tenure.cli.lint_fix import Fixed, check_fix, write_fixed
from tenure.cli.lint_read import STDIN, Given, read_given
from tenure.cli.options import (
    PATHS_HELP,
    Commands,
    add_command,
    add_jobs,
    add_model,
    api_version,
    check_model,
    positive,
)
from tenure.cli.work import Done, Failure, over_files, words_of
from tenure.core.message import JsonObject
from tenure.errors import WireError
from tenure.replay.lint import lint_trace
from tenure.replay.lint_requests import Request, lint_requests
from tenure.replay.lint_rules import Finding, Severity, own_finding
from tenure.replay.recording import Settings

CLEAN, FOUND, UNREAD = 0, 1, 2


@dataclass(frozen=True, slots=True)
class Checked:
    """What one input gave: its findings, how many requests and transcripts it held, the body when it
    is a single one (it may be one in a row of files), and what `--fix` wrote."""

    file: str
    findings: tuple[Finding, ...]
    requests: int = 0
    transcripts: int = 0
    body: JsonObject | None = None
    fixed: str = ""
    mends: tuple[str, ...] = ()
    note: str = ""


def add_parser(commands: Commands) -> None:
    """Adds the command to the program."""
    parser = add_command(
        commands,
        "lint",
        summary="check transcripts and request bodies: rules broken, prefixes changed, tokens wasted",
        example="tenure lint requests.jsonl --strict --format json",
    )
    parser.add_argument(
        "paths",
        nargs="+",
        metavar="PATH",
        help=f"{PATHS_HELP}; request bodies as JSON or JSONL, several in a row; - reads stdin",
    )
    parser.add_argument(
        "--format", choices=("text", "json"), default="text", help="json is the same as --json"
    )
    parser.add_argument("--strict", action="store_true", help="warnings count as errors do")
    parser.add_argument(
        "--fix",
        action="store_true",
        help="write a repaired copy beside each input that breaks a rule, as NAME.fixed.json(l); of a "
        "transcript the copy holds request bodies (the last of each thread), not its own format",
    )
    parser.add_argument(
        "--top",
        type=positive,
        default=5,
        metavar="N",
        help="findings of one rule and file to show; JSON has all (default: 5)",
    )
    parser.add_argument(
        "--api-version",
        type=api_version,
        metavar="DATE",
        help="rules of this anthropic-version header, which no body holds (default: the newest, which "
        "is the strictest)",
    )
    add_model(parser)
    add_jobs(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Checks all inputs."""
    check_model(arguments.model)
    if arguments.fix:
        check_fix(arguments.paths)
    as_json = arguments.json or arguments.format == "json"
    done = _checked(arguments, quiet=arguments.quiet or as_json)
    findings = [
        *(finding for one in done.values for finding in one.findings),
        *_across(done.values, arguments),
    ]
    for failure in done.failures:
        print(f"tenure: {failure.words}", file=sys.stderr)
    if as_json:
        from tenure.cli.lint_json import as_json as spelled
        from tenure.cli.output import emit_json

        emit_json(spelled(done.values, findings, done.failures))
    else:
        from tenure.cli.lint_view import view
        from tenure.cli.output import emit

        emit(view(done.values, findings, top=arguments.top))
    return _status(arguments, done, findings)


def _checked(arguments: argparse.Namespace, *, quiet: bool) -> Done[Checked]:
    version = arguments.api_version or ""
    work = partial(check_file, model=arguments.model, fix=arguments.fix, version=version)
    paths = [path for path in arguments.paths if path != STDIN]
    done: Done[Checked] = Done((), ())
    if paths:
        done = over_files(paths, work, jobs=arguments.jobs, quiet=quiet)
    if len(paths) == len(arguments.paths):
        return done
    try:
        here = [one for one in work(Path(STDIN)) if isinstance(one, Checked)]
        return Done((*done.values, *here), done.failures)
    except WireError as error:
        return Done(done.values, (*done.failures, Failure(STDIN, words_of(error))))


def _status(arguments: argparse.Namespace, done: Done[Checked], findings: Sequence[Finding]) -> int:
    # What a folder or a pattern brought in may be anything; what was named must be readable.
    named = {str(Path(path)) for path in arguments.paths}
    if not done.values or any(str(Path(failure.path)) in named for failure in done.failures):
        return UNREAD
    counted = {Severity.ERROR, *([Severity.WARNING] if arguments.strict else [])}
    return FOUND if any(one.severity in counted for one in findings) else CLEAN


def check_file(path: Path, model: str, *, fix: bool, version: str = "") -> list[Checked | Failure]:
    """What one file gives, also when its copy can't be written; WireError when it can't be read or
    is nothing that can be checked."""
    given = read_given(path)
    requests = [Request(body, given.name, at) for at, body in enumerate(given.bodies)]
    findings = lint_requests(requests, model=model, api_version=version)
    if given.bodies:
        findings = [*_damage(given), *findings]
    for trace in given.traces:
        named, settings = replace(trace, source=given.name), Settings(model=model)
        findings += lint_trace(named, settings, api_version=version)
    fixed, failed = Fixed("", ()), list[Checked | Failure]()
    try:
        fixed = write_fixed(given, model, version) if fix else fixed
    except OSError as error:
        words = f"{given.name!r} has no repaired copy: {words_of(error)}"
        failed.append(Failure(given.name, words))
    body = given.bodies[0] if len(given.bodies) == 1 else None
    return [
        Checked(
            given.name,
            tuple(findings),
            len(given.bodies),
            len(given.traces),
            body,
            fixed.path,
            fixed.mends,
            fixed.note,
        ),
        *failed,
    ]


def _across(checked: Sequence[Checked], arguments: argparse.Namespace) -> list[Finding]:
    """What files with one request each show when they are taken in a row."""
    alone = [one for one in checked if one.body is not None]
    if len(alone) < 2:
        return []
    requests = [Request(one.body, one.file) for one in alone if one.body is not None]
    found = lint_requests(requests, model=arguments.model, api_version=arguments.api_version or "")
    return [one for one in found if _compares(one)]


def _compares(finding: Finding) -> bool:
    """Whether a finding is about two requests, not about one, which was said already."""
    return finding.offset is not None or finding.rule == "tool-order"


def _damage(given: Given) -> list[Finding]:
    words = (f"line {one.line}: {one.words}" for one in given.damage)
    found = (own_finding("damaged-record", Severity.WARNING, one) for one in words)
    return [replace(one, file=given.name) for one in found]
