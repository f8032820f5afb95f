"""A real HTTP server on loopback that speaks three provider APIs and answers by script.

Invariant: everything between a client and the script is real: sockets, status codes, bodies,
event streams, rules of validity, token usage with prompt caching.
"""

from __future__ import annotations

import socket
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self, cast

from tenure.testing.conversation import (
    PrefixBreak,
    RecordedRequest,
    SharedPrefix,
    prefix_break,
    shared_prefix,
)
from tenure.testing.model import Answer, ScriptedModel, Settings
from tenure.testing.prompt import Counter, default_counter
from tenure.testing.script import Counting, Script, Summarizer, counted, summary_of

BROKEN = (
    b"HTTP/1.1 500 Internal Server Error\r\ncontent-type: application/json\r\n"
    b"x-should-retry: false\r\nconnection: close\r\ncontent-length: 68\r\n\r\n"
    b'{"error": {"type": "api_error", "message": "the script has failed"}}'
)


class ModelServer:
    """A scripted model provider; use it as a context manager.

    `script`: the answers in order, or `(body, step) -> Reply | Failure`. `clock` gives seconds
    and decides when cache entries expire. `counter` counts tokens. `window` (tokens) is as the
    profile of the requested model says, unless given; prices and cache rules always are. `models`
    are listed by /v1/models. Rules named in `without_rules` are not checked.

    `preserved_thinking`: None binds thinking to its prefix on the models that do so, as for an
    account of today. True binds it on every model. False is an account from before 2026-08-31:
    the check is in force only for requests that set `prefix_mismatch_behavior` on a model that
    knows it, and for all on the models that spare nobody (5.2).

    `summary` makes the text of every compaction, asked for or by threshold, and takes no step of
    the script; a `Reply` without text is a compaction that failed with status 200.

    `counting` answers for the counting endpoints where it does not return None, e.g. with a
    `Failure(404)`, as a gateway that has none.

    `reasoning_of` tells of items of the Responses API that were made before this server began: an
    item's id and the id of the reasoning item that it came with and must come back with.

    A script that fails or runs out answers 500, and leaving the context raises its error.

    Example::

        with ModelServer([Reply("hello")]) as server:
            client = anthropic.Anthropic(base_url=server.url, api_key="any")
    """

    def __init__(  # noqa: PLR0913 - knobs of a fake, each with its default
        self,
        script: Script,
        *,
        clock: Callable[[], float] = time.time,
        counter: Counter = default_counter,
        window: int | None = None,
        models: Sequence[str] = ("claude-opus-5-5", "gpt-6.1-sol"),
        preserved_thinking: bool | None = None,
        without_rules: Collection[str] = (),
        summary: Summarizer = summary_of,
        reasoning_of: Mapping[str, str] | None = None,
        counting: Counting = counted,
    ) -> None:
        settings = Settings(
            clock=clock,
            counter=counter,
            window=window,
            models=models,
            preserved_thinking=preserved_thinking,
            without_rules=without_rules,
            summary=summary,
            reasoning_of=reasoning_of or {},
            counting=counting,
        )
        self._model = ScriptedModel(script, settings)
        self._http = _HttpServer(self._model)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._http.stop()
        self._thread.join()
        if not self._http.failures:
            return
        if error is None:
            raise self._http.failures[0]
        error.add_note(f"the script of the model server failed: {self._http.failures[0]!r}")

    @property
    def url(self) -> str:
        """The base URL for an Anthropic client."""
        return f"http://127.0.0.1:{self._http.server_port}"

    @property
    def openai_url(self) -> str:
        """The base URL for an OpenAI client."""
        return f"{self.url}/v1"

    @property
    def requests(self) -> Sequence[RecordedRequest]:
        """Every request so far, in the order of their answers."""
        return tuple(self._model.requests)

    @property
    def prefix_breaks(self) -> list[PrefixBreak]:
        """Requests that changed something their predecessor in the conversation had sent.

        Only requests that the model answered count; cache marks may move freely. All requests
        on one path are one conversation, unless the client sends an `x-conversation` header.
        """
        found = (prefix_break(before, after) for before, after in self._consecutive())
        return [broken for broken in found if broken is not None]

    def shared_prefix(self, index: int) -> SharedPrefix | None:
        """What request `index` shares with its predecessor; None for the first of them."""
        for before, after in self._consecutive():
            if after.index == index:
                return shared_prefix(before.prompt, after.prompt)
        return None

    def _consecutive(self) -> Iterator[tuple[RecordedRequest, RecordedRequest]]:
        last: dict[str, RecordedRequest] = {}
        for request in self.requests:
            if not request.generates:
                continue
            name = request.headers.get("x-conversation", request.path)
            if name in last:
                yield last[name], request
            last[name] = request


class _HttpServer(ThreadingHTTPServer):
    """One thread per connection; closing it ends open connections and waits for the threads."""

    daemon_threads = False

    def __init__(self, model: ScriptedModel) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.model = model
        self.failures: list[BaseException] = []
        self._open: set[socket.socket] = set()

    def stop(self) -> None:
        self.shutdown()
        for connection in tuple(self._open):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:  # the client was faster
                continue
        self.server_close()

    def get_request(self) -> tuple[socket.socket, object]:
        connection, address = super().get_request()
        self._open.add(connection)
        return connection, address

    def shutdown_request(self, request: socket.socket | tuple[bytes, socket.socket]) -> None:
        self._open.discard(cast("socket.socket", request))
        super().shutdown_request(request)

    def handle_error(
        self,
        request: socket.socket | tuple[bytes, socket.socket],
        client_address: object,  # noqa: ARG002
    ) -> None:
        """Called while a handler's exception is being handled: the script raised it."""
        error = sys.exception()
        if error is None or isinstance(error, ConnectionError):  # the client hung up
            return
        self.failures.append(error)
        cast("socket.socket", request).sendall(BROKEN)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def log_message(self, format: str, *args: object) -> None:
        """Silence: the record is `ModelServer.requests`."""

    def _serve(self) -> None:
        length = int(self.headers.get("content-length") or 0)
        body = self.rfile.read(length)
        headers = {name.lower(): value for name, value in self.headers.items()}
        path = self.path.partition("?")[0]
        model = cast("_HttpServer", self.server).model
        self._send(model.answer(self.command, path, headers, body))

    def _send(self, answer: Answer) -> None:
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.send_header("request-id", "req_scripted")
        if isinstance(answer.body, bytes):
            self.send_header("content-length", str(len(answer.body)))
            self.end_headers()
            self.wfile.write(answer.body)
            return
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for event in answer.body:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(event), event))
        self.wfile.write(b"0\r\n\r\n")
