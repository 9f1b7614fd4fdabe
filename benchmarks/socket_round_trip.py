"""What a decision over the socket costs beside a bare echo of the same bytes on the same kind of loop.

    python -m benchmarks.socket_round_trip [--calls N] [--rounds N]

Each server runs in a process of its own; the client is one blocking socket. Rounds alternate between the servers, so
that whatever else the machine does falls on all of them alike; printed are medians of each, and ratios of medians.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import shutil
import socket
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import cast

from benchmarks.findings import Findings, Table, grid, over_rounds
from benchmarks.inside import steps
from engine import host

FRAME_BYTES = 2048
CALLS, ROUNDS = 1000, 9
WARM_UP = 500
TARGET = 2.0
HEADINGS = ("server", "p50", "p99", "over its echo")


def echo(path: str, fast: bool, ready: Event, stop: Event) -> None:
    """A bare echo of what comes: the floor for any server on this loop."""

    class Echo(asyncio.Protocol):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            self.write = cast("asyncio.Transport", transport).write

        def data_received(self, data: bytes) -> None:
            self.write(data)

    async def serve() -> None:
        server = await asyncio.get_running_loop().create_unix_server(Echo, path)
        ready.set()
        await asyncio.to_thread(stop.wait)
        server.close()

    with asyncio.Runner(loop_factory=host.fast_loop() if fast else None) as runner:
        runner.run(serve())


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


SERVERS: dict[str, tuple[Callable[..., None], bool]] = {
    "asyncio echo": (echo, False),
    "asyncio engine": (engine, False),
    "uvloop echo": (echo, True),
    "uvloop engine": (engine, True),
    "uvloop, journal": (recorded, True),
}


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
        context = multiprocessing.get_context("spawn")
        ready, self._stop = context.Event(), context.Event()
        path = str(directory / f"{name.replace(' ', '-')}.sock")
        serve, fast = SERVERS[name]
        self._process = context.Process(target=serve, args=(path, fast, ready, self._stop))
        self._process.start()
        while not ready.wait(0.1):
            if not self._process.is_alive():
                raise SystemExit(f"the {name} server did not start")
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(path)
        self._reader = self._socket.makefile("rb")
        if serve is not echo:
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
        self._socket.close()
        self._stop.set()
        self._process.join()


def measure(calls: int, rounds: int, tool: str = "bash") -> list[Measured]:
    """Every server, after ``rounds`` rounds of ``calls`` calls, in the order of ``SERVERS``."""
    directory = Path(tempfile.mkdtemp(prefix="rtb-", dir="/tmp"))
    measured: list[Measured] = []
    try:
        for name in SERVERS:
            measured += [Measured(name, directory)]
        for one in measured:
            one.round(list(frames(0, WARM_UP, tool)))
            one.seconds.clear()
            one.medians.clear()
        for number in range(rounds):
            lines = list(frames(WARM_UP + number * calls, calls, tool))
            for one in measured:
                one.round(lines)
    finally:
        for one in measured:
            one.close()
        shutil.rmtree(directory)
    return measured


def findings() -> Findings:
    """The round trip over its echo, on either loop, round by round."""
    measured = measure(CALLS, ROUNDS)
    by_name = {one.name: one for one in measured}
    rows = [
        over_rounds(
            f"round trip p50 over a bare echo, {loop}",
            by_name[f"{loop} engine"].over(by_name[f"{loop} echo"]),
            target=TARGET,
        )
        for loop in ("uvloop", "asyncio")
    ]
    with_journal = by_name["uvloop, journal"].over(by_name["uvloop echo"])
    rows.append(over_rounds("the same with a journal being written, uvloop", with_journal))
    table = Table(f"Round trips of {FRAME_BYTES} bytes, µs", HEADINGS, tuple(summary(measured)))
    return Findings(tuple(rows), (table, steps(list(frames(0, 3 * CALLS)))))


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
    parser.add_argument("--tool", default="bash", help="bash: a command line is read; any other: its arguments are")
    options = parser.parse_args()
    measured = measure(options.calls, options.rounds, options.tool)
    print(
        f"{options.rounds} rounds of {options.calls} calls ({options.tool}), {FRAME_BYTES} bytes each, microseconds\n"
    )
    print(grid(HEADINGS, summary(measured)))


if __name__ == "__main__":
    main()
