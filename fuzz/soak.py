"""Ordinary work for as long as you like: ``make soak``.

``SOAK_SECONDS`` (3600) of ``SOAK_RATE`` (2000) calls a second by ``SOAK_AGENTS`` (100) agents, each call decided and
settled over a real socket, with an operator who answers. A line a minute; then a verdict: nothing lost, no growth, no
fault.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import re
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from itertools import cycle
from random import Random
from typing import Any, cast

import msgspec
from msgspec import Struct

from benchmarks.stream import stream
from engine.host import fast_loop
from engine.paths import operator_socket_path
from fuzz.process import Engine, end_well, say
from fuzz.watch import JournalWatch
from tests.engine.sockets import ROOT, short_directory

SECONDS = float(os.environ.get("SOAK_SECONDS", "3600"))
RATE = float(os.environ.get("SOAK_RATE", "2000"))
AGENTS = int(os.environ.get("SOAK_AGENTS", "100"))
TICK = 0.02
"""How often each round of calls is sent."""
REPORT_SECONDS = 60.0
SAMPLE_SECONDS = 2.0
WARM_UP = 0.2
"""The part of a run in which memory may still grow: windows, streaks and caches fill."""
WARM_UP_SECONDS_MOST = 600.0
SHORTEST_JUDGED = 300.0
"""Seconds after the warm-up from which on a run says something of memory."""
GROWTH_MB_PER_HOUR = 24.0
GROWTH_MB = 12.0
"""What an allocator may take and give back, however short the run."""
RATE_KEPT = 0.95
ANSWER_SECONDS = 60.0
CHARACTERS_MOST = 4000
"""Of each text in arguments and results."""
STREAM_CALLS = 6000
UNDER_WAY_MOST = 200
"""Requests of one agent that may await their answers."""
_ANSWERED = re.compile(rb'^\{"jsonrpc":"2\.0","id":(\d+),"(result|error)":(?:\{"decision":"(\w+)"(\})?)?', re.MULTILINE)
_UNKNOWN = re.compile(rb'"known":false')


class Sums(Struct):
    """What the agents did and were told."""

    calls: int = 0
    allowed: int = 0
    denied: int = 0
    settled: int = 0
    unknown: int = 0
    errors: int = 0
    turns: int = 0
    behind: int = 0
    """Calls that could not be sent when they were due: too many were under way."""
    slowest: float = 0.0
    """Seconds that a verdict took about which nobody was asked."""
    faults: list[str] = []


class Agent(asyncio.Protocol):
    """One agent on one connection. Every allowed call is settled; every request must be answered, once."""

    def __init__(self, name: str, sums: Sums, work: Iterator[tuple[bytes, bytes, bytes]]) -> None:
        self.name = name
        self._sums = sums
        self._work = work
        self._transport: asyncio.Transport | None = None
        self._rest = b""
        self._numbers = itertools.count(1)
        self._results: dict[int, bytes] = {}
        self._under_way: dict[int, float] = {}
        self._settling: set[int] = set()
        self.ended = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._ask(
            b'"method":"initialize","params":{"protocol":1,"agent":{"id":"%b","harness":"soak"}}' % self.name.encode()
        )

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.ended:
            self._sums.faults.append(f"{self.name} lost its connection: {exc}")

    def call(self) -> None:
        """Make the next call of the work there is."""
        tool, args, result = next(self._work)
        if not tool:
            self._sums.turns += 1
            self._ask(b'"method":"turn/start","params":{}')
            tool, args, result = next(self._work)
        self._sums.calls += 1
        name = b"c%d" % self._sums.calls
        number = self._ask(b'"method":"call/decide","params":{"id":"%b","tool":%b,"args":%b}' % (name, tool, args))
        self._results[number] = b'{"id":"%b","result":%b}' % (name, result)

    @property
    def under_way(self) -> int:
        return len(self._under_way)

    def hang_up(self) -> None:
        self.ended = True
        if self._transport:
            self._transport.close()

    def _ask(self, body: bytes) -> int:
        number = next(self._numbers)
        self._under_way[number] = time.monotonic()
        assert self._transport
        self._transport.write(b'{"jsonrpc":"2.0","id":%d,%b}\n' % (number, body))
        return number

    def data_received(self, data: bytes) -> None:
        whole, end, rest = data.rpartition(b"\n")
        if not end:
            self._rest += data
            return
        lines, self._rest = self._rest + whole, rest
        now, sums = time.monotonic(), self._sums
        for number, kind, decision, unasked in _ANSWERED.findall(lines):
            asked = self._under_way.pop(int(number), None)
            if asked is None:
                sums.faults.append(f"request {int(number)} of {self.name} was answered twice")
                continue
            sums.errors += kind == b"error"
            result = self._results.pop(int(number), b"")
            if decision == b"allow":
                sums.allowed += 1
                sums.slowest = max(sums.slowest, now - asked) if unasked else sums.slowest
                self._settling.add(self._ask(b'"method":"call/settle","params":%b' % result))
            elif decision == b"deny":
                sums.denied += 1
            elif int(number) in self._settling:
                self._settling.discard(int(number))
                sums.settled += 1
        sums.unknown += len(_UNKNOWN.findall(lines))


Work = list[tuple[bytes, bytes, bytes]]
"""Tool, arguments and result, each as JSON; no tool for a new turn."""


def works() -> list[Work]:
    """What several agents do, each its own: mostly new things, now and then a loop."""
    encode, made, calls = msgspec.json.encode, dict[str, Work](), dict[str, dict[str, Any]]()
    for line in stream(STREAM_CALLS):
        work = made.setdefault(line["agent"], [])
        if line["type"] == "turn":
            work.append((b"", b"", b""))
        elif line["type"] == "call":
            calls[line["id"]] = line
        else:
            call = calls.pop(line["id"])
            work.append((encode(call["tool"]), encode(_cut(call["args"])), encode(_cut(line["result"]))))
    return list(made.values())


def _cut(value: Any) -> Any:
    """The same with long texts cut: the time of a soak is the engine's, not the pipe's."""
    if isinstance(value, str):
        return value[:CHARACTERS_MOST]
    if isinstance(value, dict):
        return {key: _cut(one) for key, one in value.items()}
    return [_cut(one) for one in value] if isinstance(value, list) else value


class Answering:
    """An operator who answers, in a process of its own."""

    def __init__(self, engine: Engine) -> None:
        command = [sys.executable, "-m", "fuzz.answering", str(operator_socket_path(engine.path))]
        self._process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        assert self._process.stdin
        self._process.stdin.write(f"{engine.token()}\n")

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def leave(self, sums: Sums) -> dict[str, int]:
        """Let it leave; how often it answered what."""
        said, _ = self._process.communicate()
        if not said:
            sums.faults.append(f"the operator ended with {self._process.returncode}")
            return {}
        told = json.loads(said)
        if told["fault"]:
            sums.faults.append(f"the operator failed: {told['fault']}")
        return cast("dict[str, int]", told["answers"])


class Sampler(threading.Thread):
    """Reads the engine's memory and its journal while it works."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(name="soak-sampler", daemon=True)
        self._engine = engine
        self.watch = JournalWatch(engine.journal)
        self.megabytes: list[tuple[float, float]] = []
        self.over = threading.Event()

    def run(self) -> None:
        started = time.monotonic()
        while not self.over.wait(SAMPLE_SECONDS):
            with contextlib.suppress(subprocess.CalledProcessError, ValueError):
                self.megabytes.append((time.monotonic() - started, self._engine.resident()))
            self.watch.look()

    def growth(self) -> tuple[float, float]:
        """By how many megabytes memory grew after the warm-up, by the line that fits best, and in how many seconds."""
        last = self.megabytes[-1][0] if self.megabytes else 0.0
        warm = min(WARM_UP * last, WARM_UP_SECONDS_MOST)
        samples = [sample for sample in self.megabytes if sample[0] >= warm]
        if len(samples) < 10:
            return 0.0, 0.0
        slope, _ = statistics.linear_regression(*zip(*samples, strict=True))
        seconds = samples[-1][0] - samples[0][0]
        return slope * seconds, seconds


