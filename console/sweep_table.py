"""The findings of a sweep as a table, as CSV and as JSON. What a terminal may show is made safe."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from console.text import fit, visible
from engine.sweep_findings import Finding
from engine.swept_thresholds import spelled

ROWS_SHOWN = 200
_COUNTS = ("advised", "asked", "refused", "calls_refused")
_HEADS = {"advised": "advised", "asked": "asked", "refused": "refused", "calls_refused": "calls refused"}


def table_of(findings: Sequence[Finding], width: int) -> Iterator[str]:
    """The lines of a table, a combination each. With labels the best come first, and more than fit are left out."""
    rows = [_cells(one) for one in _in_order(findings)[:ROWS_SHOWN]]
    first = findings[0]
    sums = (count(first.sessions, "session"), count(first.calls, "call"), count(len(findings), "combination"))
    yield ", ".join(sums)
    heads = list(rows[0])
    widths = {head: max(len(head), *(len(row[head]) for row in rows)) for head in heads}
    yield fit("  ".join(f"{head:>{widths[head]}}" for head in heads), width)
    for row in rows:
        yield fit("  ".join(f"{row[head]:>{widths[head]}}" for head in heads), width)
    if len(findings) > ROWS_SHOWN:
        yield f"and {len(findings) - ROWS_SHOWN} more combinations; --csv has them all"


def count(number: int, noun: str) -> str:
    """``1 call``, ``2 calls``."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _in_order(findings: Sequence[Finding]) -> list[Finding]:
    if findings[0].caught is None:
        return list(findings)
    return sorted(
        findings, key=lambda one: (not one.best, -(one.caught or 0), one.false_alarms or 0, one.calls_refused)
    )


def _cells(one: Finding) -> dict[str, str]:
    cells = {visible(key, 40): spelled(value) for key, value in one.values.items()}
    if one.caught is not None:
        cells["best"] = "*" if one.best else ""
        cells["caught"] = f"{one.caught}/{one.stuck}"
        cells["false alarms"] = f"{one.false_alarms}/{one.good}"
    cells |= {_HEADS[name]: str(getattr(one, name)) for name in _COUNTS}
    cells["earliest gate"] = f"call {one.earliest_gate.call}" if one.earliest_gate else "none"
    return cells


def csv_of(findings: Sequence[Finding]) -> str:
    """All of it as comma-separated values, with a head."""
    labelled = findings[0].caught is not None
    counts = ["sessions", "advised", "asked", "refused", "calls", "calls_refused"]
    labels = ["stuck", "caught", "good", "false_alarms", "best"] if labelled else []
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*findings[0].values, *counts, "earliest_gate_call", "earliest_gate_session", *labels])
    for one in findings:
        gate = one.earliest_gate
        first = [gate.call, _cell(gate.session)] if gate else ["", ""]
        row = [getattr(one, name) for name in counts]
        marks = [int(value) for name in labels if (value := getattr(one, name)) is not None]
        writer.writerow([*(spelled(value) for value in one.values.values()), *row, *first, *marks])
    return out.getvalue()


def _cell(text: str) -> str:
    """A name that no spreadsheet takes for a formula."""
    shown = visible(text)
    return f"'{shown}" if shown[:1] in ("=", "+", "-", "@") else shown


def json_of(findings: Sequence[Finding]) -> str:
    """All of it as JSON, ASCII only: it may go through a terminal on its way to a file."""
    plain: list[dict[str, Any]] = [
        {key: value for key, value in msgspec.to_builtins(one).items() if value is not None or key == "earliest_gate"}
        for one in findings
    ]
    return json.dumps({"combinations": plain}, indent=1).replace("\x7f", "\\u007f") + "\n"
