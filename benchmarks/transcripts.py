"""What it costs to read, identify and judge transcripts, and to sweep thresholds over them.

    python -m benchmarks.transcripts [--megabytes N] [--sessions N] [--rounds N]

The transcripts are made up from ``benchmarks.stream``, in the form in which Claude Code writes them, envelopes
included. A pass is what ``breaker sweep`` does with one combination: every file is read, every call identified and
judged once. Rounds alternate between the pass and the sweep; printed are the medians and their ratio.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Struct

from benchmarks.findings import Findings, Table, figure, grid, over_rounds
from benchmarks.stream import stream
from engine.config import DEFAULTS
from engine.sweep import sweep
from engine.swept_thresholds import combined, values_in
from engine.transcripts.files import read_session_file

MEGABYTES, SESSIONS, ROUNDS = 100, 8, 2
PASS_TARGET, SWEEP_TARGET = 30.0, 3.0
RANGES = {"warnAt": "5..9", "limits.exact": "6,9,12,15"}
COMBINATIONS = 20
HEADINGS = ("", "seconds")
RESULT_CHARS = 2000
"""Results are cut to so much: more calls a megabyte, and so more to do, than in what harnesses write."""
ENVELOPE = {
    "isSidechain": False,
    "userType": "external",
    "entrypoint": "cli",
    "cwd": "/home/dev/project",
    "version": "2.1.332",
    "gitBranch": "main",
}
USAGE = {"input_tokens": 9, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 9}


Given = TypeVar("Given")


def write_transcript(path: Path, size: int, seed: int) -> int:
    """Write a transcript of at least so many bytes; returns the number of its calls."""
    written = calls = 0
    with path.open("wb") as file:
        for line in transcript(f"session-{seed}", seed):
            data = json.dumps(line, separators=(",", ":")).encode() + b"\n"
            file.write(data)
            written += len(data)
            calls += int(line["type"] == "assistant")
            if written >= size:
                return calls
    raise AssertionError("the stream has no end")


def transcript(session: str, seed: int) -> Iterator[dict[str, Any]]:
    """The lines of a transcript without an end."""
    parent = None
    agent = f"agent-{seed % 8}"
    for number, line in enumerate(
        itertools.chain.from_iterable(stream(100_000, seed + lap) for lap in itertools.count())
    ):
        if line["agent"] != agent:
            continue
        at = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(1767225600 + number)) + ".000Z"
        one = f"{seed:08x}-0000-4000-8000-{number:012x}"
        yield {"parentUuid": parent, **ENVELOPE, **_message(line), "uuid": one, "timestamp": at, "sessionId": session}
        parent = one


def _message(line: dict[str, Any]) -> dict[str, Any]:
    if line["type"] == "turn":
        return {"type": "user", "message": {"role": "user", "content": "go on"}, "promptSource": "typed"}
    if line["type"] == "call":
        tool = "Bash" if line["tool"] == "bash" else line["tool"]
        block = {"type": "tool_use", "id": f"toolu_{line['id']}", "name": tool, "input": line["args"]}
        message = {"id": f"msg_{line['id']}", "type": "message", "role": "assistant", "model": "m", "content": [block]}
        return {"type": "assistant", "message": message | {"stop_reason": "tool_use", "usage": USAGE}}
    result = line["result"]
    text = "\n".join(block["text"] for block in result["content"])[:RESULT_CHARS]
    failed = bool(result["value"].get("exitCode") or result["value"].get("statusCode", 200) >= 400)
    block = {"tool_use_id": f"toolu_{line['id']}", "type": "tool_result", "is_error": failed}
    block["content"] = f"Exit code 1\n{text}" if failed else text
    told = f"Error: Exit code 1\n{text}" if failed else {"stdout": text, "stderr": "", "interrupted": False}
    return {"type": "user", "message": {"role": "user", "content": [block]}, "toolUseResult": told}


class Measured(Struct, frozen=True):
    """Seconds of each pass and of each sweep, of reading alone in one process; what there was to read."""

    passes: list[float]
    sweeps: list[float]
    reading: float
    size: int
    calls: int
    items: int
    refused: tuple[int, int]
    """Calls refused under the mildest and the strictest combination."""

    def lines(self) -> list[tuple[str, ...]]:
        """As text, under ``HEADINGS``."""
        return [
            ("reading alone, one process", figure(self.reading)),
            ("one pass", figure(statistics.median(self.passes))),
            (f"sweep of {COMBINATIONS} combinations", figure(statistics.median(self.sweeps))),
        ]

    def title(self) -> str:
        """What was read."""
        return f"Transcripts: {self.size / 1e6:.0f} MB, {self.calls:,} calls, {self.items:,} items, seconds"


def timed(work: Callable[[], Given]) -> tuple[float, Given]:
    """Seconds, and what came of it."""
    start = time.perf_counter()
    done = work()
    return time.perf_counter() - start, done


def measure(megabytes: int, sessions: int, rounds: int) -> Measured:
    """Write the transcripts, and read them round by round."""
    configs = [one.config for one in combined(DEFAULTS, {key: values_in(text) for key, text in RANGES.items()})]
    passes: list[float] = []
    sweeps: list[float] = []
    with tempfile.TemporaryDirectory() as directory:
        paths = [Path(directory) / f"session-{number}.jsonl" for number in range(sessions)]
        for number, path in enumerate(paths):
            write_transcript(path, megabytes * 1_000_000 // sessions, number)
        for _ in range(rounds):
            took, found = timed(lambda: sweep(paths, [DEFAULTS]))
            passes.append(took)
            took, swept = timed(lambda: sweep(paths, configs))
            sweeps.append(took)
        reading, items = timed(lambda: sum(1 for path in paths for _ in read_session_file(path)))
        size = sum(path.stat().st_size for path in paths)
    refused = [sum(one.tallies[index].refused for one in swept) for index in range(len(configs))]
    calls = sum(one.tallies[0].calls for one in found)
    return Measured(passes, sweeps, reading, size, calls, items, (min(refused), max(refused)))


def findings() -> Findings:
    """A pass over a hundred megabytes, and a sweep over a pass."""
    measured = measure(MEGABYTES, SESSIONS, ROUNDS)
    ratios = [swept / passed for swept, passed in zip(measured.sweeps, measured.passes, strict=True)]
    return Findings(
        (
            over_rounds(f"transcripts, {MEGABYTES} MB read and judged", measured.passes, unit="s", target=PASS_TARGET),
            over_rounds(f"sweep of {COMBINATIONS} combinations over one pass", ratios, target=SWEEP_TARGET),
        ),
        (Table(measured.title(), HEADINGS, tuple(measured.lines())),),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=MEGABYTES)
    parser.add_argument("--sessions", type=int, default=SESSIONS)
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    measured = measure(asked.megabytes, asked.sessions, asked.rounds)
    print(f"{measured.title()}\n\n{grid(HEADINGS, measured.lines())}")
    ratio = statistics.median(measured.sweeps) / statistics.median(measured.passes)
    print(
        f"\nsweep over pass {ratio:.2f}; refused {measured.refused[0]} to {measured.refused[1]} calls, by combination"
    )


if __name__ == "__main__":
    main()
