"""Runs a stream through the engine and prints what ``reference.mjs`` prints: the other half of the comparison.

python -m benchmarks.engine_stream STREAM.jsonl MODE   (MODE: decide | settle | ask)
"""

from __future__ import annotations

import gc
import json
import sys
from pathlib import Path
from time import perf_counter

import msgspec

from engine.breaker import Breaker
from engine.calls import Call, result_of
from engine.config import DEFAULTS
from engine.verdicts import Verdict

MODES = ("decide", "settle", "ask")


def run(stream: Path, mode: str) -> dict[str, object]:
    """Seconds inside the engine, resident megabytes before and after, and a verdict a call (``1``: refused)."""
    breaker = Breaker(msgspec.structs.replace(DEFAULTS, on_limit="ask" if mode == "ask" else "deny"))
    decoder = msgspec.json.Decoder()
    spent, refused, verdicts = 0.0, False, []
    before = resident()
    with stream.open("rb") as file:
        for text in file:
            line = decoder.decode(text)
            kind, agent = line["type"], line["agent"]
            if kind == "call":
                started = perf_counter()
                verdict = breaker.decide(Call(line["id"], agent, line["tool"], line["args"]))
                spent += perf_counter() - started
                assert isinstance(verdict, Verdict)
                refused = verdict.decision == "deny"
                verdicts.append("1" if refused else "0")
            elif kind == "turn":
                started = perf_counter()
                breaker.start_turn(agent)
                spent += perf_counter() - started
            elif mode == "settle" and not refused:
                started = perf_counter()
                breaker.settle(agent, line["id"], result_of(line["result"]))
                spent += perf_counter() - started
    return {"seconds": spent, "before": before, "after": resident(), "verdicts": "".join(verdicts)}


def resident() -> float:
    """Megabytes of this process in memory now."""
    gc.collect()
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1000
    return 0.0


if __name__ == "__main__":
    print(json.dumps(run(Path(sys.argv[1]), sys.argv[2])))
