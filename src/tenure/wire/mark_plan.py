"""Where the cache marks of an Anthropic request really go, beside those the client has set.

Invariant: the client's own marks win and are counted; there are never more than `most` because of us;
no mark stands where the API refuses one or caches nothing; no mark of an hour behind one of five
minutes; what needs no change is the very object given, and every change of an own mark is told.

Sources: providers.md 1.5 (count, places, order of lifetimes, minimum, 20 positions of lookback with a
run of calls or of results as one); cases 042, 043, 045, 046, 056.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from tenure.core.message import JsonObject, Path
from tenure.wire.marks import KEY, MOST, may_have, own_marks
from tenure.wire.values import is_array, is_object

_RUNS = ("tool_use", "tool_result")
# Content that is a text takes one position.
_ONE_BLOCK: tuple[JsonObject, ...] = ({},)


@dataclass(frozen=True, slots=True)
class MarkRules:
    """What decides where marks go. `most` marks in all (less for chained relays), `lookback`
    positions (None: no limit), `minimum` tokens below which nothing is cached.

    `runs_as_one`: a run of calls, or of results, is one position, as on the Claude API. `long` asks
    for an hour. `lift`: where the client has 1h behind 5m, the earlier marks are lifted instead of
    the later ones taken down. `automatic`: the mark at the end is the top-level one, which leaves the
    last message as it is.
    """

    most: int = MOST
    lookback: int | None = 20
    minimum: int = 0
    runs_as_one: bool = True
    long: bool = False
    lift: bool = False
    automatic: bool = False


class Spot(NamedTuple):
    """A mark of the outgoing request: the path of its block, () for the automatic one."""

    path: Path
    long: bool
    own: bool


class MarkPlan(NamedTuple):
    """The marked request: its head, the changed messages by number, all marks in prompt order."""

    head: JsonObject
    messages: Mapping[int, JsonObject]
    marks: tuple[Spot, ...]
    notes: tuple[str, ...]


def plan_marks(
    head: JsonObject,
    messages: Sequence[JsonObject],
    places: Iterable[int],
    rules: MarkRules | None = None,
    *,
    own: Iterable[int] | None = None,
    tokens: Callable[[int], int] | None = None,
) -> MarkPlan:
    """The request with marks at these places (numbers of messages in front of them, 0: behind the
    head), as `core.marks` gives them; the last place first, and what it can't look back to next.

    `own` are the numbers of messages that may hold marks of the client (None: all are searched);
    `tokens` the size of the prompt up to a place, for the minimum.
    """
    rules = rules or MarkRules()
    draft = _Draft(head, messages)
    notes: list[str] = []
    mine = [Spot(path, _is_long(mark), own=True) for path, mark in own_marks(head, messages, own)]
    last = _walk_back(head, messages, len(messages))
    kept = _in_order(mine, last, rules, notes)
    for before, after in zip(mine, kept, strict=True):
        if before != after:
            draft.put(after.path, {**draft.mark(after.path), "ttl": "1h" if after.long else "5m"})
    spots = list(kept)
    free = rules.most - len(spots)
    wanted = [p for p in dict.fromkeys(places) if 0 <= p <= len(messages)]
    taken = {spot.path for spot in spots}
    if () in taken and last is not None:
        taken.add(last)  # The automatic mark stands there.
    for place in _ranked(wanted, messages, rules):
        path = _walk_back(head, messages, place)
        if path is None or path in taken:
            continue
        if free <= 0:
            notes.append(f"no mark at {place}: the request has {len(spots)} of {rules.most}")
            continue
        size = tokens(int(path[1]) + 1 if path[0] == "messages" else 0) if tokens else None
        if size is not None and size < rules.minimum:
            notes.append(f"no mark at {place}: {size} tokens, cached from {rules.minimum}")
            continue
        taken.add(path)
        if rules.automatic and path == last:
            path = ()
        spots.append(Spot(path, _long_at(path, spots, rules), own=False))
        free -= 1
    spots.sort(key=lambda spot: _order(spot.path))
    for spot in spots:
        if not spot.own:
            draft.put(spot.path, {"type": "ephemeral", **({"ttl": "1h"} if spot.long else {})})
    return MarkPlan(draft.head, draft.changed, tuple(spots), tuple(notes))


# -- lifetimes -----------------------------------------------------------------------------------


def _in_order(
    spots: Sequence[Spot], last: Path | None, rules: MarkRules, notes: list[str]
) -> list[Spot]:
    """The client's marks with lifetimes that never rise; `last` is the block that the automatic
    mark stands on, whose explicit mark must agree with it."""
    last_long = max((n for n, spot in enumerate(spots) if spot.long), default=-1)
    short = False
    found: list[Spot] = []
    for number, spot in enumerate(spots):
        long = spot.long or (rules.lift and number < last_long)
        long = long and not short
        long = long or (spot.path == () and any(one.path == last and one.long for one in found))
        short |= not long
        if long != spot.long:
            verb = "lifted to 1h" if long else "taken down to 5m"
            why = "an hour may not stand behind five minutes, nor both on one block"
            notes.append(f"the mark at {_dotted(spot.path)} is {verb}: {why}")
        found.append(spot._replace(long=long))
    return found


def _long_at(path: Path, spots: Sequence[Spot], rules: MarkRules) -> bool:
    """The lifetime of a new mark: as asked, unless the marks around it leave no choice."""
    here = _order(path)
    if any(spot.long for spot in spots if _order(spot.path) > here):
        return True
    return rules.long and all(spot.long for spot in spots if _order(spot.path) < here)


def _is_long(mark: Any) -> bool:
    return is_object(mark) and mark.get("ttl") == "1h"


_PARTS = {"tools": 0, "system": 1, "messages": 2}


def _order(path: Path) -> tuple[float, ...]:
    """A sort key for the order of the prompt; an inner block comes before the one that holds it."""
    if not path:
        return (len(_PARTS),)
    numbers = [float(step) for step in path if isinstance(step, int)]
    return (_PARTS[str(path[0])], *numbers, float("inf"))


# -- places --------------------------------------------------------------------------------------


def _ranked(places: Sequence[int], messages: Sequence[JsonObject], rules: MarkRules) -> list[int]:
    """The places by worth: the last; then those that the one above can't look back to; then the
    others, the last first."""
    descending = sorted(places, reverse=True)
    far, near = descending[:1], list[int]()
    for place in descending[1:]:
        reached = rules.lookback is None or rules.lookback > positions(
            messages, place, far[-1], most=rules.lookback, runs_as_one=rules.runs_as_one
        )
        (near if reached else far).append(place)
    return [*far, *near]


def positions(
    messages: Sequence[JsonObject], start: int, end: int, *, most: int, runs_as_one: bool = True
) -> int:
    """How many positions the messages [start, end) take in a lookback, counted up to `most`.

    Each block is one; a run of calls, or of results, is one in all when `runs_as_one`.
    """
    count, before = 0, None
    for number in range(end - 1, start - 1, -1):
        content = messages[number].get("content")
        for block in reversed(content) if is_array(content) else _ONE_BLOCK:
            kind = block.get("type") if is_object(block) else None
            if not (runs_as_one and kind == before and kind in _RUNS):
                count += 1
                if count >= most:
                    return count
            before = kind
    return count


def _walk_back(head: JsonObject, messages: Sequence[JsonObject], place: int) -> Path | None:
    """The last block in front of a place that may carry a mark; None when there is none. A place
    behind messages never falls back to the head, which has a place of its own."""
    for number in range(place - 1, -1, -1):
        message = messages[number]
        content = message.get("content")
        if message.get("role") == "system" and message.get("clear_at") not in (None, "never"):
            continue
        if isinstance(content, str) and content.strip():
            return ("messages", number, "content", 0)
        blocks = content if is_array(content) else ()
        for at in range(len(blocks) - 1, -1, -1):
            if may_have(blocks[at]):
                return ("messages", number, "content", at)
    if place:
        return None
    system, tools = head.get("system"), head.get("tools")
    if isinstance(system, str) and system.strip():
        return ("system", 0)
    for key, value in (("system", system), ("tools", tools)):
        listed = value if is_array(value) else ()
        for at in range(len(listed) - 1, -1, -1):
            block = listed[at]
            if may_have(block) if key == "system" else _tool_may_have(block):
                return (key, at)
    return None


def _tool_may_have(tool: Any) -> bool:
    """Deferred tools are not in the prompt, and the API refuses a mark on them."""
    return is_object(tool) and tool.get("defer_loading") is not True


# -- the outgoing copy ---------------------------------------------------------------------------


class _Draft:
    """The request being marked; copies only what is on the way to a mark."""

    def __init__(self, head: JsonObject, messages: Sequence[JsonObject]) -> None:
        self.head = head
        self.changed: dict[int, JsonObject] = {}
        self._messages = messages

    def put(self, path: Path, mark: JsonObject) -> None:
        """Sets the mark of the block at a path."""
        if path[:1] == ("messages",):
            number = int(path[1])
            message = self.changed.get(number, self._messages[number])
            self.changed[number] = _with(message, path[2:], mark)
        else:
            self.head = _with(self.head, path, mark)

    def mark(self, path: Path) -> JsonObject:
        """The mark of the block at a path."""
        value: Any = self.head
        if path[:1] == ("messages",):
            number = int(path[1])
            value, path = self.changed.get(number, self._messages[number]), path[2:]
        for step in path:
            value = value[step]
        found: JsonObject = value[KEY]
        return found


def _with(value: Any, path: Path, mark: JsonObject) -> Any:
    """The value with a mark on the block at a path; a bare string becomes the text block it means."""
    if isinstance(value, str):
        return [{"type": "text", "text": value, KEY: mark}]
    if not path:
        return {**value, KEY: mark}
    step, rest = path[0], path[1:]
    if isinstance(step, int):
        return [*value[:step], _with(value[step], rest, mark), *value[step + 1 :]]
    return {**value, step: _with(value[step], rest, mark)}


def _dotted(path: Path) -> str:
    return ".".join(map(str, path)) or "the top level"
