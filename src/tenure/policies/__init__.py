"""Policies by name: what may go from the view, and when.

Invariant: a policy object serves one session; `by_name` makes a new one each time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tenure.core.policy import Policy
from tenure.errors import ConfigError
from tenure.policies.clearing import AppendOnly, ClearToolResults
from tenure.policies.default import Tenure
from tenure.policies.schedule import Settings

__all__ = ["AppendOnly", "ClearToolResults", "Settings", "Tenure", "by_name", "names"]

_MAKERS: Mapping[str, Callable[[], Policy]] = {
    "append-only": AppendOnly,
    "clear-100k-keep-3": lambda: ClearToolResults(trigger=100_000, keep=3),
    "clear-every-step": lambda: ClearToolResults(trigger=0, keep=3),
    "tenure": Tenure,
}


def names() -> tuple[str, ...]:
    """The names of all policies, the reference first."""
    return tuple(_MAKERS)


def by_name(name: str) -> Policy:
    """A new policy of that name; ConfigError names the known ones when there is none."""
    try:
        return _MAKERS[name]()
    except KeyError:
        raise ConfigError(
            f"no policy is called {name!r}; known are {', '.join(_MAKERS)}", key="policy"
        ) from None
