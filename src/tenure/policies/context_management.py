"""Anthropic's `context_management` edits, made on our side, for any provider.

Invariant: what is cleared is a function of the transcript alone, as it is for the provider, which
sees the whole history at every request; what was cleared stays cleared.

Source: providers.md 2.1 (types of the anthropic SDK). `clear_tool_uses_20250919` clears the oldest
tool results but for the newest `keep`, once the unedited prompt exceeds `trigger`, if that takes off
`clear_at_least`; never those of `exclude_tools`; with `clear_tool_inputs` the arguments of the calls
too. `clear_thinking_20251015` leaves out the reasoning of all but the newest `keep` turns that have
some. Reasoning items of OpenAI's Responses belong to the items they led to, so they stay.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from tenure.core.budget import Budget
from tenure.core.edit import Edit, Reason, Replace
from tenure.core.message import Block, BlockKind, JsonObject, Origin
from tenure.core.plan import Plan
from tenure.core.policy import Situation
from tenure.core.server_edit import Applied
from tenure.errors import ConfigError
from tenure.policies.evictor import bound_thinking, drop_thinking
from tenure.policies.protect import gone
from tenure.policies.tombstone import handle_for

CLEAR_TOOL_USES = "clear_tool_uses_20250919"
CLEAR_THINKING = "clear_thinking_20251015"
_RESPONSES = "openai_responses"


class Amount(NamedTuple):
    """So many input tokens, or so many tool uses."""

    type: str
    value: int


_TRIGGER = Amount("input_tokens", 100_000)


@dataclass(frozen=True, slots=True)
class ClearToolUses:
    """The parameters of `clear_tool_uses_20250919`, with the documented defaults.

    `clear_tool_inputs` is True for every tool, or the names of those whose arguments go.
    """

    trigger: Amount = _TRIGGER
    keep: int = 3
    clear_at_least: int = 0
    exclude_tools: frozenset[str] = frozenset()
    clear_tool_inputs: bool | frozenset[str] = False

    def clears_input(self, tool: str) -> bool:
        """Whether the arguments of a call of this tool go too."""
        every = self.clear_tool_inputs
        return every if isinstance(every, bool) else tool in every


@dataclass(frozen=True, slots=True)
class ClearThinking:
    """The parameters of `clear_thinking_20251015`; `keep` is None for all turns."""

    keep: int | None = 1


ServerEdit: TypeAlias = ClearToolUses | ClearThinking


class ContextManagement:
    """The policy that makes these edits; `config` is the request's `context_management` object.

    Raises ConfigError, naming the place, for what the API would refuse.
    """

    name = "context-management"

    def __init__(self, config: Mapping[str, Any]) -> None:
        self.edits = parse(config)
        self._results: list[Block] = []
        self._thinking: list[list[Block]] = []
        self._seen = 0

    def wakes_at(self, budget: Budget) -> int:  # noqa: ARG002
        """The smallest trigger in tokens; at once where something is counted in uses or turns."""
        triggers = [e.trigger for e in self.edits if isinstance(e, ClearToolUses)]
        if len(triggers) < len(self.edits) or any(t.type == "tool_uses" for t in triggers):
            return 0
        # A view that was cleared stays so, and more is cleared while it is below the trigger.
        return 0 if self._results else min((t.value for t in triggers), default=0)

    def propose(self, situation: Situation) -> Sequence[Edit]:
        """The edits that the provider would apply to this request and that are not in the plan."""
        self._catch_up(situation)
        made: list[Edit] = []
        for edit in self.edits:
            if isinstance(edit, ClearThinking):
                made += self._clear_thinking(situation, edit)
            else:
                made += self._clear_results(situation, edit)
        taken = {t for e in made for t in e.targets}
        bound = bound_thinking(situation, made, when="forced", policy=self.name)
        return [*made, *(e for e in bound if taken.isdisjoint(e.targets))]

    def applied_edits(self, plan: Plan) -> list[Applied]:
        """What of the plan each edit did, as the provider would report it."""
        found: list[Applied] = []
        for edit in self.edits:
            name = CLEAR_THINKING if isinstance(edit, ClearThinking) else CLEAR_TOOL_USES
            mine = [e for e in plan if e.reason.policy == f"{self.name}: {name}"]
            tokens = sum(e.reason.tokens_before - e.reason.tokens_after for e in mine)
            uses = [e for e in mine if not str(e.targets[0]).startswith("call:")]
            if uses:
                found.append(Applied(name, self._turns(uses, edit), tokens))
        return found

    def _turns(self, edits: Sequence[Edit], edit: ServerEdit) -> int:
        if isinstance(edit, ClearToolUses):
            return len(edits)
        keys = {t for e in edits for t in e.targets}
        return sum(any(b.key in keys for b in turn) for turn in self._thinking)

    def _catch_up(self, situation: Situation) -> None:
        transcript = situation.transcript
        for index in range(self._seen, len(transcript)):
            blocks = transcript.blocks[index]
            self._results += [b for b in blocks if b.kind is BlockKind.TOOL_RESULT]
            thinking = [b for b in blocks if b.kind is BlockKind.THINKING]
            if not thinking:
                continue
            # Some harnesses keep one block a message: what follows an assistant is its own turn.
            after = index and transcript.messages[index - 1].origin is Origin.ASSISTANT
            if after and self._thinking:
                self._thinking[-1] += thinking
            else:
                self._thinking.append(thinking)
        self._seen = len(transcript)

    def _clear_thinking(self, situation: Situation, edit: ClearThinking) -> Iterator[Edit]:
        if edit.keep is None or situation.transcript.wire.name == _RESPONSES:
            return
        words = f"reasoning of a turn before the newest {edit.keep}"
        for turn in self._thinking[: max(0, len(self._thinking) - edit.keep)]:
            for block in turn:
                if _may_go(situation, block):
                    yield drop_thinking(
                        situation,
                        block,
                        words,
                        when="forced",
                        policy=f"{self.name}: {CLEAR_THINKING}",
                    )

    def _clear_results(self, situation: Situation, edit: ClearToolUses) -> list[Edit]:
        if not self._is_due(situation, edit):
            return []
        old = self._results[: max(0, len(self._results) - edit.keep)]
        old = [b for b in old if b.tool not in edit.exclude_tools]
        made: list[Edit] = []
        cleared = 0
        for block in old:
            for part in _parts(situation, block, edit):
                known = situation.plan.by_key.get(part.key)
                if known is not None:
                    cleared += known.reason.tokens_before - known.reason.tokens_after
                elif _may_go(situation, part):
                    one = self._cleared(situation, part, edit)
                    cleared += one.reason.tokens_before - one.reason.tokens_after
                    made.append(one)
        return made if cleared >= edit.clear_at_least else []

    def _is_due(self, situation: Situation, edit: ClearToolUses) -> bool:
        """Whether the unedited request exceeds the trigger."""
        if edit.trigger.type == "tool_uses":
            return len(self._results) > edit.trigger.value
        return situation.meter.resident(Plan()) > edit.trigger.value

    def _cleared(self, situation: Situation, block: Block, edit: ClearToolUses) -> Replace:
        handle = handle_for(situation.nonce, block.key)
        what = "arguments" if block.kind is BlockKind.TOOL_CALL else "result"
        text = f"[old tool {what} {handle} cleared]"
        meter, transcript = situation.meter, situation.transcript
        body = transcript.wire.stand_in(block, transcript.messages[block.index], text)
        before, after = meter.size(block).estimate, meter.stand_in(block, text)
        reason = Reason(
            f"{self.name}: {CLEAR_TOOL_USES}",
            f"{what} older than the newest {edit.keep} tool uses",
            "forced",
            before,
            after,
            saves=situation.profile.read * (before - after),
            step=situation.step,
        )
        return Replace(block.key, (body,), reason, handle)


def _parts(situation: Situation, result: Block, edit: ClearToolUses) -> Iterator[Block]:
    """The result, and its call where the arguments go too."""
    yield result
    call = situation.transcript.partner(result)
    if call is not None and edit.clears_input(result.tool):
        yield call


def _may_go(situation: Situation, block: Block) -> bool:
    if gone(situation, block.key) or situation.plan.covered(block.index):
        return False
    return not situation.transcript.messages[block.index].pinned


# -- reading the parameters ------------------------------------------------------------------------


def parse(config: Mapping[str, Any]) -> tuple[ServerEdit, ...]:
    """The edits of a `context_management` object; ConfigError names what the API would refuse."""
    edits = config.get("edits")
    if not isinstance(edits, list | tuple) or not all(isinstance(e, Mapping) for e in edits):
        raise _wrong("edits", "a list of edits", edits)
    kinds = [e.get("type") for e in edits]
    if len(set(map(str, kinds))) < len(kinds):
        raise _wrong("edits", "each type once", kinds)
    if CLEAR_THINKING in kinds[1:]:
        raise _wrong("edits", f"{CLEAR_THINKING} first", kinds)
    return tuple(_edit(edit, f"edits[{at}]") for at, edit in enumerate(edits))


def _edit(edit: JsonObject, where: str) -> ServerEdit:
    kind = edit.get("type")
    if kind == CLEAR_THINKING:
        _known(edit, where, {"keep"})
        return ClearThinking(_turns_kept(edit.get("keep"), f"{where}.keep"))
    if kind != CLEAR_TOOL_USES:
        raise _wrong(f"{where}.type", f"{CLEAR_TOOL_USES} or {CLEAR_THINKING}", kind)
    _known(edit, where, {"trigger", "keep", "clear_at_least", "exclude_tools", "clear_tool_inputs"})
    default = ClearToolUses()
    trigger, least = edit.get("trigger"), edit.get("clear_at_least")
    keep = edit.get("keep")
    return ClearToolUses(
        _amount(trigger, f"{where}.trigger", {"input_tokens", "tool_uses"}, 1)
        if trigger is not None
        else default.trigger,
        _amount(keep, f"{where}.keep", {"tool_uses"}, 0).value
        if keep is not None
        else default.keep,
        _amount(least, f"{where}.clear_at_least", {"input_tokens"}, 0).value if least else 0,
        _names(edit.get("exclude_tools") or (), f"{where}.exclude_tools"),
        _inputs(edit.get("clear_tool_inputs"), f"{where}.clear_tool_inputs"),
    )


def _turns_kept(value: Any, where: str) -> int | None:
    if value is None:
        return ClearThinking().keep
    if value == "all" or (isinstance(value, Mapping) and value.get("type") == "all"):
        return None
    return _amount(value, where, {"thinking_turns"}, 1).value


def _amount(value: Any, where: str, types: set[str], least: int) -> Amount:
    if isinstance(value, Mapping) and value.get("type") in types:
        number = value.get("value")
        if isinstance(number, int) and not isinstance(number, bool) and number >= least:
            return Amount(str(value["type"]), number)
    wanted = " or ".join(f'{{"type": "{t}", "value": at least {least}}}' for t in sorted(types))
    raise _wrong(where, wanted, value)


def _names(value: Any, where: str) -> frozenset[str]:
    if not isinstance(value, list | tuple) or not all(isinstance(name, str) for name in value):
        raise _wrong(where, "a list of tool names", value)
    return frozenset(value)


def _inputs(value: Any, where: str) -> bool | frozenset[str]:
    return bool(value) if value is None or isinstance(value, bool) else _names(value, where)


def _known(edit: JsonObject, where: str, names: set[str]) -> None:
    for name in edit:
        if name not in names | {"type"}:
            raise _wrong(f"{where}.{name}", f"one of {sorted(names)}", name)


def _wrong(where: str, wanted: str, value: Any) -> ConfigError:
    return ConfigError(
        f"context_management.{where} is {value!r:.80}; it takes {wanted}",
        source="context_management",
        key=where,
    )