async def work_on(engine: Engine, sums: Sums, seconds: float, attended: Callable[[], bool]) -> float:
    """Work for so long, or until nobody answers any more, then wait until all is answered. The seconds it took."""
    agents = [
        await _agent(engine, number, work, sums) for number, work in zip(range(AGENTS), cycle(works()), strict=False)
    ]
    started = told = time.monotonic()
    sent, before = 0, (0, 0.0)
    turns = cycle(agents)
    while (now := time.monotonic()) - started < seconds and attended() and not sums.faults:
        for _ in range(min(int((now - started) * RATE) - sent, int(RATE))):
            sent += 1
            _next_call(turns, sums)
        if now - told >= REPORT_SECONDS:
            before = _report(engine, sums, now - started, now - told, before)
            told = now
        await asyncio.sleep(TICK)
    took = time.monotonic() - started
    give_up = time.monotonic() + ANSWER_SECONDS
    while any(agent.under_way for agent in agents) and time.monotonic() < give_up:  # noqa: ASYNC110 - a hundred of them
        await asyncio.sleep(TICK)
    sums.faults += [f"{agent.name}: {agent.under_way} requests got no answer" for agent in agents if agent.under_way]
    for agent in agents:
        agent.hang_up()
    return took


def _next_call(turns: Iterator[Agent], sums: Sums) -> None:
    """Let the next agent that is not too busy make a call."""
    for agent in itertools.islice(turns, AGENTS):
        if agent.under_way < UNDER_WAY_MOST:
            agent.call()
            return
    sums.behind += 1


