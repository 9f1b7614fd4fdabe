"""From the command ``breaker`` to the console's first paint, beside a process that only imports Textual.

The console runs on a pty of 120 by 40, with the engine in it. Rounds alternate; the figure is the difference of the two
in one round. The first paint is the first frame to reach the terminal; when the whole screen stands, and when the
engine in it serves, is told beside it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from msgspec import Struct

from benchmarks.console_load import Screen
from benchmarks.findings import Findings, Table, figure, over_rounds

ROUNDS = 9
TARGET = 0.35
IMPORT_SECONDS = 30
PAINTED, WHOLE, SERVING = "starting", "Quit", "live"
"""What the first frame shows of the engine; a key in the footer, which comes last; an engine that serves."""


class Start(Struct, frozen=True):
    """Seconds from a start: of the import alone to its end, of the console to each of its stages."""

    imported: float
    painted: float
    whole: float
    serving: float


def findings() -> Findings:
    """What the first paint takes beyond the import."""
    with tempfile.TemporaryDirectory(prefix="rtb-", dir="/tmp") as directory:
        starts = [_start(Path(directory) / f"{number}.sock") for number in range(ROUNDS + 1)][1:]
    over = [one.painted - one.imported for one in starts]
    lines = [(name, *_milliseconds([getattr(one, field) for one in starts])) for name, field in _STAGES]
    return Findings(
        (over_rounds("first paint after the import of textual.app", over, unit="s", target=TARGET),),
        (Table("From the start of a process, ms", ("until", "median", "least", "most"), tuple(lines)),),
    )


_STAGES = (
    ("textual.app is imported, and the process over", "imported"),
    ("the console's first paint", "painted"),
    ("its whole screen stands", "whole"),
    ("the engine in it serves", "serving"),
)


def _start(path: Path) -> Start:
    began = time.perf_counter()
    subprocess.run((sys.executable, "-c", "import textual.app"), check=True, timeout=IMPORT_SECONDS)
    imported = time.perf_counter() - began
    began = time.perf_counter()
    screen = Screen([sys.executable, "-m", "console", "--socket", str(path), "--no-journal"])
    try:
        stages = []
        for shown in (PAINTED, WHOLE, SERVING):
            screen.wait_for(shown)
            stages.append(time.perf_counter() - began)
    finally:
        os.kill(screen.pid, 15)
        os.waitpid(screen.pid, 0)
    return Start(imported, *stages)


def _milliseconds(values: list[float]) -> tuple[str, ...]:
    ranked = sorted(values)
    return tuple(figure(value * 1000) for value in (ranked[len(ranked) // 2], ranked[0], ranked[-1]))
