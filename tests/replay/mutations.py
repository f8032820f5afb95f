"""Pairs of consecutive requests in which one known thing happened to the prefix.

Invariant: the same seed gives the same pairs; every request is one that the provider accepts, long
enough to be cached, and the second one continues the first by a reply and a question. What a pair
expects is written down by what makes it, never read off the code under test.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

Body: TypeAlias = dict[str, Any]

WIRES = ("anthropic_messages", "openai_chat", "openai_responses")
MODELS = {
    "anthropic_messages": ("claude-opus-5-5", "claude-sonnet-5-5"),
    "openai_chat": ("gpt-6.1-sol", "gpt-6.1-terra"),
    "openai_responses": ("gpt-6.1-sol", "gpt-6.1-terra"),
}
PATHS = {
    "anthropic_messages": "/v1/messages",
    "openai_chat": "/v1/chat/completions",
    "openai_responses": "/v1/responses",
}
WORDS = (
    "harbour lantern meadow copper violin orchard granite ribbon thunder maple anchor pepper window "
    "castle feather marble saddle timber walnut canyon ember falcon garnet hollow island jasmine "
    "kettle ladder magnet needle oyster parcel quarry rocket shadow tunnel umbrella valley whistle"
).split()


@dataclass(frozen=True)
class Pair:
    """Two requests in a row, and what lint must say of them.

    `rule` is the name of the one cause, "" when there is none; `costs` whether the provider's cache
    misses by it; `where` begins the path that must be named.
    """

    kind: str
    wire: str
    earlier: Body
    later: Body
    rule: str
    costs: bool
    where: str = ""


@dataclass
class Talk:
    """A conversation of one wire format, in pieces that a mutation can get hold of.

    `exchanges` are runs of messages that belong together and can go or move as a whole.
    """

    wire: str
    rng: random.Random
    number: int
    model: str = ""
    system: list[str] = field(default_factory=list)
    tools: list[Body] = field(default_factory=list)
    exchanges: list[list[Body]] = field(default_factory=list)
    last: str = ""
    extra: Body = field(default_factory=dict)
    mark_at: int = 0
    blocks: bool = True

    @staticmethod
    def new(wire: str, rng: random.Random, number: int) -> Talk:
        talk = Talk(wire, rng, number, MODELS[wire][0])
        talk.system = [f"You are helper number {number} of the depot. {talk.prose(300)}"]
        talk.tools = [
            talk.tool(name) for name in ("read_file", "search", "run_tests", "write_file")
        ]
        for _ in range(rng.randint(4, 6)):
            talk.exchanges.append([talk.user(talk.prose(120)), talk.assistant(talk.prose(120))])
        talk.exchanges.insert(rng.randint(1, 3), talk.errand())
        talk.last = talk.prose(160)
        return talk

    def prose(self, words: int) -> str:
        """Words without digits, none of the texts like another."""
        return " ".join(self.rng.choice(WORDS) for _ in range(words)) + "."

    def tool(self, name: str) -> Body:
        schema: Body = {
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": self.prose(6)},
                "lines": {"type": "integer", "description": self.prose(6)},
            },
            "required": ["path"],
        }
        text = self.prose(12)
        match self.wire:
            case "anthropic_messages":
                return {"name": name, "description": text, "input_schema": schema}
            case "openai_chat":
                inner = {"name": name, "description": text, "parameters": schema}
                return {"type": "function", "function": inner}
            case _:
                return {
                    "type": "function",
                    "name": name,
                    "description": text,
                    "parameters": schema,
                    "strict": False,
                }

    def user(self, text: str) -> Body:
        return {"role": "user", "content": self._content(text, "input_text")}

    def assistant(self, text: str) -> Body:
        if self.wire == "openai_chat":
            return {"role": "assistant", "content": text}
        return {"role": "assistant", "content": self._content(text, "output_text")}

    def errand(self) -> list[Body]:
        """A question, a call, its result and an answer."""
        middle: list[Body]
        call, result, name = f"call_{self.rng.getrandbits(40):x}", self.prose(120), "read_file"
        path = f"src/{self.rng.choice(WORDS)}.py"
        match self.wire:
            case "anthropic_messages":
                use = {"type": "tool_use", "id": call, "name": name, "input": {"path": path}}
                back = {"type": "tool_result", "tool_use_id": call, "content": result}
                middle = [
                    {"role": "assistant", "content": [use]},
                    {"role": "user", "content": [back]},
                ]
            case "openai_chat":
                function = {"name": name, "arguments": f'{{"path":"{path}"}}'}
                asked = {"id": call, "type": "function", "function": function}
                middle = [
                    {"role": "assistant", "content": None, "tool_calls": [asked]},
                    {"role": "tool", "tool_call_id": call, "content": result},
                ]
            case _:
                arguments = f'{{"path":"{path}"}}'
                middle = [
                    {
                        "type": "function_call",
                        "call_id": call,
                        "name": name,
                        "arguments": arguments,
                    },
                    {"type": "function_call_output", "call_id": call, "output": result},
                ]
        return [self.user(self.prose(60)), *middle, self.assistant(self.prose(60))]

    def body(self, *more: str) -> Body:
        """The request; `more` are the reply and the question that came since."""
        said = [self.user(self.last)]
        for at, text in enumerate(more):
            said.append(self.user(text) if at % 2 else self.assistant(text))
        messages = [message for run in self.exchanges for message in run] + said
        match self.wire:
            case "anthropic_messages":
                system: list[Body] = [{"type": "text", "text": text} for text in self.system]
                system[-1]["cache_control"] = {"type": "ephemeral"}
                made: Body = {
                    "model": self.model,
                    "max_tokens": 1000,
                    "cache_control": {"type": "ephemeral"},
                    "tools": self.tools,
                    "system": system,
                    "messages": messages,
                }
            case "openai_chat":
                heads = [{"role": "system", "content": "\n".join(self.system)}]
                made = {
                    "model": self.model,
                    "messages": [*heads, *messages],
                    "tools": self.tools,
                }
            case _:
                made = {
                    "model": self.model,
                    "instructions": "\n".join(self.system),
                    "tools": self.tools,
                    "input": messages,
                    "store": False,
                }
        return copy.deepcopy({**made, **self.extra})

    def _content(self, text: str, spelling: str) -> Any:
        kind = "text" if self.wire != "openai_responses" else spelling
        return [{"type": kind, "text": text}] if self.blocks else text


Mutation: TypeAlias = Callable[[Talk], "Expected"]


@dataclass(frozen=True)
class Expected:
    rule: str
    costs: bool = True
    where: str = ""


NOTHING = Expected("", costs=False)


def pairs(count: int = 200, seed: int = 20261130) -> Iterator[Pair]:
    """Pairs of all kinds and formats in turn."""
    rng = random.Random(seed)
    cells = [(kind, wire) for kind in KINDS for wire in WIRES if wire in KINDS[kind][0]]
    for number in range(count):
        kind, wire = cells[number % len(cells)]
        talk = Talk.new(wire, rng, number)
        _, prepare, mutate = KINDS[kind]
        prepare(talk)
        reply, question = talk.prose(40), talk.prose(40)
        earlier = talk.body()
        expected = mutate(talk)
        later = talk.body(reply, question)
        yield Pair(kind, wire, earlier, later, expected.rule, expected.costs, expected.where)


# -- what is in the text before ------------------------------------------------------------------


def _nothing(talk: Talk) -> None:
    del talk


def _saying(line: str) -> Callable[[Talk], None]:
    """Puts a line into the system text: in front, in the middle or at the end."""

    def prepare(talk: Talk) -> None:
        at = talk.rng.randint(0, 2)
        text = talk.system[0]
        if at == 2:
            talk.system[0] = f"{text}\n{line}"
        else:
            words = text.split(" ")
            cut = 0 if at == 0 else len(words) // 2
            talk.system[0] = " ".join([*words[:cut], f"\n{line}\n", *words[cut:]]).lstrip()

    return prepare


def _asking(line: str) -> Callable[[Talk], None]:
    """Puts a line into the first user message."""

    def prepare(talk: Talk) -> None:
        _text_of(talk.exchanges[0][0], lambda text: f"{line}\n{text}")

    return prepare


def _text_of(message: Body, change: Callable[[str], str]) -> None:
    if isinstance(message["content"], str):
        message["content"] = change(message["content"])
    else:
        block = message["content"][0]
        block["text"] = change(block["text"])


# -- what happens --------------------------------------------------------------------------------


def _append(talk: Talk) -> Expected:
    del talk
    return NOTHING


def _model(talk: Talk) -> Expected:
    talk.model = MODELS[talk.wire][1]
    return Expected("model-changed", where="model")


def _tool_added(talk: Talk) -> Expected:
    at = talk.rng.randint(0, len(talk.tools))
    talk.tools.insert(at, talk.tool("list_dir"))
    return Expected("tool-added", where=f"tools[{at}]")


def _tool_removed(talk: Talk) -> Expected:
    at = talk.rng.randint(1, len(talk.tools) - 1)
    del talk.tools[at]
    return Expected("tool-removed", where=f"tools[{at}]")


def _tools_reordered(talk: Talk) -> Expected:
    at = talk.rng.randint(0, len(talk.tools) - 2)
    talk.tools[at], talk.tools[at + 1] = talk.tools[at + 1], talk.tools[at]
    return Expected("tools-reordered", where=f"tools[{at}]")


def _tool_edited(talk: Talk) -> Expected:
    at = talk.rng.randint(0, len(talk.tools) - 1)
    tool = talk.tools[at].get("function", talk.tools[at])
    tool["description"] += f" Prefer {talk.rng.choice(WORDS)}."
    return Expected("tool-edited", where=f"tools[{at}]")


def _tool_keys(talk: Talk) -> Expected:
    at = talk.rng.randint(0, len(talk.tools) - 1)
    tool = talk.tools[at].get("function", talk.tools[at])
    schema = tool.get("input_schema") or tool["parameters"]
    schema["properties"] = dict(reversed(schema["properties"].items()))
    return Expected("tool-keys-reordered", where=f"tools[{at}]")


def _system_edited(talk: Talk) -> Expected:
    words = talk.system[0].split(" ")
    at = talk.rng.randint(5, len(words) - 1)
    talk.system[0] = " ".join([*words[:at], "never", *words[at:]])
    return Expected("system-changed", where=SYSTEM[talk.wire])


SYSTEM = {
    "anthropic_messages": "system[0].text",
    "openai_chat": "messages[0].content",
    "openai_responses": "instructions",
}


def _in_system(old: str, new: str, rule: str) -> Mutation:
    def mutate(talk: Talk) -> Expected:
        assert talk.system[0].count(old) == 1
        talk.system[0] = talk.system[0].replace(old, new)
        return Expected(rule, where=SYSTEM[talk.wire])

    return mutate


def _in_first(old: str, new: str, rule: str) -> Mutation:
    def mutate(talk: Talk) -> Expected:
        _text_of(talk.exchanges[0][0], lambda text: text.replace(old, new))
        return Expected(rule, where=_message(talk, 0))

    return mutate


def _message(talk: Talk, exchange: int, within: int = 0) -> str:
    """The path of a message of an exchange."""
    at = sum(map(len, talk.exchanges[:exchange])) + within
    key = "input" if talk.wire == "openai_responses" else "messages"
    return f"{key}[{at + (talk.wire == 'openai_chat')}]"


def _reranked(talk: Talk) -> Expected:
    lines = talk.system[0].split("\n")
    facts = [line for line in lines if line.startswith("- ")]
    new = facts[1:] + facts[:1]
    talk.system[0] = talk.system[0].replace("\n".join(facts), "\n".join(new))
    return Expected("reranked-lines", where=SYSTEM[talk.wire])


def _plain(talk: Talk, lowest: int = 0) -> int:
    """The number of an exchange without a tool call."""
    some = [n for n, run in enumerate(talk.exchanges) if n >= lowest and len(run) == 2]
    return talk.rng.choice(some)


def _edited(talk: Talk) -> Expected:
    at, within = _plain(talk), talk.rng.randint(0, 1)
    _text_of(talk.exchanges[at][within], lambda text: text.replace(" ", " somewhat ", 1))
    return Expected("message-edited", where=_message(talk, at, within))


def _result_cleared(talk: Talk) -> Expected:
    at = next(n for n, run in enumerate(talk.exchanges) if len(run) == 4)
    result = talk.exchanges[at][2]
    if talk.wire == "anthropic_messages":
        result["content"][0]["content"] = "[cleared]"
    else:
        result["content" if talk.wire == "openai_chat" else "output"] = "[cleared]"
    return Expected("message-edited", where=_message(talk, at, 2))


def _removed(talk: Talk) -> Expected:
    at = _plain(talk, 1)
    where = _message(talk, at)
    del talk.exchanges[at]
    return Expected("message-removed", where=where)


def _inserted(talk: Talk) -> Expected:
    at = talk.rng.randint(0, len(talk.exchanges) - 1)
    where = _message(talk, at)
    talk.exchanges.insert(at, [talk.user(talk.prose(80)), talk.assistant(talk.prose(80))])
    return Expected("message-inserted", where=where)


def _swapped(talk: Talk) -> Expected:
    at = talk.rng.randint(0, len(talk.exchanges) - 2)
    where = _message(talk, at)
    run = talk.exchanges
    run[at], run[at + 1] = run[at + 1], run[at]
    return Expected("messages-reordered", where=where)


def _truncated(talk: Talk) -> Expected:
    where = _message(talk, 0)
    del talk.exchanges[: talk.rng.randint(1, len(talk.exchanges) - 1)]
    return Expected("history-truncated", where=where)


def _summarised(talk: Talk) -> Expected:
    gone = talk.rng.randint(2, len(talk.exchanges) - 1)
    talk.exchanges[:gone] = [[talk.user(f"Summary of what was said: {talk.prose(60)}")]]
    return Expected("history-replaced", where=_message(talk, 0))


def _as_string(talk: Talk) -> Expected:
    at = _plain(talk)
    message = talk.exchanges[at][0]
    message["content"] = message["content"][0]["text"]
    return Expected("shape-changed", costs=False, where=_message(talk, at) + ".content")


def _with_null(talk: Talk) -> Expected:
    at = _plain(talk)
    if talk.wire == "openai_chat":
        talk.exchanges[at][1]["refusal"] = None
        return Expected("shape-changed", where=_message(talk, at, 1) + ".refusal")
    part = talk.exchanges[at][1]["content"][0]
    part["citations" if talk.wire == "anthropic_messages" else "logprobs"] = None
    return Expected("shape-changed", where=_message(talk, at, 1) + ".content[0]")


def _split(talk: Talk) -> Expected:
    at = _plain(talk)
    (block,) = talk.exchanges[at][0]["content"]
    cut = block["text"].index(" ")
    halves = block["text"][:cut], block["text"][cut:]
    talk.exchanges[at][0]["content"] = [{**block, "text": half} for half in halves]
    return Expected("shape-changed", where=_message(talk, at) + ".content")


def _mark_moved(talk: Talk) -> Expected:
    for exchange in talk.exchanges[-1:]:
        exchange[0]["content"][0]["cache_control"] = {"type": "ephemeral"}
    return Expected("mark-moved", costs=False)


def _breakpoint_moved(talk: Talk) -> Expected:
    part = talk.exchanges[-1][0]["content"][0]
    part["prompt_cache_breakpoint"] = {"mode": "explicit"}
    return Expected("mark-moved", costs=False)


def _marks(talk: Talk) -> Expected:
    return (_mark_moved if talk.wire == "anthropic_messages" else _breakpoint_moved)(talk)


def _thinking(talk: Talk) -> Expected:
    talk.extra["thinking"] = {"type": "adaptive"}
    return Expected("setting-changed", where="thinking")


def _effort(talk: Talk) -> Expected:
    talk.extra["output_config"] = {"effort": "low"}
    return Expected("setting-changed", where="output_config.effort")


def _tool_choice(talk: Talk) -> Expected:
    if talk.wire == "anthropic_messages":
        talk.extra["tool_choice"] = {"type": "none"}
        return Expected("setting-changed", where="tool_choice")
    talk.extra["tool_choice"] = "none"
    return NOTHING


def _limits(talk: Talk) -> Expected:
    """Parameters that no prompt depends on."""
    limit = {"anthropic_messages": "max_tokens", "openai_chat": "max_completion_tokens"}
    talk.extra[limit.get(talk.wire, "max_output_tokens")] = 4000
    talk.extra["metadata"] = {"user_id": "someone"}
    return NOTHING


ALL = frozenset(WIRES)
ANTHROPIC = frozenset({"anthropic_messages"})
BLOCKS = frozenset({"anthropic_messages", "openai_chat"})
FACTS = "- the dock is shut\n- the crane is new\n- the ferry leaves late"
OLD_ID, NEW_ID = "req_011CSHoEeqs5C35K2UUqR7Fy", "req_011CTJpFfrt6D46L3VVrS8Gz"
OLD_UUID, NEW_UUID = "3f2b8c1e-7d64-4a0b-9c55-21e0aa9d7b31", "9a41d0c7-52be-4f7e-8a13-c07ee4b1f2d8"

# kind -> (formats, what the earlier text holds, what happens, with what is expected)
KINDS: dict[str, tuple[frozenset[str], Callable[[Talk], None], Mutation]] = {
    "append": (ALL, _nothing, _append),
    "other limits": (ALL, _nothing, _limits),
    "model": (ALL, _nothing, _model),
    "tool added": (ALL, _nothing, _tool_added),
    "tool removed": (ALL, _nothing, _tool_removed),
    "tools reordered": (ALL, _nothing, _tools_reordered),
    "tool edited": (ALL, _nothing, _tool_edited),
    "tool keys": (ALL, _nothing, _tool_keys),
    "system edited": (ALL, _nothing, _system_edited),
    "clock": (
        ALL,
        _saying("The time is 15:09:20."),
        _in_system("15:09:20", "15:09:34", "volatile-clock"),
    ),
    "date": (
        ALL,
        _asking("Today is 2026-08-14."),
        _in_first("2026-08-14", "2026-08-15", "volatile-date"),
    ),
    "uuid": (
        ALL,
        _saying(f"Session: {OLD_UUID}"),
        _in_system(OLD_UUID, NEW_UUID, "volatile-uuid"),
    ),
    "request id": (
        ALL,
        _saying(f"Trace of this call: {OLD_ID}"),
        _in_system(OLD_ID, NEW_ID, "volatile-request-id"),
    ),
    "counter": (
        ALL,
        _saying("Tokens used: 10412 of 200000"),
        _in_system("10412", "23117", "volatile-counter"),
    ),
    "reranked": (ALL, _saying(f"Known facts:\n{FACTS}"), _reranked),
    "message edited": (ALL, _nothing, _edited),
    "result cleared": (ALL, _nothing, _result_cleared),
    "message removed": (ALL, _nothing, _removed),
    "message inserted": (ALL, _nothing, _inserted),
    "messages reordered": (ALL, _nothing, _swapped),
    "truncated": (ALL, _nothing, _truncated),
    "summarised": (ALL, _nothing, _summarised),
    "string for blocks": (BLOCKS, _nothing, _as_string),
    "null added": (ALL, _nothing, _with_null),
    "text split": (ALL, _nothing, _split),
    "mark moved": (ALL, _nothing, _marks),
    "thinking toggled": (ANTHROPIC, _nothing, _thinking),
    "effort changed": (ANTHROPIC, _nothing, _effort),
    "tool choice": (ALL, _nothing, _tool_choice),
}
