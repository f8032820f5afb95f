"""Sessions as agents have them, generated: for the laws of policies, meters and sessions.

Invariant: a session is a value that says what happened, without any provider's spelling; `spell`
turns its parts into the messages and replies of one wire format. Needs Hypothesis.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, TypeAlias

from hypothesis import strategies as st

from tenure.core.message import JsonObject, Origin
from tenure.core.protocols import ToolCall

# One white pixel.
_PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII="
)
_FILES = ("src/alpha.py", "src/beta.py", "docs/guide.md", "tests/test_gamma.py")


class _Brief:
    """Makes Hypothesis print the short form: a session's texts are long."""

    __slots__ = ()

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:  # noqa: ARG002, FBT001
        printer.text(repr(self))


@dataclass(frozen=True, slots=True, repr=False)
class Says(_Brief):
    """A message of role user: the user's words, or the harness's."""

    text: str
    origin: Origin = Origin.USER
    pinned: bool = False
    picture: bool = False

    def __repr__(self) -> str:
        marks = " pinned" * self.pinned + " picture" * self.picture
        return f"<{self.origin.value} says {_short(self.text)}{marks}>"


@dataclass(frozen=True, slots=True, repr=False)
class Result(_Brief):
    """What a tool answered: a text in one or more parts, perhaps with a picture."""

    text: str
    parts: int = 1
    picture: bool = False
    is_error: bool = False

    def __repr__(self) -> str:
        marks = " picture" * self.picture + " error" * self.is_error
        return f"<{_short(self.text)} in {self.parts}{marks}>"


@dataclass(frozen=True, slots=True, repr=False)
class Step(_Brief):
    """One model call and the results of the calls it made.

    `drift` is the reported prompt over the true count (None: nothing is reported); `pause` the
    seconds that passed before the request; `odd` adds a block of a type nobody knows.
    """

    thinking: str = ""
    signed: bool = True
    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    results: tuple[Result, ...] = ()
    drift: float | None = 1.0
    pause: float = 10.0
    odd: bool = False

    def __repr__(self) -> str:
        calls = [
            f"{c.id} {c.name} {_short(str(c.input))} -> {r!r}"
            for c, r in zip(self.calls, self.results, strict=False)
        ]
        marks = " odd" * self.odd + " signed" * self.signed
        thinking = f" thinks {_short(self.thinking)}" if self.thinking else ""
        says = f" says {_short(self.text)}" if self.text else ""
        return f"<step +{self.pause}s x{self.drift}{thinking}{marks}{says} calls {calls}>"


def _short(text: str) -> str:
    return repr(text) if len(text) < 40 else f"{text[:25]!r}..({len(text)})"


Event: TypeAlias = Says | Step


def sessions(
    *, most_steps: int = 14, largest: int = 8_000, paste: int = 0, pinned: bool = True
) -> st.SearchStrategy[list[Event]]:
    """Sessions with tool calls, parallel ones, repeats, file versions, thinking, harness text,
    errors, pictures and odd blocks; results of up to `largest` characters, now and then a paste
    of `paste` characters."""
    return _sessions(most_steps=most_steps, largest=largest, paste=paste, pinned=pinned)


