"""OpenAI Chat Completions: tool calls beside the content, one message of role tool per result.

Invariant: fields of other vendors (`reasoning_content`, ...) pass untouched.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tenure.core.legal import Checker, Mended, Rule, Terms, Violation
from tenure.core.message import (
    Block,
    BlockKind,
    JsonObject,
    Lens,
    Message,
    Origin,
    Path,
    json_bytes,
)
from tenure.core.protocols import ToolCall
from tenure.core.server_edit import Applied, Wanted
from tenure.core.usage import Usage
from tenure.errors import RequestError, UpstreamError
from tenure.wire import meaning as meanings
from tenure.wire.cut import Body, cut_body, head_parts, render_body
from tenure.wire.mend_chat import mend
from tenure.wire.payload import media_in, other_lens, result_text
from tenure.wire.replies import as_dict, openai_usage, refuse_error, without_nulls
from tenure.wire.rules_chat import RULES, checker, violations
from tenure.wire.splice import splice
from tenure.wire.values import (
    MEDIA_TYPES,
    arguments_json,
    at_path,
    call_arguments,
    id_of,
    is_array,
    is_harness,
    is_object,
    result_content,
    text_of,
    wordless,
)

_ORIGINS = {
    "assistant": Origin.ASSISTANT,
    "tool": Origin.TOOL,
    "function": Origin.TOOL,
    "system": Origin.SYSTEM,
    "developer": Origin.SYSTEM,
}
# Text that stands beside the content of an assistant message, and what it is.
_SIDE_TEXTS = {
    "reasoning_content": BlockKind.THINKING,
    "reasoning": BlockKind.THINKING,
    "refusal": BlockKind.TEXT,
}
# Fields of a message that other lenses see, and names.
_COUNTED = frozenset(
    {*_SIDE_TEXTS, "role", "content", "name", "tool_calls", "tool_call_id", "function_call"}
)


class OpenAIChat:
    """The wire format of POST /v1/chat/completions."""

    name = "openai_chat"
    key = "messages"

    def origin(self, data: JsonObject) -> Origin:
        """Who wrote a message."""
        known = _ORIGINS.get(text_of(data.get("role")))
        if known is not None:
            return known
        origins = {lens.origin for lens in self.lenses(data)}
        return (origins.pop() if len(origins) == 1 else None) or Origin.USER

    def message(self, data: JsonObject, *, pinned: bool = False) -> Message:
        """The message of a dict, with its origin."""
        return Message(data, origin=self.origin(data), pinned=pinned)

    def lenses(self, data: JsonObject) -> Sequence[Lens]:
        """Reasoning, content, calls, in the order in which a model writes them."""
        role = text_of(data.get("role"))
        beside = _media_lenses(data)
        if role in {"tool", "function"}:
            return [_result_lens(data), *beside] if "content" in data else beside
        found = [
            Lens((field,), kind, data[field])
            for field, kind in _SIDE_TEXTS.items()
            if isinstance(data.get(field), str) and data[field]
        ]
        found += _content_lenses(data.get("content"), by_user=role == "user")
        found += beside
        calls = data.get("tool_calls")
        for at, call in enumerate(calls if is_array(calls) else ()):
            found.append(_call_lens(("tool_calls", at), call))
        legacy = data.get("function_call")
        if is_object(legacy):
            text = arguments_json(legacy.get("arguments"))
            tool = text_of(legacy.get("name"))
            found.append(
                Lens(("function_call",), BlockKind.TOOL_CALL, text, "", tool, paired=False)
            )
        return found

    def call(self, block: Block, message: Message) -> ToolCall:
        """The tool call that a TOOL_CALL block is; arguments that are no JSON stay a string."""
        data = at_path(message.data, block.path)
        custom = data.get("custom")
        if is_object(custom):
            given: Any = meanings.FreeForm(text_of(custom.get("input")))
        else:
            function = data.get("function", data)
            given = meanings.parsed_arguments(
                function.get("arguments") if is_object(function) else None
            )
        return ToolCall(text_of(data.get("id")), block.tool, given)

    def splice(self, message: Message, changes: Mapping[Path, bytes | None]) -> Message | None:
        """See `Wire.splice`."""
        return splice(message, changes, self.lenses(message.data))

    def stand_in(self, block: Block, message: Message, text: str) -> bytes:
        """See `Wire.stand_in`; a call keeps its name and says the text in its arguments."""
        data = at_path(message.data, block.path)
        if block.path == ("content",) or isinstance(data, str):
            return json_bytes(text)
        return json_bytes(_saying(data, text, block))

    @property
    def rules(self) -> Mapping[str, Rule]:
        """See `Wire.rules` and `rules_chat`."""
        return RULES

    def violations(
        self, messages: Sequence[JsonObject], terms: Terms | None = None
    ) -> list[Violation]:
        """See `Wire.violations` and `rules_chat`."""
        return violations(messages, terms)

    def checker(self, terms: Terms) -> Checker:
        """See `Wire.checker`."""
        return checker(terms)

    def mend(self, messages: Sequence[JsonObject], terms: Terms) -> Mended:
        """See `Wire.mend` and `mend_chat`."""
        return mend(messages, terms)

    def meaning(self, data: JsonObject) -> bytes:
        """What the message means, for chain ids."""
        return meanings.chat(data)

    def cut(self, body: bytes) -> Body:
        """A request body cut into raw slices; RequestError when it is not one."""
        return cut_body(body, key=self.key, format=self.name, origin_of=self.origin)

    def body(self, head: JsonObject, raws: Sequence[bytes]) -> bytes:
        """The JSON text of a request from the raw JSON of its messages."""
        rest, first = _head(head)
        raws = [*(json_bytes(m) for m in first), *raws]
        return render_body(head_parts(rest, self.key), raws)

    def user(self, content: str | Sequence[JsonObject]) -> list[JsonObject]:
        """A user's words as a message; RequestError when empty."""
        if not content:
            raise RequestError("a user message needs some content", format=self.name)
        return [{"role": "user", "content": content if isinstance(content, str) else [*content]}]

    def results(self, results: Sequence[tuple[ToolCall, Any, bool]]) -> list[JsonObject]:
        """One message of role tool per result. The API has no error flag: the text says it."""
        return [
            {
                "role": "tool",
                "tool_call_id": call.id,
                "content": meanings.flagged(result_content(content), is_error=is_error),
            }
            for call, content, is_error in results
        ]

    def reply(self, reply: Any) -> tuple[list[JsonObject], Usage | None]:
        """The first choice's message (none if it is empty) and the usage; UpstreamError if bad."""
        data = as_dict(reply)
        refuse_error(data, self.name)
        choices = data.get("choices")
        if not is_array(choices) or not choices or not is_object(choices[0]):
            raise UpstreamError("the reply has no choice", format=self.name, path="choices")
        message = choices[0].get("message")
        if not is_object(message):
            raise UpstreamError(
                "the reply's first choice has no message", format=self.name, path="choices.0"
            )
        echo = _echo(message)
        kept: list[JsonObject] = [echo] if self.lenses(echo) else []
        return kept, openai_usage(data.get("usage"))

    def request(self, head: JsonObject, messages: Sequence[JsonObject]) -> dict[str, Any]:
        """The arguments of `client.chat.completions.create`.

        `system` in the head becomes the first message, `max_tokens` (which newer models refuse)
        becomes `max_completion_tokens`.
        """
        rest, first = _head(head)
        return {**rest, "messages": [*first, *messages]}

    def delegating(self, head: JsonObject, wanted: Sequence[Wanted]) -> JsonObject:  # noqa: ARG002
        """The head: this API has no edits of its own."""
        return head

    def summarizing(self, head: JsonObject, max_tokens: int) -> JsonObject:  # noqa: ARG002
        """The head: no summary is asked of this API."""
        return head

    def applied(self, reply: JsonObject) -> Sequence[Applied]:  # noqa: ARG002
        """Nothing."""
        return ()

    def tool(self, name: str, description: str, schema: JsonObject) -> JsonObject:
        """The definition of a client tool."""
        function = {"name": name, "description": description, "parameters": schema}
        return {"type": "function", "function": function}


