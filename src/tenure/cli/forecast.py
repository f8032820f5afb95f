"""`tenure forecast`: what the next steps cost, and what editing the view would cost and save.

Invariant: every number shown is an input, or an output of `cost.forecast`; assumed inputs are named
as such.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tenure.cli.forecast_plan import Forecast, Inputs, forecast_of, of_outlook
from tenure.cli.options import (
    PATHS_HELP,
    Commands,
    add_command,
    add_jobs,
    add_model,
    add_prices,
    check_model,
    not_negative,
    positive,
)
from tenure.cli.work import Failure, over_files
from tenure.cost.forecast import Growth
from tenure.cost.models import ModelProfile, profile
from tenure.errors import ConfigError
from tenure.replay.outlook import Outlook, outlook
from tenure.replay.recording import Settings
from tenure.replay.trace import Trace
from tenure.traces import read

if TYPE_CHECKING:
    from tenure.cli.forecast_verdict import Verdict

# Amounts that the command line may give: name, help.
_AMOUNTS = (
    ("resident", "tokens in the next prompt as it stands"),
    ("growth", "tokens that each step adds, its output included"),
    ("output", "output tokens of each step"),
    ("offset", "evicting: tokens in front of the first one that changes"),
    ("freed", "evicting: tokens taken out"),
    ("head", "compacting: tokens kept verbatim at the beginning"),
    ("tail", "compacting: tokens kept verbatim at the end"),
    ("summary", "compacting: tokens of the summary"),
    ("task-budget", "tokens resident at once (default: the policy's 200,000, or the window)"),
)


def add_parser(commands: Commands) -> None:
    """Adds the command to the program."""
    parser = add_command(
        commands,
        "forecast",
        summary="forecast what the next steps cost, and whether evicting or compacting pays",
        example="tenure forecast run.jsonl --steps 100\n  "
        "tenure forecast --model claude-opus-5-5 --resident 150k --growth 2k --output 400",
    )
    parser.add_argument("paths", nargs="*", metavar="PATH", help=PATHS_HELP)
    add_model(parser)
    add_prices(parser)
    parser.add_argument(
        "--steps", type=positive, default=50, metavar="K", help="further steps (default: 50)"
    )
    for name, words in _AMOUNTS:
        parser.add_argument(f"--{name}", type=not_negative, metavar="N", help=words)
    parser.add_argument("--cold", action="store_true", help="the prompt cache has expired")
    add_jobs(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Forecasts from the sessions of the paths, or from the amounts given."""
    check_model(arguments.model)
    failures: Sequence[Failure] = ()
    if arguments.paths:
        settings = Settings(model=arguments.model, read=arguments.read, write=arguments.write)
        work = partial(_outlooks, settings=settings)
        quiet = arguments.quiet or arguments.json
        done = over_files(arguments.paths, work, jobs=arguments.jobs, quiet=quiet)
        status, failures = done.report(), done.failures
        found = [forecast_of(_overridden(of_outlook(one), arguments)) for one in done.values]
    else:
        found, status = [forecast_of(_given(arguments))], 0
    if arguments.json:
        from tenure.cli.forecast_verdict import summary, verdict
        from tenure.cli.output import emit_json

        failed = [{"path": one.path, "error": one.words} for one in failures]
        emit_json(
            {
                "forecasts": [{**one.as_json(), **_told(verdict(one))} for one in found],
                "summary": summary(found),
                "failed": failed,
            }
        )
    else:
        _show(found)
    return status


def _show(found: Sequence[Forecast]) -> None:
    from tenure.cli.forecast_verdict import summary_words
    from tenure.cli.forecast_view import view
    from tenure.cli.output import emit, heading

    for one in found:
        emit(view(one))
    if len(found) > 1:
        emit([heading(summary_words(found))])


def _told(one: Verdict) -> dict[str, object]:
    return {"verdict": one.advice, "verdict_words": one.words, "saves_usd": one.saves_usd}


def _given(arguments: argparse.Namespace) -> Inputs:
    """The inputs of the command line alone."""
    wanted = ("model", "resident", "growth", "output")
    missing = [f"--{name}" for name in wanted if getattr(arguments, name) in (None, "")]
    if missing:
        raise ConfigError(
            f"without a PATH, {', '.join(missing)} must be given too: "
            "tenure forecast --model claude-opus-5-5 --resident 150k --growth 2k --output 400"
        )
    model = _priced(profile(arguments.model), arguments)
    growth = Growth(arguments.growth, arguments.output)
    return _overridden(Inputs(model.name, model, arguments.resident, growth), arguments)


def _priced(model: ModelProfile, arguments: argparse.Namespace) -> ModelProfile:
    given = {"read": arguments.read, "write": arguments.write}
    return model.with_(**{name: value for name, value in given.items() if value is not None})


def _overridden(inputs: Inputs, arguments: argparse.Namespace) -> Inputs:
    """The inputs with what the command line says in their place."""
    names = [name.replace("-", "_") for name, _ in _AMOUNTS]
    given: dict[str, float | None] = {name: getattr(arguments, name) for name in names}
    said = {name: value for name, value in given.items() if value is not None}
    growth = Growth(
        said.pop("growth", inputs.growth.added), said.pop("output", inputs.growth.output)
    )
    if "freed" in said or "offset" in said:
        nothing = {} if inputs.freed else {"offset": None, "freed": None}
        inputs = inputs.with_(by_policy=None, **nothing)
    return inputs.with_(**said, growth=growth, steps=arguments.steps, cold=arguments.cold)


def _outlooks(path: Path, settings: Settings) -> list[Outlook | Failure]:
    return [outlook(one, settings) or _without_main(path, one) for one in read(path)]


def _without_main(path: Path, trace: Trace) -> Failure:
    """Why a trace has no outlook, and what to give instead."""
    agents = len({one.name for one in trace.threads if one.kind == "sidechain" and one.steps})
    holds, other = "no reply of a model", "name a session that got one"
    if agents:
        other = "name the session that started them"
        holds = f"{agents} sub-agent conversation{'s'[: agents > 1]} and no reply of a main one"
    name = f"{str(path)!r}" if trace.name in path.name else f"{str(path)!r}, {trace.name!r}"
    words = (
        f"{name} has no main conversation to forecast: it holds {holds}; {other}, or "
        "give --model, --resident, --growth and --output without a PATH"
    )
    return Failure(str(path), words)
