"""The terms of a request that follow from its model: what `core.legal.Terms` says beside the messages.

Invariant: an unknown model gets the terms of the newest ones of its API.
"""

from __future__ import annotations

from tenure.core.legal import Terms
from tenure.core.message import JsonObject
from tenure.cost.models import ModelProfile

# Platform docs, vision: pictures of one request by the model's window.
_LARGE_WINDOW = 1_000_000
_PICTURES, _PICTURES_SMALL_WINDOW = 600, 100


def terms_of(known: ModelProfile, model: str, head: JsonObject) -> Terms:
    """The terms of requests of a model; `head` is the request without its messages.

    Hosts of other models take call ids of any length (vLLM makes some of 46 characters), and known
    models of OpenAI without a long cache lifetime are older than explicit breakpoints (gpt-5.6).
    """
    by_openai = known.provider == "openai"
    small = known.known and known.context_window < _LARGE_WINDOW
    return Terms(
        model=model,
        head=head,
        preserved_thinking=known.preserved_thinking,
        longest_id=None if by_openai else 0,
        breakpoints=not (known.known and by_openai and not known.ttl_long),
        pictures=_PICTURES_SMALL_WINDOW if small else _PICTURES,
    )
