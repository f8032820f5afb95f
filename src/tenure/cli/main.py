"""The program: reads the command line, runs one command, and puts every failure into one kind line.

Invariant: 0 is success, 1 a failure (nothing could be read), 2 a command line that makes no sense,
130 an interrupt and 141 a closed pipe, both without a word. Terminal code loads when a command
needs it, so that `--help` is quick.
"""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections.abc import Sequence
from importlib.metadata import version

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
    arguments = build_parser().parse_args(argv)
    if hasattr(sys.stdout, "reconfigure"):
        # Transcripts hold lone surrogates, and terminals may lack a character: neither is fatal.
        sys.stdout.reconfigure(errors="replace")
    try:
        status: int = arguments.run(arguments)
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        # Python flushes stdout once more at exit: give it somewhere to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_CLOSED
    except KeyboardInterrupt:
        return INTERRUPTED
    except ConfigError as error:
        return _fail(str(error), MISUSED)
    except (TenureError, OSError) as error:
        if isinstance(error, OSError) and error.filename == STDOUT:
            # Here too.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
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


def _fail(words: str, status: int) -> int:
    print(f"tenure: {words}", file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())
