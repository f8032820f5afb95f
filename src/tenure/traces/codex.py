"""Codex's rollout files: `~/.codex/sessions/**/rollout-*.jsonl`.

Invariant: each item of the conversation is in one step, in file order, as the Responses API takes
it. What we read into the rows, seen on files of Codex CLI 0.118 to 0.139:

- `response_item` rows are the items. Reasoning, assistant messages and calls are the reply; outputs
  and other messages arrive. A step ends with the `token_count` event that closes the reply.
- A `token_count` whose total has not grown reports rate limits only: no call was made.
- `input_tokens` includes the cached ones; reasoning is part of `output_tokens`.
- `compacted` begins a new thread: its `replacement_history` (or, in older files, its message) is
  what the next request starts from.
- `thread_rolled_back` takes turns back: what comes then is a thread whose first arrivals hold what
  it inherited.
- A forked session's file repeats its parent's rows, all stamped with the time of the fork.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tenure.core.message import Message, Origin
from tenure.core.usage import Usage
from tenure.replay.trace import Step, Thread, Trace
from tenure.traces.lines import Records
from tenure.traces.origins import user_origin
from tenure.traces.values import as_dict, as_list, main_model, text_of, tokens_at, unix_seconds

ROW_TYPES = frozenset({"session_meta", "turn_context", "response_item", "event_msg", "compacted"})
_COMPACTED_ITEMS = frozenset({"compaction", "compaction_summary", "context_compaction"})


def read_codex(found: Records, name: str, path: Path) -> list[Trace]:
    """The session of a file."""
    reader = _Reader()
    for record in found.records:
        if isinstance(record.value, dict):
            row = record.value
            reader.take({"type": "response_item", "payload": row} if is_item(row) else row)
    reader.end_thread()
    return [
        Trace(
            name=name,
            source=str(path),
            format="codex",
            wire="openai_responses",
            model=main_model(reader.threads),
            threads=tuple(reader.threads),
            damage=tuple(found.damage),
            skipped=dict(reader.skipped),
            head=reader.head,
        )
    ]


@dataclass(slots=True)
class _Open:
    """A step that is being read."""

    arrivals: list[Message] = field(default_factory=list)
    reply: list[Message] = field(default_factory=list)
    usage: Usage | None = None
    at: float | None = None
    first_reply_at: float | None = None
    model: str = ""


@dataclass(slots=True)
class _Reader:
    """The fold over a file's rows."""

    threads: list[Thread] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    head: dict[str, Any] = field(default_factory=dict)
    steps: list[_Open] = field(default_factory=list)
    model: str = ""
    total: int = -1
    compacted: bool = False
    tokens_before: int | None = None

    def take(self, row: dict[str, Any]) -> None:
        """One row of the file."""
        payload = as_dict(row.get("payload"))
        at = unix_seconds(row.get("timestamp"))
        match row.get("type"):
            case "response_item":
                self._item(payload, at)
            case "event_msg" if payload.get("type") == "token_count":
                self._token_count(as_dict(payload.get("info")))
            case "event_msg" if payload.get("type") == "thread_rolled_back":
                self._rolled_back(tokens_at(payload, "num_turns"), at)
            case "compacted":
                self._compacted(payload, at)
            case "turn_context":
                self.model = text_of(payload, "model") or self.model
            case "session_meta":
                text = text_of(payload.get("base_instructions"), "text")
                text = text or text_of(payload, "instructions")
                if text and not self.head:
                    self.head = {"instructions": text}
            case "event_msg":
                self.skipped[f"event_msg {text_of(payload, 'type')}".strip()] += 1
            case kind:
                self.skipped[kind if isinstance(kind, str) else "row without type"] += 1

    def _item(self, item: dict[str, Any], at: float | None) -> None:
        origin = _origin(item)
        if origin is None:
            self.skipped[f"response_item {text_of(item, 'type')}".strip()] += 1
            return
        message = Message(item, origin=origin)
        step = self._open_step(closed=origin is not Origin.ASSISTANT)
        if origin is Origin.ASSISTANT:
            step.reply.append(message)
            step.model = self.model
            step.first_reply_at = step.first_reply_at or at
        else:
            step.arrivals.append(message)
            step.at = at or step.at

    def _open_step(self, *, closed: bool) -> _Open:
        """The step under way; a new one when its usage is known, or when its reply is `closed`."""
        last = self.steps[-1] if self.steps else None
        if last is None or last.usage is not None or (closed and last.reply):
            last = _Open()
            self.steps.append(last)
        return last

    def _token_count(self, info: dict[str, Any]) -> None:
        last = as_dict(info.get("last_token_usage"))
        total = tokens_at(info.get("total_token_usage"), "total_tokens")
        if not last or total == self.total:
            self.skipped["token_count without a call"] += 1
            return
        self.total = total
        # Outputs may be written before the count of the reply that called for them.
        step = next((one for one in reversed(self.steps) if one.reply), None)
        if step is None or step.usage is not None:
            self.skipped["token_count without a reply"] += 1
            return
        cached = tokens_at(last, "cached_input_tokens")
        step.usage = Usage(
            fresh=max(tokens_at(last, "input_tokens") - cached, 0),
            cache_read=cached,
            output=tokens_at(last, "output_tokens"),
        )

    def _compacted(self, payload: dict[str, Any], at: float | None) -> None:
        usages = [step.usage for step in self.steps if step.usage]
        self.end_thread()
        self.compacted = True
        self.tokens_before = usages[-1].prompt + usages[-1].output if usages else None
        items = [item for item in as_list(payload.get("replacement_history")) if as_dict(item)]
        if not items:
            part = {"type": "input_text", "text": text_of(payload, "message")}
            items = [{"type": "message", "role": "user", "content": [part]}]
            messages = [Message(items[0], origin=Origin.HARNESS)]
        else:
            messages = [Message(item, origin=_origin(item) or Origin.HARNESS) for item in items]
        self.steps.append(_Open(arrivals=messages, at=at))

    def _rolled_back(self, turns: int, at: float | None) -> None:
        """The person took back their last turns: a thread of its own that inherits the rest."""
        said = [message for step in self.steps for message in (*step.arrivals, *step.reply)]
        typed = [place for place, one in enumerate(said) if one.origin is Origin.USER]
        kept = said[: typed[-min(turns, len(typed))]] if turns and typed else said
        self.end_thread()
        self.compacted, self.tokens_before = False, None
        self.steps.append(_Open(arrivals=kept, at=at))

    def end_thread(self) -> None:
        """Closes the thread under way: at a compaction, and at the end of the file."""
        if not self.steps:
            return
        number = len(self.threads) + 1
        last = self.steps[-1]
        answered = self.steps if last.reply else self.steps[:-1]
        self.threads.append(
            Thread(
                name="main" if number == 1 else f"main-{number}",
                kind="main",
                steps=tuple(_step(step) for step in answered),
                tail=() if last.reply else tuple(last.arrivals),
                after_compaction=self.compacted,
                tokens_before_compaction=self.tokens_before,
            )
        )
        self.steps = []


def _step(step: _Open) -> Step:
    return Step(
        arrivals=tuple(step.arrivals),
        reply=tuple(step.reply),
        usage=step.usage,
        at=step.at or step.first_reply_at,
        model=step.model,
    )


def _origin(item: dict[str, Any]) -> Origin | None:
    """Who wrote an item; None when it is none we know to belong to a conversation."""
    kind = text_of(item, "type")
    if kind == "message":
        match item.get("role"):
            case "assistant":
                return Origin.ASSISTANT
            case "user":
                return user_origin(item.get("content"), media_types=("input_image", "input_file"))
            case _:
                return Origin.SYSTEM
    if kind == "reasoning" or kind.endswith("_call"):
        return Origin.ASSISTANT
    if kind.endswith(("_call_output", "_output")):
        return Origin.TOOL
    return Origin.HARNESS if kind in _COMPACTED_ITEMS else None


def is_item(row: dict[str, Any]) -> bool:
    """Whether a row is a bare item, as the first versions wrote them: without an envelope."""
    return "payload" not in row and "message" not in row and _origin(row) is not None
