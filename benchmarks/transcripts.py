"""What it costs to read, identify and judge transcripts, and to sweep thresholds over them.

    python benchmarks/transcripts.py [--megabytes N] [--sessions N] [--rounds N]

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
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.stream import stream
from engine.config import DEFAULTS
from engine.sweep import SessionTallies, sweep
from engine.swept_thresholds import combined, values_in
from engine.transcripts.files import read_session_file

RANGES = {"warnAt": "5..9", "limits.exact": "6,9,12,15"}
"""Twenty combinations."""
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


def write_transcript(path: Path, size: int, seed: int) -> int:
    """Write a transcript of at least so many bytes; returns the number of its calls."""
    written = calls = 0
    with path.open("wb") as file:
        for line in transcript(f"session-{seed}", seed):
            data = json.dumps(line, separators=(",", ":")).encode() + b"\n"
            file.write(data)
            written += len(data)
            calls += line["type"] == "assistant"
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


def seconds(work: Any) -> tuple[float, Any]:
    start = time.perf_counter()
    done = work()
    return time.perf_counter() - start, done


def measure(paths: list[Path], rounds: int) -> None:
    combinations = combined(DEFAULTS, {key: values_in(text) for key, text in RANGES.items()})
    configs = [one.config for one in combinations]
    one_pass: list[float] = []
    whole: list[float] = []
    for _ in range(rounds):
        took, found = seconds(lambda: sweep(paths, [DEFAULTS]))
        one_pass.append(took)
        took, swept = seconds(lambda: sweep(paths, configs))
        whole.append(took)
    read, lines = seconds(lambda: sum(1 for path in paths for _ in read_session_file(path)))
    size = sum(path.stat().st_size for path in paths) / 1e6
    print(f"{size:.0f} MB in {len(paths)} files, {_calls(found)} calls, {lines} items")
    print(f"read alone, one process   {read:6.2f} s")
    print(f"one pass                  {statistics.median(one_pass):6.2f} s")
    print(f"sweep of {len(configs)} combinations  {statistics.median(whole):6.2f} s")
    print(f"sweep / pass              {statistics.median(whole) / statistics.median(one_pass):6.2f}")
    refused = [sum(one.tallies[index].refused for one in swept) for index in range(len(configs))]
    print(f"calls refused             {min(refused)} to {max(refused)}, by combination")


def _calls(found: list[SessionTallies]) -> int:
    return sum(one.tallies[0].calls for one in found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--sessions", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        paths = [Path(directory) / f"session-{number}.jsonl" for number in range(asked.sessions)]
        for number, path in enumerate(paths):
            write_transcript(path, asked.megabytes * 1_000_000 // asked.sessions, number)
        measure(paths, asked.rounds)


if __name__ == "__main__":
    main()
