"""What is wrong with one message by itself, in the two OpenAI formats, and its nearest sound copy.

Invariant: total, and idempotent: a sound value comes back as the very object given. Words stay
visible in the copy; what can't be said there is in a fault's `lost`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from tenure.core.legal import Mend, Rule, Violation
from tenure.core.message import JsonObject, Path
from tenure.wire.mend_common import cleaned, foreign_label, lost_json, picture_label
from tenure.wire.values import MEDIA_TYPES, is_array, is_object, text_of

# The fields of the parts with media, by type, in both formats; any one of them will do.
_MEDIA_FIELDS: Mapping[str, tuple[str, ...]] = {
    "image_url": ("image_url",),
    "input_audio": ("input_audio",),
    "file": ("file",),
    "input_image": ("image_url", "file_id"),
    "input_file": ("file_data", "file_id", "file_url"),
}

_BIG = 10**15

UNSENDABLE = Rule(
    "unsendable-text",
    "no lone surrogates, NUL or numbers that JSON lacks stand in a request",
    "RFC 8259; reports of 400 for NUL and lone surrogates in public issues",
    "each is replaced by U+FFFD, a number by its text",
)


class Fault(NamedTuple):
    """A breach inside one message: what is wrong, where, what was done, what went."""

    rule: str
    words: str
    done: str
    lost: bytes = b""
    path: Path = ()

    def violation(self, number: int) -> Violation:
        """The breach as a violation of message `number`."""
        return Violation(self.rule, number, self.words, self.path)

    def mend(self, number: int) -> Mend:
        """What was done about it, in message `number`."""
        return Mend(self.rule, number, self.done, self.lost)


class Shaped(NamedTuple):
    """The sound copy of a message, and the faults that the message had."""

    message: JsonObject
    faults: tuple[Fault, ...] = ()


class Parts(NamedTuple):
    """How a format spells content: its text part, its text-like types, its media types.

    Parts of types that another API has and this one refuses (`foreign`) are spelled anew; of types
    that nobody knows we know nothing, so they pass: a host may have its own.
    """

    text: str
    texts: Mapping[str, str]
    media: frozenset[str]
    foreign: frozenset[str]


_ANTHROPIC = frozenset(
    {
        "tool_use",
        "tool_result",
        "thinking",
        "redacted_thinking",
        "server_tool_use",
        "search_result",
        "image",
        "document",
    }
)
_IN_CHAT = frozenset({"text", "image_url", "file"})
_IN_ITEMS = frozenset({"input_text", "output_text", "input_image", "input_file", "summary_text"})

CHAT_PARTS = Parts(
    "text",
    {"text": "text", "refusal": "refusal"},
    frozenset({"image_url", "input_audio", "file"}),
    _ANTHROPIC | _IN_ITEMS,
)
INPUT_PARTS = Parts(
    "input_text",
    {"input_text": "text"},
    frozenset({"input_image", "input_file", "input_audio"}),
    _ANTHROPIC | _IN_CHAT | {"output_text", "summary_text", "refusal"},
)
OUTPUT_PARTS = Parts(
    "output_text",
    {"output_text": "text", "refusal": "refusal"},
    frozenset(),
    _ANTHROPIC | _IN_CHAT | {"input_text", "summary_text"},
)


def without_unsendable(value: Any) -> tuple[Any, list[Fault]]:
    """The value with clean text; the fault holds the whole of what was given."""
    if _is_surely_clean(value):
        return value, []
    new = cleaned(value)
    if new is value:
        return value, []
    words = "a text holds lone surrogates, NUL or numbers that JSON lacks"
    done = "lone surrogates and NUL replaced by U+FFFD"
    return new, [Fault(UNSENDABLE.name, words, done, lost_json(value))]


def _is_surely_clean(value: Any) -> bool:
    """A quick yes for almost every message; a no only says to look closer.

    All texts are looked at as one, since a look at each takes several times as long.
    """
    texts: list[str] = []
    stack = [value]
    for item in stack:  # It grows meanwhile.
        kind = type(item)
        if kind is str:
            texts.append(item)
        elif kind is dict:
            texts += item
            stack += item.values()
        elif kind is list:
            stack += item
        elif item is not None and kind is not bool and not (kind is int and -_BIG < item < _BIG):
            return False
    try:
        # Two surrogates that stand side by side in the whole make no pair there either.
        text = "".join(texts)
        return "\0" not in text and (text.isascii() or text.encode() is not None)
    except (UnicodeEncodeError, TypeError):  # TypeError: a key that is no text.
        return False


def head_faults(head: JsonObject) -> tuple[JsonObject, list[Fault]]:
    """The head of a request with clean text."""
    new, faults = without_unsendable(head)
    return new, faults


def spoken(value: Any) -> str:
    """A value as words: text as it is, nothing for null, else its JSON text."""
    if isinstance(value, str):
        return value
    return "" if value is None else lost_json(value).decode()


def is_media(part: Any) -> bool:
    """True for a part with a picture, a sound or a document, in any API's spelling."""
    return is_object(part) and text_of(part.get("type")) in MEDIA_TYPES


def is_whole_media(part: JsonObject, parts: Parts) -> bool:
    """True for a part with media that this format takes."""
    kind = text_of(part.get("type"))
    if kind not in parts.media:
        return False
    inner = [part.get(field) for field in _MEDIA_FIELDS[kind]]
    return any(is_object(value) or (isinstance(value, str) and bool(value)) for value in inner)