async def _agent(engine: Engine, number: int, work: Work, sums: Sums) -> Agent:
    start = Random(number).randrange(len(work))
    endless = cycle(work[start:] + work[:start])
    _, agent = await asyncio.get_running_loop().create_unix_connection(
        lambda: Agent(f"agent-{number}", sums, endless), str(engine.path)
    )
    return agent


def _report(engine: Engine, sums: Sums, since: float, took: float, before: tuple[int, float]) -> tuple[int, float]:
    calls, cpu = before
    spent = engine.seconds()
    say(
        f"{since:7.0f} s  {sums.calls:9} calls  {(sums.calls - calls) / took:6.0f}/s  "
        f"refused {sums.denied:7}  unsettled {sums.allowed - sums.settled:4}  behind {sums.behind:6}  "
        f"slowest {sums.slowest * 1000:5.0f} ms  cpu {(spent - cpu) / took:4.0%}  memory {engine.resident():5.0f} MB"
    )
    sums.slowest = 0.0
    return sums.calls, spent


def soak(seconds: float) -> int:
    """Run, report, judge. 1 when something does not hold."""
    sums = Sums()
    with short_directory() as directory, Engine(directory) as engine:
        operator, sampler = Answering(engine), Sampler(engine)
        sampler.start()
        took = _run(engine, sums, seconds, lambda: operator.alive)
        answers = operator.leave(sums)
        sampler.over.set()
        sampler.join()
        engine.end()
        sampler.watch.look()
        faults = [*sums.faults, *_judge(engine, sums, sampler, took)]
    grown, within = sampler.growth()
    say(f"{sums.calls} calls in {took:.0f} s ({sums.calls / took:.0f}/s) by {AGENTS} agents, {sums.turns} turns")
    say(f"{sums.allowed} allowed, {sums.settled} settled, {sums.denied} refused; the operator: {answers}")
    say(f"{sampler.watch.bytes / 1e6:.0f} MB of journal; memory {grown:+.1f} MB in the last {within:.0f} s")
    for fault in faults[:50]:
        say(f"  {fault}")
    growth = "no growth" if within >= SHORTEST_JUDGED else "too short to judge memory"
    say("FAILED" if faults else f"nothing lost, {growth}, no fault")
    return bool(faults)


def _run(engine: Engine, sums: Sums, seconds: float, attended: Callable[[], bool]) -> float:
    with asyncio.Runner(loop_factory=fast_loop()) as runner:
        return runner.run(work_on(engine, sums, seconds, attended))


def _judge(engine: Engine, sums: Sums, sampler: Sampler, took: float) -> Iterator[str]:
    kinds = sampler.watch.kinds
    yield from sampler.watch.faults[:20]
    if sums.errors or sums.unknown:
        yield f"{sums.errors} requests were answered by an error, {sums.unknown} results were of calls not known"
    if not sums.calls == sums.allowed + sums.denied == kinds.get("call", 0):
        yield f"{sums.calls} calls, {sums.allowed + sums.denied} decided, {kinds.get('call', 0)} in the journal"
    if not sums.allowed == sums.settled == kinds.get("result", 0):
        yield f"{sums.allowed} allowed, {sums.settled} settled, {kinds.get('result', 0)} results in the journal"
    if kinds.get("ask", 0) != kinds.get("ask-closed", 0):
        yield f"{kinds.get('ask', 0)} asks, {kinds.get('ask-closed', 0)} of them closed"
    grown, within = sampler.growth()
    if within >= SHORTEST_JUDGED and grown > GROWTH_MB + GROWTH_MB_PER_HOUR * within / 3600:
        yield f"memory grew by {grown:.0f} MB in {within:.0f} s"
    if sums.calls < RATE_KEPT * RATE * took:
        yield f"only {sums.calls / took:.0f} calls a second of {RATE:.0f}: the machine, or the engine, is too slow"
    if engine.exit_status:
        yield f"the engine ended with {engine.exit_status}"
    if said := engine.said():
        yield f"the engine wrote on its standard error: {said}"


if __name__ == "__main__":
    end_well()
    sys.exit(soak(SECONDS))