def _head(head: JsonObject) -> tuple[dict[str, Any], list[JsonObject]]:
    rest = {k: v for k, v in head.items() if k not in {"system", "max_tokens"}}
    if head.get("max_tokens") is not None:
        rest.setdefault("max_completion_tokens", head["max_tokens"])
    system = head.get("system")
    return rest, [{"role": "system", "content": system}] if system else []


def _content_lenses(content: Any, *, by_user: bool) -> list[Lens]:
    if isinstance(content, str):
        return [_text_lens(("content",), content, by_user=by_user)] if content else []
    if not is_array(content):
        return []
    return [_part_lens(("content", at), part, by_user=by_user) for at, part in enumerate(content)]


def _part_lens(path: Path, part: Any, *, by_user: bool) -> Lens:
    if is_object(part):
        kind = text_of(part.get("type"))
        if kind in MEDIA_TYPES:
            return Lens(path, BlockKind.MEDIA, media=(part,))
        if kind in {"text", "refusal"} and isinstance(part.get(kind), str):
            return _text_lens(path, part[kind], by_user=by_user)
    return other_lens(path, part)


def _text_lens(path: Path, text: str, *, by_user: bool) -> Lens:
    origin = Origin.HARNESS if by_user and is_harness(text) else None
    return Lens(path, BlockKind.TEXT, text, origin=origin)


