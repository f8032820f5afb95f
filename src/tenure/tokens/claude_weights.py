"""What each o200k token is worth in Claude tokens, and how far a sum of such values can be off.

Invariant: the numbers come from `data/claude.json` and `data/<name>.weights` as
`scripts/fit_claude.py` wrote them; nothing here is tuned by hand.

Claude's tokenizer covers marked words with the fewest pieces of its vocabulary, so the count of a
text is close to a sum over its words, and o200k's tokens are words or parts of them. A token's
value is fixed-point, one byte choosing one of 256 levels.
"""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass
from functools import cache
from math import ceil, sqrt

from tenure.core.data import read_data
from tenure.tokens.encoders import encoder


@dataclass(frozen=True)
class ClaudeWeights:
    """The values of all o200k tokens for one Claude vocabulary, in 1/`unit` tokens.

    The bound on an estimate e is e (1 + relative) + root sqrt(e) + constant.
    """

    values: list[int]
    unit: int
    relative: float
    root: float
    constant: float

    def count(self, text: str) -> tuple[int, int]:
        """(estimate, upper bound) in tokens of `text` alone; linear in its length."""
        ids = encoder("o200k_base").ids(text)
        likely = sum(map(self.values.__getitem__, ids)) / self.unit
        upper = ceil(likely * (1 + self.relative) + self.root * sqrt(likely) + self.constant)
        estimate = max(round(likely), 1 if text else 0)
        return estimate, max(upper, estimate)


@cache
def claude_weights(name: str) -> ClaudeWeights:
    """The values called `name` ("claude-3", "claude-4.7"), read on first need and once."""
    fitted = json.loads(read_data("tokens/data/claude.json"))
    levels: list[int] = fitted["levels"]
    chosen = zlib.decompress(read_data(f"tokens/data/{name}.weights"))
    bound = fitted["vocabularies"][name]
    # Equal values share one int object, so 200,000 tokens take 1.6 MB.
    values = list(map(levels.__getitem__, chosen))
    return ClaudeWeights(
        values, fitted["unit"], bound["relative"], bound["root"], bound["constant"]
    )
