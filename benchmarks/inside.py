"""What the engine does with one request, step by step, without a socket: where a round trip's time goes."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any, TypeVar, cast

from benchmarks.findings import Table, figure
from engine.breaker import Breaker
from engine.calls import Call, args_of
from engine.protocol import DecideCall, ServerInfo, Status
from engine.service.connection import AgentConnection, Service
from engine.service.desk import Desk
from engine.service.frames import decode_params, decode_request

HELLO = b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocol":1,"agent":{"id":"a"}}}\n'
STEPS = (
    "reading the request",
    "what the call is: lexing, fingerprints, secrets",
    "judging and counting it",
    "the event for journal and console",
    "lines, desk and answer",
)

Given = TypeVar("Given")


class _Alone(AgentConnection):
    """One that no other is served before, so that no loop is needed."""

    urgent = True


class _Nowhere:
    """A transport that drops what is written."""

    def __getattr__(self, name: str) -> Callable[..., bool]:
        return lambda *_, **__: False


def steps(frames: Sequence[bytes]) -> Table:
    """Microseconds of each step, for frames that are all ``call/decide``; medians, and differences of medians."""
    decoder = AgentConnection.methods["call/decide"].decoder
    asked: list[DecideCall] = [decode_params(decoder, decode_request(frame[:-1])) for frame in frames]
    calls = [Call(one.id, "a", one.tool, args_of(one.args)) for one in asked]
    reading = _median(lambda frame: decode_params(decoder, decode_request(frame[:-1])), frames)
    identifying = _median(Breaker().identify, calls)
    deciding = _median(Breaker().decide, calls)
    reporting = _median(Breaker(listener=lambda _: None).decide, calls)
    whole = _median(_receiver(_connection()), frames)
    spent = (reading, identifying, deciding - identifying, reporting - deciding, whole - reporting - reading)
    lines = [
        (name, figure(seconds * 1e6), figure(seconds / whole, "%")) for name, seconds in zip(STEPS, spent, strict=True)
    ]
    lines.append(("all of it", figure(whole * 1e6), "100 %"))
    return Table("One decision inside the engine, without the socket, µs", ("step", "median", "share"), tuple(lines))


def _connection() -> AgentConnection:
    """A connection that an agent has introduced itself on."""
    service = Service(Desk(), ServerInfo("bench", "0", 0), _no_status, lambda _: True, lambda _: None)
    connection = _Alone(service)
    connection.connection_made(cast("Any", _Nowhere()))
    _receiver(connection)(HELLO)
    return connection


def _receiver(connection: AgentConnection) -> Callable[[bytes], None]:
    """Gives a connection bytes as its transport would."""

    def receive(data: bytes) -> None:
        connection.get_buffer(-1)[: len(data)] = data
        connection.buffer_updated(len(data))

    return receive


def _no_status() -> Status:
    raise AssertionError("nobody asks for a status here")


def _median(step: Callable[[Given], object], inputs: Sequence[Given]) -> float:
    times = []
    for one in inputs:
        began = perf_counter()
        step(one)
        times.append(perf_counter() - began)
    return statistics.median(times)
