"""Hooks over HTTP: real connections, from a harness and from those who are none."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from engine import http_hooks
from engine.events import AskClosed, AskOpened, CallSeen, Notice
from engine.harnesses.endpoint import Endpoint, make_endpoint
from engine.hook import NO_ANSWER
from engine.host import Host
from engine.protocol import FRAME_LIMIT
from engine.service.listening import SocketError
from tests.engine.harnesses.test_hook_process import Engine, denied, payload
from tests.engine.harnesses.test_hooks import AFTER, BEFORE
from tests.engine.sockets import DEADLINE, hosted, short_directory, until

CLAUDE = "claude-code"


class HttpEngine(Engine):
    endpoint: Endpoint

    def connection(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.endpoint.port, timeout=DEADLINE)

    def path_of(self, event: str) -> str:
        return self.endpoint.url(CLAUDE, event).partition(str(self.endpoint.port))[2]

    def post(self, event: str, data: bytes, **headers: str) -> tuple[int, bytes]:
        """Post to a hook: the status and the body."""
        with contextlib.closing(self.connection()) as connection:
            connection.request("POST", self.path_of(event), data, headers)
            response = connection.getresponse()
            return response.status, response.read()

    def raw(self, data: bytes) -> bytes:
        """Say this and hear everything that is answered, to the end."""
        with socket.create_connection(("127.0.0.1", self.endpoint.port), DEADLINE) as connected:
            connected.sendall(data)
            return b"".join(iter(lambda: connected.recv(1 << 16), b""))


@pytest.fixture
def engine() -> Iterator[HttpEngine]:
    events: list[Any] = []
    endpoint = make_endpoint()
    with hosted(listeners=[events.append], http=endpoint) as (host, path):
        found = HttpEngine(host, path, events)
        found.endpoint = endpoint
        yield found


def test_the_whole_story(engine: HttpEngine) -> None:
    told = []
    for number in range(12):
        status, body = engine.post("PreToolUse", payload(CLAUDE, BEFORE[CLAUDE], number))
        assert status == 200
        told.append(body)
        if not body:
            status, advice = engine.post("PostToolUse", payload(CLAUDE, AFTER[CLAUDE], number))
            assert status == 200
            assert bool(advice) is (number in (6, 10))
    assert told[:11] == [b""] * 11
    assert denied(CLAUDE, told[11]).startswith("REPEAT_TOOL_BLOCKED")


def test_one_connection_serves_one_request_after_the_other(engine: HttpEngine) -> None:
    with contextlib.closing(engine.connection()) as connection:
        for number in range(5):
            connection.request("POST", engine.path_of("PreToolUse"), payload(CLAUDE, BEFORE[CLAUDE], number))
            response = connection.getresponse()
            assert (response.status, response.read()) == (200, b"")
    assert len(engine.of(CallSeen)) == 5


def test_a_body_in_chunks(engine: HttpEngine) -> None:
    with contextlib.closing(engine.connection()) as connection:
        data = payload(CLAUDE, BEFORE[CLAUDE])
        connection.request("POST", engine.path_of("PreToolUse"), iter([data[:9], data[9:]]), encode_chunked=True)
        assert connection.getresponse().status == 200
    assert len(engine.of(CallSeen)) == 1


def test_who_asks_first_whether_to_go_on(engine: HttpEngine) -> None:
    data = payload(CLAUDE, BEFORE[CLAUDE])
    head = _head(engine, "PreToolUse", f"Expect: 100-continue\r\nContent-Length: {len(data)}\r\n")
    with socket.create_connection(("127.0.0.1", engine.endpoint.port), DEADLINE) as connected:
        connected.sendall(head)
        assert connected.recv(100).startswith(b"HTTP/1.1 100 ")
        connected.sendall(data)
        assert connected.recv(1 << 16).startswith(b"HTTP/1.1 200 ")


def test_the_operator_is_waited_for(engine: HttpEngine) -> None:
    with waiting(engine) as connection, contextlib.closing(engine.host.operator()):
        engine.host.call(lambda desk: desk.answer(engine.of(AskOpened)[0].ask.id, "rejected", "no"))
        assert "no" in denied(CLAUDE, connection.getresponse().read())


def test_a_connection_that_closes_withdraws_its_ask(engine: HttpEngine) -> None:
    with waiting(engine) as connection:
        connection.close()
        (closed,) = until(lambda: engine.of(AskClosed))
        assert closed.outcome == "cancelled"


def test_an_end_of_input_withdraws_an_ask(engine: HttpEngine) -> None:
    with waiting(engine) as connection:
        connection.sock.shutdown(socket.SHUT_WR)
        until(lambda: engine.of(AskClosed))


def test_an_engine_that_stops_refuses_who_waits(engine: HttpEngine) -> None:
    with waiting(engine) as connection:
        engine.host.stop()
        assert denied(CLAUDE, connection.getresponse().read()).startswith("REPEAT_TOOL_BLOCKED")


@pytest.mark.parametrize("data", [b"", b"{", b"null", b"\xff", b"[" * 50_000, b'{"hook_event_name":"Unheard"}'])
def test_a_payload_that_is_none_is_decided(engine: HttpEngine, data: bytes) -> None:
    status, body = engine.post("PreToolUse", data)
    assert status == 200
    assert NO_ANSWER in denied(CLAUDE, body)
    assert engine.post("PostToolUse", data) == (200, b"")


def test_a_fault_inside_is_decided_and_told(engine: HttpEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("oh")

    monkeypatch.setattr("engine.harnesses.hooks.read_payload", broken)
    status, body = engine.post("PreToolUse", payload(CLAUDE, BEFORE[CLAUDE]))
    assert status == 200
    assert NO_ANSWER in denied(CLAUDE, body)
    (notice,) = until(lambda: engine.of(Notice))
    assert "ZeroDivisionError" in notice.text


# -- strangers --------------------------------------------------------------------------------------------------


def _head(
    engine: HttpEngine, event: str, headers: str = "", host: str = "", method: str = "POST", path: str = ""
) -> bytes:
    host = host or f"127.0.0.1:{engine.endpoint.port}"
    return f"{method} {path or engine.path_of(event)} HTTP/1.1\r\nHost: {host}\r\n{headers}\r\n".encode()


def status_of(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


def test_only_who_knows_the_secret(engine: HttpEngine) -> None:
    known = engine.path_of("PreToolUse")
    almost = engine.endpoint.secret[:-1] + ("1" if engine.endpoint.secret.endswith("0") else "0")
    for path in (
        *("/", "/repeat-tool-breaker/", "/repeat-tool-breaker//claude-code/PreToolUse", known + "/x", "//" + known),
        known.replace(engine.endpoint.secret, engine.endpoint.secret[:-1]),
        known.replace(engine.endpoint.secret, almost),
        known.replace(engine.endpoint.secret, "é"),
        known.replace("claude-code", "emacs"),
        "/x" + known,
        f"http://127.0.0.1:{engine.endpoint.port}{known}",
    ):
        head = _head(engine, "", "Content-Length: 0\r\n", path=path.encode().decode("latin-1"))
        assert status_of(engine.raw(head)) in (400, 404), path
    assert engine.of(CallSeen) == []


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1.evil.example:{port}", "127.0.0.2:{port}", ""],
)
def test_a_name_that_somebody_else_chose(engine: HttpEngine, host: str) -> None:
    port = engine.endpoint.port
    lines = f"Host: {host.format(port=port)}\r\n" if host else ""
    head = f"POST {engine.path_of('PreToolUse')} HTTP/1.1\r\n{lines}Content-Length: 0\r\n\r\n".encode()
    assert status_of(engine.raw(head)) in (400, 403)
    twice = f"POST {engine.path_of('PreToolUse')} HTTP/1.1\r\nHost: a\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode()
    assert status_of(engine.raw(twice)) in (400, 403)


def test_a_browser_is_turned_away(engine: HttpEngine) -> None:
    assert engine.post("PreToolUse", b"{}", Origin="https://evil.example")[0] == 403
    assert engine.post("PreToolUse", b"{}", Origin="null")[0] == 403
    assert engine.post("PreToolUse", b"{}", Host=f"localhost:{engine.endpoint.port}")[0] == 200


@pytest.mark.parametrize("method", ["GET", "PUT", "OPTIONS", "DELETE", "CONNECT"])
def test_only_posting(engine: HttpEngine, method: str) -> None:
    assert status_of(engine.raw(_head(engine, "PreToolUse", method=method))) in (404, 405)


def test_only_on_the_loopback(engine: HttpEngine) -> None:
    addresses = {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)}
    for address in addresses - {"127.0.0.1"}:
        with pytest.raises(OSError, match=r"refused|unreachable|route"):
            socket.create_connection((address, engine.endpoint.port), 5).close()


@pytest.mark.parametrize(
    "junk",
    [b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", b"hello\r\n\r\n", b"POST / HTTP/9.9\r\n\r\n", b"GET /" + b"x" * 70_000],
    ids=["tls", "hello", "version", "endless"],
)
def test_what_is_no_http(engine: HttpEngine, junk: bytes) -> None:
    assert status_of(engine.raw(junk)) in (400, 403, 431, 505)
    assert engine.post("PreToolUse", payload(CLAUDE, BEFORE[CLAUDE])) == (200, b"")


def test_a_body_beyond_every_measure(engine: HttpEngine) -> None:
    head = _head(engine, "PreToolUse", f"Content-Length: {FRAME_LIMIT + 1}\r\n")
    with socket.create_connection(("127.0.0.1", engine.endpoint.port), DEADLINE) as connected:
        connected.sendall(head)
        with contextlib.suppress(ConnectionError):
            for _ in range(FRAME_LIMIT // (1 << 16) + 1):
                connected.sendall(b"x" * (1 << 16))
        with contextlib.suppress(ConnectionResetError):
            assert status_of(connected.recv(1 << 16)) == 413
    assert engine.post("PreToolUse", payload(CLAUDE, BEFORE[CLAUDE])) == (200, b"")


def test_what_is_pushed_into_a_waiting_connection(engine: HttpEngine) -> None:
    with waiting(engine) as connection:
        with contextlib.suppress(ConnectionError):
            for _ in range(100):
                connection.sock.sendall(b"x" * (1 << 16))
        until(lambda: engine.of(AskClosed))


def test_who_takes_for_ever(engine: HttpEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_hooks, "REQUEST_SECONDS", 0.05)
    assert engine.raw(b"POST / HTTP/1.1\r\n") == b""


def test_how_many_connections_are_kept(engine: HttpEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_hooks, "CONNECTIONS_KEPT", 3)
    with contextlib.ExitStack() as opened:
        for _ in range(3):
            connection = opened.enter_context(contextlib.closing(engine.connection()))
            connection.request("POST", engine.path_of("PreToolUse"), payload(CLAUDE, BEFORE[CLAUDE]))
            connection.getresponse().read()
        with pytest.raises((ConnectionError, http.client.HTTPException)):
            engine.post("PreToolUse", b"{}")
    until(lambda: _served(engine))


def _served(engine: HttpEngine) -> bool:
    with contextlib.suppress(ConnectionError, http.client.HTTPException):
        return engine.post("PostToolUse", payload(CLAUDE, AFTER[CLAUDE]))[0] == 200
    return False


def test_a_port_that_is_taken_stops_the_start() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, short_directory() as directory:
        endpoint = Endpoint(taken.getsockname()[1], "secret")
        with pytest.raises(SocketError, match="breaker uninstall claude-code"):
            Host(socket=directory / "e.sock", http=endpoint).start()
        assert not (directory / "e.sock").exists()


@contextlib.contextmanager
def waiting(engine: HttpEngine) -> Iterator[Any]:
    """A request that waits for the operator."""
    for number in range(11):
        engine.post("PreToolUse", payload(CLAUDE, BEFORE[CLAUDE], number))
    with contextlib.closing(engine.host.operator()), contextlib.closing(engine.connection()) as connection:
        connection.request("POST", engine.path_of("PreToolUse"), payload(CLAUDE, BEFORE[CLAUDE], 11))
        until(lambda: engine.of(AskOpened))
        yield connection


def test_nothing_printed_is_nothing_but_json(engine: HttpEngine) -> None:
    _, body = engine.post("PreToolUse", b"{")
    json.loads(body)
