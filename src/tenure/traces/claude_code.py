"""Claude Code's session files: `~/.claude/projects/*/SESSION.jsonl`.

Invariant: each reply of the file is in exactly one step, once; rows that never went to the model are
counted by kind. What we read into the rows, seen on files of Claude Code 2.0 to 2.1:

- One content block a row; rows of one request are one reply (`traces.claude_replies`), and its last
  or largest `usage` row is the one that counts (the earlier ones are written while the reply streams).
- `compact_boundary`, or a bare `isCompactSummary` row, begins a new thread. The request that wrote
  the summary is not in the file.
- `isSidechain` rows, and the `agent_progress` rows of newer versions, are sub-agents' threads.
- Replies of the model `<synthetic>` and API errors never came from a model.
- A rewind leaves the abandoned rows in the file. With replies in them they are a thread of their
  own, whose first arrivals hold what it inherited; without, they are counted.
- The wire joins neighbouring user rows into one message. Here the tool results of one reply make
  one message, right behind it, and other words follow as messages of their own, since each has its
  own origin; the API takes the two spellings for the same.
- Attachments are rendered by the tool in words the file does not hold: they are counted. Only what
  the person typed while the model was busy (`queued_command`) is a message.
- An interrupted call has no result in the file, though the request after it must have held one.
  Nothing is made up: the call is named among the damage, and that request breaks the pair rule.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from tenure.core.message import Message
from tenure.replay.trace import Damage, Step, Thread, Trace
from tenure.traces.anthropic_usage import largest_usage
from tenure.traces.claude_past import Past, Pasts, arrivals_of, is_result, reply_of
from tenure.traces.claude_replies import Replies
from tenure.traces.claude_rows import SIDE, Expanded, expand, kind_of
from tenure.traces.claude_tree import Node, Row, chains
from tenure.traces.lines import Records
from tenure.traces.values import as_dict, as_list, main_model, text_of, unix_seconds


def read_claude_code(found: Records, name: str, path: Path) -> list[Trace]:
    """The session of a file; sub-agents' threads stand behind the main ones."""
    expanded = expand(found.records)
    damage = list(found.damage)
    threads: list[Thread] = []
    for group, rows in expanded.groups.items():
        threads += _threads(group, rows, expanded, damage)
    return [
        Trace(
            name=name,
            source=str(path),
            format="claude-code",
            wire="anthropic_messages",
            model=main_model(threads),
            threads=tuple(threads),
            damage=tuple(sorted(damage, key=lambda one: one.offset)),
            skipped=dict(expanded.skipped),
        )
    ]


class _Segment(NamedTuple):
    """The nodes between two compactions."""

    boundary: Row | None
    nodes: list[Node]


def _threads(
    group: str, rows: Sequence[Row], expanded: Expanded, damage: list[Damage]
) -> Iterator[Thread]:
    kind: Literal["main", "sidechain"] = "sidechain" if group.startswith(SIDE) else "main"
    for number, segment in enumerate(_segments(rows), 1):
        title = group if number == 1 else f"{group}-{number}"
        tokens = as_dict(as_dict(segment.boundary and segment.boundary.data).get("compactMetadata"))
        before = tokens.get("preTokens")
        pasts = Pasts()
        for fork, chain in enumerate(chains(segment.nodes) if segment.nodes else []):
            if fork and not any(node.kind == "reply" for node in chain.own):
                said = sum(node.kind != "other" for node in chain.own)
                if said:
                    expanded.skipped["abandoned by a rewind"] += said
                continue
            past = pasts.of(chain)
            steps, tail = _steps(chain.own, past)
            if not steps and not tail and segment.boundary is None:
                continue
            damage += _open_pairs(chain.own, past)
            yield Thread(
                name=f"{title}~{fork}" if fork else title,
                kind=kind,
                steps=steps,
                tail=tail,
                after_compaction=segment.boundary is not None,
                tokens_before_compaction=before if isinstance(before, int) else None,
            )


