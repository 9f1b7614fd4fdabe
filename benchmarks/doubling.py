"""Every family of hostile input at 64 KB, doubled three times, the costliest four: time must double with it, no more.

Measured is processor time of the whole way in: a call decided, its event written as a journal's line, its result read
and quoted; a frame read, a session, a configuration, a text made safe for the screen. What misses a target is
measured again, three times at most, and the fastest run counts: a busy machine can only add to it.
"""

from __future__ import annotations

import gc
import io
import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from time import process_time

from benchmarks.findings import Findings, Row, Table, figure
from benchmarks.hostile import FAMILIES, Family
from console.text import visible, visible_lines
from engine.breaker import Breaker
from engine.calls import Call, args_of, result_of
from engine.configuration.file import load_data
from engine.configuration.layer import ConfigError
from engine.events import Event
from engine.journal_lines import line_of
from engine.protocol import ProtocolError
from engine.service.connection import AgentConnection
from engine.service.frames import Lines, Overlong, decode_params, decode_request
from engine.sessions import NotASessionError, read_session

KILOBYTE = 1024
SIZES = tuple(64 * KILOBYTE << step for step in range(4))
MEGABYTE = KILOBYTE * KILOBYTE
COSTLIEST = 12
"""Families that are given a whole megabyte too."""
RATIO, SECONDS_A_MEGABYTE = 2.5, 2.0
MORE_RUNS = 3
NEGLIGIBLE = 0.002
"""Seconds that the doubled input must take for its ratio to count; below that the clock and the caches speak."""
SHOWN = 12
"""Families in the table, the worst."""
DECIDE = AgentConnection.methods["call/decide"].decoder


def findings() -> Findings:
    """The worst ratio and the worst cost, and whose they are."""
    measured = [(family, _times(family, SIZES)) for family in FAMILIES]
    measured.sort(key=lambda one: -_a_megabyte(one[1]))
    measured[:COSTLIEST] = [
        (family, _times(family, (*SIZES, MEGABYTE), times)) for family, times in measured[:COSTLIEST]
    ]
    ratios = sorted(((max(_ratios(times)), family) for family, times in measured), key=lambda one: -one[0])
    costs = sorted(((_a_megabyte(times), family) for family, times in measured), key=lambda one: -one[0])
    return Findings(
        (
            Row(
                what=f"time for an input doubled, worst of {len(FAMILIES)} families",
                value=ratios[0][0],
                target=RATIO,
                remark=_name(ratios[0][1]),
            ),
            Row(
                what=f"processor time for a megabyte, worst of {len(FAMILIES)} families",
                value=costs[0][0],
                unit="s",
                target=SECONDS_A_MEGABYTE,
                remark=_name(costs[0][1]),
            ),
        ),
        (
            Table("Input doubled: the greatest ratios", ("ratio", "family"), tuple(_lines(ratios))),
            Table("A megabyte: the greatest costs", ("s CPU", "family"), tuple(_lines(costs))),
        ),
    )


def _name(family: Family) -> str:
    return f"{family.door}: {family.name}"


def _lines(ranked: list[tuple[float, Family]]) -> list[tuple[str, ...]]:
    return [(figure(value), _name(family)) for value, family in ranked[:SHOWN]]


def _ratios(times: Sequence[float]) -> list[float]:
    """Of each size to the one before it, where there is anything to measure."""
    return [after / before for before, after in itertools.pairwise(times) if after >= NEGLIGIBLE] or [1.0]


def _a_megabyte(times: Sequence[float]) -> float:
    """Seconds that a megabyte costs at the dearest of the sizes; each is twice as large as the one before it."""
    return max(seconds * MEGABYTE / (SIZES[0] << step) for step, seconds in enumerate(times))


def _times(family: Family, sizes: Sequence[int], known: Sequence[float] = ()) -> list[float]:
    """Processor seconds at each size; what is ``known`` of the first of them is kept."""
    texts = [family.made(size) for size in sizes]
    times = [*known, *(_once(family, text) for text in texts[len(known) :])]
    for _ in range(MORE_RUNS):
        if max(_ratios(times)) <= RATIO and _a_megabyte(times) <= SECONDS_A_MEGABYTE:
            break
        times = [min(before, _once(family, text)) for before, text in zip(times, texts, strict=True)]
    return times


def _once(family: Family, text: str) -> float:
    read = DOORS[family.door](text)
    gc.collect()
    began = process_time()
    read()
    return process_time() - began


# -- the ways in ----------------------------------------------------------------------------------------------


def _breaker() -> Breaker:
    def write(event: Event) -> None:
        line_of(event)

    return Breaker(listener=write)


def _decide(tool: str, args: object) -> Callable[[], object]:
    """A call decided, written down, and settled."""
    breaker = _breaker()
    call = Call("c1", "agent", tool, args_of(args))

    def read() -> None:
        breaker.decide(call)
        breaker.settle("agent", "c1", result_of("ok"))

    return read


def _command(text: str) -> Callable[[], object]:
    return _decide("bash", {"command": text})


def _argument(text: str) -> Callable[[], object]:
    return _decide("web_fetch", {"url": text})


def _arguments(text: str) -> Callable[[], object]:
    try:
        return _decide("tool", json.loads(text))
    except RecursionError:
        return _frame(
            f'{{"jsonrpc":"2.0","id":1,"method":"call/decide","params":{{"id":"c","tool":"t","args":{text}}}}}'
        )


def _result(text: str) -> Callable[[], object]:
    """A result read, written down, and quoted in the refusals that follow."""
    breaker = _breaker()
    raw = {"value": {"exitCode": 1}, "content": [{"type": "text", "text": text}]}
    masked = {"content": [{"type": "text", "text": text}]}

    def read() -> None:
        for number, result in enumerate((raw, masked, raw, raw, raw, raw, raw)):
            breaker.decide(Call(f"c{number}", "agent", "bash", {"command": "curl http://a.example/"}))
            breaker.settle("agent", f"c{number}", result_of(result))

    return read


def _frame(text: str) -> Callable[[], object]:
    data = text.encode("utf-8", "surrogatepass")

    def read() -> None:
        for line in Lines().feed(data + b"\n"):
            if isinstance(line, Overlong):
                continue
            try:
                decode_params(DECIDE, decode_request(line))
            except ProtocolError as error:
                str(error)

    return read


def _session(text: str) -> Callable[[], object]:
    data = text.encode()

    def read() -> None:
        try:
            for _ in read_session(io.BytesIO(data)):
                pass
        except NotASessionError as error:
            str(error)

    return read


def _config(text: str) -> Callable[[], object]:
    data = text.encode()

    def read() -> None:
        try:
            load_data(data, "file")
        except ConfigError as error:
            str(error)

    return read


def _screen(text: str) -> Callable[[], object]:
    def read() -> None:
        visible(text)
        visible_lines(text)

    return read


DOORS: Mapping[str, Callable[[str], Callable[[], object]]] = {
    "command": _command,
    "argument": _argument,
    "arguments": _arguments,
    "result": _result,
    "frame": _frame,
    "session": _session,
    "config": _config,
    "screen": _screen,
}
