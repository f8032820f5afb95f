"""`tenure lint --fix`: a repaired copy beside the input.

Invariant: the input is never written; what breaks no rule leaves as the very bytes that came in, and
an input that needs no mend gets no copy. What a mend takes away is still in the input. A transcript
is not written in its own format, whose rows hold more than what was sent: its copy holds request
bodies, the last one of every thread, and `Fixed.note` says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeAlias

from tenure.cli.lint_read import STDIN, Given
from tenure.core.legal import Mended
from tenure.core.message import JsonObject, Message, json_bytes
from tenure.core.protocols import SessionWire
from tenure.errors import ConfigError, RequestError
from tenure.replay.lint import nested_too_deep, sent_messages, terms_of
from tenure.replay.trace import Trace
from tenure.wire.cut import Body
from tenure.wire.detect import AnyWire, detect, wire_for
from tenure.wire.prefix_parts import message_key
from tenure.wire.values import is_array, is_object

Mends: TypeAlias = Callable[..., Mended]
"""`_mend` with what the command line says filled in."""

_SUFFIXES = (".gz", ".jsonl", ".ndjson", ".json", ".traj")


class Fixed(NamedTuple):
    """Where the copy is, "" when none was needed, each mend in words, and what the copy holds where
    that is not all of the input."""

    path: str
    mends: tuple[str, ...]
    note: str = ""


def write_fixed(given: Given, model: str, version: str = "") -> Fixed:
    """Writes the repaired copy of an input; OSError when it can't be written. `version` is that of
    the API, "" the newest."""
    mend = partial(_mend, model=model, version=version)
    pieces: list[bytes] = []
    mends: list[str] = []
    for number, body in enumerate(given.bodies):
        piece, words = _fixed_body(body, given.raws[number], mend)
        pieces.append(piece)
        mends += [f"request {number}, {one}" for one in words]
    told = _Told()
    for trace in given.traces:
        for piece, words in _fixed_threads(trace, mend, told):
            pieces.append(piece)
            mends += words
    if not mends:
        return Fixed("", ())
    one = len(pieces) == 1
    path = copy_path(given.name, ".json" if one or given.array else ".jsonl")
    lines = b"[" + b",\n".join(pieces) + b"]" if given.array else b"\n".join(pieces)
    path.write_bytes(lines + b"\n")
    return Fixed(str(path), tuple(mends), told.words() if given.traces else "")


def check_fix(paths: Sequence[str]) -> None:
    """ConfigError when there is no place beside an input."""
    if STDIN in paths:
        raise ConfigError("--fix writes beside its input, and stdin has no place: give a file")


def copy_path(name: str, suffix: str) -> Path:
    """Where the repaired copy of a file goes.

    >>> copy_path("runs/a.jsonl.gz", ".jsonl").name
    'a.fixed.jsonl'
    """
    path = Path(name)
    stem = path.name
    for ending in _SUFFIXES:
        stem = stem.removesuffix(ending) or stem
    return path.with_name(f"{stem}.fixed{suffix}")


def _fixed_body(body: JsonObject, raw: bytes, mend: Mends) -> tuple[bytes, list[str]]:
    """The bytes of a mended request, and each mend in words."""
    as_it_was = raw or json_bytes(body)
    try:
        wire = detect(body)
    except RequestError:
        return as_it_was, []  # Neither messages nor input: there is nothing to mend.
    key = message_key(wire.name)
    cut = _cut(wire, raw)
    messages = [one.data for one in cut.messages] if cut is not None else body.get(key)
    if not is_array(messages) or not all(map(_readable, messages)):
        return as_it_was, []
    head = cut.head if cut is not None else {k: v for k, v in body.items() if k != key}
    mended = mend(wire, messages, head)
    if not mended.mends:
        return as_it_was, []
    known = {id(one.data): one for one in cut.messages} if cut is not None else {}
    new = [known.get(id(one)) or wire.message(one) for one in mended.messages]
    if cut is not None and mended.head == head:
        return cut.render(new), _words(mended)
    return wire.body(mended.head, [one.raw for one in new]), _words(mended)


@dataclass(slots=True)
class _Told:
    """What becomes of the threads of transcripts in their copy."""

    mended: int = 0
    whole: int = 0
    unwritten: list[str] = field(default_factory=list)

    def words(self) -> str:
        """The same in a sentence."""
        left_out = "".join(f"; not written: {one}" for one in self.unwritten)
        return (
            "request bodies, not a transcript: the last request of each thread "
            f"({self.mended} mended, {self.whole} as sent); what a request does not hold "
            f"(the last answer, usage, times) is in the input alone{left_out}"
        )


def _fixed_threads(trace: Trace, mend: Mends, told: _Told) -> Iterator[tuple[bytes, list[str]]]:
    """For each thread its last request, mended where it breaks a rule."""
    wire = wire_for(trace.wire)
    for thread in trace.threads:
        messages = sent_messages(thread)
        if not all(map(_readable, messages)):
            told.unwritten.append(f"{thread.name}, which holds a message that is none")
            continue
        if not messages:
            told.unwritten.append(f"{thread.name}, which sent nothing")
            continue
        mended = mend(wire, messages, trace.head, named=trace.model)
        told.mended += bool(mended.mends)
        told.whole += not mended.mends
        named = {"model": trace.model} if trace.model else {}
        head = {**named, **mended.head}
        raws = [Message(one, origin=wire.origin(one)).raw for one in mended.messages]
        words = [f"{thread.name}, {one}" for one in _words(mended)]
        yield wire.body(head, raws), words


def _cut(wire: AnyWire, raw: bytes) -> Body | None:
    try:
        return wire.cut(raw) if raw else None
    except RequestError:
        return None  # A damaged line: what could be read of it is written anew.


def _mend(
    wire: SessionWire,
    messages: Sequence[JsonObject],
    head: JsonObject,
    *,
    named: str = "",
    model: str,
    version: str,
) -> Mended:
    """The mended copy; `named` is the model that was recorded beside the head, `model` the one that
    the command line puts in its place."""
    said = head.get("model")
    name = model or named or (said if isinstance(said, str) else "")
    return wire.mend(messages, terms_of(name, head, version))


def _readable(message: object) -> bool:
    return is_object(message) and not nested_too_deep(message)


def _words(mended: Mended) -> list[str]:
    return [
        f"{'head' if one.message < 0 else f'message {one.message}'}: {one.words} ({one.rule})"
        for one in mended.mends
    ]
