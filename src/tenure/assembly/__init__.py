"""The library's composition root: `Session` and `AsyncSession`, one machine under two drivers.

Invariant: time, chance and storage enter the library here and nowhere else.
"""

from tenure.assembly.async_session import AsyncSession
from tenure.assembly.build import Options
from tenure.assembly.request import Calls, Request
from tenure.assembly.session import Session

__all__ = ["AsyncSession", "Calls", "Options", "Request", "Session"]
