"""A million calls in one turn of one agent, no two alike, all of them failing: what is remembered must stay bounded.

Resident memory and the interpreter's own count of its memory blocks are read every 50,000 calls, after a collection.
What is bounded comes and goes below its bound; so the most that was held in the last third of the readings is compared
with the most in the first third.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence
from typing import Any

from benchmarks.engine_stream import resident
from benchmarks.findings import Findings, Row, Table
from engine.breaker import Breaker
from engine.calls import Call, Result

CALLS = 1_000_000
STEP = 50_000
SETTLED = 50_000
"""Calls after which nothing may grow any more."""
NOISE_MEGABYTES = 1.0
"""What the C library's allocator may come and go by. Two bytes kept of each call would be more."""
NOISE_BLOCKS = 1_000
"""Of Python's memory. One kept of every five hundredth call would be more."""


def findings() -> Findings:
    """Growth after the first calls."""
    breaker = Breaker()
    seen: list[tuple[int, float, int]] = []
    for number in range(CALLS):
        tool, args, result = failing(number)
        breaker.decide(Call(f"c{number}", "agent", tool, args))
        breaker.settle("agent", f"c{number}", result)
        if (number + 1) % STEP == 0:
            seen.append((number + 1, *_held()))
    later = [(megabytes, blocks) for calls, megabytes, blocks in seen if calls >= SETTLED]
    megabytes, blocks = (_growth(held) for held in zip(*later, strict=True))
    what = f"growth over {CALLS:,} distinct failing calls in one turn, after {SETTLED:,}"
    return Findings(
        (
            Row(what=f"{what}: resident", value=megabytes, unit="MB", target=NOISE_MEGABYTES),
            Row(what=f"{what}: memory blocks", value=blocks, target=NOISE_BLOCKS),
        ),
        (
            Table(
                "A million failing calls",
                ("calls", "MB resident", "memory blocks"),
                tuple((f"{calls:,}", f"{size:.1f}", f"{count:,}") for calls, size, count in seen),
            ),
        ),
    )


def _growth(held: Sequence[float]) -> float:
    third = len(held) // 3
    return max(0.0, max(held[-third:]) - max(held[:third]))


def failing(number: int) -> tuple[str, dict[str, Any], Result]:
    """A call like no other, of one of four kinds, and the failure it meets."""
    kind = number % 4
    if kind == 0:
        command = f"python job_{number}.py --seed {number} > /tmp/out/{number}.log 2>&1"
        return "bash", {"command": command}, Result(value={"exitCode": 1}, text=f"Error: job {number} failed")
    if kind == 1:
        url = f"https://h{number}.example-{number}.org/v1/{number}?page={number}"
        command = f"curl -sS {url} -o /tmp/{number}.json"
        return "bash", {"command": command}, Result(value={"exitCode": 22}, text=f"curl: (22) error {number}")
    if kind == 2:
        url = f"https://n{number}.example-{number}.net/{number}"
        return "web_fetch", {"url": url}, Result(value={"statusCode": 404}, text=f"no page {number}")
    path = {"file_path": f"src/module_{number}.py"}
    return "read", path, Result(is_error=True, error_code="ENOENT", text=f"no file {number}")


def _held() -> tuple[float, int]:
    gc.collect()
    return resident(), sys.getallocatedblocks()
