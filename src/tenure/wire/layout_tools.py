"""The tool list of a conversation: one order, one spelling, and no flapping.

Invariant: nothing but order, key order and the place of a cache mark is ever changed by
`ordered_tools`; a list that is in order already is returned as the very object. The bytes that a
`ToolList` sends begin with those it sent before, unless a definition really changed.

Why: tools stand in front of everything, so any change there is a miss of the whole prefix. Servers
answer `tools/list` in any order, maps lose their order, and a server that is away for a moment takes
its tools with it (maximhq/bifrost#2347, anthropics/claude-code#65917).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeGuard

from tenure.core.message import json_bytes
from tenure.core.volatile import Kind
from tenure.core.volatile_change import changes
from tenure.wire.values import is_array, is_object, plain_json, text_of

# Tools that run on the caller's side; all others are the provider's own.
_CLIENT = frozenset({"function", "custom", ""})
# Keys in the order of the providers' documentation, the others behind them by name.
_RANK = {
    key: at
    for at, key in enumerate(
        ("type", "name", "function", "description", "input_schema", "parameters", "properties")
    )
}
# Values that are data and not a schema: a list in them is no set.
_DATA = frozenset({"default", "const", "enum", "examples", "input_examples"})
# What may differ in a definition without being said: a path or a number may be what a call needs.
_IDLE = frozenset({Kind.CLOCK, Kind.DATE, Kind.UUID, Kind.REQUEST_ID, Kind.HEX})


def tool_name(tool: Any) -> str:
    """The name a tool is called by; the provider's nameless tools by server label or type."""
    if not is_object(tool):
        return ""
    inner = tool.get("function") or tool.get("custom")
    names = (tool.get("name"), inner.get("name") if is_object(inner) else None)
    named = next((text_of(n) for n in names if text_of(n)), "")
    return named or text_of(tool.get("server_label")) or text_of(tool.get("type"))


def ordered_tools(tools: Sequence[Any]) -> Sequence[Any]:
    """The tools in their one order: the provider's own first, then by name; keys of definitions in
    a fixed order too. Cache marks go to the last tool that may carry one.

    Unchanged tools are shared; the very list is returned when there is nothing to do.
    """
    bare = [_without_mark(tool) for tool in tools]
    spelled = sorted((_spelled(tool) for tool in bare), key=_place)
    found = marked_last(spelled, _strongest_mark(tools))
    # Equal values may be spelled in another order, so the bytes decide.
    return tools if json_bytes(list(tools)) == json_bytes(found) else found


def marked_last(tools: Sequence[Any], mark: Any) -> list[Any]:
    """The tools with a mark (None: none) on the last one that may carry it: not a deferred one."""
    found = list(tools)
    if mark is None:
        return found
    for at in range(len(found) - 1, -1, -1):
        if is_object(found[at]) and found[at].get("defer_loading") is not True:
            found[at] = {**found[at], "cache_control": mark}
            break
    return found


def _strongest_mark(tools: Sequence[Any]) -> Any:
    marks = [
        t["cache_control"] for t in tools if is_object(t) and is_object(t.get("cache_control"))
    ]
    long = [mark for mark in marks if mark.get("ttl") == "1h"]
    return (long or marks or [None])[0]


def _without_mark(tool: Any) -> Any:
    if not is_object(tool) or "cache_control" not in tool:
        return tool
    return {key: value for key, value in tool.items() if key != "cache_control"}


def _place(tool: Any) -> tuple[bool, str, str]:
    """The sort key: total over any JSON, so that equal sets of tools have one order."""
    own = is_object(tool) and text_of(tool.get("type")) in _CLIENT
    return own or not is_object(tool), tool_name(tool), plain_json(tool)


def _spelled(value: Any, *, data: bool = False) -> Any:
    """The value with the keys of its objects in the fixed order; shared when they are."""
    if is_object(value):
        keys = sorted(value, key=lambda k: (_RANK.get(k, len(_RANK)), str(k)))
        new = {k: _spelled(value[k], data=data or k in _DATA) for k in keys}
        required = new.get("required")
        if not data and "properties" in new and _are_names(required):
            new["required"] = sorted(required)  # A set: servers that keep one shuffle it.
        return value if _same(value, new) else new
    if is_array(value):
        items = [_spelled(item, data=data) for item in value]
        return value if all(a is b for a, b in zip(value, items, strict=True)) else items
    return value


