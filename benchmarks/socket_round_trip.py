"""What a decision over the socket costs beside a bare echo of the same bytes on the same kind of loop.

    python -m benchmarks.socket_round_trip [--calls N] [--rounds N] [--apart] [--tool NAME]

Each server runs in a process of its own; the client is one blocking socket. Rounds alternate between the servers, so
that whatever else the machine does falls on all of them alike; printed are medians of each, and ratios of medians.

Client and servers are held to one core, or to two. Left to the scheduler, a bare echo lands on the client's core and is
woken in 3 µs, the engine now there and now on another, which takes 20 µs longer: ratios of where things ran.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from multiprocessing.synchronize import Event
from pathlib import Path

from benchmarks.findings import Findings, Row, Table, grid, over_rounds
from benchmarks.inside import steps
from engine import host
from engine.client import BreakerUnreachableWarning, Client

FRAME_BYTES = 2048
CALLS, ROUNDS = 1000, 9
WARM_UP = 500
TARGET = 2.0
"""Of the engine over an echo on the same loop."""
TARGET_OF_ASYNCIO = 3.0
"""Of the engine as it is installed, over an echo on asyncio's loop."""
KINDS = {"bash": "command", "write": "file tool's call"}
ALONE_SECONDS = 0.1
"""How long a client may take to answer when there is no engine."""
ALONE_ROUNDS = 50
HEADINGS = ("server", "p50", "p99", "over its echo")
PLACES = ("on one core", "on cores of their own")
"""Where client and servers run."""


def engine(path: str, fast: bool, ready: Event, stop: Event, journal: Path | None = None) -> None:
    """The engine, as ``breaker serve --no-journal`` runs it."""
    if not fast:
        host.fast_loop = lambda: asyncio.new_event_loop
    with host.Host(socket=Path(path), journal=journal):
        ready.set()
        stop.wait()


def recorded(path: str, fast: bool, ready: Event, stop: Event) -> None:
    """The engine with its journal."""
    engine(path, fast, ready, stop, Path(path).parent / "journal")


SERVERS = ("asyncio echo", "asyncio engine", "uvloop echo", "uvloop engine", "uvloop, journal")
ECHO = Path(__file__).with_name("echo.py")


@contextmanager
def serving(name: str, path: str) -> Iterator[None]:
    """A server of ``SERVERS`` in a process of its own."""
    if name.endswith("echo"):
        command = [sys.executable, "-I", str(ECHO), path, name.split(maxsplit=1)[0]]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            assert process.stdout
            process.stdout.readline()
            yield
            process.communicate()
        return
    context = multiprocessing.get_context("spawn")
    ready, stop = context.Event(), context.Event()
    serve = recorded if name.endswith("journal") else engine
    engines = context.Process(target=serve, args=(path, name.startswith("uvloop"), ready, stop))
    engines.start()
    while not ready.wait(0.1):
        if not engines.is_alive():
            raise SystemExit(f"the {name} server did not start")
    yield
    stop.set()
    engines.join()


def frames(first: int, count: int, tool: str = "bash") -> Iterator[bytes]:
    """``call/decide`` of ``FRAME_BYTES`` bytes each, no two alike, all of them allowed."""
    name = "command" if tool == "bash" else "text"
    for number in range(first, first + count):
        args = {name: f"python scripts/step_{number}.py --input data/{number}.csv --note '"}
        params = {"id": f"c{number}", "tool": tool, "args": args}
        message = {"jsonrpc": "2.0", "id": number, "method": "call/decide", "params": params}
        room = FRAME_BYTES - len(json.dumps(message)) - 2
        args[name] += ("the quick brown fox jumps over the lazy dog and so on; " * 40)[:room] + "'"
        yield json.dumps(message).encode() + b"\n"


class Measured:
    """One server, one connection to it, and the times of its round trips."""

    def __init__(self, name: str, directory: Path) -> None:
        self.name = name
        self.seconds: list[float] = []
        self.medians: list[float] = []
        self._open = ExitStack()
        path = str(directory / f"{name.replace(' ', '-')}.sock")
        self._open.enter_context(serving(name, path))
        self._socket = self._open.enter_context(socket.socket(socket.AF_UNIX))
        self._socket.connect(path)
        self._reader = self._open.enter_context(self._socket.makefile("rb"))
        if not name.endswith("echo"):
            hello = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocol": 1, "agent": {"id": "a"}}}
            self.trip(json.dumps(hello).encode() + b"\n")

    def trip(self, line: bytes) -> float:
        began = time.perf_counter()
        self._socket.sendall(line)
        answer = self._reader.readline()
        spent = time.perf_counter() - began
        assert not answer.startswith(b'{"jsonrpc":"2.0","id":') or b'"decision":"deny"' not in answer, answer
        return spent

    def round(self, lines: list[bytes]) -> None:
        times = [self.trip(line) for line in lines]
        self.seconds += times
        self.medians.append(statistics.median(times))

    def over(self, floor: Measured) -> list[float]:
        """Its median over that of another, round by round."""
        return [own / least for own, least in zip(self.medians, floor.medians, strict=True)]

    def close(self) -> None:
        self._open.close()


