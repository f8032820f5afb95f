"""Anthropic Messages: content is a string or a list of blocks; a turn may span several messages.

Invariant: only blocks we know are read by kind; every other type is OTHER, shown as JSON, and
passes untouched.
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
from tenure.wire.mend_anthropic import mend
from tenure.wire.payload import other_lens, result_text
from tenure.wire.replies import anthropic_usage, as_dict, refuse_error, without_nulls
from tenure.wire.rules_anthropic import checker, violations
from tenure.wire.rules_anthropic_table import RULES
from tenure.wire.server_edits import applied_edits, summarizing, with_edits
from tenure.wire.splice import splice
from tenure.wire.values import (
    at_path,
    id_of,
    is_array,
    is_harness,
    is_object,
    plain_json,
    result_content,
    text_of,
    wordless,
)

# Fields that SDK objects carry as null, or for their own use, and that a request may not have.
_OUTPUT_ONLY = {
    "text": ("parsed_output",),
    "thinking": (),
    "redacted_thinking": (),
    "tool_use": (),
    "server_tool_use": (),
}


class AnthropicMessages:
    """The wire format of POST /v1/messages."""

    name = "anthropic_messages"
    key = "messages"

    def origin(self, data: JsonObject) -> Origin:
        """Who wrote a message; role user also covers tool results and the harness."""
        role = data.get("role")
        if role == "assistant":
            return Origin.ASSISTANT
        if role == "system":
            return Origin.SYSTEM
        origins = {lens.origin for lens in self.lenses(data)}
        return (origins.pop() if len(origins) == 1 else None) or Origin.USER

    def message(self, data: JsonObject, *, pinned: bool = False) -> Message:
        """The message of a dict, with its origin."""
        return Message(data, origin=self.origin(data), pinned=pinned)

    def lenses(self, data: JsonObject) -> Sequence[Lens]:
        """The blocks of a message; the text of string content is one of path ("content",)."""
        content = data.get("content")
        by_user = data.get("role") == "user"
        if isinstance(content, str):
            return [_text_lens(("content",), content, by_user=by_user)] if content else []
        if not is_array(content):
            return []
        return [_lens(("content", at), block, by_user=by_user) for at, block in enumerate(content)]

    def call(self, block: Block, message: Message) -> ToolCall:
        """The tool call that a TOOL_CALL block is, its id as spelled."""
        data = at_path(message.data, block.path)
        return ToolCall(text_of(data.get("id")), block.tool, data.get("input"))

    def splice(self, message: Message, changes: Mapping[Path, bytes | None]) -> Message | None:
        """See `Wire.splice`."""
        return splice(message, changes, self.lenses(message.data))

    def stand_in(self, block: Block, message: Message, text: str) -> bytes:
        """See `Wire.stand_in`; PlanError for block types whose content can't be plain text."""
        data = at_path(message.data, block.path)
        spoken = block.path == ("content",)
        return json_bytes(text if spoken else _saying(data, text, block))

    @property
    def rules(self) -> Mapping[str, Rule]:
        """See `rules_anthropic_table`."""
        return RULES

    def violations(
        self, messages: Sequence[JsonObject], terms: Terms | None = None
    ) -> list[Violation]:
        """See `rules_anthropic`."""
        return violations(messages, terms or Terms())

    def checker(self, terms: Terms) -> Checker:
        """See `rules_anthropic`."""
        return checker(terms)

    def mend(self, messages: Sequence[JsonObject], terms: Terms) -> Mended:
        """See `mend_anthropic`."""
        return mend(messages, terms)

    def meaning(self, data: JsonObject) -> bytes:
        """What the message means, for chain ids."""
        return meanings.anthropic(data)

    def cut(self, body: bytes) -> Body:
        """A request body cut into raw slices; RequestError when it is not one."""
        return cut_body(body, key=self.key, format=self.name, origin_of=self.origin)

    def body(self, head: JsonObject, raws: Sequence[bytes]) -> bytes:
        """The JSON text of a request from the raw JSON of its messages."""
        return render_body(head_parts(head, self.key), raws)

    def user(self, content: str | Sequence[JsonObject]) -> list[JsonObject]:
        """A user's words as a message; RequestError when empty, since the API refuses that."""
        if not content:
            raise RequestError("a user message needs some content", format=self.name)
        return [{"role": "user", "content": content if isinstance(content, str) else [*content]}]

    def results(self, results: Sequence[tuple[ToolCall, Any, bool]]) -> list[JsonObject]:
        """All results as one user message: the API wants parallel results in one turn."""
        blocks: list[JsonObject] = []
        for call, content, is_error in results:
            block = {
                "type": "tool_result",
                "tool_use_id": call.id,
                "content": result_content(content),
            }
            blocks.append({**block, "is_error": True} if is_error else block)
        return [{"role": "user", "content": blocks}] if blocks else []

    def reply(self, reply: Any) -> tuple[list[JsonObject], Usage | None]:
        """The assistant message (none if the reply is empty) and the usage; UpstreamError if bad."""
        data = as_dict(reply)
        refuse_error(data, self.name)
        content = data.get("content")
        if not is_array(content):
            raise UpstreamError("the reply has no content list", format=self.name, path="content")
        blocks = [_echo(b) for b in content if not _is_blank(b)]
        messages: list[JsonObject] = [{"role": "assistant", "content": blocks}] if blocks else []
        return messages, anthropic_usage(data.get("usage"))

    def request(self, head: JsonObject, messages: Sequence[JsonObject]) -> dict[str, Any]:
        """The arguments of `client.messages.create`."""
        return {**head, "messages": list(messages)}

    def delegating(self, head: JsonObject, wanted: Sequence[Wanted]) -> JsonObject:
        """The head that also asks for these edits of the API's own."""
        return with_edits(head, wanted)

    def summarizing(self, head: JsonObject, max_tokens: int) -> JsonObject:
        """The head of a request for a summary."""
        return summarizing(head, max_tokens)

    def applied(self, reply: JsonObject) -> Sequence[Applied]:
        """What a reply says that the API's own edits did."""
        return applied_edits(as_dict(reply))

    def tool(self, name: str, description: str, schema: JsonObject) -> JsonObject:
        """The definition of a client tool."""
        return {"name": name, "description": description, "input_schema": schema}


