"""The rules of Anthropic Messages, by name.

Invariant: names are stable; a rule without a mend has none because no single one is right.
Sources: the platform's documentation as of November 2026, anthropic 2.14.0, and public threads that
show the API's own 400 texts.
"""

from __future__ import annotations

from collections.abc import Mapping

from tenure.core.legal import Rule

_TOOLS = "platform docs, tool use: handle tool calls"
_SERVER = "platform docs, server tools: pause_turn"
_SYSTEM = "platform docs, mid-conversation system messages"
_CACHE = "platform docs, prompt caching"
_THINK = "platform docs, extended thinking"
_VISION = "platform docs, vision"
_VERSION = "platform docs, migration to 2026-10-21"
_COMPACT = "platform docs, compaction on demand"
_SHAPE = "anthropic 2.14.0 types/message_param.py"
_KNOWN = "the API's 400 texts, as public threads show them"

_ROWS = (
    Rule("message-shape", "a message is an object with a known role and content of text or blocks",
         _SHAPE, "the nearest message that says the same words"),
    Rule("block-shape", "a block is an object of a type, with the fields that the type needs",
         _SHAPE, "the same words as text"),
    Rule("unsendable-text", "no lone surrogates and NUL in text, no numbers that JSON lacks",
         "RFC 8259, and openai and anthropic 400s on invalid unicode", "U+FFFD in their place"),
    Rule("misplaced-block", "each type of block stands in messages of one role", _TOOLS,
         "the same words as labelled text"),
    Rule("first-message", "the first message is the user's", "platform docs, errors",
         "a labelled user message before it"),
    Rule("empty-content", "a message has content", _KNOWN, "the message is left out"),
    Rule("empty-text", "a text block has more than blanks", _KNOWN, "the block is left out"),
    Rule("trailing-space", "an assistant message at the end does not end in blanks", _KNOWN,
         "the blanks are cut off"),
    Rule("prefill", "newer models take no assistant message at the end",
         "platform docs, prefill; Claude 4.6 and later"),
    Rule("alternation", "this host wants user and assistant in turn", "Bedrock, Converse",
         "neighbours of one role are merged"),
    Rule("duplicate-call", "the calls of a turn have different ids", _TOOLS,
         "a repeated block is left out, another call gets another id"),
    Rule("repeated-id", "no two calls of a request share an id", _KNOWN,
         "the later pair gets another id"),
    Rule("call-id", "a call id has letters, digits, _ and - only, and the shape the host wants",
         "HKUDS/nanobot#4356", "another id, on both sides"),
    Rule("call-name", "a tool name has letters, digits, _ and - only", _KNOWN,
         "other characters become _"),
    Rule("tool-input", "the input of a call is an object", "anthropic 2.14.0 tool_use_block_param",
         "text is parsed, or put in an object"),
    Rule("unanswered-call", "every call is answered in the turn right after it", _TOOLS,
         "its own result is moved there, else one says that none was recorded"),
    Rule("pending-call", "a call that waits on purpose is answered before anything else is said",
         _TOOLS),
    Rule("open-loop", "the calls at the end are answered before the next request", _TOOLS),
    Rule("orphan-result", "every result has its call in the turn before it", _TOOLS,
         "the same words as labelled text"),
    Rule("duplicate-result", "a call has one result", _TOOLS, "the same words as labelled text"),
    Rule("results-first", "results stand before other content of their turn", _TOOLS,
         "they are moved to its front"),
    Rule("server-call-pending", "nothing but results follows a server tool call without a result",
         _SERVER, "the unfinished call is left out"),
    Rule("server-result-alone", "a server tool's result follows its call in the same turn", _SERVER,
         "the result is left out"),
    Rule("server-call-repeated", "no two server tool calls share an id", _SERVER,
         "the later pair is left out"),
    Rule("server-call-id", "ids of server tools are spelled alike, those of the API as srvtoolu_...",
         _KNOWN, "another id, on both sides"),
    Rule("thinking-last", "an assistant turn does not end in thinking", _KNOWN,
         "that thinking is left out"),
    Rule("thinking-first", "with a thinking budget, the assistant turn of the last tool loop begins "
         "with thinking", _KNOWN, "no thinking is asked for in this request"),
    Rule("unsigned-thinking", "a thinking block has a signature", _THINK, "it is left out"),
    Rule("bad-signature", "a signature, and redacted thinking, is base64", _THINK,
         "the block is left out"),
    Rule("foreign-thinking", "thinking of another provider's model is not sent", _THINK,
         "it is left out"),
    Rule("system-place", "a system message stands between a user's turn and an assistant's",
         _SYSTEM, "it is moved behind the next user turn, or a labelled one is put before it"),
    Rule("system-model", "the model knows system messages among the messages", _SYSTEM,
         "it becomes a labelled user message"),
    Rule("system-row", "no two system messages stand in a row", _SYSTEM, "they become one"),
    Rule("system-fields", "clear_at and output_config stand in system messages, and say what they may",
         "anthropic 2.14.0 beta_system_message_param", "the field is taken off"),
    Rule("clear-at-mark", "a message with clear_at has no cache mark", _SYSTEM,
         "the mark is taken off"),
    Rule("document-place", "documents stand in user messages", _VERSION,
         "its text, or a label"),
    Rule("citations-place", "the user's text has no citations", _VERSION, "they are left out"),
    Rule("mark-shape", "a cache mark is ephemeral, for 5m or 1h", _CACHE,
         "the mark is taken off, or keeps no lifetime"),
    Rule("mark-place", "no cache mark on thinking or empty text", _CACHE,
         "it goes to the block before"),
    Rule("mark-order", "marks of 1h stand before marks of 5m", _CACHE, "the later one lives 5m"),
    Rule("automatic-mark", "the last block has no other lifetime than the automatic mark", _CACHE,
         "its own mark is taken off"),
    Rule("too-many-marks", "a request has at most 4 cache marks", _CACHE,
         "the earliest in the messages are taken off"),
    Rule("picture-data", "a base64 picture is one, of the type it claims", _VISION,
         "the right type, or a label"),
    Rule("picture-size", "no side of a picture is too long", _VISION, "a label"),
    Rule("wide-picture", "in a request with many pictures the sides are shorter still", _VISION,
         "a label"),
    Rule("too-many-pictures", "a request has no more pictures than the model takes", _VISION,
         "labels for the oldest"),
    Rule("compaction-place", "a signed compaction block is the first of the conversation", _COMPACT),
    Rule("compaction-single", "beside a signed compaction block there is no other", _COMPACT),
    Rule("compaction-shape", "a compaction block comes back as it was: non-empty or null", _COMPACT),
)  # fmt: skip

RULES: Mapping[str, Rule] = {rule.name: rule for rule in _ROWS}
"""Every rule, in the order in which a reader would want them explained."""