@st.composite
def _sessions(
    draw: st.DrawFn, *, most_steps: int, largest: int, paste: int, pinned: bool
) -> list[Event]:
    events: list[Event] = [draw(_says(paste=paste, pinned=pinned))]
    number = 0
    for _ in range(draw(st.integers(most_steps // 2, most_steps))):
        step = draw(_step(number, largest))
        number += len(step.calls)
        events.append(step)
        if not step.calls:
            events.append(draw(_says(paste=paste, pinned=pinned)))
        elif draw(st.integers(0, 5)) == 0:
            events.append(Says(reminder(number), Origin.HARNESS))
    return events


@st.composite
def _says(draw: st.DrawFn, *, paste: int, pinned: bool) -> Says:
    seed = draw(st.integers(0, 50))
    words = f"Please fix case-{seed}. Never touch src/frozen_{seed}.py."
    if paste and draw(st.integers(0, 2)) == 0:
        words += "\n" + pasted(seed, draw(st.integers(1, paste)))
    pin = pinned and draw(st.integers(0, 7)) == 0
    return Says(words, pinned=pin, picture=draw(st.integers(0, 9)) == 0)


@st.composite
def _step(draw: st.DrawFn, number: int, largest: int) -> Step:
    seed = draw(st.integers(0, 1_000))
    mix = Random(seed)  # noqa: S311 - examples, not secrets
    calls, results = [], []
    for at in range(draw(st.sampled_from([0, 1, 1, 1, 1, 2, 3, 5]))):
        name, given, text = draw(_call(largest))
        calls.append(ToolCall(f"call_{number + at}", name, given))
        parts, picture = mix.choice([(1, False)] * 6 + [(2, False), (1, True)])
        results.append(Result(text, parts, picture, is_error=mix.randrange(8) == 0))
    thinking = f"Let me think about handle_{seed}. " * mix.choice([1, 4, 30])
    drift = draw(st.sampled_from([1.0, 1.0, 1.0, 0.9, 1.2, None]))
    return Step(
        thinking=thinking if mix.randrange(2) else "",
        signed=mix.randrange(3) > 0,
        text=f"I look at handle_alpha_{mix.randrange(40)}, step {seed}."
        if mix.randrange(2)
        else "",
        calls=tuple(calls),
        results=tuple(results),
        drift=drift,
        pause=draw(st.sampled_from([5.0, 5.0, 20.0, 20.0, 20.0, 400.0])),
        odd=mix.randrange(12) == 0,
    )


@st.composite
def _call(draw: st.DrawFn, largest: int) -> tuple[str, dict[str, Any], str]:
    size = draw(st.sampled_from([1, 400, largest // 4, largest // 2, largest]))
    kind = draw(st.sampled_from(["read", "read", "run", "write", "plan"]))
    which = draw(st.integers(0, 3))
    if kind == "read":
        return "read", {"path": _FILES[which]}, file_text(which, draw(st.integers(0, 2)), size)
    if kind == "write":
        body = file_text(which, draw(st.integers(0, 2)), size)
        return "write", {"path": _FILES[which], "text": body}, "written"
    if kind == "plan":
        return "plan", {"items": [f"todo {which}", "todo next"]}, f"plan {which} noted"
    return "run", {"command": f"make target-{which}"}, log_text(which, size)


def file_text(number: int, version: int, size: int) -> str:
    """A source file of about `size` characters; versions differ in every fifth line."""
    name = _FILES[number].split("/")[1].split(".")[0]
    lines = [
        f"def handle_{name}_{at}(item): return item.field_{at}_v{version if at % 5 == 0 else 0}"
        for at in range(size // 60 + 1)
    ]
    return "\n".join(lines)[:size]


def log_text(seed: int, size: int) -> str:
    """The output of a command, of about `size` characters, rich in identifiers."""
    lines = [
        f"2026-11-30T10:{at % 60:02} ERROR job-{seed * 97 + at} failed with code 0x{at * 7919:x}"
        for at in range(size // 55 + 1)
    ]
    return "\n".join(lines)[:size]


def pasted(seed: int, size: int) -> str:
    """A long paste with things asked for in its middle."""
    half = log_text(seed, size // 2)
    return f"{half}\nYou must keep rule-{seed} in mind.\n{half[::-1]}"


def reminder(seed: int) -> str:
    """What a harness says with role user."""
    return f"<system-reminder>\n{log_text(seed, 700)}\n</system-reminder>"


# -- spelling ----------------------------------------------------------------------------------


def says(wire: str, event: Says) -> str | list[JsonObject]:
    """The content of a user's message."""
    if not event.picture:
        return event.text
    kind = "input_text" if wire == "openai_responses" else "text"
    return [{"type": kind, "text": event.text}, picture(wire)]


def result(wire: str, given: Result) -> str | list[JsonObject]:
    """The content of a tool result; Chat takes no pictures there."""
    image = given.picture and wire != "openai_chat"
    if given.parts == 1 and not image:
        return given.text
    kind = "input_text" if wire == "openai_responses" else "text"
    cut = len(given.text) // given.parts if given.parts > 1 else len(given.text)
    texts = [given.text[:cut], given.text[cut:]] if given.parts > 1 else [given.text]
    parts: list[JsonObject] = [{"type": kind, "text": text} for text in texts]
    return [*parts, picture(wire)] if image else parts


def picture(wire: str) -> JsonObject:
    """A picture as the API takes it."""
    url = f"data:image/png;base64,{_PNG}"
    if wire == "anthropic_messages":
        source = {"type": "base64", "media_type": "image/png", "data": _PNG}
        return {"type": "image", "source": source}
    if wire == "openai_chat":
        return {"type": "image_url", "image_url": {"url": url}}
    return {"type": "input_image", "image_url": url}


def reply(wire: str, step: Step, prompt: int | None) -> dict[str, Any]:
    """The body of a step's reply; `prompt` is the usage it reports."""
    text = step.text or ("" if step.calls else "Done.")
    return {
        "anthropic_messages": _anthropic,
        "openai_chat": _chat,
        "openai_responses": _responses,
    }[wire](step, text, prompt)


def _anthropic(step: Step, text: str, prompt: int | None) -> dict[str, Any]:
    content: list[JsonObject] = []
    if step.thinking:
        signature = "c2lnbmVk" if step.signed else ""
        content.append({"type": "thinking", "thinking": step.thinking, "signature": signature})
    if step.odd:
        content.append({"type": "hologram", "layers": [1e3, None], "id": "h"})
    if text:
        content.append({"type": "text", "text": text})
    content += [
        {"type": "tool_use", "id": c.id, "name": c.name, "input": c.input} for c in step.calls
    ]
    usage = None if prompt is None else {"input_tokens": prompt, "output_tokens": 50}
    return {"role": "assistant", "content": content, "usage": usage}


def _chat(step: Step, text: str, prompt: int | None) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": text or None}
    if step.thinking:
        message["reasoning_content"] = step.thinking
    if step.odd:
        message["hologram"] = {"layers": [1]}
    if step.calls:
        message["tool_calls"] = [
            {
                "id": c.id,
                "type": "function",
                "function": {"name": c.name, "arguments": json.dumps(c.input)},
            }
            for c in step.calls
        ]
    usage = None if prompt is None else {"prompt_tokens": prompt, "completion_tokens": 50}
    return {"choices": [{"index": 0, "message": message}], "usage": usage}


def _responses(step: Step, text: str, prompt: int | None) -> dict[str, Any]:
    output: list[JsonObject] = []
    if step.thinking:
        summary = [{"type": "summary_text", "text": step.thinking}]
        sealed = {"encrypted_content": "c2VhbGVk"} if step.signed else {}
        output.append({"type": "reasoning", "summary": summary, **sealed})
    if step.odd:
        output.append({"type": "hologram_call", "layers": [1], "id": "h"})
    if text:
        parts = [{"type": "output_text", "text": text, "annotations": []}]
        output.append({"type": "message", "role": "assistant", "content": parts})
    output += [
        {"type": "function_call", "call_id": c.id, "name": c.name, "arguments": json.dumps(c.input)}
        for c in step.calls
    ]
    usage = None if prompt is None else {"input_tokens": prompt, "output_tokens": 50}
    return {"output": output, "usage": usage}


def kinds(events: Sequence[Event]) -> set[str]:
    """What a session holds, for `hypothesis.event` and for checks that a strategy is rich."""
    found: set[str] = set()
    for each in events:
        if isinstance(each, Says):
            found |= {each.origin.value, *(["pinned"] if each.pinned else [])}
            continue
        found |= {"parallel"} if len(each.calls) > 1 else set()
        found |= {"thinking"} if each.thinking else set()
        found |= {"odd"} if each.odd else set()
        found |= {"error"} if any(r.is_error for r in each.results) else set()
        found |= {"picture"} if any(r.picture for r in each.results) else set()
    return found
