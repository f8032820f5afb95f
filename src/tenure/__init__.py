"""Tenure decides what stays in an agent's context window, at what price, and shows its reasons."""

from tenure.assembly import AsyncSession, Calls, Options, Request, Session
from tenure.core.edit import Drop, Insert, Reason, Replace
from tenure.core.explain import Explanation
from tenure.core.message import Message, Origin
from tenure.core.plan import Plan
from tenure.core.protocols import Scope, ToolCall
from tenure.core.usage import Usage
from tenure.cost.models import ModelProfile, profile
from tenure.errors import TenureError

__all__ = [
    "AsyncSession",
    "Calls",
    "Drop",
    "Explanation",
    "Insert",
    "Message",
    "ModelProfile",
    "Options",
    "Origin",
    "Plan",
    "Reason",
    "Replace",
    "Request",
    "Scope",
    "Session",
    "TenureError",
    "ToolCall",
    "Usage",
    "profile",
]
