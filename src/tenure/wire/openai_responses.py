"""OpenAI Responses: the input is a list of items; each item is one message here.

Invariant: calls and outputs pair on `call_id`, never on `id`. Items we do not know are OTHER.
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
from tenure.wire.mend_responses import mend
from tenure.wire.payload import other_lens, result_text
from tenure.wire.replies import as_dict, openai_usage, refuse_error, without_nulls
from tenure.wire.rules_responses import RULES, checker, violations
from tenure.wire.splice import splice
from tenure.wire.values import (
    MEDIA_TYPES,
    arguments_json,
    at_path,
    call_arguments,
    call_of_output,
    id_of,
    is_array,
    is_harness,
    is_object,
    result_content,
    text_of,
    wordless,
)

_ROLES = {"assistant": Origin.ASSISTANT, "system": Origin.SYSTEM, "developer": Origin.SYSTEM}
_CALL_FIELDS = {"function_call": "arguments", "custom_tool_call": "input"}
_TEXT_OUTPUTS = frozenset(
    {
        "function_call_output",
        "custom_tool_call_output",
        "local_shell_call_output",
        "apply_patch_call_output",
    }
)
# Fields of output items that are not taken back: null fields of SDK dumps, and these.
_OUTPUT_ONLY: dict[str, tuple[str, ...]] = {
    "message": ("status",),
    "function_call": ("status", "parsed_arguments"),
    "custom_tool_call": ("status",),
}


class OpenAIResponses:
    """The wire format of POST /v1/responses."""

    name = "openai_responses"
    key = "input"

    def origin(self, data: JsonObject) -> Origin:
        """Who wrote an item: by role where it has one, else outputs are the tool's."""
        role, kind = data.get("role"), text_of(data.get("type"))
        if text_of(role) in _ROLES:
            return _ROLES[text_of(role)]
        if role is None and kind not in {"", "message"}:
            return Origin.TOOL if kind.endswith("_output") else Origin.ASSISTANT
        origins = {lens.origin for lens in self.lenses(data)}
        return (origins.pop() if len(origins) == 1 else None) or Origin.USER

    def message(self, data: JsonObject, *, pinned: bool = False) -> Message:
        """The message of an item, with its origin."""
        return Message(data, origin=self.origin(data), pinned=pinned)

    def lenses(self, data: JsonObject) -> Sequence[Lens]:
        """The blocks of an item: the parts of a message, else the item itself."""
        kind = text_of(data.get("type")) or "message"
        if kind == "message" and "role" in data:
            return _content_lenses(data.get("content"), by_user=data["role"] == "user")
        if kind in _CALL_FIELDS:
            field = _CALL_FIELDS[kind]
            given = data.get(field)
            text = arguments_json(given) if field == "arguments" else text_of(given)
            call, tool = id_of(data.get("call_id")), text_of(data.get("name"))
            return [Lens((field,), BlockKind.TOOL_CALL, text, call, tool)] if field in data else []
        if kind in _TEXT_OUTPUTS and "output" in data:
            text, media = result_text(data["output"])
            call = id_of(call_of_output(data))
            return [
                Lens(("output",), BlockKind.TOOL_RESULT, text, call, "", media, origin=Origin.TOOL)
            ]
        if kind == "reasoning":
            signed = bool(data.get("encrypted_content") or data.get("id"))
            return [Lens((), BlockKind.THINKING, _reasoning_text(data), signed=signed)]
        return [other_lens((), data)]

    def call(self, block: Block, message: Message) -> ToolCall:
        """The tool call that a TOOL_CALL block is; arguments that are no JSON stay a string."""
        given = at_path(message.data, block.path)
        if block.path == ("input",):
            given = meanings.FreeForm(text_of(given))
        return ToolCall(
            text_of(message.data.get("call_id")), block.tool, meanings.parsed_arguments(given)
        )

    def splice(self, message: Message, changes: Mapping[Path, bytes | None]) -> Message | None:
        """See `Wire.splice`. A reasoning item is whole, so taking out its block takes it out."""
        return splice(message, changes, self.lenses(message.data))

    def stand_in(self, block: Block, message: Message, text: str) -> bytes:
        """See `Wire.stand_in`; reasoning becomes an assistant message, since it can't be changed."""
        data = at_path(message.data, block.path)
        if block.path == ("arguments",):
            return json_bytes(call_arguments(text))
        if block.path in {("input",), ("output",), ("content",)}:
            return json_bytes(text)
        return json_bytes(_saying(data, text, block, message.origin))

    @property
    def rules(self) -> Mapping[str, Rule]:
        """See `Wire.rules` and `rules_responses`."""
        return RULES

    def violations(
        self, messages: Sequence[JsonObject], terms: Terms | None = None
    ) -> list[Violation]:
        """See `Wire.violations` and `rules_responses`."""
        return violations(messages, terms)

    def checker(self, terms: Terms) -> Checker:
        """See `Wire.checker`."""
        return checker(terms)

    def mend(self, messages: Sequence[JsonObject], terms: Terms) -> Mended:
        """See `Wire.mend` and `mend_responses`."""
        return mend(messages, terms)

    def meaning(self, data: JsonObject) -> bytes:
        """What the item means, for chain ids."""
        return meanings.responses(data)

    def cut(self, body: bytes) -> Body:
        """A request body cut into raw slices; RequestError when it is not one."""
        return cut_body(body, key=self.key, format=self.name, origin_of=self.origin)

    def body(self, head: JsonObject, raws: Sequence[bytes]) -> bytes:
        """The JSON text of a request from the raw JSON of its messages."""
        return render_body(head_parts(_head(head), self.key), raws)

    def user(self, content: str | Sequence[JsonObject]) -> list[JsonObject]:
        """A user's words as an item; RequestError when empty."""
        if not content:
            raise RequestError("a user message needs some content", format=self.name)
        return [{"role": "user", "content": content if isinstance(content, str) else [*content]}]

    def results(self, results: Sequence[tuple[ToolCall, Any, bool]]) -> list[JsonObject]:
        """One output item per result. The API has no error flag: the text says it."""
        return [
            {
                "type": "custom_tool_call_output"
                if isinstance(call.input, meanings.FreeForm)
                else "function_call_output",
                "call_id": call.id,
                "output": meanings.flagged(result_content(content), is_error=is_error),
            }
            for call, content, is_error in results
        ]

    def reply(self, reply: Any) -> tuple[list[JsonObject], Usage | None]:
        """The output items as the API takes them back, and the usage; UpstreamError if bad."""
        data = as_dict(reply)
        refuse_error(data, self.name)
        output = data.get("output")
        if not is_array(output) or not all(is_object(item) for item in output):
            raise UpstreamError("the reply has no output items", format=self.name, path="output")
        return [_echo(item) for item in output], openai_usage(data.get("usage"))

    def request(self, head: JsonObject, messages: Sequence[JsonObject]) -> dict[str, Any]:
        """The arguments of `client.responses.create`; `system` is called instructions there."""
        return {**_head(head), "input": list(messages)}

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
        return {
            "type": "function",
            "name": name,
            "description": description,
            "parameters": schema,
            "strict": False,
        }


