"""Findings on the terminal: by file, the worst first, the costly before the cheap.

Invariant: text of a request is shown as text, on one line; nothing is computed here but sums.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from tenure.cli.lint import Checked
from tenure.cli.output import count, heading, many, plain, usd
from tenure.replay.lint_rules import Finding, Severity

_STYLES = {Severity.ERROR: "bold red", Severity.WARNING: "yellow", Severity.INFO: "dim"}
_ORDER = list(_STYLES)
_WORDS = 400


def view(
    checked: Sequence[Checked], findings: Sequence[Finding], *, top: int
) -> Iterator[RenderableType]:
    """All findings, at most `top` of one rule and file, and what they come to."""
    by_file: dict[str, list[Finding]] = defaultdict(list)
    for one in findings:
        by_file[one.file].append(one)
    for file, some in by_file.items():
        yield heading(file)
        yield from _of_file(some, top)
    for done in checked:
        if done.fixed:
            yield heading(f"{done.file}: repaired copy", note=done.fixed)
            yield from (Text(f"  {plain(words)}") for words in done.mends)
            if done.note:
                yield Text(f"  {plain(done.note)}", style="yellow")
    yield from _total(checked, findings)


def _of_file(findings: Sequence[Finding], top: int) -> Iterator[RenderableType]:
    ranked = sorted(findings, key=lambda one: (_ORDER.index(one.severity), -one.usd, -one.tokens))
    shown: Counter[str] = Counter()
    for one in ranked:
        shown[one.rule] += 1
        if shown[one.rule] <= top:
            yield from _lines(one)
    rest = {rule: number - top for rule, number in shown.items() if number > top}
    if rest:
        named = ", ".join(f"{number} more of {rule}" for rule, number in rest.items())
        yield Text(f"  {named} (--top shows more)", style="dim")


def _lines(one: Finding) -> Iterator[RenderableType]:
    line = Text("  ").append(one.severity.value, style=_STYLES[one.severity])
    line.append(f"  {one.rule}", style="bold").append(f"  {plain(_place(one))}", style="cyan")
    yield line
    yield Text(f"    {plain(one.words[:_WORDS])}")
    if one.cost:
        yield Text(
            f"    {count(one.tokens)} tokens written again: {count(one.cost)} input tokens, "
            f"{usd(one.usd)}"
        )
    elif one.usd:
        yield Text(f"    cost {usd(one.usd)} more than a hit")
    mend = f"mend: {one.mend}; " if one.mend else ""
    yield Text(f"    {plain(mend)}source: {plain(one.source)}", style="dim")


def _place(one: Finding) -> str:
    """Where it is, as far as it is known."""
    facts = [f"request {one.request}" if one.request is not None else "", one.thread]
    facts.append(one.path or (f"message {one.message}" if one.message is not None else ""))
    facts.append(f"byte {one.offset:,}" if one.offset is not None else "")
    facts.append(f"in {one.times} requests" if one.times > 1 else "")
    return " · ".join(fact for fact in facts if fact)


def _total(checked: Sequence[Checked], findings: Sequence[Finding]) -> Iterator[RenderableType]:
    if not checked:
        return
    counts = Counter(one.severity for one in findings)
    told = ", ".join(
        many(counts[severity], severity.value) for severity in _ORDER if severity in counts
    )
    held = [
        many(sum(one.requests for one in checked), "request"),
        many(sum(one.transcripts for one in checked), "transcript"),
    ]
    lost = sum(one.usd for one in findings if one.cost)
    price = f"; changed prefixes cost {usd(lost)}" if lost else ""
    line = (
        f"\n{told or 'nothing found'} in {' and '.join(held)}, {many(len(checked), 'file')}{price}"
    )
    yield Text(line, style="bold")
