"""Hooks over HTTP: a harness posts its payload to the engine itself, and no process is started per call.

Only on the loopback, and only for who knows the secret in the path. A browser is turned away by its ``Host`` and its
``Origin``, whatever name it resolved. A request whose connection closes is withdrawn. Every fault has a decided answer
in the harness's own form, as in ``engine.hook``.

On a machine with other users, one of them could listen on this port while no engine does; the hook that is a process
has no such gap, for the directory of its socket is private.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
from typing import cast

import h11
from msgspec import Struct

from engine.harnesses.endpoint import HOST, PATH_HEAD, Endpoint
from engine.harnesses.hooks import ADAPTERS
from engine.harnesses.known import BEFORE_A_CALL
from engine.hook import NO_ANSWER
from engine.protocol import FRAME_LIMIT, HookAnswer, ProtocolError
from engine.service.connection import HookHandler
from engine.service.desk import Desk, HookDesk
from engine.service.listening import SocketError

HEAD_LIMIT = 16 * 1024
"""Bytes in a request's line and headers."""
CONNECTIONS_KEPT = 256
PIPELINED_LIMIT = 64 * 1024
"""Bytes that may come while a request is being served: nothing is to come then."""
REQUEST_SECONDS = 30.0
"""How long a request may take to arrive; and how long a connection is kept for the next one."""
FLUSH_SECONDS = 1.0


class _Refused(Exception):  # noqa: N818 - the answer to a request, not a fault
    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class _Asked(Struct, frozen=True):
    """Whose hook is posted, and which."""

    harness: str
    event: str


class HttpHooks:
    """Serves hooks at an endpoint, from ``start`` to ``stop``, on the running loop."""

    def __init__(self, desk: Desk, handler: HookHandler, endpoint: Endpoint) -> None:
        self.desk = desk
        self.handler = handler
        self.endpoint = endpoint
        self.connections: set[HttpConnection] = set()
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        """Begin to serve. Raises SocketError when the port is taken: those hooks would go unserved without a word."""
        loop = asyncio.get_running_loop()
        try:
            self._server = await loop.create_server(lambda: HttpConnection(self), HOST, self.endpoint.port)
        except OSError as error:
            raise SocketError(
                f"Port {self.endpoint.port} of {HOST}, to which hooks over HTTP were installed, cannot be had: "
                f"{error.strerror}. Stop what listens there, or take those hooks out: breaker uninstall claude-code"
            ) from error

    async def stop(self) -> None:
        """Serve no more; close the desk first, so that those who wait have their refusals."""
        if self._server:
            self._server.close()
        tasks = [connection.task for connection in self.connections if connection.task]
        if tasks:
            await asyncio.wait(tasks, timeout=FLUSH_SECONDS)
        for connection in tuple(self.connections):
            connection.close()

    async def answer(self, asked: _Asked, payload: bytes) -> str:
        """What the hook of this request prints."""
        try:
            answer: HookAnswer = await self.handler(asked.harness, payload, HookDesk(self.desk, payload))
        except ProtocolError:
            pass  # the payload's fault, and the answer is decided: see below
        except Exception as fault:  # noqa: BLE001 - a call that reached the engine is not let through by a fault
            self.desk.blame(f"serving a hook of {asked.harness}", fault)
        else:
            return answer.stdout
        if asked.event not in BEFORE_A_CALL:
            return ""
        return ADAPTERS[asked.harness].denial(f"REPEAT_TOOL_BLOCKED: {NO_ANSWER}.")


