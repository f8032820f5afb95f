"""What the next steps will cost, and what changing the view would cost and save.

Invariant: all amounts are in units of the base input price per token, and closed forms: no function
here loops over steps. Doing nothing is always the thing compared with: a negative `once` is a gain.

Letters: n resident tokens (the prompt as it stands), g tokens that each step adds (the reply, the
results, the user's words), q output tokens of each step (they are in g as well), r, w, o the factors
of reading, writing and output, a the offset of the first changed token, R the tokens freed.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, inf

from tenure.cost.models import ModelProfile

NOT_WORTH_IT = 0.20
"""Below this share of the task budget managing the view costs more attention than it saves."""


@dataclass(frozen=True, slots=True)
class Growth:
    """How a session grows: `added` tokens a step, of which `output` come from the model."""

    added: float
    output: float = 0


def carrying_cost(
    profile: ModelProfile,
    resident: float,
    steps: int,
    growth: Growth,
    *,
    cached: bool = True,
    cold: bool = False,
) -> float:
    """C(k): the cost of `steps` further requests if nothing is edited.

    Step i = 1..k sends n + i g tokens. With a cache n + (i-1) g of them are read and g written:
    `C(k) = r (k n + g k(k-1)/2) + w k g + o k q`; when the cache is cold the first step writes n
    instead of reading it, `(w - r) n` more. Without a cache `C(k) = k n + g k(k+1)/2 + o k q`.
    Steps whose prompt is above the model's cliff cost its factors more.
    Raises ValueError for negative arguments.
    """
    _not_negative(resident=resident, steps=steps, added=growth.added, output=growth.output)
    read, write = (profile.read, profile.write) if cached and profile.caches else (1.0, 1.0)

    def prompts(k: int) -> float:
        first = (write - read) * resident if cold and k else 0.0
        return (
            read * (k * resident + growth.added * k * (k - 1) / 2)
            + write * k * growth.added
            + first
        )

    def outputs(k: int) -> float:
        return profile.output * growth.output * k

    total = prompts(steps) + outputs(steps)
    if profile.cliff is None:
        return total
    below = steps_below(profile.cliff.prompt, resident, growth, steps)
    dearer_in = (profile.cliff.input - 1) * (prompts(steps) - prompts(below))
    dearer_out = (profile.cliff.output - 1) * (outputs(steps) - outputs(below))
    return total + dearer_in + dearer_out


def steps_below(limit: float, resident: float, growth: Growth, steps: int) -> int:
    """How many of the next `steps` requests have a prompt n + i g of at most `limit` tokens."""
    if resident + growth.added > limit:
        return 0
    if growth.added == 0:
        return steps
    return min(steps, int((limit - resident) // growth.added))


@dataclass(frozen=True, slots=True)
class EditPrice:
    """The price of an edit against doing nothing.

    `once` is paid at the next request (negative: a gain at once), `per_step` is saved by every
    request after it, and `break_even` is the number of those after which it has paid (0: at once;
    infinite: never).
    """

    once: float
    per_step: float

    @property
    def break_even(self) -> float:
        """Later steps needed until the savings reach the price."""
        if self.once <= 0:
            return 0
        return ceil(self.once / self.per_step) if self.per_step > 0 else inf

    def net(self, later_steps: float) -> float:
        """What is saved in all when `later_steps` requests follow the next one."""
        return self.per_step * later_steps - self.once


def edit_price(
    profile: ModelProfile, resident: float, offset: float, freed: float, *, cold: bool = False
) -> EditPrice:
    """The price of a batch of edits whose first changed token stands at `offset` and which frees
    `freed` of the `resident` tokens.

    Warm: the next request reads a and writes n - a - R where it would have read n:
    `once = (w - r)(n - a) - w R`. Cold: everything is written anyway, so `once = -w R`. Every later
    step reads R tokens less: `per_step = r R`. Without a cache r = w = 1 and the offset is
    irrelevant. Source: architecture.md section 6, Economics.
    Raises ValueError unless 0 <= offset, 0 <= freed and offset + freed <= resident.
    """
    _not_negative(offset=offset, freed=freed)
    if offset + freed > resident:
        raise ValueError(
            f"an edit at {offset} cannot free {freed} of {resident} tokens: only what follows counts"
        )
    read, write = (profile.read, profile.write) if profile.caches else (1.0, 1.0)
    kept_warm = 0.0 if cold else (write - read) * (resident - offset)
    return EditPrice(once=kept_warm - write * freed, per_step=read * freed)


def compaction_price(
    profile: ModelProfile,
    resident: float,
    *,
    head: float,
    tail: float,
    summary: float,
    instructions: float = 0,
    cold: bool = False,
) -> EditPrice:
    """The price of replacing the middle of the view by a summary of `summary` tokens.

    The call that makes it reads n at the cache's read price, has its `instructions` as plain input
    and pays m = `summary` at output price; then the next request reads the unchanged `head` h and
    writes m and the `tail` t where it would have read n:
    `once = r n + instructions + o m + r h + w (m + t) - r n`, `per_step = r (n - h - m - t)`.
    Cold: the call sends n as plain input (a write would be dearer and nothing reads it again), the
    next request writes h, m and t where it would have written n:
    `once = n + instructions + o m + w (h + m + t - n)`. A model's cliff is not counted.
    Raises ValueError for negative arguments or head + tail above resident.
    """
    _not_negative(head=head, tail=tail, summary=summary, instructions=instructions)
    if head + tail > resident:
        raise ValueError(
            f"head {head} and tail {tail} are more than the {resident} resident tokens"
        )
    read, write = (profile.read, profile.write) if profile.caches else (1.0, 1.0)
    made = instructions + profile.output * summary
    stays = head + summary + tail
    if cold:
        once = resident + made + write * (stays - resident)
    else:
        once = read * resident + made + read * head + write * (summary + tail) - read * resident
    return EditPrice(once=once, per_step=read * (resident - stays))


def worth_managing(resident: float, task_budget: float) -> bool:
    """Whether the view is large enough to be managed at all: 20 % of the task budget or more.

    `task_budget` is the tokens that the task may have resident at once. A smaller view is left
    alone whatever its contents. Raises ValueError for a budget of 0 or less.
    """
    if task_budget <= 0:
        raise ValueError(f"the task budget is {task_budget} tokens: it must be positive")
    return resident >= NOT_WORTH_IT * task_budget


def _not_negative(**amounts: float) -> None:
    for name, amount in amounts.items():
        if amount < 0:
            raise ValueError(f"{name} is {amount}: it cannot be negative")
