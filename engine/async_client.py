"""``engine.client`` for asyncio: one connection, any number of requests under way on it."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import UNSET

from engine.conversation import (
    ANSWER_SECONDS,
    HANDSHAKE_SECONDS,
    RETRY_SECONDS,
    OnUnreachable,
    Terms,
    UnansweredError,
    UnreachableError,
    UnwritableError,
    greeting,
    hung_up,
    printed_of,
    request,
    response_of,
    result_of,
    settlement_of,
    silent,
    unanswered,
    unguarded,
    unread,
    verdict_of,
    welcome_of,
    why,
)
from engine.guard import AsyncGuard
from engine.paths import socket_path
from engine.protocol import FRAME_LIMIT, Initialized, RequestId, Response, Status
from engine.verdicts import Settlement, Verdict


class AsyncClient(AsyncGuard):
    """One agent's line to the engine. What it does is what ``engine.client.Client`` does, awaited.

    Used on another loop than before, it connects anew.
    """

    def __init__(  # noqa: PLR0913 - options, each by its name
        self,
        agent: str,
        *,
        socket: Path | None = None,
        parent: str = "",
        harness: str = "",
        name: str = "",
        on_unreachable: OnUnreachable = "allow",
        timeout: float | None = None,
    ) -> None:
        self._terms = Terms(agent, parent, harness, name, on_unreachable, timeout)
        self._path = socket
        self._connection: _Connection | None = None
        self._connecting: asyncio.Task[_Connection] | None = None

    @classmethod
    def on_terms(cls, terms: Terms, socket: Path | None) -> AsyncClient:
        """A client that speaks for the same agent as another."""
        client = cls(terms.agent, socket=socket)
        client._terms = terms
        return client

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def decide(self, call_id: str, tool: str, args: Mapping[str, Any]) -> Verdict:
        """Ask whether a call may run; waits while the operator is asked. Cancelled, it withdraws the call."""
        seconds: float | None = None
        try:
            connection = await self._connected()
            seconds = self._terms.patience(connection.engine)
            return verdict_of(
                await asyncio.wait_for(self._ask("call/decide", {"id": call_id, "tool": tool, "args": args}), seconds)
            )
        except UnwritableError as error:
            return unread(error)
        except TimeoutError:
            self._withdraw(call_id)
            return unanswered(seconds or 0.0)
        except UnansweredError as error:
            return silent(error)
        except UnreachableError as error:
            return unguarded(self._terms, error)
        except asyncio.CancelledError:
            self._withdraw(call_id)
            raise

    async def settle(self, call_id: str, result: Mapping[str, Any]) -> Settlement:
        """Hand in what an allowed call gave back, in the session format. Give the advisories to the model."""
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                return settlement_of(await self._ask("call/settle", {"id": call_id, "result": result}))
        except (UnwritableError, UnreachableError, TimeoutError):
            return Settlement(known=False)

    async def hook(self, harness: str, payload: Mapping[str, Any]) -> str:
        """What a harness's own hook would print for this payload; waits while the operator is asked.

        Raises UnreachableError when no engine is there, and UnansweredError when one is and its answer cannot be had.
        """
        connection = await self._connected()
        seconds = self._terms.patience(connection.engine)
        asking = self._ask("harness/hook", {"harness": harness, "payload": payload})
        try:
            return printed_of(await asyncio.wait_for(asking, seconds))
        except TimeoutError:
            raise UnansweredError(f"no answer within {seconds or 0.0:g} seconds") from None
        except (UnwritableError, UnreachableError) as error:
            raise UnansweredError(str(error)) from error

    async def cancel(self, call_id: str) -> None:
        """Withdraw a call that another task waits for."""
        await self._tell("call/cancel", {"id": call_id})

    async def start_turn(self) -> None:
        """A human has written to the agent."""
        await self._tell("turn/start", {})

    async def end(self) -> None:
        """The agent is gone: forget it and its sub-agents."""
        await self._tell("agent/end", {})

    async def status(self) -> Status:
        """What is going on. Raises UnreachableError."""
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                return result_of(await self._ask("status", {}), Status)
        except TimeoutError:
            raise UnreachableError(f"no answer within {ANSWER_SECONDS:g} seconds") from None

    async def close(self) -> None:
        """Hang up."""
        connection, self._connection = self._connection, None
        if connection:
            await connection.close()

    # -- inside -----------------------------------------------------------------------------------------------

    async def _tell(self, method: str, params: Mapping[str, Any]) -> None:
        with contextlib.suppress(UnwritableError, UnreachableError, TimeoutError):
            async with asyncio.timeout(ANSWER_SECONDS):
                await self._ask(method, params)

    async def _ask(self, method: str, params: Mapping[str, Any]) -> Response:
        """Ask, and once more if the connection dies.

        Raises UnwritableError and UnreachableError: UnansweredError if the engine may have been asked.
        """
        lost: Exception | None = None
        asked = False
        for _ in range(2):
            try:
                connection = await self._connected()
            except UnreachableError as error:
                if asked:
                    raise hung_up(lost, asked=True) from error
                raise
            try:
                return await connection.ask(method, params)
            except _LostError as error:
                asked = asked or error.asked
                lost = error.with_traceback(None)
        raise hung_up(lost, asked=asked)

    def _withdraw(self, call_id: str) -> None:
        if self._connection and self._connection.usable():
            with contextlib.suppress(UnwritableError, OSError, RuntimeError):
                self._connection.tell("call/cancel", {"id": call_id})

    async def _connected(self) -> _Connection:
        """The connection, made anew if need be; tasks that need one at the same time make one together."""
        if self._connection and self._connection.usable():
            return self._connection
        loop = asyncio.get_running_loop()
        if self._connecting is None or self._connecting.done() or self._connecting.get_loop() is not loop:
            self._connecting = loop.create_task(self._connect())
            self._connecting.add_done_callback(_look_at)
        return await asyncio.shield(self._connecting)

    async def _connect(self) -> _Connection:
        self._connection = await _connect(self._path or socket_path(), self._terms)
        return self._connection


class _LostError(Exception):
    """The connection ended before the answer came. ``asked``: the request may have reached the engine."""

    def __init__(self, why: str, *, asked: bool) -> None:
        super().__init__(why)
        self.asked = asked


class _Connection:
    """One connection to an engine that has introduced itself."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, engine: Initialized) -> None:
        self.engine = engine
        self._reader = reader
        self._writer = writer
        self._numbers = itertools.count(1)
        self._asked: dict[RequestId, asyncio.Future[Response]] = {}
        self._loop = asyncio.get_running_loop()
        self._reading = self._loop.create_task(self._read())

    def usable(self) -> bool:
        """Whether it is open, and belongs to the running loop."""
        return not self._reading.done() and self._loop is asyncio.get_running_loop()

    async def ask(self, method: str, params: Mapping[str, Any]) -> Response:
        """Ask, and await the answer. Raises _LostError."""
        number = next(self._numbers)
        line = request(method, params, number)
        answer: asyncio.Future[Response] = self._loop.create_future()
        self._asked[number] = answer
        asked = False
        try:
            self._writer.write(line)
            asked = not self._writer.transport.is_closing()
            await self._writer.drain()
            return await answer
        except OSError as error:
            raise _LostError(str(error), asked=asked) from error
        finally:
            del self._asked[number]

    def tell(self, method: str, params: Mapping[str, Any]) -> None:
        """Say something that needs no answer."""
        self._writer.write(request(method, params, UNSET))

    async def close(self) -> None:
        """Hang up."""
        self._reading.cancel()
        self._writer.close()
        with contextlib.suppress(OSError):
            await self._writer.wait_closed()

    async def _read(self) -> None:
        why = "end of file"
        try:
            while line := await self._reader.readline():
                response = response_of(line)
                asked = self._asked.get(response.id)
                if asked and not asked.done():
                    asked.set_result(response)
        except (OSError, ValueError, UnreachableError) as error:
            why = str(error)
        finally:
            self._writer.close()
            for asked in self._asked.values():
                if not asked.done():
                    asked.set_exception(_LostError(why, asked=True))
                    asked.exception()  # seen: whoever asked may have learnt of the loss while it still wrote


