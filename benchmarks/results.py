"""``RESULTS.md``: one run, whole, with what it was measured on and how to read it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.findings import HEADINGS, HIT, MISSED, UNMEASURED, Findings, Row, markdown

RESULTS = Path(__file__).with_name("RESULTS.md")

READING = """\
* Written by `make bench`, from one run, by no hand. Every part alternates between the two sides that it compares, so
  that whatever else the machine does falls on both; a ratio is that of two runs next to each other.
* *measured* is the median of the rounds, *spread* the least and the greatest of them. Without a spread there was one
  long round, or the figure is the worst of all cases. A row without a target is there to be compared with.
* *over the reference's* is a rate where more is better (calls a second) and a cost where less is better (processor
  time, memory). The stream is made from a seed (`stream.py`) and is the same for both; so is the client of the two
  servers.
* Ratios travel from machine to machine, microseconds do not: other figures than these are to be expected elsewhere,
  the verdicts are not.
* What each part does exactly, and why so, is said in [README.md](README.md) and at the head of its module.
"""


def write(found: Mapping[str, Findings], about: Mapping[str, str], seconds: float) -> None:
    """Write the document."""
    rows = [row for findings in found.values() for row in findings.rows]
    parts = [
        "# Results",
        f"{_summary(rows)} {datetime.now(UTC):%d %B %Y}, {seconds / 60:.1f} minutes.",
        markdown(("measured on", ""), list(about.items())),
        markdown(HEADINGS, [_shown(row) for row in rows]),
        *_remarks(rows),
        "## How to read it",
        READING.rstrip(),
        "## The figures behind",
    ]
    for findings in found.values():
        for table in findings.tables:
            parts += [f"### {table.title}", markdown(table.headings, table.lines)]
    RESULTS.write_text("\n\n".join(parts) + "\n")


def _summary(rows: list[Row]) -> str:
    verdicts = [row.verdict for row in rows]
    held = sum(verdict in (HIT, MISSED, UNMEASURED) for verdict in verdicts)
    unmeasured = verdicts.count(UNMEASURED)
    missing = f", {unmeasured} could not be measured" if unmeasured else ""
    return f"{verdicts.count(HIT)} of {held} targets met, {verdicts.count(MISSED)} missed{missing}."


def _shown(row: Row) -> tuple[str, ...]:
    *cells, verdict = row.cells()
    return (*cells, f"**{verdict}**" if verdict in (MISSED, UNMEASURED) else verdict)


def _remarks(rows: list[Row]) -> list[str]:
    remarks = [f"* {row.what}: {row.remark}" for row in rows if row.remark]
    return ["\n".join(remarks)] if remarks else []