def _same(value: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """The same keys in the same order with the same objects; `required` by its names."""
    if list(value) != list(new):
        return False
    return all(new[k] is v or (k == "required" and new[k] == v) for k, v in value.items())


def _are_names(value: Any) -> TypeGuard[Sequence[str]]:
    return is_array(value) and all(isinstance(name, str) for name in value)


class ToolNote(NamedTuple):
    """Something that was seen in a tool list; `breaks` says that the prefix is written anew."""

    tool: str
    words: str
    breaks: bool = False


@dataclass(frozen=True, slots=True)
class ToolList:
    """The tools of one conversation as they are sent; `settle` takes the list of each request.

    `missing` are those that are listed although the last request did not bring them: a call of one
    is answered with `unavailable`. With `keep` False they are taken out, at the price of a miss.

    >>> read, find = {"name": "read", "input_schema": {}}, {"name": "srv_find", "input_schema": {}}
    >>> tools, _ = ToolList().settle([find, read])
    >>> tools, notes = tools.settle([read])
    >>> [tool["name"] for tool in tools.tools], tools.missing, notes[0].breaks
    (['read', 'srv_find'], ('srv_find',), False)
    """

    tools: tuple[Any, ...] = ()
    missing: tuple[str, ...] = ()
    keep: bool = True
    begun: bool = False

    def settle(
        self, tools: Sequence[Any], *, resident: int = 0
    ) -> tuple[ToolList, tuple[ToolNote, ...]]:
        """The list after a request that brings these tools, and what was done about differences.

        `resident` is the size of the prompt in tokens, for the price in words. Order and spelling
        are those of the first request; what differs only in them, or in volatile text, is not a
        change.
        """
        if not self.begun:
            return ToolList(tuple(ordered_tools(tools)), (), self.keep, begun=True), ()
        price = f", so {resident:,} tokens are" if resident else ": the whole prompt is"
        given = _keyed(_without_mark(tool) for tool in ordered_tools(tools))
        notes: list[ToolNote] = []
        kept: list[Any] = []
        gone: list[str] = []
        for key, tool in _keyed(_without_mark(tool) for tool in self.tools).items():
            if key in given:
                kept.append(_chosen(tool, given.pop(key), key[0], price, notes))
                continue
            gone.append(key[0])
            if self.keep:
                kept.append(tool)
            notes.append(_gone(key[0], price, known=key[0] in self.missing, keep=self.keep))
        for key, tool in given.items():
            words = f"{key[0]!r} is new and goes to the end of the tools{price} written anew"
            notes.append(ToolNote(key[0], words, breaks=not _deferred(tool)))
            kept.append(tool)
        found = marked_last(kept, _strongest_mark(tools))
        return ToolList(tuple(found), tuple(gone), self.keep, begun=True), tuple(notes)


def unavailable(tool: str) -> str:
    """The result of a call of a tool that is listed and not there."""
    return (
        f"[tenure] The tool {tool!r} is unavailable at the moment: its server did not offer it with "
        "this request. The call was not made."
    )


def _gone(name: str, price: str, *, known: bool, keep: bool) -> ToolNote:
    if keep:
        since = "still" if known else "now"
        words = (
            f"{name!r} is {since} missing and stays listed; its calls are answered 'unavailable'"
        )
        return ToolNote(name, words)
    words = (
        f"{name!r} is gone{price} written anew, and once more when it comes back: two full misses"
    )
    return ToolNote(name, words, breaks=True)


def _chosen(old: Any, new: Any, name: str, price: str, notes: list[ToolNote]) -> Any:
    """The definition to send: the one sent before unless the new one really differs."""
    one, other = plain_json(_spelled(old)), plain_json(_spelled(new))
    if one == other:
        return old
    found = changes(one, other)
    if all(change.kind in _IDLE for change in found):
        words = "; ".join(change.words for change in found)
        notes.append(
            ToolNote(name, f"{name!r} differs in volatile text and stays as sent: {words}")
        )
        return old
    words = f"the definition of {name!r} changed{price} written anew"
    notes.append(ToolNote(name, words, breaks=not _deferred(new)))
    return new


def _deferred(tool: Any) -> bool:
    """Deferred tools are not part of the prompt until they are referenced."""
    return is_object(tool) and tool.get("defer_loading") is True


def _keyed(tools: Iterable[Any]) -> dict[tuple[str, int], Any]:
    """Tools by name, those of one name told apart by their number."""
    found: dict[tuple[str, int], Any] = {}
    for tool in tools:
        name, number = tool_name(tool), 0
        while (name, number) in found:
            number += 1
        found[name, number] = tool
    return found
