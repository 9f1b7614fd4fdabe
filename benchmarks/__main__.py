"""Runs the benchmark, or parts of it.

    python -m benchmarks                 every part, as a table
    python -m benchmarks stream hook     some parts
    python -m benchmarks --write         every part, and benchmarks/RESULTS.md
    python -m benchmarks --list          the parts

Each part runs in a process of its own that ends by itself or is ended. Exits with 1 when a target was missed or could
not be measured.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from typing import NoReturn

import msgspec
from msgspec import Struct

from benchmarks.findings import HEADINGS, MISSED, UNMEASURED, Findings, Row, grid
from benchmarks.machine import machine
from benchmarks.reference import UnavailableError
from benchmarks.results import write


class Part(Struct, frozen=True):
    """A module of this package with a function ``findings``, and what it measures. ``limit``: seconds it may take."""

    module: str
    about: str
    limit: float


PARTS: Mapping[str, Part] = {
    "stream": Part("stream_rates", "a coding agent's stream, beside the reference", 400),
    "scaling": Part("scaling", "the window and the number of agents", 150),
    "doubling": Part("doubling", "hostile input, doubled and doubled again", 300),
    "memory": Part("memory_growth", "a million calls in one turn", 240),
    "server": Part("server_cpu", "processor time of the server, beside the reference in Node", 150),
    "trip": Part("socket_round_trip", "a decision over the socket, beside an echo", 90),
    "hook": Part("hook_process", "the process that a harness starts at every call", 90),
    "console": Part("console_load", "the console under 500 events a second", 150),
    "rows": Part("full_stream", "the console with 100,000 rows in its stream", 180),
    "paint": Part("first_paint", "from a command to the console's first paint", 90),
    "transcripts": Part("transcripts", "reading what harnesses have recorded", 240),
}
ENDING = 15
"""Seconds that a part which took too long may take to end what it has started."""


def main() -> int:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--write", action="store_true", help="write benchmarks/RESULTS.md")
    parser.add_argument("--list", action="store_true", help="list the parts")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if unknown := [name for name in options.parts if name not in PARTS]:
        parser.error(f"there is no part {unknown[0]!r}; there are {', '.join(PARTS)}")
    if options.write and options.parts:
        parser.error("RESULTS.md is about one run of every part: leave the parts out, or --write")
    if options.list:
        print(grid(("part", "what it measures"), [(name, part.about) for name, part in PARTS.items()]))
        return 0
    signal.signal(signal.SIGTERM, _end)
    if options.child:
        return measure(options.parts[0])
    about, began = machine(), time.monotonic()
    found = {name: supervise(name) for name in options.parts or PARTS}
    seconds = time.monotonic() - began
    show(found)
    if options.write:
        write(found, about, seconds)
    print(f"\n{seconds:.0f} seconds")
    return int(any(row.verdict in (MISSED, UNMEASURED) for part in found.values() for row in part.rows))


def measure(name: str) -> int:
    """Run one part in this process, and print what it found as JSON."""
    findings: Findings
    try:
        findings = importlib.import_module(f"benchmarks.{PARTS[name].module}").findings()
    except UnavailableError as missing:
        findings = _nothing(PARTS[name], str(missing))
    sys.stdout.buffer.write(msgspec.json.encode(findings))
    return 0


def _end(*_: object) -> NoReturn:
    """What was started is ended on the way out."""
    sys.exit(1)


def supervise(name: str) -> Findings:
    """Run one part in a process of its own; a part that fails or takes too long has found that."""
    part = PARTS[name]
    print(f"{name}: {part.about} …", file=sys.stderr, flush=True)
    command = (sys.executable, "-m", "benchmarks", "--child", name)
    with (
        tempfile.TemporaryDirectory(prefix="rtb-", dir="/tmp") as home,
        subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True, env=_environment(home)) as process,
    ):
        try:
            printed, _ = process.communicate(timeout=part.limit)
        except subprocess.TimeoutExpired:
            _stop(process)
            return _nothing(part, f"it took longer than {part.limit:.0f} seconds")
        except BaseException:
            _stop(process)
            raise
    try:
        return msgspec.json.decode(printed, type=Findings)
    except msgspec.MsgspecError:
        return _nothing(part, f"the part ended with status {process.returncode}")


def _environment(home: str) -> dict[str, str]:
    """Whatever the user has configured, installed or running has no part in it."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("BREAKER_")}
    return own | {f"XDG_{kind}": home for kind in ("CONFIG_HOME", "STATE_HOME", "DATA_HOME", "RUNTIME_DIR")}


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End the part and all that it has started."""
    for ending in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, ending)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(ENDING)


def _nothing(part: Part, why: str) -> Findings:
    return Findings((Row(what=part.about, remark=why),))


def show(found: Mapping[str, Findings]) -> None:
    """Print all tables, the one that counts last."""
    for findings in found.values():
        for table in findings.tables:
            print(f"\n{table.title}\n\n{grid(table.headings, table.lines)}")
    rows = [row for findings in found.values() for row in findings.rows]
    print(f"\n{grid(HEADINGS, [row.cells() for row in rows])}")
    for row in rows:
        if row.remark:
            print(f"\n{row.what}: {row.remark}")


if __name__ == "__main__":
    sys.exit(main())
