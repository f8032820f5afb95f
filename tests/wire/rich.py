"""Conversations that hold everything that an API knows, made by a random number generator.

Invariant: before any harm each one is legal under its terms, but for an end that waits (calls, a
paused turn), and its seals are the scripted server's own.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

from tenure.testing import signature
from tenure.testing.sealed import seal
from tests.tokens.pictures import png

Body = dict[str, Any]
WORDS = ("find the lamp", "caf\u00e9 \U0001f600", "it is on the shelf", " and so on", "42")


def conversation(wire: str, mix: Random) -> list[Any]:
    """A conversation of a few turns in one wire format."""
    return {"anthropic_messages": _claude, "openai_chat": _chat, "openai_responses": _items}[wire](
        mix
    )


def _words(mix: Random) -> str:
    return mix.choice(WORDS)


def _some(mix: Random, makers: list[Callable[[], Any]], most: int) -> list[Any]:
    return [mix.choice(makers)() for _ in range(mix.randint(1, most))]


# -- Anthropic ---------------------------------------------------------------------------------


def picture(side: int = 8, kind: str = "image/png") -> Body:
    return {"type": "image", "source": {"type": "base64", "media_type": kind, "data": png(side, 8)}}


def _claude(mix: Random) -> list[Any]:
    messages: list[Any] = [{"role": "user", "content": _words(mix)}]
    if mix.random() < 0.08:
        block = {"type": "compaction", "content": "what was said", "tool_changes": []}
        messages.insert(0, {"role": "assistant", "content": [block]})
    for step in range(mix.randint(1, 5)):
        calls = [f"toolu_{step}_{at}" for at in range(mix.choice([0, 1, 1, 2, 3]))]
        messages.append({"role": "assistant", "content": [*_thoughts(mix), *_spoken(mix, step)]})
        messages[-1]["content"] += [_use(mix, call) for call in calls]
        results: list[Any] = [_result(mix, call) for call in calls]
        mix.shuffle(results)
        heard = _heard(mix) if not calls or mix.random() < 0.3 else []
        messages.append({"role": "user", "content": [*results, *heard]})
        messages += _between(mix)
    _mark(mix, messages)
    return messages


def _thoughts(mix: Random) -> list[Body]:
    kind = mix.choice(["", "", "thinking", "redacted"])
    if kind == "redacted":
        sealed = signature.sign(signature.REDACTED, [], model="claude-haiku-5-5")
        return [{"type": "redacted_thinking", "data": sealed}]
    text = mix.choice(["", "let me see"])
    sealed = signature.sign(text, [], model="claude-haiku-5-5")
    return [{"type": "thinking", "thinking": text, "signature": sealed}] if kind else []


def _spoken(mix: Random, step: int) -> list[Body]:
    said: list[Body] = [{"type": "text", "text": _words(mix)}]
    if mix.random() < 0.2:
        call = f"srvtoolu_{step}"
        given = {"name": "web_search", "input": {"query": "lamps"}}
        found = {"type": "web_search_tool_result", "tool_use_id": call, "content": []}
        said += [{"type": "server_tool_use", "id": call, **given}, found]
    if mix.random() < 0.1:
        call = f"mcptoolu_{step}"
        use = {"name": "echo", "server_name": "s", "input": {}}
        answer = {"type": "mcp_tool_result", "tool_use_id": call, "content": "hello"}
        said += [{"type": "mcp_tool_use", "id": call, **use}, answer]
    if mix.random() < 0.1:
        said.append({"type": "hologram", "layers": [1e3, None]})
    return said


def _use(mix: Random, call: str) -> Body:
    given = {"path": _words(mix)} if mix.random() < 0.8 else {}
    return {"type": "tool_use", "id": call, "name": mix.choice(["read", "grep"]), "input": given}


def _found(mix: Random, *, title: str = "lamps") -> Body:
    text = {"type": "text", "text": _words(mix)}
    return {"type": "search_result", "source": "s", "title": title, "content": [text]}


def _document(mix: Random) -> Body:
    source = {"type": "text", "media_type": "text/plain", "data": _words(mix)}
    return {"type": "document", "source": source}


def _result(mix: Random, call: str) -> Body:
    block: Body = {"type": "tool_result", "tool_use_id": call}
    if mix.random() < 0.6:
        block["content"] = mix.choice([_words(mix), ""])
    elif mix.random() < 0.9:
        makers: list[Callable[[], Any]] = [
            lambda: {"type": "text", "text": _words(mix)},
            picture,
            lambda: _found(mix),
            lambda: _document(mix),
            lambda: {"type": "tool_reference", "tool_name": "grep"},
        ]
        block["content"] = _some(mix, makers, 3)
    if mix.random() < 0.2:
        block["is_error"] = mix.random() < 0.5
    return block


def _heard(mix: Random) -> list[Body]:
    makers: list[Callable[[], Any]] = [
        lambda: {"type": "text", "text": _words(mix)},
        lambda: {"type": "text", "text": _words(mix)},
        lambda: picture(mix.choice([8, 1_500])),
        lambda: _found(mix),
        lambda: _document(mix),
        lambda: {"type": "container_upload", "file_id": "file_1"},
    ]
    return _some(mix, makers, 2)


def _between(mix: Random) -> list[Body]:
    """A system message, now and then."""
    if mix.random() < 0.85:
        return []
    kind = mix.choice(["text", "blocks", "cleared", "effort"])
    if kind == "effort":
        return [{"role": "system", "content": [], "output_config": {"effort": "low"}}]
    if kind == "blocks":
        change = {"type": "tool_removal", "tool": {"name": "grep", "type": "tool_reference"}}
        return [{"role": "system", "content": [{"type": "text", "text": "be brief"}, change]}]
    until = {"clear_at": mix.choice(["never", "next_user_message"])} if kind == "cleared" else {}
    return [{"role": "system", "content": "be brief", **until}]


def _mark(mix: Random, messages: list[Any]) -> None:
    for message in mix.sample(messages, min(2, len(messages))):
        content = message["content"]
        if not isinstance(content, list) or not content or "clear_at" in message:
            continue
        if content[-1]["type"] not in {"thinking", "redacted_thinking", "compaction", "hologram"}:
            content[-1]["cache_control"] = {"type": "ephemeral"}


# -- Chat Completions --------------------------------------------------------------------------


def _chat(mix: Random) -> list[Any]:
    messages: list[Any] = [{"role": mix.choice(["system", "developer"]), "content": "be brief"}]
    messages.append({"role": "user", "content": _chat_content(mix)})
    for step in range(mix.randint(1, 5)):
        ids = [f"call_{step}_{at}" for at in range(mix.choice([0, 1, 1, 2, 3]))]
        said: Body = {"role": "assistant", "content": _words(mix)}
        if mix.random() < 0.1:
            said["content"] = [{"type": "text", "text": _words(mix)}]
        if mix.random() < 0.1:
            said["reasoning_content"] = "let me see"
        if ids:
            said["tool_calls"] = [_chat_call(mix, call) for call in ids]
            said["content"] = mix.choice([None, said["content"]])
        messages.append(said)
        results = [{"role": "tool", "tool_call_id": i, "content": _chat_result(mix)} for i in ids]
        mix.shuffle(results)
        messages += results
        if not ids or mix.random() < 0.2:
            messages.append({"role": "user", "content": _chat_content(mix)})
    return messages


def _chat_call(mix: Random, call: str) -> Body:
    if mix.random() < 0.2:
        custom = {"name": "run", "input": _words(mix)}
        return {"id": call, "type": "custom", "custom": custom}
    function = {"name": "read", "arguments": json.dumps({"path": _words(mix)})}
    return {"id": call, "type": "function", "function": function}


def _chat_result(mix: Random) -> Any:
    text = _words(mix)
    return text if mix.random() < 0.8 else [{"type": "text", "text": text}]


def _chat_content(mix: Random) -> Any:
    if mix.random() < 0.6:
        return _words(mix)
    parts: list[Body] = [{"type": "text", "text": _words(mix)}]
    if mix.random() < 0.5:
        url = f"data:image/png;base64,{png(8, 8)}"
        parts.append({"type": "image_url", "image_url": {"url": url}})
    if mix.random() < 0.2:
        parts.append({"type": "file", "file": {"file_id": "file_1"}})
    if mix.random() < 0.3:
        parts[0]["prompt_cache_breakpoint"] = {
            "mode": "explicit",
            "ttl": mix.choice(["30m", "12h"]),
        }
    return parts


# -- Responses ---------------------------------------------------------------------------------


def _items(mix: Random) -> list[Any]:
    items: list[Any] = [{"role": "developer", "content": "be brief"}, _told(mix)]
    if mix.random() < 0.1:
        sealed = seal("compaction", b"what was said")
        items.insert(0, {"type": "compaction", "id": "cmp_1", "encrypted_content": sealed})
    for step in range(mix.randint(1, 5)):
        calls = [f"call_{step}_{at}" for at in range(mix.choice([0, 1, 1, 2, 3]))]
        items += _reply(mix, step, calls)
        outputs = [*_outputs(mix, items[len(items) - len(calls) :])]
        mix.shuffle(outputs)
        items += outputs
        if not calls or mix.random() < 0.2:
            items.append(_told(mix))
    return items


def _told(mix: Random) -> Body:
    if mix.random() < 0.6:
        return {"role": "user", "content": _words(mix)}
    part: Body = {"type": "input_text", "text": _words(mix)}
    if mix.random() < 0.3:
        part["prompt_cache_breakpoint"] = {"mode": "explicit", "ttl": mix.choice(["30m", "12h"])}
    url = f"data:image/png;base64,{png(8, 8)}"
    picture = {"type": "input_image", "image_url": url, "detail": "auto"}
    whole = [part, picture] if mix.random() < 0.5 else [part]
    return {"type": "message", "role": "user", "content": whole}


def _reply(mix: Random, step: int, calls: list[str]) -> list[Body]:
    reasoned = mix.random() < 0.5
    found: list[Body] = []
    if reasoned:
        sealed = {"encrypted_content": seal("reasoning", b"hm")} if mix.random() < 0.5 else {}
        found.append({"type": "reasoning", "id": f"rs_{step}", "summary": [], **sealed})
    said = [{"type": "output_text", "text": _words(mix), "annotations": []}]
    message = {"type": "message", "role": "assistant", "status": "completed", "content": said}
    found.append({**message, "phase": "commentary", **_named(f"msg_{step}", reasoned)})
    return [*found, *(_item_call(mix, call, reasoned) for call in calls)]


def _named(name: str, reasoned: bool) -> Body:
    return {"id": name} if reasoned else {}


def _item_call(mix: Random, call: str, reasoned: bool) -> Body:
    kind = mix.choice(
        ["function_call", "function_call", "function_call", "custom_tool_call", "shell_call"]
    )
    more: Body = {"name": "read", "arguments": json.dumps({"path": _words(mix)})}
    if kind == "custom_tool_call":
        more = {"name": "run", "input": _words(mix)}
    elif kind == "shell_call":
        more = {"action": {"commands": ["ls"]}, "status": "completed"}
    return {"type": kind, **_named(f"fc_{call}", reasoned), "call_id": call, **more}


def _outputs(mix: Random, calls: list[Any]) -> Iterator[Body]:
    for call in calls:
        said: Any = _words(mix)
        if call["type"] == "shell_call":
            outcome = {"type": "exit", "exit_code": 0}
            said = [{"stdout": "a", "stderr": "", "outcome": outcome}]
        elif mix.random() < 0.3:
            said = [{"type": "input_text", "text": said}]
        yield {"type": f"{call['type']}_output", "call_id": call["call_id"], "output": said}