def _media_lenses(data: JsonObject) -> list[Lens]:
    """What gateways put beside the content: pictures a model made (`images`), a spoken reply."""
    found: list[Lens] = []
    for field, value in data.items():
        if field in _COUNTED:
            continue
        media = media_in(value, field)
        if field == "audio" and is_object(value) and not media:
            # Named by its id: the API still has it.
            media = [{"type": "input_audio", "input_audio": value}]
        if media:
            found.append(Lens((field,), BlockKind.OTHER, media=tuple(media)))
    return found


def _result_lens(data: JsonObject) -> Lens:
    text, media = result_text(data.get("content"))
    call, tool = id_of(data.get("tool_call_id")), text_of(data.get("name"))
    return Lens(
        ("content",), BlockKind.TOOL_RESULT, text, call, tool, media,
        origin=Origin.TOOL, paired=data.get("role") != "function",
    )  # fmt: skip


def _call_lens(path: Path, call: Any) -> Lens:
    if not is_object(call):
        return other_lens(path, call)
    custom, function = call.get("custom"), call.get("function")
    if is_object(custom):
        text, tool = text_of(custom.get("input")), text_of(custom.get("name"))
    elif is_object(function):
        text, tool = arguments_json(function.get("arguments")), text_of(function.get("name"))
    else:
        return other_lens(path, call)
    return Lens(path, BlockKind.TOOL_CALL, text, id_of(call.get("id")), tool)


def _saying(data: Any, text: str, block: Block) -> Any:
    if block.path == ("function_call",):
        return {**data, "arguments": call_arguments(text)}
    if block.kind is BlockKind.TOOL_CALL and is_object(data.get("custom")):
        return {**data, "custom": {**data["custom"], "input": text}}
    if block.kind is BlockKind.TOOL_CALL:
        return {**data, "function": {**data.get("function", {}), "arguments": call_arguments(text)}}
    if block.kind is BlockKind.MEDIA:
        marks = {k: v for k, v in data.items() if k == "prompt_cache_breakpoint"}
        return {"type": "text", "text": text, **marks}
    if block.kind is BlockKind.TEXT:
        return {**data, data["type"]: text}
    raise wordless(block, data)


def _echo(message: JsonObject) -> dict[str, Any]:
    """An output message as the API takes it back."""
    echo = without_nulls(message, "annotations", "parsed")
    if is_object(echo.get("audio")):
        echo["audio"] = {"id": echo["audio"].get("id")}
    if is_array(echo.get("tool_calls")):
        echo["tool_calls"] = [_echo_call(c) for c in echo["tool_calls"]]
    if not echo.get("tool_calls", True):
        del echo["tool_calls"]
    if "content" not in echo and "content" in message:
        echo = {key: echo.get(key) for key in message if key in echo or key == "content"}
    return {"role": "assistant", **echo} if "role" not in echo else echo


def _echo_call(call: Any) -> Any:
    if not is_object(call):
        return call
    echo = without_nulls(call, "index")
    if is_object(echo.get("function")):
        echo["function"] = without_nulls(echo["function"], "parsed_arguments")
    return echo
