"""The seams of the core: what it asks of a wire format, a meter, a model profile, a store.

Invariant: small protocols, five methods or so; the core knows nothing else of the other packages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from tenure.core.legal import Checker, Mended, Rule, Terms, Violation
from tenure.core.message import Block, JsonObject, Lens, Message, Origin, Path
from tenure.core.server_edit import Applied, Wanted
from tenure.core.usage import Usage


class Count(NamedTuple):
    """Tokens of a text: the estimate, and a bound it stays under but for 0.1 % of pieces."""

    estimate: int
    upper: int


class ToolCall(NamedTuple):
    """A call the model made: its id, the tool's name, the arguments as JSON values."""

    id: str
    name: str
    input: Any


class Wire(Protocol):
    """One provider API's spelling of messages and requests."""

    @property
    def name(self) -> str:
        """anthropic_messages, openai_chat or openai_responses."""

    def lenses(self, data: JsonObject) -> Sequence[Lens]:
        """The blocks of a message, in order; unknown types come as kind OTHER."""

    def splice(self, message: Message, changes: Mapping[Path, bytes | None]) -> Message | None:
        """The message with the values at these paths replaced (None: taken out).

        Every byte that no change touches stays; a dict-held message gives a dict that shares
        what is unchanged. None when nothing of the message is left.
        """

    def stand_in(self, block: Block, message: Message, text: str) -> bytes:
        """The JSON of a block that keeps its place, ids and error flag but says `text` instead."""

    @property
    def rules(self) -> Mapping[str, Rule]:
        """Every rule that is checked, by name."""

    def violations(
        self, messages: Sequence[JsonObject], terms: Terms | None = None
    ) -> list[Violation]:
        """The rules of validity that these messages break, in order."""

    def checker(self, terms: Terms) -> Checker:
        """A check that remembers, for one growing conversation."""

    def mend(self, messages: Sequence[JsonObject], terms: Terms) -> Mended:
        """A copy without violations, as far as rules have a mend; a legal list comes back as is.

        Deterministic and idempotent; minimal: a message that breaks no rule is not touched.
        """


class Dialect(Protocol):
    """What a session needs beyond `Wire`: making messages and reading replies."""

    def user(self, content: str | Sequence[JsonObject]) -> list[JsonObject]:
        """A user's words as wire messages."""

    def results(self, results: Sequence[tuple[ToolCall, Any, bool]]) -> list[JsonObject]:
        """Tool results (call, content, is_error) as wire messages, in call order."""

    def reply(self, reply: Any) -> tuple[list[JsonObject], Usage | None]:
        """The messages to append and the usage of a reply (a dict of the response body)."""

    def request(self, head: JsonObject, messages: Sequence[JsonObject]) -> dict[str, Any]:
        """The keyword arguments of the SDK's create call."""

    def origin(self, data: JsonObject) -> Origin:
        """Who speaks in a message, as far as it tells."""

    def call(self, block: Block, message: Message) -> ToolCall:
        """The tool call that a TOOL_CALL block is."""

    def delegating(self, head: JsonObject, wanted: Sequence[Wanted]) -> JsonObject:
        """The head that also asks for these edits of the provider's own; the head as it is where
        there are none."""

    def summarizing(self, head: JsonObject, max_tokens: int) -> JsonObject:
        """The head of a request for a summary of its messages, where the API has that."""

    def applied(self, reply: JsonObject) -> Sequence[Applied]:
        """What a reply says that the provider's own edits did."""

    def tool(self, name: str, description: str, schema: JsonObject) -> JsonObject:
        """The definition of a client-side tool."""


class SessionWire(Wire, Dialect, Protocol):
    """All that a session needs of a wire format."""


class Profile(Protocol):
    """What planning needs to know of a model. Prices are relative to the base input price."""

    @property
    def name(self) -> str: ...
    @property
    def context_window(self) -> int: ...
    @property
    def max_output(self) -> int: ...
    @property
    def read(self) -> float: ...
    @property
    def write(self) -> float: ...
    @property
    def output(self) -> float: ...
    @property
    def cache_ttl(self) -> float: ...
    @property
    def preserved_thinking(self) -> bool: ...


class Counter(Protocol):
    """Counts blocks for one model family; pure, so a block is asked for once in its life."""

    def bound(self, block: Block) -> int:
        """An upper bound from sizes alone, never exceeded; constant time."""

    def count(self, block: Block) -> Count:
        """Estimate and upper bound; linear in the text."""

    def bound_text(self, text: str) -> int:
        """The same as `bound` for bare text (system, tools)."""

    def count_text(self, text: str) -> Count:
        """The same as `count` for bare text."""


class Scope(NamedTuple):
    """Whose records: every call that reaches a store takes one."""

    tenant: str = "default"
    user: str = "default"


DEFAULT_SCOPE = Scope()
