"""What a message of Anthropic Messages must be by itself, and what the walk over a request needs of it.

Invariant: total and idempotent. A sound message comes back as the very object given; facts are those
of the sound message, since mending begins by making every message sound.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from tenure.core.legal import Terms
from tenure.core.message import JsonObject, Path
from tenure.wire.mend_common import (
    cleaned,
    compiled,
    foreign_label,
    is_clean,
    lost_json,
)
from tenure.wire.rules_anthropic_block import (
    KEY,
    THINKING,
    Fault,
    Place,
    kind_of,
    sound_block,
    text_block,
)
from tenure.wire.rules_anthropic_facts import (
    CALL,
    RESULT,
    SERVED,
    SERVER,
    WORDS,
    Facts,
    Item,
    is_call_id,
    is_server_id,
    item_of,
    json_text,
    marks_and_pictures,
    plain_item,
)
from tenure.wire.values import is_array, is_object

# How long a system message is shown: anthropic 2.14.0, beta_system_message_param.
CLEAR_AT = ("next_user_message", "never")
ROLES = frozenset({"user", "assistant", "system"})
# Models older than Opus 4.8, and Sonnet 5: platform docs, mid-conversation system messages.
_NO_SYSTEM = re.compile(r"(?:.*[./])?claude-(?:[a-z]+-4(?:-[0-7])?|sonnet-5|3.*)(?:-\d{8})?")
# Blocks that a cache mark may not stand on: platform docs, prompt caching.
_UNMARKABLE = THINKING | {"fallback", "compaction"}


class Reader:
    """Reads messages under the terms of one conversation."""

    def __init__(self, terms: Terms) -> None:
        self._terms = terms
        self._pattern = compiled(terms.id_pattern)
        self._no_system = bool(_NO_SYSTEM.fullmatch(terms.model))

    def read(self, message: JsonObject) -> Facts:
        """The facts of a message."""
        plain = self._plain(message) if type(message) is dict else None
        if plain is not None:
            return plain
        sound, faults = self.sound(message)
        if sound is None:
            return Facts("", faults, gone=True)
        role, content = str(sound["role"]), sound["content"]
        if isinstance(content, str):
            blank = bool(content) and content[-1].isspace()
            return Facts(role, faults, WORDS, blank_end=blank)
        if not content:
            return Facts(role, faults, exempt=True)
        items = [item_of(block) for block in content]
        for at, item in enumerate(items):
            if item.what in {CALL, RESULT} and not self._is_id(content[at], item):
                words = f"call id {item.id!r} is none that the API takes"
                faults.append(Fault("call-id", words, ("content", at)))
            elif item.what in {SERVER, SERVED} and not is_server_id(content[at], item.id):
                words = f"server call id {item.id!r} is none that the API takes"
                faults.append(Fault("server-call-id", words, ("content", at)))
        marks, pictures = marks_and_pictures(content)
        last = content[-1].get("text") if content[-1].get("type") == "text" else ""
        return Facts(
            role, faults, items, marks, pictures, blank_end=bool(last) and last[-1].isspace()
        )

    def _plain(self, message: JsonObject) -> Facts | None:
        """The facts of a message of the common kind, None when it must be looked at closely.

        Most messages are: this is what keeps the check of a million tokens fast.
        """
        role, content = message.get("role"), message.get("content")
        if type(content) is not list or not content or len(message) != 2:
            return None
        by_assistant = role == "assistant"
        if not by_assistant and role != "user":
            return None
        items: list[Item] = []
        for block in content:
            item = plain_item(block, by_assistant=by_assistant) if type(block) is dict else None
            if item is None:
                return None
            items.append(item)
        if self._pattern is not None and not all(
            self._pattern.fullmatch(item.id) for item in items if item.what in "cr"
        ):
            return None
        last = content[-1].get("text")
        return Facts(str(role), (), items, blank_end=bool(last) and last[-1].isspace())

    def _is_id(self, block: JsonObject, item: Item) -> bool:
        given = block.get("id" if item.what == CALL else "tool_use_id")
        return is_call_id(given, item.id) and (
            self._pattern is None or self._pattern.fullmatch(item.id) is not None
        )

    def sound(self, message: Any) -> tuple[JsonObject | None, list[Fault]]:
        """The nearest message that is sound by itself, None for one without content; its faults."""
        faults: list[Fault] = []
        if type(message) is not dict and not is_object(message):
            faults.append(_lost("message-shape", "a message is no object", message))
            message = _said_by_user("what is no message", [text_block(json_text(message))])
        role = message.get("role")
        content = message.get("content")
        if type(role) is not str or role not in ROLES:
            return self._of_other_role(message, faults)
        if role == "system" and self._no_system:
            words = "the model knows no system messages among the messages"
            faults.append(_lost("system-model", words, message))
            return self._of_other_role({**message, "role": "system message"}, faults)
        if len(message) > 2:
            message = _of_system(_clean_fields(message, faults), role, faults)
        if role == "system" and not content and message.get("output_config"):
            if is_array(content):
                return message, faults
            words = "a message that sets the effort has no list as its content"
            faults.append(Fault("message-shape", words, ("content",)))
            return {**message, "content": []}, faults
        if type(content) is str:
            return self._spoken(message, content, faults)
        if content is None or content in ([], ()):
            faults.append(_lost("empty-content", "the message has no content", message))
            return None, faults
        if not is_array(content):
            faults.append(_lost("message-shape", "the content is neither text nor blocks", message))
            message = {**message, "content": _as_blocks(content)}
            content = message["content"]
        return self._with_blocks(message, content, faults)

    def _spoken(
        self, message: JsonObject, content: str, faults: list[Fault]
    ) -> tuple[JsonObject | None, list[Fault]]:
        if not content or content.isspace():
            faults.append(_lost("empty-content", "the message has no text", message))
            return None, faults
        if not is_clean(content):
            words = "the text holds what JSON in UTF-8 cannot"
            faults.append(_lost("unsendable-text", words, content))
            message = {**message, "content": cleaned(content)}
        return message, faults

    def _with_blocks(
        self, message: JsonObject, content: Sequence[Any], faults: list[Fault]
    ) -> tuple[JsonObject | None, list[Fault]]:
        role = str(message["role"])
        kept: list[JsonObject] = []
        changed = False
        for at, block in enumerate(content):
            place = Place(("content", at), role, self._terms, faults)
            new = sound_block(block, place)
            if len(new) == 1 and new[0] is block:
                kept.append(block)
            else:
                changed = True
                kept += new
                _move_mark(block, new, kept)
        checked = [_soundly_marked(block, at, faults) for at, block in enumerate(kept)]
        changed = changed or any(a is not b for a, b in zip(checked, kept, strict=True))
        if role == "system" and message.get("clear_at") is not None:
            bare = [_without_mark(block) for block in checked]
            if any(a is not b for a, b in zip(bare, checked, strict=True)):
                words = "a cache mark in a message with clear_at"
                faults.append(_lost("clear-at-mark", words, [b.get(KEY) for b in checked]))
                checked, changed = bare, True
        if not checked:
            if not changed or not any(fault.lost for fault in faults):
                faults.append(_lost("empty-content", "the message has no blocks", message))
            return None, faults
        return ({**message, "content": checked} if changed else message), faults

    def _of_other_role(
        self, message: JsonObject, faults: list[Fault]
    ) -> tuple[JsonObject | None, list[Fault]]:
        role = message.get("role")
        known = role == "system message"
        name = role if isinstance(role, str) else json_text(role)
        if not known:
            faults.append(_lost("message-shape", f"a message of role {name[:40]!r}", message))
        content = message.get("content")
        blocks = _as_blocks(content) if content else []
        label = "a system message" if known else f"a message of role {cleaned(name)[:40]!r}"
        if not blocks and known:
            return None, faults
        rest = {k: v for k, v in message.items() if k not in ("role", "content")}
        if not blocks:
            blocks = [text_block(json_text(rest))]
        said = _said_by_user(label, blocks)
        return self._with_blocks(said, said["content"], faults)


def _move_mark(block: Any, new: Sequence[JsonObject], kept: list[JsonObject]) -> None:
    """Puts the mark of a block that lost it on the last one before that may have one."""
    mark = block.get(KEY) if is_object(block) else None
    if mark is None or any(each.get(KEY) is not None for each in new):
        return
    for at in range(len(kept) - 1, -1, -1):
        if kind_of(kept[at]) not in _UNMARKABLE:
            if kept[at].get(KEY) is None:
                kept[at] = {**kept[at], KEY: mark}
            return


def _soundly_marked(block: JsonObject, at: int, faults: list[Fault]) -> JsonObject:
    new = _with_sound_mark(block, ("content", at), faults)
    inner = block.get("content")
    if not is_array(inner) or kind_of(block) == "compaction":
        return new
    parts = [
        _with_sound_mark(part, ("content", at, "content", number), faults)
        if is_object(part)
        else part
        for number, part in enumerate(inner)
    ]
    if all(a is b for a, b in zip(parts, inner, strict=True)):
        return new
    return {**new, "content": parts}


def _with_sound_mark(block: JsonObject, path: Path, faults: list[Fault]) -> JsonObject:
    mark = block.get(KEY)
    if mark is None or kind_of(block) == "compaction":
        return block
    sound = sound_mark(mark)
    if sound is mark:
        return block
    faults.append(Fault("mark-shape", "a cache mark is not as it must be", path, lost_json(mark)))
    bare = {key: value for key, value in block.items() if key != KEY}
    return bare if sound is None else {**bare, KEY: sound}


def sound_mark(mark: Any) -> Any:
    """The mark itself when it is sound, one without a lifetime, or None for what is no mark."""
    if not is_object(mark) or mark.get("type") != "ephemeral":
        return None
    ttl = mark.get("ttl")
    return mark if ttl is None or ttl in ("5m", "1h") else {"type": "ephemeral"}


def _without_mark(block: JsonObject) -> JsonObject:
    if block.get(KEY) is None:
        return block
    return {key: value for key, value in block.items() if key != KEY}


def _clean_fields(message: JsonObject, faults: list[Fault]) -> JsonObject:
    rest = {key: value for key, value in message.items() if key not in ("role", "content")}
    if is_clean(rest):
        return message
    faults.append(_lost("unsendable-text", "a field holds what JSON in UTF-8 cannot", rest))
    fields: JsonObject = cleaned(rest)
    return {"role": message["role"], "content": message.get("content"), **fields}


def _of_system(message: JsonObject, role: str, faults: list[Fault]) -> JsonObject:
    """The message without fields that only system messages have, or with values they have not."""
    until, output = message.get("clear_at"), message.get("output_config")
    gone: dict[str, Any] = {}
    if until is not None and (role != "system" or until not in CLEAR_AT):
        gone["clear_at"] = until
    if output is not None and (role != "system" or not is_object(output)):
        gone["output_config"] = output
    if not gone:
        return message
    for name, value in gone.items():
        words = f"{name} of {json_text(value)[:40]} in a message of role {role}"
        faults.append(Fault("system-fields", words, (name,), lost_json(value)))
    return {key: value for key, value in message.items() if key not in gone}


def _as_blocks(content: Any) -> list[Any]:
    if is_array(content):
        return list(content)
    if is_object(content):
        return [content]
    return [text_block(content if isinstance(content, str) else json_text(content))]


def _said_by_user(label: str, blocks: Sequence[Any]) -> JsonObject:
    return {"role": "user", "content": [text_block(foreign_label(label)), *blocks]}


def _lost(rule: str, words: str, value: Any) -> Fault:
    return Fault(rule, words, (), lost_json(value))
