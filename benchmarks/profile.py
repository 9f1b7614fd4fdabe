"""Where the engine's time goes on the stream: by tool, as it is, and by module, as the profiler has it.

    python -m benchmarks.profile

The profiler makes calls of Python functions dearer than they are, so its shares say where to look, not what is to be
won; the figures by tool are without it.
"""

from __future__ import annotations

import cProfile
import pstats
import statistics
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

import msgspec
from msgspec import structs

from benchmarks.findings import figure, grid
from benchmarks.stream import prepared
from engine.breaker import Breaker
from engine.calls import Call, result_of
from engine.config import DEFAULTS

CALLS = 10_000
ROUNDS = 5
SHOWN = 14
ENGINE = Path(__file__).parent.parent / "engine"

Line = dict[str, Any]


def main() -> None:
    lines = [msgspec.json.decode(text) for text in prepared(CALLS).read_bytes().splitlines()]
    by_tool: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for _ in range(ROUNDS):
        for tool, spent in _timed(lines).items():
            by_tool[tool].append(spent)
    shown = []
    for tool, rounds in sorted(by_tool.items()):
        decide, settle = (statistics.median(one) * 1e6 for one in zip(*rounds, strict=True))
        shown.append((tool, figure(decide), figure(settle)))
    print(grid(("tool", "decide, µs", "settle, µs"), shown))
    profile = cProfile.Profile()
    profile.runcall(lambda: [None for _ in _run(lines)])
    print(f"\n{grid(('module', 'share of the profile'), _modules(profile))}")


def _timed(lines: list[Line]) -> dict[str, tuple[float, float]]:
    """Mean seconds that deciding and settling a call takes, by tool and for all."""
    spent: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for tool, decide, settle in _run(lines):
        spent[tool].append((decide, settle))
        spent["all"].append((decide, settle))
    means = {}
    for tool, calls in spent.items():
        deciding, settling = zip(*calls, strict=True)
        means[tool] = (statistics.fmean(deciding), statistics.fmean(settling))
    return means


def _run(lines: list[Line]) -> Iterator[tuple[str, float, float]]:
    """Decide and settle the stream; the seconds of each call."""
    breaker = Breaker(structs.replace(DEFAULTS, on_limit="deny"))
    decided, tool = 0.0, ""
    for line in lines:
        agent = str(line["agent"])
        if line["type"] == "turn":
            breaker.start_turn(agent)
        elif line["type"] == "call":
            tool = str(line["tool"])
            began = perf_counter()
            breaker.decide(Call(line["id"], agent, tool, line["args"]))
            decided = perf_counter() - began
        else:
            began = perf_counter()
            breaker.settle(agent, line["id"], result_of(line["result"]))
            yield tool, decided, perf_counter() - began


def _modules(profile: cProfile.Profile) -> list[tuple[str, str]]:
    """Own time by module; what is built in or of a library is that of the module that calls it."""
    spent: dict[str, float] = defaultdict(float)
    for (file, _, _), (_, _, own, _, callers) in pstats.Stats(profile).stats.items():  # type: ignore[attr-defined]
        if module := _module(file):
            spent[module] += own
        else:
            for (calling, _, _), (_, _, share, _) in callers.items():
                spent[_module(calling)] += share
    spent.pop("", None)
    whole = sum(spent.values())
    ranked = sorted(spent.items(), key=lambda one: -one[1])[:SHOWN]
    return [(module, figure(own / whole, "%")) for module, own in ranked]


def _module(file: str) -> str:
    path = Path(file)
    return ".".join(path.relative_to(ENGINE).with_suffix("").parts) if path.is_relative_to(ENGINE) else ""


if __name__ == "__main__":
    main()
