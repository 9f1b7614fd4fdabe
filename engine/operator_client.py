"""An operator's end of the operators' socket: what ``breaker attach`` holds, and any other console may."""

from __future__ import annotations

import contextlib
import itertools
import socket
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Struct, UnsetType

from engine.events import Snapshot
from engine.operator import Answer, AskNotOpenError
from engine.protocol import PROTOCOL, Done, ErrorBody, ErrorCode, RequestId, Response
from engine.service.feed import BoundedFeed
from engine.service.frames import Lines, Overlong, encode_request
from engine.service.operator_protocol import (
    AnswerAsk,
    Attach,
    Changed,
    Hello,
    HelloAnswer,
    Occurred,
    OneMeasure,
    ResetTurn,
    Resync,
    Subscribe,
    Subscribed,
    Unsubscribe,
)
from engine.service.proof import SealBrokenError, Seals, new_nonce, prove, proves

ANSWER_SECONDS = 10.0
"""How long the engine may take to answer; it takes milliseconds unless it is stopped or stuck."""
CHUNK = 256 * 1024
LINE_LIMIT = 512 * 1024 * 1024
"""Bytes of a line that is read; the snapshot of ten thousand busy agents has tens of millions."""
GONE = "The engine has gone."

Given = TypeVar("Given", bound=Struct)

_response = msgspec.json.Decoder(Response)
_occurred = msgspec.json.Decoder(Occurred)


class AttachError(Exception):
    """What stands at the operators' socket did not let this operator in; ``str()`` says why, for a person."""


def connect(path: Path, token: str) -> RemoteOperator:
    """Attach to the engine whose operators' socket is at ``path``.

    Raises ConnectionError when there is none, and AttachError when it does not accept the token, or cannot prove
    that it knows it; then nothing was said to it that it could use.
    """
    connected = _connect(path)
    try:
        try:
            return RemoteOperator(_introduce(_Wire(connected), token))
        except (OSError, EOFError) as error:
            raise _nobody_at(path, error) from error
        except (SealBrokenError, msgspec.MsgspecError, RecursionError) as error:
            raise AttachError(f"What stands at {path} does not speak as an engine does: {error}.") from error
    except BaseException:
        connected.close()
        raise


def reach(path: Path) -> None:
    """Make sure that something takes connections at ``path``, before anybody is asked for a token. ConnectionError."""
    _connect(path).close()


def _connect(path: Path) -> socket.socket:
    connected = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connected.settimeout(ANSWER_SECONDS)
    try:
        connected.connect(str(path))
    except OSError as error:
        connected.close()
        raise _nobody_at(path, error) from error
    return connected


def _nobody_at(path: Path, error: Exception) -> ConnectionError:
    why = error.strerror if isinstance(error, OSError) and error.strerror else error
    return ConnectionError(f"No engine takes operators at {path}: {why}. Is breaker serve running?")


