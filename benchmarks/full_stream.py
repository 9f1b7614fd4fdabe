"""What a stream of 100,000 rows costs the console: memory, and how late it answers keys while more comes in.

    python -m benchmarks.full_stream [--seconds N]

``breaker`` draws on a real pty. Agents fill its stream over the socket, then go on at 500 events a second while keys
are pressed that concern all of the stream: to its first and last row, a page up, a filter and back, a pause.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import shutil
import socket
import sys
import tempfile
import time
from collections import defaultdict
from contextlib import ExitStack
from itertools import count
from pathlib import Path

from benchmarks.console_load import RESULT, loading
from benchmarks.findings import Findings, Row, Table, grid
from benchmarks.screen import Screen, centile, resident_megabytes, wait_for

ROWS = 100_000
FILL_AGENTS, FILL_BATCH, FILL_PER_SECOND = 20, 10, 1500
"""Calls a second that the console takes in without falling behind: what it must skip would not be in its stream."""
SECONDS = 15.0
MEGABYTES, STALL_SECONDS = 60.0, 0.1
"""Targets: what the rows may take, and how late a key may be answered."""
KEYS = (
    ("pause", "p", "view paused"),
    ("go on", "p", "following"),
    ("to the first row", "g", "End follows"),
    ("to the last row", "G", "following"),
    ("a page up", "\x1b[5~", "End follows"),
    ("to the last row", "G", "following"),
    ("open the filter", "/", "ords · agent"),
    ("filter: 4", "4", r"of 1\d{5} "),
    ("filter: 42", "2", r"of 1\d{5} "),
    ("take a letter back", "\x7f", r"of 1\d{5} "),
    ("no filter", "\x7f", "following"),
    ("close the filter", "\r", "Filter"),
)
"""What each is, what is typed, and what then appears."""
HEADINGS = ("key", "times", "p50, ms", "max, ms")


def fill(path: str, rows: int) -> None:
    """Agents that make ``rows`` calls, each settled, at ``FILL_PER_SECOND``."""
    with ExitStack() as opened:
        agents = []
        for number in range(FILL_AGENTS):
            one = opened.enter_context(socket.socket(socket.AF_UNIX))
            one.connect(path)
            agents.append((one, opened.enter_context(one.makefile("rb"))))
            hello = {"protocol": 1, "agent": {"id": f"filler-{number:02}", "harness": "bench"}}
            one.sendall(_request("initialize", hello))
        for _, answers in agents:
            answers.readline()
        begin = time.perf_counter()
        for start in range(0, rows, FILL_AGENTS * FILL_BATCH):
            time.sleep(max(0.0, begin + start / FILL_PER_SECOND - time.perf_counter()))
            for place, (one, _) in enumerate(agents):
                first = start + place * FILL_BATCH
                one.sendall(b"".join(map(_call, range(first, first + FILL_BATCH))))
            for _, answers in agents:
                for _ in range(2 * FILL_BATCH):
                    answers.readline()


_numbers = count(1)


def _request(method: str, params: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": next(_numbers), "method": method, "params": params}).encode() + b"\n"


def _call(number: int) -> bytes:
    command = f"python scripts/step_{number}.py --input data/{number}.csv --output results/{number}.json"
    args = {"command": command, "description": f"step {number}"}
    decide = _request("call/decide", {"id": f"f{number}", "tool": "Bash", "args": args})
    return decide + _request("call/settle", {"id": f"f{number}", "result": RESULT})


def measure(seconds: float) -> tuple[float, float, dict[str, list[float]]]:
    """Megabytes that the rows took, the longest gap between two frames, and the seconds that each key took."""
    directory = Path(tempfile.mkdtemp(dir="/tmp", prefix="breaker-bench-"))
    directory.chmod(0o700)
    path = directory / "console.sock"
    screen = Screen([sys.executable, "-m", "console", "--socket", str(path), "--no-journal"])
    try:
        screen.wait_for("live")
        wait_for(path)
        before = resident_megabytes(screen.pid)
        filler = multiprocessing.Process(target=fill, args=(str(path), ROWS))
        filler.start()
        filler.join()
        time.sleep(2)
        taken = resident_megabytes(screen.pid) - before
        keys: dict[str, list[float]] = defaultdict(list)
        with loading(path, seconds) as report:
            time.sleep(1)
            writes = len(screen.writes)
            while not report.poll(0):
                for what, key, shows in KEYS:
                    keys[what].append(screen.key(key, shows))
                    time.sleep(0.03)
            gap = screen.longest_gap(writes)
            report.recv()
        return taken, gap, keys
    finally:
        screen.close()
        shutil.rmtree(directory, ignore_errors=True)


def findings() -> Findings:
    """The memory and the slowest key."""
    return _told(*measure(SECONDS))


def _told(megabytes: float, gap: float, keys: dict[str, list[float]]) -> Findings:
    slowest = max(map(max, keys.values()))
    lines = [
        (what, str(len(times)), f"{centile(times, 0.5):.0f}", f"{centile(times, 1):.0f}")
        for what, times in keys.items()
    ]
    return Findings(
        (
            Row(what=f"memory that {ROWS:,} rows of the stream take", value=megabytes, unit="MB", target=MEGABYTES),
            Row(what="slowest key beside them, 500 events/s coming in", value=slowest, unit="s", target=STALL_SECONDS),
        ),
        (
            Table(
                f"Keys beside {ROWS:,} rows, 500 events/s coming in; longest gap between frames {gap * 1000:.0f} ms",
                HEADINGS,
                tuple(lines),
            ),
        ),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    found = _told(*measure(parser.parse_args().seconds))
    for row in found.rows:
        print("  ".join(row.cells()))
    for table in found.tables:
        print(f"\n{table.title}\n{grid(table.headings, table.lines)}")


if __name__ == "__main__":
    main()
