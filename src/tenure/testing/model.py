"""The scripted model behind the server: checks a request, answers it, bills it, records it.

Invariant: a request is recorded before its answer leaves, so that a client that has its answer
finds its request in the record; a refused request takes no step of the script.
"""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, NamedTuple

from tenure.cost.models import ModelProfile
from tenure.testing.anthropic_side import AnthropicSide
from tenure.testing.caching import PromptCache, profile_for
from tenure.testing.chat_side import ChatSide
from tenure.testing.conversation import RecordedRequest
from tenure.testing.prompt import Counter, PromptBlock, Spelled
from tenure.testing.refusal import Asked, Ledger, Refusal, first_refusal
from tenure.testing.responses_side import ResponsesSide
from tenure.testing.script import Counting, Failure, Playhead, Reply, Script, Step, Summarizer
from tenure.testing.side import Compacts, Side, Turn

EVENTS_BEFORE_BREAK = 4
"""Events a stream sends before a scripted failure breaks it."""

BROKEN_OFF = Reply(
    "This answer is long enough to break off before its end, whatever the format: " * 2
)

ANTHROPIC: Side = AnthropicSide()
CHAT: Side = ChatSide()
RESPONSES: Side = ResponsesSide()

GENERATES: Mapping[str, Side] = {
    "/v1/messages": ANTHROPIC,
    "/v1/chat/completions": CHAT,
    "/v1/responses": RESPONSES,
}
COUNTS: Mapping[str, Side] = {
    "/v1/messages/count_tokens": ANTHROPIC,
    "/v1/responses/input_tokens": RESPONSES,
}
COMPACTS: Mapping[str, Side] = {"/v1/responses/compact": ResponsesSide(compacting=True)}
ENDPOINTS: Mapping[str, Side] = {**GENERATES, **COUNTS, **COMPACTS}

FIRST_COMPACTION = 900_000
"""Compactions are numbered from here, so that their ids meet no answer's."""

ALWAYS_BOUND = ("claude-fable-5-2", "claude-mythos-5-2")
"""Models that check the prefix of thinking for every account."""


@dataclass(frozen=True)
class Answer:
    """What goes back: a status, a body whole or in events, extra headers."""

    status: int
    body: bytes | Iterator[bytes]
    headers: Mapping[str, str]


@dataclass(frozen=True)
class Settings:
    """How the scripted model behaves; see `ModelServer` for the meaning of each."""

    clock: Callable[[], float]
    counter: Counter
    window: int | None
    models: Sequence[str]
    preserved_thinking: bool | None
    without_rules: Collection[str]
    summary: Summarizer
    reasoning_of: Mapping[str, str]
    counting: Counting


class Taken(NamedTuple):
    """A step with its number, and the compaction that comes with it or stands in its place."""

    step: Step
    number: int
    compacts: Compacts
    summary: str | None