def _look_at(connecting: asyncio.Task[_Connection]) -> None:
    """Take note of how it ended: whoever waited for it may have given up, and asyncio complains of what nobody saw."""
    if not connecting.cancelled():
        connecting.exception()


async def _connect(path: Path, terms: Terms) -> _Connection:
    try:
        async with asyncio.timeout(HANDSHAKE_SECONDS):
            connected = await _connected_socket(path)
            reader, writer = await asyncio.open_unix_connection(sock=connected, limit=FRAME_LIMIT)
    except TimeoutError as error:
        raise UnansweredError(f"the engine at {path} does not answer ({why(error)})") from error
    except OSError as error:
        raise UnreachableError(f"no engine at {path} ({why(error)})") from error
    try:
        writer.write(greeting(terms))
        async with asyncio.timeout(HANDSHAKE_SECONDS):
            welcome = welcome_of(response_of(await _line_of(reader)))
    except BaseException as error:
        writer.close()
        if isinstance(error, OSError | EOFError | ValueError):
            raise UnansweredError(f"the engine at {path} does not answer ({why(error)})") from error
        raise
    return _Connection(reader, writer, welcome)


async def _line_of(reader: asyncio.StreamReader) -> bytes:
    line = await reader.readline()
    if not line:
        raise EOFError("end of file")
    return line


async def _connected_socket(path: Path) -> socket.socket:
    """A full queue of connections says that an engine is there, only busy; so that is tried again.

    asyncio's own connect takes that full queue for success and fails with the first write.
    """
    connecting = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connecting.setblocking(False)
    try:
        while True:
            try:
                connecting.connect(os.fspath(path))
            except BlockingIOError:
                await asyncio.sleep(RETRY_SECONDS)
            else:
                return connecting
    except BaseException:
        connecting.close()
        raise
