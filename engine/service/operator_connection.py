"""One operator's connection: first the proof, then events out and answers in, every line sealed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import ClassVar

import msgspec
from msgspec import Struct

from engine.events import Event, Snapshot
from engine.operator import AskNotOpenError
from engine.protocol import PROTOCOL, Done, ErrorCode, ProtocolError, Request, ServerInfo
from engine.service.desk import Desk
from engine.service.door import Door
from engine.service.feed import BoundedFeed
from engine.service.frames import encode_error, encode_request
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
from engine.service.proof import SealBrokenError, Seals
from engine.service.requests import RequestProtocol, method

STRANGERS_KEPT = 16
"""Connections that may be open at once without having proved anything."""
STRANGER_SECONDS = 10.0
"""How long one may stay without proving anything."""
REFUSED_SECONDS = 1.0
"""How long one that proved wrong waits for its answer, and is not heard meanwhile: guessing is slow."""
EVENTS_AT_ONCE = 256

_DONE = Done()


class OperatorService(Struct, frozen=True):
    """What the operators' connections of a server share."""

    desk: Desk
    door: Door
    server: ServerInfo
    admit: Callable[[OperatorConnection], bool]
    left: Callable[[OperatorConnection], None]


class OperatorConnection(RequestProtocol):
    """Serves one connection on the operators' socket."""

    urgent: ClassVar[bool] = True

    def __init__(self, service: OperatorService) -> None:
        super().__init__()
        self._service = service
        self._desk = service.desk
        self.guessed_wrong = False
        self._nonces: tuple[str, str] | None = None
        self._seals: Seals | None = None
        self._feeds: dict[int, BoundedFeed] = {}
        self._subscriptions = 0
        self._pumping = False
        self._patience: asyncio.TimerHandle | None = None

    # -- its life ---------------------------------------------------------------------------------------------

    def opened(self) -> bool:
        if not self._service.admit(self):
            return False
        self._patience = asyncio.get_running_loop().call_later(STRANGER_SECONDS, self.abort)
        return True

    def line_received(self, line: bytes) -> None:
        if self._seals is not None:
            try:
                line = self._seals.open(line)
            except SealBrokenError as error:
                self._desk.report("warning", f"The operator's connection was closed: {error}.")
                self.abort()
                return
        super().line_received(line)

    def send(self, line: bytes) -> None:
        super().send(line if self._seals is None else self._seals.seal(line))

    def writable(self) -> None:
        self._wake()

    def gone(self) -> None:
        if self._patience:
            self._patience.cancel()
        for feed in tuple(self._feeds.values()):
            feed.close()
        if self.introduced:
            self.introduced = False
            self._desk.detach()
            self._service.door.open()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._service.left(self)

    def not_introduced(self, name: str) -> ProtocolError:
        return ProtocolError(ErrorCode.NOT_ATTACHED, f"{name}: prove first that you know the engine's token")

    def failed(self, name: str, fault: Exception) -> None:
        self._desk.blame(f"serving {name}", fault)

    # -- the proof --------------------------------------------------------------------------------------------

    def hello(self, asked: Hello, _: Request) -> HelloAnswer:
        if asked.protocol != PROTOCOL:
            message = f"protocol: version {asked.protocol} is not served here; this engine speaks version {PROTOCOL}"
            raise ProtocolError(ErrorCode.UNSUPPORTED_PROTOCOL, message, field="protocol")
        if self._nonces is not None:
            raise ProtocolError(ErrorCode.INVALID_REQUEST, "operator/hello is said once on a connection")
        nonce, proof = self._service.door.challenge(asked.nonce)
        self._nonces = (asked.nonce, nonce)
        return HelloAnswer(PROTOCOL, self._service.server, nonce, proof)

    def attach(self, asked: Attach, request: Request) -> Done | None:
        if self._nonces is None or self.introduced:
            raise ProtocolError(ErrorCode.INVALID_REQUEST, "operator/attach comes once, after operator/hello")
        try:
            self._seals = self._service.door.enter(*self._nonces, asked.proof)
        except ProtocolError as error:
            error.request = request.id
            self.guessed_wrong = True
            self.hold()
            asyncio.get_running_loop().call_later(REFUSED_SECONDS, self._turn_away, encode_error(error))
            return None
        if self._patience:
            self._patience.cancel()
        self.introduced = True
        self._desk.attach()
        return _DONE

    def _turn_away(self, answer: bytes) -> None:
        self.send(answer)
        self.close()

    # -- what an operator does --------------------------------------------------------------------------------

    def answer(self, asked: AnswerAsk, _: Request) -> Done:
        try:
            self._desk.answer(asked.ask, asked.answer, asked.note)
        except AskNotOpenError as error:
            raise ProtocolError(ErrorCode.ASK_NOT_OPEN, str(error)) from None
        return _DONE

    def revoke(self, asked: OneMeasure, _: Request) -> Changed:
        return Changed(self._desk.revoke(asked.agent, asked.fingerprint))

    def lift(self, asked: OneMeasure, _: Request) -> Changed:
        return Changed(self._desk.lift(asked.agent, asked.fingerprint))

    def reset(self, asked: ResetTurn, _: Request) -> Done:
        self._desk.reset_turn(asked.agent)
        return _DONE

    # -- what an operator sees --------------------------------------------------------------------------------

    def subscribe(self, _: Subscribe, __: Request) -> Subscribed:
        self._subscriptions += 1
        number = self._subscriptions
        feed = BoundedFeed(self._desk.resync, closed=self._desk.unsubscribe, wake=self._wake)
        self._feeds[number] = feed
        self._desk.subscribe(feed)
        return Subscribed(number)

    def unsubscribe(self, asked: Unsubscribe, _: Request) -> Changed:
        feed = self._feeds.pop(asked.subscription, None)
        if feed:
            feed.close()
        return Changed(feed is not None)

    def resync(self, asked: Resync, _: Request) -> Done:
        if feed := self._feeds.get(asked.subscription):
            self._desk.resync(feed)
        return _DONE

    def _wake(self) -> None:
        if not self._pumping:
            self._pumping = True
            asyncio.get_running_loop().call_soon(self._pump)

    def _pump(self) -> None:
        """Write what the feeds hold, as long as the operator reads it; what it does not read the feeds bound."""
        self._pumping = False
        for number, feed in self._feeds.items():
            if self.backed_up or self.transport is None:
                return
            events = feed.drain(EVENTS_AT_ONCE)
            for event in events:
                self._write(number, event)
            if len(events) == EVENTS_AT_ONCE:
                self._wake()

    def _write(self, number: int, event: Event | Snapshot) -> None:
        try:
            self.send(encode_request("event", Occurred(number, event)))
        except (UnicodeError, RecursionError, msgspec.MsgspecError) as fault:
            self.failed(f"an event of type {type(event).__name__}", fault)

    methods: ClassVar = {
        "operator/hello": method(Hello, hello, at_any_time=True),
        "operator/attach": method(Attach, attach, at_any_time=True),
        "operator/answer": method(AnswerAsk, answer),
        "operator/revoke": method(OneMeasure, revoke),
        "operator/lift": method(OneMeasure, lift),
        "operator/reset": method(ResetTurn, reset),
        "operator/subscribe": method(Subscribe, subscribe),
        "operator/unsubscribe": method(Unsubscribe, unsubscribe),
        "operator/resync": method(Resync, resync),
    }