class ScriptedModel:
    """Answers requests by script; knows no sockets and may be called from several threads."""

    def __init__(self, script: Script, settings: Settings) -> None:
        self._script = Playhead(script)
        self._settings = settings
        self._cache = PromptCache()
        self._ledger = Ledger(dict(settings.reasoning_of))
        self._lock = threading.Lock()
        self._compactions = itertools.count(FIRST_COMPACTION)
        self.requests: list[RecordedRequest] = []

    def answer(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
        """The answer to one HTTP request; the record is written first."""
        arrived = RecordedRequest(
            -1, method, path, headers, body, _parsed(body), self._settings.clock(), 200
        )
        side = ENDPOINTS.get(path) or _side_of(headers)
        refusal = side.denied(headers)
        if refusal is None and method == "GET" and path.startswith("/v1/models"):
            return self._models(arrived, side)
        if refusal is None and (method != "POST" or path not in ENDPOINTS):
            refusal = Refusal(404, f"{method} {path}: not found", kind="not_found_error")
        if refusal is None and not isinstance(arrived.json, dict):
            refusal = Refusal(400, "the body is not a JSON object", rule="json")
        if refusal is None and not _is_text(arrived.json):
            words = "the request body is not valid JSON: no low surrogate in string"
            refusal = Refusal(400, words, rule="json_text")
        if refusal is not None:
            return self._refused(arrived, side, refusal)
        return self._asked(arrived, side)

    def _asked(self, arrived: RecordedRequest, side: Side) -> Answer:
        asked = self._read(arrived, side)
        told = self._settings.counting(asked.body) if asked.counting else None
        if isinstance(told, Failure):
            return self._refused(arrived, side, _failed(told))
        refusal = first_refusal(side.rules, asked, without=self._settings.without_rules)
        if refusal is not None:
            return self._refused(arrived, side, refusal)
        if asked.counting:
            self._record(arrived)
            body = side.counted(asked, self._settings.counter)
            return _json(200, body if told is None else {**body, "input_tokens": told})
        taken = self._take(asked, side)
        if isinstance(taken.step, Reply):
            turn = self._turn(taken.step, taken, asked, side, arrived.time)
            return self._generated(arrived, side, turn)
        failure = _failed(taken.step)
        if taken.step.midstream and asked.body.get("stream"):
            turn = self._turn(BROKEN_OFF, taken, asked, side, arrived.time)
            return self._broken(arrived, side, turn, failure)
        return self._refused(arrived, side, failure)

    def _take(self, asked: Asked, side: Side) -> Taken:
        """The next step of the script, unless a compaction takes its place."""
        compacts = side.compacts(asked)
        made = self._settings.summary(asked.body) if compacts else None
        summary = made.text if compacts == "before" and isinstance(made, Reply) else None
        if made is None or summary is not None:
            return Taken(*self._script.next(asked.body), compacts, summary)
        return Taken(made, next(self._compactions), compacts, None)

    def _read(self, arrived: RecordedRequest, side: Side) -> Asked:
        profile = _profile_of(arrived.json.get("model"), side)
        preserved, counter = self._settings.preserved_thinking, self._settings.counter
        return Asked(
            arrived.json,
            arrived.headers,
            self._window(profile),
            self._ledger,
            lambda request: side.prompt(request, counter),
            arrived.path in COUNTS,
            binds=profile.preserved_thinking or preserved is True,
            enforced=preserved is not False or profile.name in ALWAYS_BOUND,
            see=lambda request: side.seen(request, counter),
            profile=profile,
        )

    def _turn(self, reply: Reply, taken: Taken, asked: Asked, side: Side, now: float) -> Turn:
        counter = self._settings.counter
        thought = counter(reply.thinking) if reply.thinking else 0
        spoken = [reply.text, *(call.name + json.dumps(call.input) for call in reply.calls)]
        output = thought + sum(counter(text) for text in spoken if text)
        explicit = side.caches_by_mark(asked)
        billed = self._cache.bill(asked.profile, asked.prompt, now=now, explicit=explicit)
        usage = replace(billed, output=output)
        compaction = (taken.compacts, taken.summary)
        return Turn(reply, taken.number, asked, usage, thought, int(now), *compaction)

    def _window(self, profile: ModelProfile) -> int:
        return self._settings.window or profile.context_window

    def _generated(self, arrived: RecordedRequest, side: Side, turn: Turn) -> Answer:
        streaming = bool(turn.asked.body.get("stream"))
        answer = _events(side.stream(turn)) if streaming else _json(200, side.message(turn))
        step = None if turn.compacts in ("request", "instead") else turn.step
        self._record(arrived, step=step, prompt=turn.asked.sent)
        return answer

    def _broken(self, arrived: RecordedRequest, side: Side, turn: Turn, failure: Refusal) -> Answer:
        begun = list(islice(side.stream(turn), EVENTS_BEFORE_BREAK))
        self._record(arrived, step=turn.step, prompt=turn.asked.sent)
        return _events(iter([*begun, side.broken_stream(failure, sent=len(begun))]))

    def _refused(self, arrived: RecordedRequest, side: Side, refusal: Refusal) -> Answer:
        self._record(arrived, status=refusal.status, refusal=refusal)
        again = refusal.retry_after
        headers = {"x-should-retry": "false" if again is None else "true"}
        if again is not None:
            headers["retry-after"] = str(again)
        return _json(refusal.status, side.error(refusal), headers)

    def _models(self, arrived: RecordedRequest, side: Side) -> Answer:
        listed = [self._model(name, side) for name in self._settings.models]
        wanted = arrived.path.removeprefix("/v1/models").strip("/")
        if not wanted:
            self._record(arrived)
            bounds = {"has_more": False, "first_id": None, "last_id": None}
            return _json(200, {"object": "list", "data": listed, **bounds})
        found = [model for model in listed if model["id"] == wanted]
        if not found:
            refusal = Refusal(404, f"model: {wanted}", kind="not_found_error")
            return self._refused(arrived, side, refusal)
        self._record(arrived)
        return _json(200, found[0])

    def _model(self, name: str, side: Side) -> dict[str, Any]:
        if side is not ANTHROPIC:
            return {"id": name, "object": "model", "created": 0, "owned_by": "scripted"}
        profile = _profile_of(name, side)
        return {
            "id": name,
            "type": "model",
            "display_name": name,
            "created_at": "2026-01-01T00:00:00Z",
            "lifecycle": "active",
            "max_input_tokens": self._window(profile),
            "max_tokens": profile.max_output,
        }

    def _record(
        self,
        arrived: RecordedRequest,
        *,
        status: int = 200,
        step: int | None = None,
        refusal: Refusal | None = None,
        prompt: Sequence[PromptBlock] = (),
    ) -> None:
        with self._lock:
            self.requests.append(
                replace(
                    arrived,
                    index=len(self.requests),
                    status=status,
                    step=step,
                    refusal=refusal,
                    prompt=prompt,
                )
            )


def _side_of(headers: Mapping[str, str]) -> Side:
    """Whose client this is, where the path does not say."""
    return ANTHROPIC if "anthropic-version" in headers else CHAT


def _profile_of(model: Any, side: Side) -> ModelProfile:
    return profile_for(str(model), marks=side is ANTHROPIC)


def _failed(step: Failure) -> Refusal:
    return Refusal(step.status, step.message, retry_after=step.retry_after, details=step.details)


def _is_text(value: Any) -> bool:
    """Whether all strings of the body are Unicode text: no provider takes lone surrogates."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def _parsed(body: bytes) -> Any:
    try:
        return json.loads(body, parse_float=Spelled) if body else None
    except ValueError:
        return None


def _json(status: int, body: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> Answer:
    written = json.dumps(body, ensure_ascii=False).encode("utf-8", "surrogatepass")
    return Answer(status, written, {"content-type": "application/json", **(headers or {})})


def _events(stream: Iterator[bytes]) -> Answer:
    return Answer(200, stream, {"content-type": "text/event-stream; charset=utf-8"})