def _lens(path: Path, block: Any, *, by_user: bool) -> Lens:
    if not is_object(block):
        return other_lens(path, block)
    kind = text_of(block.get("type"))
    if kind == "text":
        return _text_lens(path, text_of(block.get("text")), by_user=by_user)
    if kind == "tool_use":
        call, tool = id_of(block.get("id")), text_of(block.get("name"))
        return Lens(path, BlockKind.TOOL_CALL, plain_json(block.get("input")), call, tool)
    if kind == "tool_result":
        text, media = result_text(block.get("content"))
        call, failed = id_of(block.get("tool_use_id")), block.get("is_error") is True
        return Lens(path, BlockKind.TOOL_RESULT, text, call, "", media, failed, origin=Origin.TOOL)
    if kind == "thinking":
        signed = bool(block.get("signature"))
        return Lens(path, BlockKind.THINKING, text_of(block.get("thinking")), signed=signed)
    if kind == "redacted_thinking":
        return Lens(path, BlockKind.THINKING, signed=True)
    if kind in {"image", "document"}:
        return Lens(path, BlockKind.MEDIA, media=(block,))
    return other_lens(path, block)


def _text_lens(path: Path, text: str, *, by_user: bool) -> Lens:
    origin = Origin.HARNESS if by_user and is_harness(text) else None
    return Lens(path, BlockKind.TEXT, text, origin=origin)


def _saying(data: Any, text: str, block: Block) -> JsonObject:
    kind = text_of(data.get("type")) if is_object(data) else ""
    if kind == "text":
        return {**{k: v for k, v in data.items() if k != "citations"}, "text": text}
    if kind in {"tool_result", "mcp_tool_result"}:
        return {**data, "content": text}
    if kind == "tool_use":
        return {**data, "input": meanings.spoken_input(text)}
    if block.kind in {BlockKind.THINKING, BlockKind.MEDIA}:
        # Changed reasoning is refused, so its conclusion speaks as text. Thinking has no mark.
        marks = {k: v for k, v in data.items() if k == "cache_control"}
        return {"type": "text", "text": text, **marks}
    raise wordless(block, data)


def _echo(block: Any) -> Any:
    """An output block as the API takes it back."""
    if not is_object(block):
        return block
    kind = text_of(block.get("type"))
    if kind in _OUTPUT_ONLY:
        return without_nulls(block, *_OUTPUT_ONLY[kind])
    if kind.endswith("_tool_result") and block.get("caller", ...) is None:
        return {key: value for key, value in block.items() if key != "caller"}
    return block


def _is_blank(block: Any) -> bool:
    """An empty text block, which models do send and the API refuses to take back."""
    return is_object(block) and block.get("type") == "text" and not block.get("text")