def measure(calls: int, rounds: int, tool: str = "bash", place: str = PLACES[0]) -> list[Measured]:
    """Every server, after ``rounds`` rounds of ``calls`` calls, in the order of ``SERVERS``."""
    directory = Path(tempfile.mkdtemp(prefix="rtb-", dir="/tmp"))
    measured: list[Measured] = []
    cores = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(cores) if place == PLACES[0] else max(cores)})  # what the servers inherit
        for name in SERVERS:
            measured += [Measured(name, directory)]
        os.sched_setaffinity(0, {min(cores)})
        for one in measured:
            one.round(list(frames(0, WARM_UP, tool)))
            one.seconds.clear()
            one.medians.clear()
        for number in range(rounds):
            lines = list(frames(WARM_UP + number * calls, calls, tool))
            for one in measured:
                one.round(lines)
    finally:
        os.sched_setaffinity(0, cores)
        for one in measured:
            one.close()
        shutil.rmtree(directory)
    return measured


def findings() -> Findings:
    """The round trip over its echo, on either loop, round by round."""
    rows: list[Row] = []
    tables: list[Table] = []
    for place in PLACES[: len(os.sched_getaffinity(0))]:
        for tool, kind in KINDS.items():
            measured = measure(CALLS, ROUNDS, tool, place)
            rows += _rows(f"{kind} over a bare echo, {place}", {one.name: one for one in measured})
            title = f"Round trips of {FRAME_BYTES} bytes, a {kind}, client and server {place}, µs"
            tables.append(Table(title, HEADINGS, tuple(summary(measured))))
    rows.append(alone())
    return Findings(tuple(rows), (*tables, steps(list(frames(0, 3 * CALLS)))))


def _rows(what: str, measured: Mapping[str, Measured]) -> Iterator[Row]:
    trip = f"round trip p50 of a {FRAME_BYTES // 1024} KB {what}"
    fast, slow, recorded = (measured[name] for name in ("uvloop engine", "asyncio engine", "uvloop, journal"))
    echo, fast_echo = measured["asyncio echo"], measured["uvloop echo"]
    yield over_rounds(f"{trip}: uvloop, both", fast.over(fast_echo), target=TARGET)
    yield over_rounds(f"{trip}: asyncio, both", slow.over(echo), target=TARGET)
    yield over_rounds(f"{trip}: uvloop over asyncio", fast.over(echo), target=TARGET_OF_ASYNCIO)
    yield over_rounds(f"{trip}: uvloop, with its journal, over asyncio", recorded.over(echo), target=TARGET_OF_ASYNCIO)


def alone() -> Row:
    """How long a client without an engine takes to answer, the slowest of all times: never there, gone, killed."""
    directory = Path(tempfile.mkdtemp(prefix="rtb-", dir="/tmp"))
    times: list[float] = []
    try:
        stale = directory / "stale.sock"
        with socket.socket(socket.AF_UNIX) as left_behind:
            left_behind.bind(str(stale))
        for path in (directory / "missing.sock", stale):
            times += [_answer_without_engine(Client("a", socket=path)) for _ in range(ALONE_ROUNDS)]
        with host.Host(socket=directory / "gone.sock", journal=None):
            client = Client("a", socket=directory / "gone.sock")
            client.decide("c0", "bash", {"command": "ls"})
        times += [_answer_without_engine(client) for _ in range(ALONE_ROUNDS)]
    finally:
        shutil.rmtree(directory)
    return Row(what="a client without an engine, its slowest answer", value=max(times), unit="s", target=ALONE_SECONDS)


def _answer_without_engine(client: Client) -> float:
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BreakerUnreachableWarning)
        verdict = client.decide("c1", "bash", {"command": "ls"})
    spent = time.perf_counter() - began
    assert verdict.decision == "allow"
    return spent


def summary(measured: list[Measured]) -> list[tuple[str, ...]]:
    """A line a server."""
    lines: list[tuple[str, ...]] = []
    floor = 0.0
    for one in measured:
        median = statistics.median(one.medians)
        floor = median if one.name.endswith("echo") else floor
        slow = statistics.quantiles(one.seconds, n=100)[98]
        lines.append((one.name, f"{median * 1e6:.1f}", f"{slow * 1e6:.1f}", f"{median / floor:.2f}"))
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=CALLS, help="calls in a round")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--apart", action="store_true", help="client and servers on cores of their own")
    parser.add_argument("--tool", default="bash", help="bash: a command line is read; any other: its arguments are")
    options = parser.parse_args()
    place = PLACES[options.apart]
    measured = measure(options.calls, options.rounds, options.tool, place)
    about = f"{options.rounds} rounds of {options.calls} calls ({options.tool}) of {FRAME_BYTES} bytes, {place}, µs"
    print(f"{about}\n")
    print(grid(HEADINGS, summary(measured)))


if __name__ == "__main__":
    main()