def _head(head: JsonObject) -> dict[str, Any]:
    names = {"system": "instructions", "max_tokens": "max_output_tokens"}
    return {
        names.get(key, key): value
        for key, value in head.items()
        if key not in names or value is not None
    }


def _content_lenses(content: Any, *, by_user: bool) -> list[Lens]:
    if isinstance(content, str):
        return [_text_lens(("content",), content, by_user=by_user)] if content else []
    if not is_array(content):
        return []
    return [_part_lens(("content", at), part, by_user=by_user) for at, part in enumerate(content)]


def _part_lens(path: Path, part: Any, *, by_user: bool) -> Lens:
    if is_object(part):
        if text_of(part.get("type")) in MEDIA_TYPES:
            return Lens(path, BlockKind.MEDIA, media=(part,))
        for field in ("text", "refusal"):
            if isinstance(part.get(field), str):
                return _text_lens(path, part[field], by_user=by_user)
    return other_lens(path, part)


def _text_lens(path: Path, text: str, *, by_user: bool) -> Lens:
    origin = Origin.HARNESS if by_user and is_harness(text) else None
    return Lens(path, BlockKind.TEXT, text, origin=origin)


def _reasoning_text(data: JsonObject) -> str:
    parts: list[Any] = []
    for field in ("summary", "content"):
        value = data.get(field)
        parts += value if is_array(value) else ()
    return "\n".join(text_of(p.get("text")) for p in parts if is_object(p))


def _saying(data: JsonObject, text: str, block: Block, origin: Origin) -> JsonObject:
    if block.kind is BlockKind.THINKING:
        return {"role": "assistant", "content": text}
    if block.kind is BlockKind.TEXT:
        field = "text" if isinstance(data.get("text"), str) else "refusal"
        new = {**data, field: text}
        return {**new, "annotations": []} if "annotations" in data else new
    if block.kind is BlockKind.MEDIA:
        kind = "output_text" if origin is Origin.ASSISTANT else "input_text"
        marks = {k: v for k, v in data.items() if k == "prompt_cache_breakpoint"}
        return {"type": kind, "text": text, **marks}
    raise wordless(block, data)


def _echo(item: JsonObject) -> JsonObject:
    """An output item as the API takes it back: `status` and the SDK's own fields left out."""
    kind = text_of(item.get("type"))
    if kind == "reasoning":
        # Every field but these is taken back as it came; `summary: []` must stay.
        return {
            key: value
            for key, value in item.items()
            if key != "status" and not (key == "content" and value is None)
        }
    if kind not in _OUTPUT_ONLY:
        return item
    echo = without_nulls(item, *_OUTPUT_ONLY[kind])
    if is_array(echo.get("content")):
        echo["content"] = [
            without_nulls(p, "parsed") if is_object(p) else p for p in echo["content"]
        ]
    return echo