def _segments(rows: Sequence[Row]) -> list[_Segment]:
    """The nodes of the rows, linked to their parents, by compaction."""
    segments = [_Segment(None, [])]
    home: dict[str, tuple[Node, int]] = {}
    replies = Replies()
    places: dict[Node, int] = {}
    callers: dict[str, tuple[Node, int]] = {}
    last: tuple[Node, int] | None = None
    for number, row in enumerate(rows):
        kind = kind_of(row.data)
        begins = _begins_segment(row, segments)
        before = None if begins else _parent(row, home, callers, last)
        if begins:
            segments.append(_Segment(row, []))
        node = replies.begun(row, before[0] if before else None) if kind == "reply" else None
        if node is not None:
            node.rows.append(row)
        else:
            node = Node(number, kind, [row], before[0] if before else None)
            places[node] = before[1] if before else len(segments) - 1
            segments[places[node]].nodes.append(node)
        last = node, places[node]
        if isinstance(row.data.get("uuid"), str):
            home[row.data["uuid"]] = last
        if kind == "reply":
            replies.note(row, node)
            callers.update(dict.fromkeys(_calls(row), last))
    return segments


def _begins_segment(row: Row, segments: list[_Segment]) -> bool:
    if row.data.get("subtype") == "compact_boundary":
        return True
    boundary, nodes = segments[-1]
    fresh = boundary is not None and all(node.kind == "other" for node in nodes)
    return bool(row.data.get("isCompactSummary")) and not fresh


def _parent(
    row: Row,
    home: dict[str, tuple[Node, int]],
    callers: dict[str, tuple[Node, int]],
    last: tuple[Node, int] | None,
) -> tuple[Node, int] | None:
    """What the row follows: of a result the call, else the parent it names.

    A row that names none, or one that was lost, follows the row before it.
    """
    for call_id in _results(row):
        if call_id in callers:
            return callers[call_id]
    if row.data.get("parentUuid", "") is None:
        return None
    return home.get(text_of(row.data, "parentUuid"), last)


def _steps(own: Sequence[Node], past: Past) -> tuple[tuple[Step, ...], tuple[Message, ...]]:
    """The chain's own steps and its unanswered tail; what it inherited arrives with the first."""
    steps: list[Step] = []
    carried: Sequence[Message] = past.said
    arrived = list(past.open)
    for node in own:
        if node.kind == "reply":
            message = reply_of(node)
            steps.append(_step(node, (*carried, *arrivals_of(arrived)), message, arrived))
            carried, arrived = (), []
        elif node.kind != "other":
            arrived.append(node)
    return tuple(steps), (*carried, *arrivals_of(arrived))


def _step(node: Node, arrivals: tuple[Message, ...], reply: Message, arrived: list[Node]) -> Step:
    messages = [as_dict(row.data.get("message")) for row in node.rows]
    times = [unix_seconds(one.rows[-1].data.get("timestamp")) for one in arrived]
    known = [time for time in times if time is not None]
    return Step(
        arrivals=arrivals,
        reply=(reply,),
        usage=largest_usage([message.get("usage") for message in messages]),
        at=max(known) if known else unix_seconds(node.rows[0].data.get("timestamp")),
        model=text_of(messages[0], "model"),
        request_id=text_of(messages[0], "id") or text_of(node.rows[0].data, "requestId"),
    )


def _calls(row: Row) -> dict[str, str]:
    """The tool calls of a row: id to the tool's name."""
    blocks = as_list(as_dict(row.data.get("message")).get("content"))
    calls = [block for block in blocks if as_dict(block).get("type") == "tool_use"]
    return {text_of(call, "id"): text_of(call, "name") for call in calls}


def _results(row: Row) -> list[str]:
    """The ids of the calls that a row of role user answers."""
    if row.data.get("type") != "user":
        return []
    blocks = as_list(as_dict(row.data.get("message")).get("content"))
    return [text_of(block, "tool_use_id") for block in blocks if is_result(block)]


def _open_pairs(own: Sequence[Node], past: Past) -> Iterator[Damage]:
    """The calls that the session went on without a result for, and results without their call."""
    open_calls = _calls_of(past.reply) if past.reply is not None else {}
    for node in past.open:
        for call_id, _ in _results_of(node):
            open_calls.pop(call_id, None)
    for node in own:
        if node.kind == "reply":
            for call_id, (tool, row) in open_calls.items():
                words = f"call {call_id!r} ({tool}) never got a result, yet the session went on"
                yield Damage(row.line, row.offset, words)
            open_calls = _calls_of(node)
        for call_id, row in _results_of(node):
            if open_calls.pop(call_id, None) is None:
                words = f"a result for {call_id!r}, which the reply before did not call"
                yield Damage(row.line, row.offset, words)


def _calls_of(reply: Node) -> dict[str, tuple[str, Row]]:
    return {one: (tool, row) for row in reply.rows for one, tool in _calls(row).items()}


def _results_of(node: Node) -> list[tuple[str, Row]]:
    if node.kind != "results":
        return []
    return [(call_id, row) for row in node.rows for call_id in _results(row)]
