"""The engine's sockets: agents on one, operators with a token on the other, one desk behind both."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import time
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

from engine.protocol import SERVER_NAME, ServerInfo, Status
from engine.service.connection import AgentConnection, HookHandler, Service
from engine.service.desk import Desk
from engine.service.door import Door
from engine.service.heat import status_of
from engine.service.lines import LineProtocol
from engine.service.listening import BACKLOG, Listening, is_own
from engine.service.operator_connection import STRANGERS_KEPT, OperatorConnection, OperatorService

STATUS_SHARE = 0.1
"""Of its time, what the engine spends at most on statuses that take longer than ``STATUS_SECONDS`` each: with ten
thousand agents one takes a tenth of a second, and anybody may ask for them one after the other."""
STATUS_SECONDS = 0.005
FLUSH_SECONDS = 1.0
"""How long answers may take to reach their readers when the server stops."""


class Server:
    """Serves a desk on sockets, from ``start`` to ``stop``, on the running loop.

    ``announce`` is given the token for the next operator and shows it to nobody else; without it there is no
    operators' socket. Opening the sockets raises EngineRunningError, PathError or SocketError.
    """

    def __init__(
        self,
        desk: Desk,
        path: Path,
        *,
        hook: HookHandler | None = None,
        operator_path: Path | None = None,
        announce: Callable[[str], None] | None = None,
    ) -> None:
        self._desk = desk
        self._started = time.time()
        self._info = ServerInfo(SERVER_NAME, _version(), os.getpid())
        self._hook = hook
        self._status: Status | None = None
        self._status_until = 0.0
        self._connections: dict[LineProtocol, None] = {}
        self._all_left = asyncio.Event()
        self._all_left.set()
        self._servers: list[asyncio.Server] = []
        self._door = Door(announce) if operator_path and announce else None
        self._listening = [Listening(path)]
        if operator_path and self._door:
            try:
                self._listening.append(Listening(operator_path))
            except BaseException:
                self._listening[0].close()
                raise

    async def start(self) -> None:
        """Begin to serve."""
        agents = Service(self._desk, self._info, self.status, self._admit, self._left, self._hook)
        self._servers.append(await _serve(lambda: AgentConnection(agents), self._listening[0].socket))
        if self._door:
            operators = OperatorService(self._desk, self._door, self._info, self._admit_operator, self._left)
            self._servers.append(await _serve(lambda: OperatorConnection(operators), self._listening[1].socket))
            self._door.open()

    async def stop(self) -> None:
        """Take no more connections, flush the answers that are due, hang up, and take the sockets away.

        Close the desk first: then those who wait get their refusals.
        """
        if self._door:
            self._door.close()
        for server in self._servers:
            server.close()
        for listening in self._listening:
            listening.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(FLUSH_SECONDS):
                for connection in tuple(self._connections):
                    await connection.finish()
                    connection.close()
                await self._all_left.wait()
        for connection in tuple(self._connections):
            connection.abort()
        await asyncio.sleep(0)

    def status(self) -> Status:
        """What ``status`` answers: how things stand, or, where telling takes long, how they stood a moment ago."""
        began = time.monotonic()
        if self._status is not None and began < self._status_until:
            return self._status
        self._status = status_of(self._desk.snapshot(), self._info, self._started)
        ended = time.monotonic()
        took = ended - began
        self._status_until = ended + took / STATUS_SHARE if took > STATUS_SECONDS else began
        return self._status

    # -- connections ------------------------------------------------------------------------------------------

    def _admit(self, connection: LineProtocol) -> bool:
        try:
            own = _is_own_peer(connection)
        except OSError as error:
            self._desk.report("error", f"A connection was turned away: whose it is cannot be told ({error.strerror}).")
            return False
        if not own:
            self._desk.report("warning", "Another user's process connected to the engine and was turned away.")
            return False
        self._connections[connection] = None
        self._all_left.clear()
        return True

    def _admit_operator(self, connection: OperatorConnection) -> bool:
        """Room for one more is made by hanging up on the stranger that has been silent longest.

        An operator proves itself in milliseconds; one who only keeps the others out shall not. Those who guessed wrong
        keep their places until they are told so, and with that guessing stays slow.
        """
        strangers = [one for one in self._connections if isinstance(one, OperatorConnection) and not one.introduced]
        if len(strangers) >= STRANGERS_KEPT:
            silent = next((one for one in strangers if not one.guessed_wrong), None)
            if silent is None:
                return False
            self._left(silent)
            silent.abort()
        return self._admit(connection)

    def _left(self, connection: LineProtocol) -> None:
        self._connections.pop(connection, None)
        if not self._connections:
            self._all_left.set()


async def _serve(connection: Callable[[], LineProtocol], listener: socket.socket) -> asyncio.Server:
    return await asyncio.get_running_loop().create_unix_server(connection, sock=listener, backlog=BACKLOG)


def _version() -> str:
    try:
        return metadata.version(SERVER_NAME)
    except metadata.PackageNotFoundError:
        return "0"  # run from a checkout that was never installed


def _is_own_peer(connection: LineProtocol) -> bool:
    transport = connection.transport
    connected = transport.get_extra_info("socket") if transport else None
    if connected is None:
        return False
    # Not every loop's transport lets its socket be asked; a second socket on the same connection does.
    with socket.socket(fileno=os.dup(connected.fileno())) as asked:
        return is_own(asked)
