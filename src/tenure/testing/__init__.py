"""Fakes and contracts for those who test against tenure.

Invariant: needs nothing but the standard library; importing it starts nothing.
"""

from __future__ import annotations

from tenure.testing.conversation import PrefixBreak, RecordedRequest, SharedPrefix
from tenure.testing.prompt import HEAD
from tenure.testing.refusal import Refusal
from tenure.testing.script import Call, Failure, Reply, Script
from tenure.testing.server import ModelServer

__all__ = [
    "HEAD",
    "Call",
    "Failure",
    "ModelServer",
    "PrefixBreak",
    "RecordedRequest",
    "Refusal",
    "Reply",
    "Script",
    "SharedPrefix",
]
