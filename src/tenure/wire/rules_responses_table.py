"""The rules of OpenAI Responses, by name.

Invariant: names are stable; each says where the rule is written down.
"""

from __future__ import annotations

from collections.abc import Mapping

from tenure.core.legal import Rule
from tenure.wire.rules_responses_shape import LONGEST_ID
from tenure.wire.shape import UNSENDABLE

_PARAMS = "openai 3.57.0, types/responses/response_input_item_param.py"
_NO_OUTPUT = '400 "No tool output found for function call call_..."'
_NO_CALL = '400 "No tool call found for function call output ..."'
_NAME = '400 "string does not match pattern. Expected a string that matches ..."'
_HOSTS = "reports of hosts that refuse other ids, public issues up to August 2026"
_REASONING = "openai 3.57.0, types/responses/response_reasoning_item_param.py"
_FOLLOWED = (
    "400 \"Item 'rs_..' of type 'reasoning' was provided without its required following item\""
)
_PRECEDED = "400 \"Item 'fc_..' of type 'function_call' was provided without its required 'reasoning' item\""
_WORDS = "an assistant's or a user's labelled text"

RULES: Mapping[str, Rule] = {
    rule.name: rule
    for rule in (
        UNSENDABLE,
        Rule("item-object", "an item is an object with a type or a role", _PARAMS, _WORDS),
        Rule("role-known", "a message has one of the four roles", _PARAMS, _WORDS),
        Rule("content-parts", "content is text or a list of parts", _PARAMS, "parts that say so"),
        Rule("text-only", "an assistant's message holds no media", _PARAMS, "a label in its place"),
        Rule("empty-content", "messages and outputs have content", _PARAMS, "empty text"),
        Rule("broken-call", "a call names its tool", _PARAMS, "an assistant's labelled text"),
        Rule("arguments-text", "arguments of a call are text", _PARAMS, "the JSON text of them"),
        Rule("reasoning-summary", "reasoning has a list as summary", _REASONING, "summary []"),
        Rule(
            "reasoning-size",
            "sealed reasoning is no longer than 10,485,760 characters",
            "providers.md 3.2 [issue]",
            "left out, kept under a handle",
        ),
        Rule(
            "compaction-size",
            "a compaction item is no longer than 10,485,760 characters",
            "providers.md 3.2 [issue]; it is sealed, so nothing can be done to it",
        ),
        Rule(
            "sealed-text", "sealed reasoning is text", _REASONING, "left out, kept under a handle"
        ),
        Rule(
            "empty-item",
            "a compaction item holds its sealed text, a reference an id",
            _PARAMS,
            "left out, kept under a handle",
        ),
        Rule(
            "call-name", "a tool name has letters, digits, _ and - only", _NAME, "others become _"
        ),
        Rule(
            "breakpoint",
            "a cache breakpoint is explicit, for 30m or 12h, and the model knows it",
            "openai 3.57.0, response_input_text_param; providers.md 3.2",
            "taken off, or its lifetime",
        ),
        Rule(
            "part-type",
            "a part is of a type that the API has; a host may have others",
            '400 "Invalid value: ... Supported values are: ..."',
            fatal=False,
        ),
        Rule("call-id", "a call and its output have an id that is text", _PARAMS, "a new id"),
        Rule("id-spaces", "no blanks stand around a call id", _HOSTS, "taken off on both sides"),
        Rule(
            "id-shape",
            f"a call id has at most {LONGEST_ID} characters and the shape that the host wants",
            f'400 "Expected a string with maximum length {LONGEST_ID}"; {_HOSTS}',
            "a new id",
        ),
        Rule("duplicate-call", "no two waiting calls share an id", _NO_OUTPUT, "a new id"),
        Rule(
            "reused-id",
            "no two calls of a conversation share an id",
            "reports of relays that count from call_0 in every turn, public issues",
            "the later call and its output get a new id",
            fatal=False,
        ),
        Rule("item-id", "an item id is text", _PARAMS, "left out, or its JSON text"),
        Rule(
            "duplicate-item",
            "no two items share an id",
            '400 "Duplicate item found with id ..."',
            "the later one loses its id or gets another; reasoning, references and copies go",
        ),
        Rule(
            "unanswered-call",
            "every call has its output behind it",
            _NO_OUTPUT,
            "an output that says that none was recorded, or labelled text",
        ),
        Rule("open-loop", "the calls at the end are answered before the next request", _NO_OUTPUT),
        Rule("pending-call", "a call that waits on purpose is answered first", _NO_OUTPUT),
        Rule("orphan-result", "every output has its call before it", _NO_CALL, "labelled text"),
        Rule("result-before-call", "no output stands before its call", _NO_CALL, "labelled text"),
        Rule("duplicate-result", "a call is answered once", _NO_CALL, "labelled text"),
        Rule(
            "output-type",
            "a custom call is answered by a custom output, a function call by its own",
            _NO_OUTPUT,
            "the type of the call",
        ),
        Rule(
            "reasoning-alone",
            "the item that reasoning led to stands behind it",
            _FOLLOWED,
            "left out, kept under a handle",
        ),
        Rule(
            "item-id-alone",
            "a model's item with an id has its reasoning before it",
            _PRECEDED + "; whether there was some can't be seen",
            "the id left out, call_id stays",
            fatal=False,
        ),
        Rule(
            "trigger-not-last",
            "a compaction trigger is the last item",
            _PARAMS,
            "all but the last one left out",
        ),
    )
}
