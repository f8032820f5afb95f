"""What we allow a request to hold.

Invariant: all figures are tokens; `available` is what is left for messages once the reply, the
system text and the tools have their share.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from tenure.errors import BudgetError, ConfigError

DEFAULT_HEADROOM = 4_000
MIN_OUTPUT = 4_096
# A provider counts a little differently from us and adds text of its own (tool-use preambles).
MARGIN = 256


@dataclass(frozen=True, slots=True)
class Budget:
    """The window and its shares.

    `usable_window` is where quality ends before the model's own limit (default: the limit).
    `declared` is the largest result each tool may bring, by tool name. `largest_seen` is the
    largest arrival of this session so far.
    """

    window: int
    max_tokens: int
    system: int = 0
    tools: int = 0
    usable_window: int | None = None
    declared: Mapping[str, int] = field(default_factory=dict)
    default_headroom: int = DEFAULT_HEADROOM
    largest_seen: int = 0
    min_output: int = MIN_OUTPUT

    def __post_init__(self) -> None:
        if self.window <= 0 or self.max_tokens <= 0:
            raise ConfigError(
                f"a budget needs a window and max_tokens above 0, not {self.window} and "
                f"{self.max_tokens}",
                key="window",
            )
        if self.usable_window is not None and not 0 < self.usable_window <= self.window:
            raise ConfigError(
                f"usable_window is {self.usable_window}; it must lie between 1 and the window, "
                f"{self.window}",
                key="usable_window",
            )

    @property
    def reserved_output(self) -> int:
        """Kept free for the reply: max_tokens, but no more than an eighth of the window unless
        the smallest acceptable output needs it; `output_for` lowers max_tokens to what is left."""
        return max(self.least_output, min(self.max_tokens, self.window // 8))

    @property
    def least_output(self) -> int:
        """The smallest reply worth asking for; in a small window a quarter of it will do."""
        return min(self.min_output, self.max_tokens, max(1, self.window // 4))

    @property
    def overhead(self) -> int:
        """System text and tools: they are sent with every request."""
        return self.system + self.tools

    @property
    def limit(self) -> int:
        """The whole input a request should hold: edits are made to keep it, with the reply's
        share free."""
        ceiling = self.window - self.reserved_output - MARGIN
        return min(ceiling, self.usable_window or ceiling)

    @property
    def most(self) -> int:
        """The whole input a request may hold once all that may go is gone: the smallest acceptable
        reply still fits beside it, and max_tokens is lowered to that."""
        ceiling = self.window - self.least_output - MARGIN
        return min(ceiling, self.usable_window or ceiling)

    @property
    def available(self) -> int:
        """What messages may take."""
        return self.limit - self.overhead

    @property
    def headroom(self) -> int:
        """Kept free for the next arrival: max(declared per tool, largest seen, default), but at
        most a quarter of what is available, since a larger arrival is shortened."""
        wanted = max(self.largest_seen, self.default_headroom, *self.declared.values(), 0)
        return max(0, min(wanted, self.available // 4))

    def occupancy(self, resident: int) -> float:
        """Resident message tokens over available ones."""
        return resident / max(1, self.available)

    def leaves(self, prompt: int) -> int:
        """What a request of `prompt` tokens leaves of the window for the reply."""
        return self.window - prompt - MARGIN

    def leaves_all(self, prompt: int) -> bool:
        """True when a request of `prompt` tokens need not lower max_tokens."""
        return self.leaves(prompt) >= self.max_tokens

    def output_for(self, prompt: int) -> int:
        """max_tokens for a request of `prompt` tokens, lowered so that both fit the window.

        Raises BudgetError when less than the smallest acceptable output is left.
        """
        room = self.leaves(prompt)
        if room < self.least_output:
            raise BudgetError(
                f"the request needs {prompt} tokens and leaves {max(0, room)} of {self.window} "
                f"for the reply, under the {self.least_output} it must have; evict or compact "
                "first, or lower max_tokens",
                needed=prompt + self.least_output,
                available=self.window,
            )
        return min(self.max_tokens, room)

    def output_between(self, tokens: int, upper: int) -> int:
        """max_tokens that fit beside a request of about `tokens` even if it is as large as `upper`;
        the smallest acceptable reply is asked for when only the estimate leaves room for it.

        Raises BudgetError as `output_for` does.
        """
        if self.leaves(upper) < self.least_output:
            return min(self.least_output, self.output_for(tokens))
        return self.output_for(upper)

    def seen(self, arrival: int) -> Budget:
        """The budget after an arrival of that size."""
        return self if arrival <= self.largest_seen else replace(self, largest_seen=arrival)
