"""How the scripted model server handles connections, seen from the bare protocol."""

from __future__ import annotations

import gzip
import json
import socket
import struct
import threading
import time
import zlib
from http.client import HTTPConnection, HTTPException
from typing import Any

import pytest

from ctxkit.testing import ModelServer, reply, slow

ASKED = json.dumps({"model": "m", "messages": [{"role": "user", "content": "Any cats?"}]})
STREAMED = json.dumps({**json.loads(ASKED), "stream": True})


def connect(server: ModelServer) -> HTTPConnection:
    return HTTPConnection(server.url.removeprefix("http://"), timeout=5)


def dial(server: ModelServer) -> socket.socket:
    host, _, port = server.url.removeprefix("http://").partition(":")
    return socket.create_connection((host, int(port)), timeout=5)


def post(connection: HTTPConnection, body: Any, **headers: str) -> tuple[Any, bytes]:
    connection.request("POST", "/v1/messages", body, headers)
    response = connection.getresponse()
    return response, response.read()


def test_a_connection_is_kept_for_the_next_request() -> None:
    with ModelServer([reply("None.")] * 3) as server:
        connection = connect(server)
        post(connection, ASKED)
        kept = connection.sock
        post(connection, STREAMED)
        post(connection, ASKED)
        assert kept is not None
        assert connection.sock is kept
        connection.close()


def test_an_answer_announces_its_length_and_a_stream_does_not() -> None:
    with ModelServer([reply("None.")] * 3) as server:
        connection = connect(server)
        whole, body = post(connection, ASKED)
        streamed, _ = post(connection, STREAMED)
        connection.close()
    assert whole.headers["content-length"] == str(len(body))
    assert whole.headers["transfer-encoding"] is None
    assert streamed.headers["transfer-encoding"] == "chunked"
    assert streamed.headers["content-length"] is None


def streamed_chunks(server: ModelServer) -> list[bytes]:
    """The HTTP chunks of one streamed answer, without the empty one that ends it."""
    head = "POST /v1/messages HTTP/1.1\r\nAccept-Encoding: gzip\r\nConnection: close"
    with dial(server) as client:
        client.sendall(f"{head}\r\nContent-Length: {len(STREAMED)}\r\n\r\n{STREAMED}".encode())
        answer = b"".join(iter(lambda: client.recv(65_536), b""))
    _, _, rest = answer.partition(b"\r\n\r\n")
    chunks = []
    while rest:
        size, _, rest = rest.partition(b"\r\n")
        chunks.append(rest[: int(size, 16)])
        rest = rest[int(size, 16) + 2 :]
    assert chunks.pop() == b""
    return chunks


def test_a_stream_comes_event_by_event_even_when_it_is_compressed() -> None:
    with ModelServer([reply("None.")]) as server:
        plain = streamed_chunks(server)
    with ModelServer([reply("None.")], gzip=True) as server:
        *packed, trailer = streamed_chunks(server)
    unpacker = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    assert [unpacker.decompress(chunk) for chunk in packed] == plain
    assert unpacker.decompress(trailer) == b""
    assert unpacker.eof
    assert all(chunk.startswith(b"event: ") and chunk.count(b"\n\n") == 1 for chunk in plain)


def test_a_stream_is_split_anywhere_by_the_chunk_size() -> None:
    with ModelServer([reply("None.")], chunk_size=50) as server:
        *chunks, last = streamed_chunks(server)
    assert {len(chunk) for chunk in chunks} == {50}
    assert b"".join([*chunks, last]).endswith(b'data: {"type":"message_stop"}\n\n')


def test_answers_are_compressed_only_for_clients_that_accept_it() -> None:
    with ModelServer([reply("None.")] * 3, gzip=True) as server:
        connection = connect(server)
        packed, packed_body = post(connection, ASKED, **{"Accept-Encoding": "gzip"})
        plain, plain_body = post(connection, ASKED, **{"Accept-Encoding": "br"})
        connection.close()
    assert packed.headers["content-encoding"] == "gzip"
    assert plain.headers["content-encoding"] is None
    assert json.loads(gzip.decompress(packed_body)) == {**json.loads(plain_body), "id": "msg_0"}


def test_a_request_in_chunks_is_put_together() -> None:
    with ModelServer([reply("None.")]) as server:
        connection = connect(server)
        response, _ = post(connection, iter([ASKED[:10].encode(), ASKED[10:].encode()]))
        connection.close()
    assert response.status == 200
    assert server.requests[0].body == ASKED.encode()


def test_pieces_come_with_the_delay_between_them() -> None:
    with ModelServer([reply("None.")], delay_seconds=0.01) as server:
        connection = connect(server)
        start = time.perf_counter()
        _, body = post(connection, STREAMED)
        elapsed = time.perf_counter() - start
        connection.close()
    assert elapsed >= 0.01 * (body.count(b"\n\n") - 1)


@pytest.mark.parametrize("body", [ASKED, STREAMED])
@pytest.mark.parametrize(
    ("wait_seconds", "delay_seconds"), [(30.0, 0.0), (0.0, 30.0)], ids=["before", "between"]
)
def test_closing_waits_for_no_slow_answer(body: str, wait_seconds: float, delay_seconds: float) -> None:
    server = ModelServer([slow(reply("None."), seconds=wait_seconds)], delay_seconds=delay_seconds)
    connection = connect(server)
    connection.request("POST", "/v1/messages", body)
    while not server.requests:
        time.sleep(0.001)
    before = threading.active_count()
    start = time.perf_counter()
    server.close()
    assert time.perf_counter() - start < 5
    assert threading.active_count() < before
    connection.close()


def test_closing_ends_kept_connections_and_may_be_repeated() -> None:
    server = ModelServer([reply("None.")])
    connection = connect(server)
    post(connection, ASKED)
    server.close()
    server.close()
    with pytest.raises((HTTPException, ConnectionError)):
        post(connection, ASKED)
    connection.close()


def test_a_client_that_hangs_up_is_no_error(capfd: pytest.CaptureFixture[str]) -> None:
    with ModelServer([reply("None.")], chunk_size=1, delay_seconds=0.001) as server:
        connection = connect(server)
        connection.request("POST", "/v1/messages", STREAMED)
        response = connection.getresponse()
        response.read(3)
        assert connection.sock is not None
        connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        response.close()
        connection.close()
        time.sleep(0.05)
    assert server.errors == []
    assert capfd.readouterr().err == ""


def test_a_request_that_is_no_http_is_reported(capfd: pytest.CaptureFixture[str]) -> None:
    with ModelServer([]) as server, dial(server) as client:
        client.sendall(b"POST /v1/messages HTTP/1.1\r\nContent-Length: many\r\n\r\n")
        assert client.recv(1) == b""
    (error,) = server.errors
    assert "many" in error
    assert server.requests == []
    assert capfd.readouterr().err == ""
