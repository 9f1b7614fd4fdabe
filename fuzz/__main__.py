"""All of it: ``make fuzz``.

``FUZZ_SECONDS`` (300) is how long it takes, all targets and drivers together; ``FUZZ_FRAMES`` (200000) how many
frames an engine is sent on top of that, ``FUZZ_SEED`` what is damaged and how (another each time), ``FUZZ_WORKERS``
(2) how many run at once. What the guided driver has learned stays in ``.cache/fuzz``, and so do the inputs of findings.
"""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from msgspec import Struct

from fuzz.process import end_well, say
from fuzz.targets import TARGETS
from tests.engine.sockets import ROOT

CACHE = ROOT / ".cache" / "fuzz"
GRACE = 180.0
"""Seconds a driver may take beyond its time, before it is ended: that is a finding."""
FRAMES_PER_SECOND = 500
"""The least that the wire must manage."""
_running: set[subprocess.Popen[bytes]] = set()
_RUNS = re.compile(rb"stat::number_of_executed_units:\s*(\d+)")


class Job(Struct, frozen=True):
    """One driver on one target, as the arguments of a Python process."""

    driver: str
    target: str
    arguments: Sequence[str]
    seconds: float


class Row(Struct, frozen=True):
    """What came of a job."""

    job: Job
    failed: bool
    inputs: str
    said: str


def jobs(seconds: float, frames: int, seed: str) -> Iterator[Job]:
    """The wire first, which takes longest, then every driver for its share of the time."""
    if frames:
        yield Job("wire", "frames", (str(frames), seed), frames / FRAMES_PER_SECOND)
    drivers = ["seeded", "pumped", *(["guided"] if find_spec("atheris") else [])]
    share = seconds / len(drivers) / len(TARGETS)
    for target in TARGETS:
        for driver in drivers:
            places = (str(CACHE / "corpus" / target), str(CACHE / "findings" / target))
            arguments = (target, f"{share:.0f}", *(places if driver == "guided" else (seed,)))
            yield Job(driver, target, arguments, share)


def run(job: Job) -> Row:
    """Run a job in a process of its own."""
    command = [sys.executable, "-m", f"fuzz.{job.driver}", *job.arguments]
    process = subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
    )
    _running.add(process)
    try:
        output, _ = process.communicate(timeout=job.seconds + GRACE)
    except subprocess.TimeoutExpired:
        _end(process)
        output, _ = process.communicate()
        return Row(job, failed=True, inputs="", said=f"did not come to an end\n{_tail(output)}")
    finally:
        _running.discard(process)
    failed = process.returncode != 0
    if job.driver == "guided":
        found = _RUNS.search(output)
        return Row(job, failed, f"{found[1].decode()} inputs" if found else "", _tail(output) if failed else "")
    *findings, last = output.decode(errors="replace").strip().split("\n")
    return Row(job, failed, last.partition(": ")[2], "\n".join(findings[-60:]) if failed else "")


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a driver and the engine that it may have started: they are a group of their own."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _tail(output: bytes) -> str:
    """The end of what a process said, without libFuzzer's dictionary."""
    lines = output.decode(errors="replace").split("\n")
    return "\n".join([line for line in lines if "# Uses:" not in line][-40:])


def main() -> int:
    seconds = float(os.environ.get("FUZZ_SECONDS", "300"))
    frames = int(os.environ.get("FUZZ_FRAMES", "200000"))
    workers = int(os.environ.get("FUZZ_WORKERS", "2"))
    seed = os.environ.get("FUZZ_SEED") or f"{random.SystemRandom().getrandbits(32):x}"
    Path(CACHE).mkdir(parents=True, exist_ok=True)
    guided = "" if find_spec("atheris") else " (without atheris: pip install .[fuzz])"
    say(f"FUZZ_SEED={seed} FUZZ_SECONDS={seconds:.0f} FUZZ_FRAMES={frames}{guided}")
    failed = 0
    pool = ThreadPoolExecutor(workers)
    try:
        for row in pool.map(run, jobs(seconds * workers, frames, seed)):
            failed += row.failed
            say(f"{'FAIL' if row.failed else 'ok  '}  {row.job.driver:7} {row.job.target:14} {row.inputs}")
            if row.said:
                say(row.said)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for process in tuple(_running):
            _end(process)
    say("everything holds" if not failed else f"{failed} found something")
    return bool(failed)


if __name__ == "__main__":
    end_well()
    sys.exit(main())
