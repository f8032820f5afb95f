"""The program: reads the command line, runs one command, and puts every failure into one kind line.

Invariant: 0 is success, 1 a failure (nothing could be read), 2 a command line that makes no sense,
130 an interrupt and 141 an output that is closed or whose reader went away, both without a word.
Terminal code loads when a command needs it, so that `--help` is quick.
"""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections.abc import Sequence
from importlib.metadata import version
from typing import TextIO

from tenure.cli import demo, forecast, inspect, lint, replay
from tenure.cli.work import STDOUT, words_of
from tenure.errors import ConfigError, TenureError

FAILED, MISUSED, INTERRUPTED, PIPE_CLOSED = 1, 2, 130, 141

_EXAMPLES = """\
examples:
  tenure inspect ~/.claude/projects           where the tokens and the money went
  tenure replay run.jsonl --html report.html  what other policies would have cost
  tenure forecast run.jsonl --steps 100       what the next 100 steps will cost
  tenure lint requests.jsonl                  rules broken, prefixes changed and their price
  tenure demo                                 a bundled session, replayed, as a web page
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the program and returns its exit status; `argv` is without the program's name."""
    unheard = sys.stdout is None
    _open_streams()
    try:
        try:
            status = _run(build_parser().parse_args(argv))
        except SystemExit as ended:  # argparse has helped, or said what it does not understand
            status = int(ended.code or 0)
        sys.stdout.flush()
        return PIPE_CLOSED if unheard and not status else status
    except BrokenPipeError:
        # Python flushes both once more at exit: give them somewhere to go.
        for stream in (sys.stdout, sys.stderr):
            _discard(stream)
        return PIPE_CLOSED


def _run(arguments: argparse.Namespace) -> int:
    """Runs the command; every failure but a closed pipe is put into words."""
    if hasattr(sys.stdout, "reconfigure"):
        # Transcripts hold lone surrogates, and terminals may lack a character: neither is fatal.
        sys.stdout.reconfigure(errors="replace")
    try:
        status: int = arguments.run(arguments)
        return status
    except BrokenPipeError:
        raise
    except KeyboardInterrupt:
        return INTERRUPTED
    except ConfigError as error:
        return _fail(str(error), MISUSED)
    except (TenureError, OSError) as error:
        if isinstance(error, OSError) and error.filename == STDOUT:
            _discard(sys.stdout)
        return _fail(words_of(error), FAILED)
    except Exception as error:  # noqa: BLE001 - the last line: whatever it was, say it kindly
        if arguments.debug:
            traceback.print_exc()
        hint = "" if arguments.debug else "; --debug shows where"
        return _fail(f"{words_of(error)}{hint}", FAILED)


def build_parser() -> argparse.ArgumentParser:
    """The command line of the program and its commands."""
    parser = argparse.ArgumentParser(
        prog="tenure",
        description="Where an agent's tokens went, what they cost, what to leave out and why.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"tenure {version('tenure')}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in (inspect, replay, forecast, lint, demo):
        command.add_parser(commands)
    return parser


def _open_streams() -> None:
    """Gives what the caller closed (`>&-`) somewhere to go: Python has None in its place, and the
    next file that is opened would take its number."""
    for name, number, flags in (("stdin", 0, os.O_RDONLY), ("stdout", 1, os.O_WRONLY),
                                ("stderr", 2, os.O_WRONLY)):  # fmt: skip
        if getattr(sys, name) is None:
            found = os.open(os.devnull, flags)
            if found != number:
                os.dup2(found, number)
                os.close(found)
            mode = "r" if flags == os.O_RDONLY else "w"
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115


def _discard(stream: TextIO) -> None:
    """Lets what is written from now on, and what is still buffered, go nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def _fail(words: str, status: int) -> int:
    print(f"tenure: {words}", file=sys.stderr)
    return status
