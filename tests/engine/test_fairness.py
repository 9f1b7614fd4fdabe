"""Whoever writes much keeps nobody waiting long: not other agents, and least of all the operator."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections import Counter
from pathlib import Path

import pytest

from engine.host import Host
from engine.operator_client import connect
from engine.paths import operator_socket_path
from engine.service.fairness import ROUND_SECONDS, Rounds
from tests.engine.sockets import DEADLINE, Wire, gate_open, short_directory, until

SLICE_SECONDS = 0.004
FLOODS, CALLS_EACH = 20, 1_000


class Clock:
    """Time passes when a peer is served."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Peer:
    """Has work for some slices."""

    def __init__(self, name: int, slices: int, rounds: Rounds, clock: Clock, log: list[int | str]) -> None:
        self._name, self._left, self._rounds, self._clock, self._log = name, slices, rounds, clock, log

    def serve_some(self) -> None:
        self._clock.now += SLICE_SECONDS
        self._log.append(self._name)
        self._left -= 1
        if self._left:
            self._rounds.wait(self)


async def test_the_loop_looks_around_while_many_are_served(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, log = Clock(), list[int | str]()
    monkeypatch.setattr("engine.service.fairness.perf_counter", clock)
    rounds, loop = Rounds(), asyncio.get_running_loop()

    def look_around() -> None:
        log.append("looked")
        if len(log) < 200:
            loop.call_soon(look_around)

    loop.call_soon(look_around)
    for name in range(10):
        rounds.serve(Peer(name, 3, rounds, clock, log))
    for _ in range(50):
        await asyncio.sleep(0)
    served = [one for one in log if one != "looked"]
    assert Counter(served) == dict.fromkeys(range(10), 3)
    assert set(served[:11]) == set(range(10)), "everybody is served before anybody is again, but who came first"
    at_once = max(len(part.split()) for part in " ".join(map(str, log)).split("looked"))
    assert at_once <= ROUND_SECONDS / SLICE_SECONDS + 1


async def test_who_comes_alone_is_served_at_once() -> None:
    clock, log = Clock(), list[int | str]()
    rounds = Rounds()
    assert rounds.serve(Peer(1, 1, rounds, clock, log))
    assert log == [1]


def _flood(path: Path, name: str) -> socket.socket:
    """An agent that writes all of its calls at once, and reads nothing yet."""
    connected = socket.socket(socket.AF_UNIX)
    connected.connect(str(path))
    hello = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocol": 1, "agent": {"id": name}}}
    calls = (
        {
            "jsonrpc": "2.0",
            "method": "call/decide",
            "params": {"id": f"c{n}", "tool": "bash", "args": {"command": f"ls {n}"}},
        }
        for n in range(CALLS_EACH)
    )
    connected.sendall("".join(json.dumps(one) + "\n" for one in (hello, *calls)).encode())
    return connected


def test_an_answer_overtakes_a_flood_of_calls() -> None:
    tokens: list[str] = []
    with short_directory() as directory:
        path = directory / "e.sock"
        with Host(socket=path, announce=tokens.append) as host, Wire(path, "a") as wire:
            operator = connect(operator_socket_path(path), tokens[0])
            gate_open(wire)
            number = wire.send("call/decide", id="waits", tool="bash", args={"command": "make"})
            (ask,) = until(lambda: host.call(lambda desk: desk.breaker.asks()))
            before = host.call(lambda desk: desk.breaker.checkpoint().tickets)
            floods_written = threading.Event()
            halted = threading.Thread(target=host.call, args=(lambda _: floods_written.wait(DEADLINE),))
            halted.start()
            floods = [_flood(path, f"flood-{n}") for n in range(FLOODS)]
            answering = threading.Thread(target=operator.answer, args=(ask.id, "approved"))
            answering.start()
            floods_written.set()
            answering.join()
            judged = host.call(lambda desk: desk.breaker.checkpoint().tickets) - before
            assert judged < FLOODS * CALLS_EACH / 2, "most of the calls that had come are still to be judged"
            assert wire.read()["id"] == number
            for flood in floods:
                flood.close()
            operator.close()
