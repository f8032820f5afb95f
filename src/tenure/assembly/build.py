"""Building a session from a model's name and options.

Invariant: storage and the clock enter the library here and nowhere else.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from secrets import token_hex
from threading import RLock
from typing import Any

from tenure.assembly.asking import Asker
from tenure.assembly.exact import AnthropicClient, CountTokens, OpenAIClient, counter_of
from tenure.assembly.marking import ANTHROPIC, Marker, as_cached, cache_costs
from tenure.assembly.request import Request
from tenure.assembly.stable import head_notes, late_of, opening
from tenure.assembly.summary import summarizer_of
from tenure.assembly.writes import Writes
from tenure.core import recall
from tenure.core.budget import MIN_OUTPUT, Budget
from tenure.core.command import (
    Command,
    CountExactly,
    SaveRecords,
    Summarize,
    Summarized,
    Uncounted,
)
from tenure.core.fold import Outgoing, Parts
from tenure.core.legal import Terms
from tenure.core.message import JsonObject
from tenure.core.nesting import MAX_NESTING, nests_too_deep
from tenure.core.policy import DropBlock, Policy
from tenure.core.protocols import DEFAULT_SCOPE, Scope
from tenure.core.record import Record, Started
from tenure.core.session import SessionMachine
from tenure.core.store import AsyncRecordStore, RecordStore
from tenure.cost.models import ModelProfile, profile
from tenure.cost.price import price
from tenure.cost.terms import terms_of
from tenure.errors import ConfigError, StoreError
from tenure.policies import by_name
from tenure.storage.in_memory import InMemoryStore
from tenure.tokens.counter import BlockCounter
from tenure.tokens.meter import SessionMeter
from tenure.wire import server_edits
from tenure.wire.breakpoints import cache_key
from tenure.wire.detect import AnyWire, wire_for
from tenure.wire.layout import LaidOut, lay_out
from tenure.wire.layout_tools import ordered_tools

_MAX_TOKENS = {"max_completion_tokens", "max_output_tokens"}
_SETTINGS = ("window", "usable_window", "headroom")
_WIRE_OF = {"anthropic": ANTHROPIC, "openai": "openai_responses"}


@dataclass(frozen=True, slots=True)
class Options:
    """What a session can be told beside its model, system text, tools and request parameters.

    `wire` is the API's format: anthropic_messages, openai_chat or openai_responses; by default
    what the model's provider speaks (Responses for OpenAI, Chat for unknown ones). `window` and
    `usable_window` are tokens; `headroom` the largest result each tool may bring, by tool name.
    `recall` offers the tool that brings evicted text back: by default when there are tools.
    `count` asks the provider for an exact token count of a request near the limit: your SDK client
    (its counting endpoint is used), or a function from the request, a dict, to a number. When that
    can't be had the upper bound is gone by, and the explanation says why. `AsyncSession` awaits a
    client, a function or a `store` that is asynchronous; `Session` takes none.
    `compact` has the provider summarise the older part where eviction is not enough or dearer: your
    `anthropic` client, which is then asked for that (each summary is a request that you pay for).
    `delegate` lets the provider clear old results on its side where an edit of ours would cost the
    model its thinking. `pending` are calls that wait on purpose: nobody answers them in the tool's
    stead. `strict_alternation` and `id_pattern` (a regular expression) are for hosts that want user
    and assistant in turn, or call ids of one shape. `layout` puts tools in one order and says
    volatile system text late; at OpenAI's it also sets breakpoints and a cache key. `clock` gives
    unix seconds.
    """

    wire: str = ""
    policy: str | Policy = "tenure"
    window: int | None = None
    usable_window: int | None = None
    headroom: Mapping[str, int] = field(default_factory=dict)
    recall: bool | None = None
    profile: ModelProfile | None = None
    store: RecordStore | AsyncRecordStore | None = None
    scope: Scope = DEFAULT_SCOPE
    name: str = ""
    count: CountTokens | AnthropicClient | OpenAIClient | None = None
    compact: AnthropicClient | None = None
    delegate: bool = True
    pending: Collection[str] = ()
    strict_alternation: bool = False
    id_pattern: str = ""
    layout: bool = True
    clock: Callable[[], float] = time.time


@dataclass(slots=True)
class Built:
    """A machine and what its driver needs to perform commands.

    `lock` is held while the machine is read or changed, since threads may share a session.
    """

    machine: SessionMachine
    wire: AnyWire
    writes: Writes
    options: Options
    marker: Marker
    count: Asker[int | Uncounted] | None = None
    summarizer: Asker[Summarized] | None = None
    lock: AbstractContextManager[Any] = field(default_factory=RLock)

    def request(self, outgoing: Outgoing) -> Request:
        """What the caller sends, with cache marks where the API has them and the caller set none of
        their own."""
        head, changed = self.marker.marked(outgoing)
        return Request(self.wire, head, outgoing, changed=changed, lock=self.lock)


def build(head: JsonObject, options: Options) -> Built:
    """The machine of a new or resumed session; `head` is the request without its messages."""
    model = str(head["model"])
    known = options.profile or profile(model)
    wire = wire_for(options.wire or _WIRE_OF.get(known.provider, "openai_chat"))
    known = as_cached(wire.name, known, head)
    window = options.window or known.context_window
    max_tokens = min(int(head.get("max_tokens") or known.max_output), window)
    budget = Budget(
        window=window,
        max_tokens=max_tokens,
        usable_window=options.usable_window,
        declared=dict(options.headroom),
        min_output=max(MIN_OUTPUT, _thinking(head) + 1),
    )
    counter = BlockCounter(model, known.provider)
    tools = head.get("tools")
    meter = SessionMeter(
        counter,
        system=_text(head.get("system")),
        tools=json.dumps(tools) if tools else "",
    )
    policy = by_name(options.policy) if isinstance(options.policy, str) else options.policy
    parts = Parts(
        wire=wire,
        policy=policy,
        meter=meter,
        budget=budget,
        profile=known,
        price=lambda usage: price(usage, known),
        recall=_offers_recall(tools),
        terms=_terms(head, known, options),
        delegates=options.delegate and _delegates(wire, known, head),
        compacts=options.compact is not None and known.compaction,
        drop_block=_drop_block(wire, known, head),
        opening=opening if options.layout and wire.name != ANTHROPIC else None,
        costs=cache_costs(wire.name, known, head, layout=options.layout),
        long_profile=known.with_(write=known.write_long or known.write, ttl_short=known.ttl_long),
    )
    machine = SessionMachine(parts, options.name or token_hex(8), options.scope)
    writes = Writes(machine, options.store or InMemoryStore())
    count = counter_of(options.count, wire.name) if options.count is not None else None
    marker = Marker(machine, wire.name, known, layout=options.layout)
    summarizer = summarizer_of(options.compact, wire.name) if options.compact is not None else None
    return Built(machine, wire, writes, options, marker, count, summarizer)


def _terms(head: JsonObject, known: ModelProfile, options: Options) -> Terms:
    """What the rules of the wire depend on."""
    return replace(
        terms_of(known, known.name or str(head["model"]), head),
        pending=frozenset(options.pending),
        strict_alternation=options.strict_alternation,
        id_pattern=options.id_pattern,
    )


def _delegates(wire: AnyWire, known: ModelProfile, head: JsonObject) -> bool:
    """Whether the provider can clear on its side, and the caller does not have it do so already."""
    able = wire.name == ANTHROPIC and known.server_edits
    return able and not server_edits.asked_by_caller(head)


def _drop_block(wire: AnyWire, known: ModelProfile, head: JsonObject) -> DropBlock:
    """Whether the provider can leave out thinking whose prefix has changed."""
    if wire.name != ANTHROPIC or not known.preserved_thinking:
        return "no"
    return server_edits.drop_block(head, known.name)


def head_of(
    model: str,
    options: Options,
    *,
    system: str | Sequence[JsonObject] | None,
    tools: Sequence[JsonObject],
    params: Mapping[str, Any],
) -> dict[str, Any]:
    """The request without its messages, recall offered and the prompt cache switched on."""
    known = options.profile or profile(model)
    wire = wire_for(options.wire or _WIRE_OF.get(known.provider, "openai_chat"))
    _check_head(system, tools)
    head: dict[str, Any] = {"model": model, **params}
    for name in _MAX_TOKENS & head.keys():
        # The wires spell it as their API does.
        head["max_tokens"] = head.pop(name)
    if system:
        head["system"] = system
    offered = list(tools)
    if options.recall or (options.recall is None and offered):
        if any(_name_of(tool) == recall.NAME for tool in offered):
            raise ConfigError(
                f"a tool of yours is called {recall.NAME!r}, like the one that brings evicted text "
                "back; rename it, or pass recall=False",
                key="tools",
            )
        offered.append(wire.tool(recall.NAME, recall.DESCRIPTION, recall.SCHEMA))
    if offered:
        # One order, so that sessions which differ in it alone share a cached prefix.
        head["tools"] = list(ordered_tools(offered)) if options.layout else offered
    if wire.name == "openai_responses":
        # The session sends the whole history, so the provider need not keep a copy of it.
        head.setdefault("store", False)
    if options.layout and known.provider == "openai" and wire.name != ANTHROPIC:
        head.setdefault("prompt_cache_key", cache_key(head))
    return head


def _check_head(system: Any, tools: Sequence[Any]) -> None:
    """ConfigError for a system text or tools of another shape than the APIs have."""
    blocks = () if system is None or isinstance(system, str) else system
    for key, values in (("system", blocks), ("tools", tools)):
        shaped = isinstance(values, list | tuple) and all(isinstance(v, Mapping) for v in values)
        if not shaped or nests_too_deep(values):
            text = "a text or " if key == "system" else ""
            raise ConfigError(
                f"{key} is of another shape: it takes {text}a list of objects, nested at most "
                f"{MAX_NESTING} deep",
                key=key,
            )


def begin(head: JsonObject, options: Options) -> tuple[Built, Started]:
    """A new session and the first record of its log: volatile text of the head is said late."""
    laid = lay_out(head) if options.layout else LaidOut(head, (), (), (), ())
    built = build(laid.head, options)
    settings: dict[str, Any] = {name: getattr(options, name) for name in _SETTINGS}
    late = late_of(laid, built.wire.name)
    if late is not None:
        settings["late"] = late
    if options.layout and (notes := head_notes(laid)):
        settings["notes"] = notes
    model = str(head["model"])
    first = Started(built.wire.name, model, laid.head, token_hex(8), options.clock(), settings)
    return built, first


def stored(name: str, options: Options) -> Any:
    """The records of a stored session, or an awaitable of them, as the store answers.

    Raises ConfigError without a store, SessionNotFound when it has no such session.
    """
    if options.store is None:
        raise ConfigError("resuming needs the store that holds the session", key="store")
    return options.store.read(options.scope, name)


def resumed(name: str, options: Options, records: Sequence[Record]) -> Built:
    """The machine of a stored session: its log folded. What `options` leave open is as it was."""
    first = records[0]
    if not isinstance(first, Started):
        raise StoreError(f"the log of session {name!r} does not begin with its start")
    kept = {k: v for k, v in first.settings.items() if k in _SETTINGS and not getattr(options, k)}
    options = replace(options, name=name, wire=first.wire, **kept)
    built = build(first.head, options)
    built.machine.load(records)
    return built


def perform(built: Built, command: Command) -> Any:
    """Performs one command on the spot."""
    match command:
        case SaveRecords():
            return built.writes.begin(command)
        case CountExactly(request=request):
            return built.count.ask(request) if built.count else None
        case Summarize():
            asked = built.marker.summarizing(command)
            return built.summarizer.ask(asked) if built.summarizer else None


def _offers_recall(tools: Sequence[JsonObject] | None) -> bool:
    return any(_name_of(tool) == recall.NAME for tool in tools or ())


def _thinking(head: JsonObject) -> int:
    """The thinking budget that max_tokens must stay above (Anthropic's `enabled` thinking)."""
    thinking = head.get("thinking")
    return int(thinking.get("budget_tokens") or 0) if isinstance(thinking, Mapping) else 0


def _name_of(tool: JsonObject) -> str:
    function = tool.get("function")
    return str((function if isinstance(function, Mapping) else tool).get("name", ""))


def _text(system: Any) -> str:
    if system is None or isinstance(system, str):
        return system or ""
    return "\n".join(str(b.get("text", "")) for b in system)
