"""The same stream through the engine and through the reference: calls a second, memory, verdict for verdict.

Each run is a process of its own that reads the stream line by line. Runs alternate, so that whatever else the machine
does falls on both; a ratio is always that of two runs next to each other.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from benchmarks import reference
from benchmarks.findings import Findings, Row, Table, figure, over_rounds
from benchmarks.stream import prepared

SHORT, LONG = 10_000, 100_000
ROUNDS = {SHORT: 7, LONG: 1}
RUN_SECONDS = 120

FASTER = {
    "decide": ("decide", 2.0),
    "settle": ("decide and settle", 2.5),
    "ask": ("onLimit: ask, nobody there", 2.0),
}
"""A mode, what it is called, and how many times the reference's rate it must reach."""
LIGHTER = 0.5
"""Of the reference's memory."""


class Run(Struct, frozen=True):
    """What one process printed. ``verdicts`` has a digit a call, ``1`` for a refusal; megabytes, resident."""

    seconds: float
    before: float
    after: float
    verdicts: str

    @property
    def growth(self) -> float:
        """Megabytes that the stream left behind."""
        return self.after - self.before


Pairs = dict[tuple[str, int], list[tuple[Run, Run]]]
"""By mode and number of calls: the engine's run and the reference's, round by round."""


def findings() -> Findings:
    """Rates, verdicts and memory."""
    plugin = reference.plugin()
    pairs: Pairs = defaultdict(list)
    for calls in (SHORT, LONG):
        stream = prepared(calls)
        for number in range(ROUNDS[calls]):
            for mode in FASTER:
                pairs[mode, calls].append(_pair(plugin, stream, mode, engine_first=number % 2 == 0))
    return Findings((*_rates(pairs), _differing(pairs), *_memory(pairs["settle", LONG])), (_table(pairs),))


def _pair(plugin: Path, stream: Path, mode: str, *, engine_first: bool) -> tuple[Run, Run]:
    config = json.dumps({"onLimit": "ask" if mode == "ask" else "deny"})
    ours = (sys.executable, "-m", "benchmarks.engine_stream", str(stream), mode)
    theirs = reference.node("reference.mjs", str(plugin), str(stream), mode, config)
    if engine_first:
        return _run(ours), _run(theirs)
    late = _run(theirs)
    return _run(ours), late


def _run(command: Sequence[str]) -> Run:
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, timeout=RUN_SECONDS, env=_ENVIRONMENT)
    return msgspec.json.decode(done.stdout, type=Run)


_ENVIRONMENT = {name: value for name, value in os.environ.items() if name not in ("NODE_OPTIONS", "PYTHONMALLOC")}
"""What changes how either side allocates is left out."""


def _rates(pairs: Pairs) -> list[Row]:
    rows = []
    for (mode, calls), runs in pairs.items():
        name, target = FASTER[mode]
        ratios = [theirs.seconds / ours.seconds for ours, theirs in runs]
        what = f"{name}, {calls:,} calls: calls/s over the reference's"
        rows.append(over_rounds(what, ratios, target=target, at_least=True))
    return rows


def _differing(pairs: Pairs) -> Row:
    """Verdicts of the two that differ; the runs of a mode all give the same, whatever the round."""
    compared = differing = 0
    for runs in pairs.values():
        for ours, theirs in runs:
            compared += len(ours.verdicts)
            differing += abs(len(ours.verdicts) - len(theirs.verdicts))
            differing += sum(one != other for one, other in zip(ours.verdicts, theirs.verdicts, strict=False))
    return Row(what=f"verdicts that differ from the reference's, of {compared:,}", value=differing, target=0)


def _memory(runs: list[tuple[Run, Run]]) -> list[Row]:
    growth = [ours.growth / theirs.growth for ours, theirs in runs]
    whole = [ours.after / theirs.after for ours, theirs in runs]
    return [
        over_rounds(f"memory that {LONG:,} calls of 8 agents leave, over the reference's", growth, target=LIGHTER),
        over_rounds("the whole process after them, over the reference's", whole, target=LIGHTER),
    ]


def _table(pairs: Pairs) -> Table:
    lines = []
    for (mode, calls), runs in pairs.items():
        for who, side in (("engine", 0), ("reference", 1)):
            best = min((pair[side] for pair in runs), key=lambda run: run.seconds)
            middle = sorted(pair[side].seconds for pair in runs)[len(runs) // 2]
            lines.append(
                (
                    f"{FASTER[mode][0]}, {calls:,}",
                    who,
                    figure(middle / calls * 1e6),
                    figure(best.seconds / calls * 1e6),
                    f"{calls / middle:,.0f}",
                    f"{best.verdicts.count('1'):,}",
                    f"{best.before:.1f}",
                    f"{best.after:.1f}",
                )
            )
    headings = ("stream", "who", "µs a call", "fastest", "calls/s", "refused", "MB before", "MB after")
    return Table("The stream, run by run", headings, tuple(lines))
