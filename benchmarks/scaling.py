"""What a call costs in a window of 65,536 beside one of 16, and with 10,000 agents beside one.

Both sides get the same calls of the stream, each decoded for itself, and are warm before they are timed: the windows
full, the agents known. No cap can be reached, so that both take the same path through the gate; it is counting that
is measured here. Batches alternate between the two sides within one process, and who begins alternates too.
"""

from __future__ import annotations

import gc
import itertools
from collections.abc import Callable, Iterator, Sequence
from time import perf_counter

import msgspec
from msgspec import Struct, structs

from benchmarks.findings import Findings, Row, Table, figure, over_rounds
from benchmarks.stream import stream
from engine.breaker import Breaker
from engine.calls import Call, result_of
from engine.config import DEFAULTS, LIMITS, Config

NARROW, WIDE = 16, 65_536
FEW, MANY = 1, 10_000
TARGET = 1.5
ROUNDS = 15
BATCH = 1_000
SEED = 11
CALLS_KEPT = 9_973
"""Calls that are given over and over. A prime: so no agent of 10,000 gets the same call each time."""
OUT_OF_REACH = 10.0**9

_UNCAPPED = structs.replace(
    DEFAULTS, on_limit="deny", limits={kind: OUT_OF_REACH if cap else None for kind, cap in LIMITS.items()}
)
_decoder = msgspec.json.Decoder()


class Side(Struct):
    """One breaker under test: whose call the next is, and how many it has had."""

    breaker: Breaker
    agents: int
    calls: Iterator[bytes]
    given: int = 0

    def give(self, count: int) -> tuple[float, float]:
        """Decide and settle the next calls. Returns the seconds spent on either."""
        deciding = settling = 0.0
        for text in itertools.islice(self.calls, count):
            tool, args, result = _decoder.decode(text)
            agent, name = f"agent-{self.given % self.agents}", f"c{self.given}"
            self.given += 1
            began = perf_counter()
            self.breaker.decide(Call(name, agent, tool, args))
            decided = perf_counter()
            self.breaker.settle(agent, name, result_of(result))
            settling += perf_counter() - decided
            deciding += decided - began
        return deciding, settling


def findings() -> Findings:
    """Both ratios."""
    calls = _calls()
    windows = [_side(calls, window=size) for size in (NARROW, WIDE)]
    for side in windows:
        side.give(WIDE + CALLS_KEPT)
    by_window = _rounds(windows, _decision_alone)
    windows.clear()
    crowds = [_side(calls, agents=agents) for agents in (FEW, MANY)]
    for side in crowds:
        side.give((NARROW + 1) * side.agents + CALLS_KEPT)
    by_agents = _rounds(crowds, sum)
    return Findings(
        (
            _row(f"cost of a decision, window {WIDE:,} over {NARROW}", by_window),
            _row(f"cost of decide and settle, {MANY:,} agents over {FEW}", by_agents),
        ),
        (
            Table(
                "Window and agents, µs a call",
                ("", "few", "many"),
                (_line("window, decide", by_window), _line("agents, decide and settle", by_agents)),
            ),
        ),
    )


def _decision_alone(spent: tuple[float, float]) -> float:
    return spent[0]


def _calls() -> list[bytes]:
    """Calls of the stream: tool, arguments and result, as JSON."""
    lines = (line for line in stream(CALLS_KEPT, seed=SEED) if line["type"] != "turn")
    return [
        msgspec.json.encode((call["tool"], call["args"], result["result"]))
        for call, result in zip(lines, lines, strict=True)
    ]


def _side(calls: Sequence[bytes], *, window: int = NARROW, agents: int = FEW) -> Side:
    config: Config = structs.replace(_UNCAPPED, window=window)
    return Side(Breaker(config), agents, itertools.cycle(calls))


def _rounds(sides: Sequence[Side], cost: Callable[[tuple[float, float]], float]) -> list[tuple[float, float]]:
    """Seconds a batch costs either side, round by round."""
    costs = []
    for number in range(ROUNDS):
        gc.collect()
        order = (0, 1) if number % 2 == 0 else (1, 0)
        spent = dict.fromkeys(order, 0.0)
        for _ in range(2):
            for index in order:
                spent[index] += cost(sides[index].give(BATCH))
        costs.append((spent[0], spent[1]))
    return costs


def _row(what: str, costs: list[tuple[float, float]]) -> Row:
    return over_rounds(what, [many / few for few, many in costs], target=TARGET)


def _line(what: str, costs: list[tuple[float, float]]) -> tuple[str, ...]:
    middles = (sorted(side)[len(side) // 2] / BATCH / 2 * 1e6 for side in zip(*costs, strict=True))
    return (what, *map(figure, middles))