class HttpConnection(asyncio.Protocol):
    """One connection: request after request, each answered before the next is read."""

    def __init__(self, service: HttpHooks) -> None:
        self._service = service
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=HEAD_LIMIT)
        self._transport: asyncio.Transport | None = None
        self._asked: _Asked | None = None
        self._body: list[bytes] = []
        self._size = 0
        self._patience: asyncio.TimerHandle | None = None
        self.task: asyncio.Task[None] | None = None

    # -- asyncio's side ---------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is of no class of asyncio's
        if len(self._service.connections) >= CONNECTIONS_KEPT:
            self._transport.abort()
            return
        self._service.connections.add(self)
        self._wait()

    def data_received(self, data: bytes) -> None:
        if self.task and len(data) + len(self._http.trailing_data[0]) > PIPELINED_LIMIT:
            self.close()
            return
        self._http.receive_data(data)
        self._read()

    def eof_received(self) -> None:
        """Who has closed its end will not read an answer: the connection is closed, and the call withdrawn."""

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        self._transport = None
        self._service.connections.discard(self)
        self._rest()
        if self.task:
            self.task.cancel()

    def close(self) -> None:
        """Hang up, once what was answered is written."""
        if self._transport:
            self._transport.close()

    # -- a request --------------------------------------------------------------------------------------------

    def _read(self) -> None:
        """Take what has come; at the end of a request, begin to serve it."""
        try:
            while self.task is None:
                event = self._http.next_event()
                if event is h11.NEED_DATA or event is h11.PAUSED:
                    return
                if isinstance(event, h11.Request):
                    self._begin(event)
                elif isinstance(event, h11.Data):
                    self._take(bytes(event.data))
                elif isinstance(event, h11.EndOfMessage):
                    self._serve()
                else:
                    self.close()
                    return
        except h11.RemoteProtocolError as error:
            self._refuse(error.error_status_hint)
        except _Refused as refused:
            self._refuse(refused.status)

    def _begin(self, request: h11.Request) -> None:
        self._asked = asked_in(request, self._service.endpoint)
        self._body, self._size = [], 0
        if self._http.they_are_waiting_for_100_continue:
            self._send(h11.InformationalResponse(status_code=100, headers=[]))

    def _take(self, data: bytes) -> None:
        self._size += len(data)
        if self._size > FRAME_LIMIT:
            raise _Refused(413)
        self._body.append(data)

    def _serve(self) -> None:
        self._rest()
        asked = self._asked
        assert asked is not None  # noqa: S101 - a request begins before it ends
        body, self._body = b"".join(self._body), []
        self.task = asyncio.get_running_loop().create_task(self._answer(asked, body))

    async def _answer(self, asked: _Asked, body: bytes) -> None:
        text = await self._service.answer(asked, body)
        self.task = None
        self._respond(200, text.encode("utf-8", "replace"))
        if self._http.our_state is h11.DONE and self._http.their_state is h11.DONE:
            self._http.start_next_cycle()
            self._wait()
            self._read()
        else:
            self.close()

    # -- answers ----------------------------------------------------------------------------------------------

    def _refuse(self, status: int) -> None:
        with contextlib.suppress(h11.LocalProtocolError):
            self._respond(status, b"", closing=True)
        self.close()

    def _respond(self, status: int, body: bytes, *, closing: bool = False) -> None:
        headers = [("content-type", "application/json"), ("content-length", str(len(body)))]
        if closing:
            headers.append(("connection", "close"))
        self._send(h11.Response(status_code=status, headers=headers))
        self._send(h11.Data(data=body))
        self._send(h11.EndOfMessage())

    def _send(self, event: h11.Event) -> None:
        data = self._http.send(event)
        if data and self._transport:
            self._transport.write(data)

    # -- patience ---------------------------------------------------------------------------------------------

    def _wait(self) -> None:
        self._rest()
        self._patience = asyncio.get_running_loop().call_later(REQUEST_SECONDS, self.close)

    def _rest(self) -> None:
        if self._patience:
            self._patience.cancel()
            self._patience = None


def asked_in(request: h11.Request, endpoint: Endpoint) -> _Asked:
    """Whose hook this request is about. Raises _Refused for one that does not come from a harness of ours."""
    hosts = [value for name, value in request.headers if name == b"host"]
    own = {f"{HOST}:{endpoint.port}".encode(), f"localhost:{endpoint.port}".encode()}
    if len(hosts) != 1 or hosts[0].lower() not in own or any(name == b"origin" for name, _ in request.headers):
        raise _Refused(403)
    head, _, rest = request.target.partition(PATH_HEAD.encode())
    parts = rest.split(b"/")
    if head or len(parts) != 3 or not hmac.compare_digest(parts[0], endpoint.secret.encode()):
        raise _Refused(404)
    if request.method != b"POST":
        raise _Refused(405)
    harness, event = parts[1].decode("ascii", "replace"), parts[2].decode("ascii", "replace")
    if harness not in ADAPTERS:
        raise _Refused(404)
    return _Asked(harness, event)
