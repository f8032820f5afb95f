"""Processor time of a piece of work, for tests that hold how it grows.

Invariant: the garbage collector is off meanwhile: a collection walks whatever the tests before have
left, and would be counted as the work.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable


def seconds_of(work: Callable[[], object]) -> float:
    """The processor seconds that one call of `work` takes."""
    gc.disable()
    began = time.process_time()
    try:
        work()
    finally:
        spent = time.process_time() - began
        gc.enable()
    return spent
