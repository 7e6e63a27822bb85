"""HTTP/1.1 on loopback: whole requests in, prepared responses out. No model or provider is known here."""

from __future__ import annotations

import json
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from socketserver import ThreadingTCPServer
from typing import Any


@dataclass(frozen=True, slots=True)
class ReceivedRequest:
    """One HTTP request as it arrived.

    Attributes:
        method: Such as `POST`.
        path: Such as `/v1/messages`, without the query.
        query: What follows the `?`, which itself is left out.
        headers: By name, in lower case.
        body: The bytes, transfer encoding taken off.
        json: The body's JSON; `None` where it is none.
    """

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    body: bytes
    json: Any


@dataclass(frozen=True, slots=True)
class PreparedResponse:
    """One HTTP response, ready to be sent.

    Attributes:
        status: The HTTP status.
        headers: Without those that say how the body is transferred.
        pieces: The body, in the pieces that it is sent in.
        chunked: Whether each piece is sent as an HTTP chunk; otherwise the length is announced.
        wait_seconds: How long to wait before the status line.
        delay_seconds: How long to wait after each piece.
        after_bytes: After how many bytes of the body to hang up, its last byte never sent; with 0 before
            the status line; `None`: not at all.
    """

    status: int
    headers: Mapping[str, str]
    pieces: list[bytes]
    chunked: bool = False
    wait_seconds: float = 0.0
    delay_seconds: float = 0.0
    after_bytes: int | None = None

    @property
    def length(self) -> int:
        """How many bytes the body has."""
        return sum(map(len, self.pieces))

    def sent(self) -> Iterator[bytes]:
        """The pieces that are sent before the connection is dropped; all, where it is not."""
        left = self.length if self.after_bytes is None else min(self.after_bytes, self.length - 1)
        for piece in self.pieces:
            if left > 0 and piece:
                yield piece[:left]
            left -= len(piece)


class Handler(BaseHTTPRequestHandler):
    """Reads the requests of one connection and sends what the listener makes of them."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Listener

    def do_POST(self) -> None:
        """Read a request, and answer it."""
        response = self.server.respond(self._received())
        if not self.server.closing.wait(response.wait_seconds):
            self._send(response)

    do_GET = do_POST

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing."""

    def _received(self) -> ReceivedRequest:
        path, _, query = self.path.partition("?")
        headers = {name.lower(): value for name, value in self.headers.items()}
        body = self._chunks() if "transfer-encoding" in headers else self._sized(headers)
        parsed = None
        with suppress(ValueError, RecursionError):
            parsed = json.loads(body)
        return ReceivedRequest(self.command, path, query, headers, body, parsed)

    def _sized(self, headers: Mapping[str, str]) -> bytes:
        return self.rfile.read(int(headers.get("content-length", "0")))

    def _chunks(self) -> bytes:
        chunks = []
        while size := int(self.rfile.readline(), 16):
            chunks.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(chunks)

    def _send(self, response: PreparedResponse) -> None:
        self.close_connection |= response.after_bytes is not None
        if response.after_bytes == 0:
            return
        self.send_response(response.status)
        for name, value in response.headers.items():
            self.send_header(name, value)
        if response.chunked:
            self.send_header("transfer-encoding", "chunked")
        else:
            self.send_header("content-length", str(response.length))
        self.end_headers()
        for piece in response.sent():
            self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece) if response.chunked else piece)
            if self.server.closing.wait(response.delay_seconds):
                return
        if response.chunked and response.after_bytes is None:
            self.wfile.write(b"0\r\n\r\n")


class Listener(ThreadingTCPServer):
    """Listens on a free port of the loopback address, in threads of its own, until it is closed.

    It is no `ThreadingHTTPServer`, because that one looks up the host's name, which can take seconds.

    Args:
        respond: Makes the response to a request. Called from several threads.
        report: Is told, in one line, what went wrong on a connection.
    """

    daemon_threads = True
    request_queue_size = 128

    def __init__(
        self, respond: Callable[[ReceivedRequest], PreparedResponse], report: Callable[[str], None]
    ) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.respond = respond
        self.report = report
        self.closing = threading.Event()
        self._connections: dict[Any, threading.Thread] = {}
        self._loop = threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True)
        self._loop.start()

    @property
    def port(self) -> int:
        """The port it listens on."""
        port: int = self.server_address[1]
        return port

    def close(self) -> None:
        """Hang up on everyone, and wait for the threads to end."""
        self.closing.set()
        self.shutdown()
        self._loop.join()
        for connection, thread in list(self._connections.items()):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            thread.join()
        self.server_close()

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve a connection in a thread that `close` can wait for."""
        thread = threading.Thread(
            target=self.process_request_thread, args=(request, client_address), daemon=True
        )
        self._connections[request] = thread
        thread.start()

    def shutdown_request(self, request: Any) -> None:
        """Close a connection."""
        super().shutdown_request(request)
        del self._connections[request]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Report what went wrong; a client that hung up did nothing wrong."""
        error = sys.exception()
        if not isinstance(error, ConnectionError):
            self.report(f"a connection failed: {error!r}")