class RemoteOperator:
    """An ``Operator`` over a socket."""

    def __init__(self, wire: _Wire) -> None:
        self._wire = wire
        self._numbers = itertools.count(2)
        self._lock = threading.Lock()
        self._asked: dict[RequestId, tuple[Future[Response], Callable[[Response], None]]] = {}
        self._feeds: dict[int, BoundedFeed] = {}
        self._gone = ""
        self._reader = threading.Thread(target=self._read, name="breaker-operator", daemon=True)
        self._reader.start()

    def subscribe(self) -> BoundedFeed:
        """Start to listen."""
        feed = BoundedFeed(self._resync, closed=self._unsubscribe)

        def arrived(response: Response) -> None:
            if not isinstance(response.result, UnsetType):
                self._feeds[msgspec.json.decode(response.result, type=Subscribed).subscription] = feed

        self._ask("operator/subscribe", Subscribe(), Subscribed, arrived)
        return feed

    def answer(self, ask_id: str, answer: Answer, note: str = "") -> None:
        """Answer an open ask. Raises AskNotOpenError."""
        self._ask("operator/answer", AnswerAsk(ask_id, answer, note), Done)

    def revoke(self, agent: str, fingerprint: str) -> bool:
        """Count an exempted measure again; False when it is not exempted."""
        return self._ask("operator/revoke", OneMeasure(agent, fingerprint), Changed).changed

    def lift(self, agent: str, fingerprint: str) -> bool:
        """Take a refusal back; False when there is none."""
        return self._ask("operator/lift", OneMeasure(agent, fingerprint), Changed).changed

    def reset_turn(self, agent: str) -> None:
        """Clear an agent's turn by hand."""
        self._ask("operator/reset", ResetTurn(agent), Done)

    def close(self) -> None:
        """Leave."""
        self._wire.close()
        if threading.current_thread() is not self._reader:
            self._reader.join()

    # -- asking -----------------------------------------------------------------------------------------------

    def _ask(
        self, method: str, params: Struct, answer: type[Given], arrived: Callable[[Response], None] | None = None
    ) -> Given:
        """Ask, and wait for the answer. ``arrived`` is called with it before anything that came after it is read."""
        number = next(self._numbers)
        asked: Future[Response] = Future()
        with self._lock:
            if self._gone:
                raise ConnectionError(self._gone)
            self._asked[number] = (asked, arrived or _ignore)
        try:
            self._wire.send(encode_request(method, params, number))
            response = asked.result(ANSWER_SECONDS)
        except TimeoutError:
            raise ConnectionError(f"The engine gave no answer for {ANSWER_SECONDS:.0f} seconds.") from None
        except OSError as error:
            raise ConnectionError(self._gone or GONE) from error
        finally:
            self._asked.pop(number, None)
        if response.error:
            raise _error_of(response.error)
        return msgspec.json.decode(b"{}" if isinstance(response.result, UnsetType) else response.result, type=answer)

    def _notify(self, method: str, params: Struct) -> None:
        with contextlib.suppress(OSError):
            self._wire.send(encode_request(method, params))

    def _resync(self, feed: BoundedFeed) -> None:
        for number in self._numbers_of(feed):
            self._notify("operator/resync", Resync(number))

    def _unsubscribe(self, feed: BoundedFeed) -> None:
        for number in self._numbers_of(feed):
            self._feeds.pop(number, None)
            self._notify("operator/unsubscribe", Unsubscribe(number))

    def _numbers_of(self, feed: BoundedFeed) -> list[int]:
        return [number for number, one in tuple(self._feeds.items()) if one is feed]

    # -- the reader's thread ----------------------------------------------------------------------------------

    def _read(self) -> None:
        why = GONE
        try:
            while True:
                self._take(self._wire.receive())
        except (OSError, EOFError):
            pass
        except (SealBrokenError, msgspec.MsgspecError, RecursionError) as error:
            why = f"The connection to the engine was tampered with and is closed: {error}."
        with self._lock:
            self._gone = why  # before the wire is closed: whoever fails to write to it is told why
            asked = tuple(self._asked.values())
        self._wire.close()
        for future, _ in asked:
            with contextlib.suppress(Exception):
                future.set_exception(ConnectionError(why))
        for feed in tuple(self._feeds.values()):
            feed.end(why)

    def _take(self, line: bytes) -> None:
        response = _response.decode(line)
        if response.method:
            self._take_event(_occurred.decode(response.params), len(line))
        elif entry := self._asked.get(response.id):
            future, arrived = entry
            arrived(response)
            future.set_result(response)

    def _take_event(self, occurred: Occurred, size: int) -> None:
        feed = self._feeds.get(occurred.subscription)
        if feed is None:
            return
        if isinstance(occurred.event, Snapshot):
            feed.restart(occurred.event)
        else:
            feed.publish(occurred.event, size)


class _Wire:
    """A socket that sends and receives lines, sealed once there are ``seals``. One thread receives, any sends."""

    def __init__(self, connected: socket.socket) -> None:
        self.seals: Seals | None = None
        self._socket = connected
        self._lines = Lines(LINE_LIMIT)
        self._ready: deque[bytes] = deque()
        self._lock = threading.Lock()

    def send(self, line: bytes) -> None:
        with self._lock:
            self._socket.sendall(line if self.seals is None else self.seals.seal(line))

    def receive(self, *, patient: bool = True) -> bytes:
        """The next line, unsealed. Raises EOFError at the end, and TimeoutError unless ``patient``."""
        while not self._ready:
            try:
                data = self._socket.recv(CHUNK)
            except TimeoutError:
                if patient:
                    continue
                raise
            if not data:
                raise EOFError("it hung up")
            lines = self._lines.feed(data)
            if any(isinstance(line, Overlong) for line in lines):
                raise EOFError("it sent a message too long to be one")
            self._ready.extend(line for line in lines if isinstance(line, bytes))
        line = self._ready.popleft()
        return line if self.seals is None else self.seals.open(line)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


def _introduce(wire: _Wire, token: str) -> _Wire:
    """The mutual proof of ``engine.service.proof``. Raises AttachError, before anything is shown to an impostor."""
    nonce = new_nonce()
    wire.send(encode_request("operator/hello", Hello(PROTOCOL, nonce), 0))
    hello = _result(wire.receive(patient=False), HelloAnswer)
    if not proves(token, "engine", nonce, hello.nonce, hello.proof):
        raise AttachError(
            "The engine did not accept this as its token: it is mistyped, used up, or another process stands in the "
            "engine's place. Nothing was sent that could be misused."
        )
    wire.send(encode_request("operator/attach", Attach(prove(token, "operator", nonce, hello.nonce)), 1))
    seals = Seals(token, "operator", nonce, hello.nonce)
    answer = wire.receive(patient=False)
    _result(answer if answer.startswith(b"{") else seals.open(answer), Done)
    wire.seals = seals
    return wire


def _result(line: bytes, answer: type[Given]) -> Given:
    response = _response.decode(line)
    if response.error:
        raise AttachError(f"The engine let no operator in: {response.error.message}.")
    return msgspec.json.decode(b"null" if isinstance(response.result, UnsetType) else response.result, type=answer)


def _error_of(error: ErrorBody) -> Exception:
    return AskNotOpenError(error.message) if error.code == ErrorCode.ASK_NOT_OPEN else RuntimeError(error.message)


def _ignore(_: Any) -> None:
    pass
