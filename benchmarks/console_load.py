"""What the console costs while 500 events a second come in over the socket, and what it costs those who send them.

    python -m benchmarks.console_load [--seconds N] [--rounds N]

Each round drives the same load twice: at ``breaker serve`` with nobody looking, and at ``breaker``, drawing on a real
pty of 120 by 40 all the while. Printed are, of the console: its processor time as a share of one core (the engine in it
included), how long a key takes to show, how often it painted, its longest silence; and what a decision took over the
socket, with and without it. The load: 20 agents, 250 calls a second and their results, some 400 measures alive.
"""

from __future__ import annotations

import argparse
import itertools
import multiprocessing
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path

from msgspec import Struct

from benchmarks.findings import Findings, Table, figure, grid, over_rounds
from benchmarks.screen import Screen, centile, processor_seconds, resident_megabytes, wait_for
from engine.client import Client

AGENTS = 20
CALLS_PER_SECOND = 250
SECONDS, ROUNDS = 10.0, 3
TARGET, P99_TARGET = 0.35, 10.0
HEADINGS = (
    *("core", "frames/s", "longest gap", "key p50", "key max", "MB"),
    *("alone p50", "alone p99", "alone max", "console p50", "console p99", "console max"),
)
RESULT = {"value": {"exitCode": 0}, "content": [{"type": "text", "text": "id,name\n1,one\n2,two\n"}]}


def load(path: str, seconds: float, report: Connection) -> None:
    """Agents at work, each on its own connection; sends back what each decision took, in seconds."""
    taken: list[float] = []

    def work(number: int) -> None:
        with Client(f"agent-{number:02}", socket=Path(path), harness="bench") as client:
            begin = time.perf_counter() + number / CALLS_PER_SECOND
            for call in range(int(seconds * CALLS_PER_SECOND / AGENTS)):
                due = begin + call * AGENTS / CALLS_PER_SECOND
                time.sleep(max(0.0, due - time.perf_counter()))
                command = f"curl -s 'https://host{call % 5}.example.org/items?page={call % 9}' -o /tmp/{number}-{call}"
                before = time.perf_counter()
                client.decide(f"c{call}", "Bash", {"command": command, "description": f"page {call}"})
                taken.append(time.perf_counter() - before)
                client.settle(f"c{call}", RESULT)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(AGENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    report.send(taken)


class Round(Struct, frozen=True):
    """What decisions took with nobody looking, in seconds, and all that was measured of the console."""

    alone: list[float]
    drawn: dict[str, list[float]]

    @property
    def p99_ratio(self) -> float:
        """Of the slow decisions: with the console over without."""
        return centile(self.drawn["taken"], 0.99) / centile(self.alone, 0.99)

    def cells(self) -> tuple[str, ...]:
        """The round as text, under ``HEADINGS``."""
        drawn = self.drawn
        decisions = (centile(taken, share) for taken in (self.alone, drawn["taken"]) for share in (0.5, 0.99, 1))
        return (
            figure(drawn["share"][0], "%"),
            f"{drawn['frames'][0]:.1f}",
            f"{drawn['gaps'][0] * 1000:.0f}",
            f"{centile(drawn['keys'], 0.5):.0f}",
            f"{centile(drawn['keys'], 1):.0f}",
            f"{drawn['memory'][0]:.0f}",
            *map(figure, decisions),
        )


@contextmanager
def loading(path: Path, seconds: float) -> Iterator[Connection]:
    here, there = multiprocessing.Pipe()
    process = multiprocessing.Process(target=load, args=(str(path), seconds, there))
    process.start()
    yield here
    process.join()


def headless(directory: Path, seconds: float) -> list[float]:
    """What decisions take when nobody looks."""
    path = directory / "serve.sock"
    command = [sys.executable, "-m", "console", "serve", "--socket", str(path), "--no-journal"]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        wait_for(path)
        with loading(path, seconds) as report:
            return list(report.recv())
    finally:
        server.terminate()
        server.wait()


def drawn(directory: Path, seconds: float) -> dict[str, list[float]]:
    """What decisions take while the console draws, and what it costs."""
    path = directory / "console.sock"
    screen = Screen([sys.executable, "-m", "console", "--socket", str(path), "--no-journal"])
    try:
        screen.wait_for("live")
        wait_for(path)
        with loading(path, seconds) as report:
            time.sleep(2)
            cpu, begin, writes = processor_seconds(screen.pid), time.perf_counter(), len(screen.writes)
            time.sleep(seconds * 0.5)
            share = (processor_seconds(screen.pid) - cpu) / (time.perf_counter() - begin)
            times = screen.writes[writes:]
            keys: list[float] = []
            while not report.poll(0):
                keys += (screen.key("p", "view paused"), screen.key("p", "following"))
                time.sleep(0.05)
            taken = list(report.recv())
        gaps = [after - before for before, after in itertools.pairwise(times)]
        frames = 1 + sum(gap > 0.02 for gap in gaps)
        return {
            "share": [share],
            "keys": keys,
            "frames": [frames / (seconds * 0.5)],
            "gaps": [max(gaps)],
            "taken": taken,
            "memory": [resident_megabytes(screen.pid)],
        }
    finally:
        screen.close()


def measure(seconds: float, rounds: int) -> list[Round]:
    """Each round with nobody looking, then with the console."""
    directory = Path(tempfile.mkdtemp(dir="/tmp", prefix="breaker-bench-"))
    directory.chmod(0o700)
    try:
        return [Round(headless(directory, seconds), drawn(directory, seconds)) for _ in range(rounds)]
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def findings() -> Findings:
    """The console's share of a core, and what it costs those who send."""
    rounds = measure(SECONDS, ROUNDS)
    return Findings(
        (
            over_rounds(
                f"console at {2 * CALLS_PER_SECOND} events/s, share of a core",
                [one.drawn["share"][0] for one in rounds],
                unit="%",
                target=TARGET,
            ),
            over_rounds(
                "call/decide p99 with the console drawing, over p99 with nobody looking",
                [one.p99_ratio for one in rounds],
                target=P99_TARGET,
            ),
        ),
        (Table("The console under load, ms", HEADINGS, tuple(one.cells() for one in rounds)),),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    rounds = measure(asked.seconds, asked.rounds)
    print(grid(HEADINGS, [one.cells() for one in rounds]))
    print(f"\nmedian p99 ratio {statistics.median(one.p99_ratio for one in rounds):.1f}")


if __name__ == "__main__":
    main()