def sound_part(part: Any, parts: Parts) -> Any:
    """The part, itself when it is sound or of a type we do not know; else one that says the same."""
    if not is_object(part):
        return {"type": parts.text, "text": spoken(part)}
    kind = part.get("type")
    if not isinstance(kind, str) or not kind:
        text = part["text"] if isinstance(part.get("text"), str) else spoken(part)
        return {"type": parts.text, "text": text}
    if kind in parts.foreign and not is_media(part):
        text = part.get("text", part.get("refusal"))
        return {"type": parts.text, "text": text if isinstance(text, str) else spoken(part)}
    field = parts.texts.get(kind)
    if field is not None and not isinstance(part.get(field), str):
        return {**part, field: spoken(part.get(field))}
    if kind in parts.media and not is_whole_media(part, parts):
        return {"type": parts.text, "text": spoken(part)}
    return part


def sound_content(
    content: Any, parts: Parts, *, field: str = "content", text_only: str = ""
) -> tuple[Any, list[Fault]]:
    """Content that is text or a list of sound parts, and the faults of what was given.

    `text_only` names the place where nothing but text may stand ("" where media may).
    """
    if isinstance(content, str):
        return content, []
    if not is_array(content):
        said = "sent as text that says the same"
        if is_object(content) and isinstance(content.get("type"), str):
            whole, found = sound_content([content], parts, field=field, text_only=text_only)
            return whole, [
                Fault("content-parts", "content is one part", said, b"", (field,)),
                *found,
            ]
        why = f"content is {type(content).__name__}, neither text nor parts"
        return spoken(content), [Fault("content-parts", why, said, b"", (field,))]
    new: list[Any] = []
    faults: list[Fault] = []
    for at, part in enumerate(content):
        sound = sound_part(part, parts)
        rule, why, done = "content-parts", "a part is malformed", "sent as text that says the same"
        elsewhere = is_object(sound) and sound.get("type") in parts.foreign
        if is_media(sound) and (text_only or elsewhere):
            rule, done = "text-only" if text_only else "content-parts", "replaced by a label"
            why = f"{text_only} takes text only" if text_only else "this API does not take it"
            label = picture_label(why, name=_media_name(sound))
            sound = {"type": parts.text, "text": label}
        if sound is not part:
            lost = lost_json(part) if is_object(part) else b""
            faults.append(Fault(rule, why, done, lost, (field, at)))
        new.append(sound)
    return (new if faults else content), faults


def _media_name(part: JsonObject) -> str:
    kind = text_of(part.get("type"))
    if "image" in kind:
        return "a picture"
    return "a sound" if "audio" in kind else "a document"


def labelled_content(label: str, content: Any, parts: Parts) -> str | list[Any]:
    """Content of a user's message that says `label` and then everything that `content` says.

    Media of this format stays; of other APIs a label says that it was there.
    """
    if not is_array(content) or isinstance(content, str):
        text = spoken(content)
        return f"{label}\n{text}" if text else label
    return [{"type": parts.text, "text": label}, *(_for_user(part, parts) for part in content)]


def _for_user(part: Any, parts: Parts) -> Any:
    sound = sound_part(part, parts)
    kind = text_of(sound.get("type"))
    if kind == parts.text or is_whole_media(sound, parts):
        return sound
    if is_media(sound):
        label = picture_label("this API does not take it", name=_media_name(sound))
        return {"type": parts.text, "text": label}
    text = sound.get("text", sound.get("refusal"))
    return {"type": parts.text, "text": text if isinstance(text, str) else spoken(sound)}


def by_user(what: str, content: Any, parts: Parts) -> dict[str, Any]:
    """A user's message with a label and the words and media of `content`."""
    return {"role": "user", "content": labelled_content(foreign_label(what), content, parts)}


def argument_text(value: Any) -> str:
    """Arguments of a call as the text that the API wants: an object as JSON, nothing as `{}`."""
    return "{}" if value is None else spoken(value)


# -- ids ---------------------------------------------------------------------------------------


def call_key(value: Any) -> str:
    """What a call id pairs by: without the blanks around it; other values by their JSON text."""
    if isinstance(value, str):
        return value.strip()
    return "" if value is None else spoken(value)


def id_fault(value: Any, fits: Callable[[str], bool]) -> Fault | None:
    """What is wrong with the spelling of a call id, whatever else has that id."""
    if type(value) is str and value and value == value.strip() and fits(value):
        return None
    key = call_key(value)
    if not key:
        return Fault("call-id", "a call id is missing or blank", "given an id", _lost_id(value))
    if not isinstance(value, str):
        words = f"call id {key!r} is no text"
        return Fault("call-id", words, "given an id that is text", _lost_id(value))
    if key != value:
        words = f"call id {value!r} has blanks around it"
        return Fault("id-spaces", words, "blanks around a call id taken off", _lost_id(value))
    if not fits(key):
        words = f"call id {key!r} is not of the shape that the host wants"
        return Fault("id-shape", words, "call id respelled", _lost_id(value))
    return None


def _lost_id(value: Any) -> bytes:
    return b"" if value is None else lost_json(value)
