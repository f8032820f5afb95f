"""The tools as the model is told of them.

Invariant: one entry per tool of `tools.Tools`, in a fixed order, so that the prompt's head stays.
"""

from __future__ import annotations

from typing import Any

from anthropic.types import ToolParam

SYSTEM = """\
You are a coding agent in a terminal. You work in /home/dev/tenure on behalf of the user.

Read before you change. Follow the conventions of the code around you. Keep a plan with TodoWrite
when an errand has more than two steps, and keep it up to date. Run the tests that a change can
break before you say that it is done, and say plainly what failed. Do what was asked and nothing
beside it: what the user has put off limits stays untouched. Answer briefly.

Paths given to Read, Write and Edit are absolute. Prefer Grep and Glob to searching with Bash.
"""


def _tool(name: str, words: str, required: list[str], **fields: dict[str, Any]) -> ToolParam:
    schema: dict[str, object] = {"type": "object", "properties": fields, "required": required}
    return {"name": name, "description": words, "input_schema": schema}


TEXT = {"type": "string"}
NUMBER = {"type": "integer", "minimum": 1}
STATUS = {"type": "string", "enum": ["pending", "in_progress", "completed"]}
TODO = {
    "type": "object",
    "properties": {"content": TEXT, "status": STATUS, "activeForm": TEXT},
    "required": ["content", "status", "activeForm"],
}

TOOLS: list[ToolParam] = [
    _tool(
        "Read",
        "Reads a file, with line numbers; 2,000 lines unless offset and limit say otherwise.",
        ["file_path"],
        file_path=TEXT,
        offset=NUMBER,
        limit=NUMBER,
    ),
    _tool(
        "Write",
        "Writes a whole file, in place of what was there.",
        ["file_path", "content"],
        file_path=TEXT,
        content=TEXT,
    ),
    _tool(
        "Edit",
        "Replaces one string in a file by another; the old one must occur exactly once.",
        ["file_path", "old_string", "new_string"],
        file_path=TEXT,
        old_string=TEXT,
        new_string=TEXT,
    ),
    _tool("Glob", "Lists files whose path matches a pattern.", ["pattern"], pattern=TEXT),
    _tool(
        "Grep",
        "Searches the files of the project for a regular expression.",
        ["pattern"],
        pattern=TEXT,
        path=TEXT,
        glob=TEXT,
        output_mode={"type": "string", "enum": ["content", "files_with_matches"]},
    ),
    _tool(
        "Bash",
        "Runs a shell command in the project's folder.",
        ["command"],
        command=TEXT,
        description=TEXT,
    ),
    _tool(
        "TodoWrite",
        "Writes the plan of the errand anew.",
        ["todos"],
        todos={"type": "array", "items": TODO},
    ),
]
