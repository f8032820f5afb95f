"""Every exception tenure raises.

Invariant: a message names the thing, the fact and the way out; the facts are attributes too.

```
TenureError
├─ WireError            bytes are not what the format promises      .format .path
│  ├─ RequestError        the agent sent it
│  └─ UpstreamError       the provider sent it
├─ PlanError            an edit is impossible                       .edit .message_id
├─ BudgetError          what must stay exceeds the window           .needed .available
├─ RecallError          a handle, range or pattern gives nothing     (also LookupError)
├─ SessionError         the call does not fit the session's state   .state
├─ StoreError           the driver's error is __cause__
│  ├─ Conflict            someone appended first                    .expected .actual
│  ├─ SessionNotFound     (also LookupError)                        .session
│  └─ SchemaMismatch      names the command that migrates           .found .wanted
└─ ConfigError          names file, key and the accepted values     .source .key
```
"""

from __future__ import annotations


class TenureError(Exception):
    """The root: catching it catches everything tenure raises on purpose."""


class WireError(TenureError):
    """Bytes or values are not what the wire format promises."""

    def __init__(self, message: str, *, format: str = "", path: str = "") -> None:
        super().__init__(message)
        self.format = format
        self.path = path


class RequestError(WireError):
    """The agent's side sent something malformed."""


class UpstreamError(WireError):
    """The provider's side sent something malformed."""


class PlanError(TenureError):
    """An edit is impossible: it overlaps another one or names what is not there."""

    def __init__(self, message: str, *, edit: object = None, message_id: str = "") -> None:
        super().__init__(message)
        self.edit = edit
        self.message_id = message_id


class BudgetError(TenureError):
    """What must stay (user's words, pinned text, open tool loops) exceeds the window; tokens."""

    def __init__(self, message: str, *, needed: int, available: int) -> None:
        super().__init__(message)
        self.needed = needed
        self.available = available


class RecallError(TenureError, LookupError):
    """A recall can't be answered: no such handle, no such lines, nothing matches."""


class SessionError(TenureError):
    """The call does not fit the session's state, e.g. an append while a request is open."""

    def __init__(self, message: str, *, state: str = "") -> None:
        super().__init__(message)
        self.state = state


class StoreError(TenureError):
    """A store failed; the driver's own error is the cause."""


class Conflict(StoreError):
    """Someone else appended first: read again and retry."""

    def __init__(self, message: str, *, expected: int, actual: int) -> None:
        super().__init__(message)
        self.expected = expected
        self.actual = actual


class SessionNotFound(StoreError, LookupError):
    """No session of that name in this scope."""

    def __init__(self, message: str, *, session: str) -> None:
        super().__init__(message)
        self.session = session


class SchemaMismatch(StoreError):
    """The stored schema is not the one this version reads."""

    def __init__(self, message: str, *, found: str, wanted: str) -> None:
        super().__init__(message)
        self.found = found
        self.wanted = wanted


class ConfigError(TenureError):
    """A setting is unknown or its value is not accepted."""

    def __init__(self, message: str, *, source: str = "", key: str = "") -> None:
        super().__init__(message)
        self.source = source
        self.key = key
