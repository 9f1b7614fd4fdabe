"""A guard for agents written in Python. Three lines around a tool::

    from engine.client import Client
    breaker = Client("my-agent")

    @breaker.guard
    def fetch(url: str) -> str: ...

A call that is refused raises ``CallRefusedError``; its text is for the model. By hand, the same is::

    verdict = breaker.decide("c1", "fetch", {"url": url})      # waits as long as the operator thinks
    if verdict.decision == "allow":
        settlement = breaker.settle("c1", {"isError": False, "content": fetch(url)})
        # every settlement.advisories[...].text is for the model, too

``start_turn`` says that a human has written to the agent. Without an engine, calls go on unguarded, with a warning
(``on_unreachable="deny"``: they are refused); that answer comes at once. ``AsyncClient`` is the same for asyncio.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import socket
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.conversation import (
    ANSWER_SECONDS,
    HANDSHAKE_SECONDS,
    RETRY_SECONDS,
    BreakerUnreachableWarning,
    OnUnreachable,
    Terms,
    UnansweredError,
    UnreachableError,
    UnwritableError,
    greeting,
    hung_up,
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
from engine.guard import CallRefusedError, Guard
from engine.paths import socket_path
from engine.protocol import Initialized, Response, Status
from engine.verdicts import Settlement, Verdict

if TYPE_CHECKING:
    from engine.async_client import AsyncClient

__all__ = ["AsyncClient", "BreakerUnreachableWarning", "CallRefusedError", "Client", "UnreachableError"]

CHUNK = 64 * 1024


class Client(Guard):
    """One agent's line to the engine; any thread may use it, and calls of several threads wait beside each other.

    ``socket`` is where the engine listens, by default where ``breaker`` does. A connection that is lost is made
    anew with the next request; a verdict that was under way is asked for once more.
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
        self._idle: list[_Connection] = []
        self._lock = threading.Lock()
        self._pid = os.getpid()
        self._asynchronous: AsyncClient | None = None

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def decide(self, call_id: str, tool: str, args: Mapping[str, Any]) -> Verdict:
        """Ask whether a call may run; waits while the operator is asked. Interrupted, it withdraws the call."""
        try:
            return verdict_of(self._ask("call/decide", {"id": call_id, "tool": tool, "args": args}, patient=True))
        except UnwritableError as error:
            return unread(error)
        except _TooLateError as error:
            return unanswered(error.seconds)
        except UnansweredError as error:
            return silent(error)
        except UnreachableError as error:
            return unguarded(self._terms, error)

    def settle(self, call_id: str, result: Mapping[str, Any]) -> Settlement:
        """Hand in what an allowed call gave back, in the session format. Give the advisories to the model."""
        try:
            return settlement_of(self._ask("call/settle", {"id": call_id, "result": result}))
        except (UnwritableError, _TooLateError, UnreachableError):
            return Settlement(known=False)

    def cancel(self, call_id: str) -> None:
        """Withdraw a call that another thread waits for."""
        self._tell("call/cancel", {"id": call_id})

    def start_turn(self) -> None:
        """A human has written to the agent."""
        self._tell("turn/start", {})

    def end(self) -> None:
        """The agent is gone: forget it and its sub-agents."""
        self._tell("agent/end", {})

    def status(self) -> Status:
        """What is going on. Raises UnreachableError."""
        try:
            return result_of(self._ask("status", {}), Status)
        except _TooLateError as error:
            raise UnreachableError(str(error)) from error

    def close(self) -> None:
        """Hang up."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    # -- inside -----------------------------------------------------------------------------------------------

    def asynchronous(self) -> AsyncClient:
        """This client for a coroutine function that it guards."""
        if self._asynchronous is None:
            from engine.async_client import AsyncClient  # noqa: PLC0415 - asyncio, for those who use it

            self._asynchronous = AsyncClient.on_terms(self._terms, self._path)
        return self._asynchronous

    def _tell(self, method: str, params: Mapping[str, Any]) -> None:
        with contextlib.suppress(UnwritableError, _TooLateError, UnreachableError):
            self._ask(method, params)

    def _ask(self, method: str, params: Mapping[str, Any], *, patient: bool = False) -> Response:
        """Ask, and on a new connection once more if the first turns out to be dead, or dies.

        Raises UnwritableError, _TooLateError, and UnreachableError: UnansweredError if the engine may have been asked.
        """
        lost: Exception | None = None
        asked = False
        for _ in range(2):
            try:
                connection = self._borrow()
            except UnreachableError as error:
                if asked:
                    raise hung_up(lost, asked=True) from error
                raise
            seconds = self._terms.patience(connection.engine) if patient else ANSWER_SECONDS
            try:
                response = connection.ask(method, params, seconds)
            except TimeoutError:
                connection.close()
                raise _TooLateError(seconds or 0.0) from None
            except (OSError, EOFError) as error:
                connection.close()
                self.close()  # those that wait for work were made before it, and will be as dead
                asked = asked or connection.asked
                lost = error.with_traceback(None)
            except BaseException:
                connection.close()
                raise
            else:
                self._give_back(connection)
                return response
        raise hung_up(lost, asked=asked)

    def _borrow(self) -> _Connection:
        with self._lock:
            if self._pid != os.getpid():
                self._pid, self._idle = os.getpid(), []  # they belong to the process this one was forked from
            if self._idle:
                return self._idle.pop()
        return _Connection(self._path or socket_path(), self._terms)

    def _give_back(self, connection: _Connection) -> None:
        with self._lock:
            self._idle.append(connection)


class _TooLateError(Exception):
    def __init__(self, seconds: float) -> None:
        super().__init__(f"no answer within {seconds:g} seconds")
        self.seconds = seconds


class _Connection:
    """One connection to an engine that has introduced itself, for one request at a time.

    Raises UnreachableError: UnansweredError if somebody took the connection, or left it waiting.
    """

    def __init__(self, path: Path, terms: Terms) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._rest = b""
        self._numbers = itertools.count(1)
        self.asked = False
        """Whether the latest request was written whole."""
        there = False
        try:
            self._connect(path)
            there = True
            self._socket.sendall(greeting(terms))
            self.engine: Initialized = welcome_of(response_of(self._line()))
        except (OSError, EOFError) as error:
            self.close()
            if there or isinstance(error, BlockingIOError | TimeoutError):
                raise UnansweredError(f"the engine at {path} does not answer ({why(error)})") from error
            raise UnreachableError(f"no engine at {path} ({why(error)})") from error
        except BaseException:
            self.close()
            raise

    def ask(self, method: str, params: Mapping[str, Any], seconds: float | None) -> Response:
        """Ask, and wait at most so long. Raises OSError and EOFError when the connection is lost."""
        number = next(self._numbers)
        line = request(method, params, number)
        if seconds is not None and seconds <= 0:
            raise TimeoutError
        self.asked = False
        self._socket.settimeout(seconds)
        self._socket.sendall(line)
        self.asked = True
        while True:
            try:
                response = response_of(self._line())
            except UnreachableError as error:
                raise UnansweredError(str(error)) from error
            if response.id in {number, None}:
                return response

    def close(self) -> None:
        self._socket.close()

    def _connect(self, path: Path) -> None:
        """A full queue of connections says that an engine is there, only busy; so that is tried again for a while."""
        give_up = time.monotonic() + HANDSHAKE_SECONDS
        self._socket.settimeout(HANDSHAKE_SECONDS)
        while True:
            try:
                self._socket.connect(os.fspath(path))
            except BlockingIOError:
                if time.monotonic() > give_up:
                    raise
                time.sleep(RETRY_SECONDS)
            else:
                return

    def _line(self) -> bytes:
        chunks = [self._rest]
        while b"\n" not in chunks[-1]:
            data = self._socket.recv(CHUNK)
            if not data:
                raise EOFError("end of file")
            chunks.append(data)
        line, _, self._rest = b"".join(chunks).partition(b"\n")
        return line


def __getattr__(name: str) -> Any:
    """``AsyncClient`` lives where asyncio is imported; whoever does not use it does not pay for it."""
    if name == "AsyncClient":
        from engine.async_client import AsyncClient  # noqa: PLC0415 - as said

        return AsyncClient
    raise AttributeError(name)
