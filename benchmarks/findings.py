"""What a part of the benchmark found: figures held against their targets, and tables that say more."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from msgspec import Struct

HIT, MISSED, UNMEASURED, NO_TARGET = "met", "MISSED", "NOT MEASURED", ""
HEADINGS = ("what", "measured", "spread", "target", "verdict")


class Row(Struct, frozen=True, kw_only=True):
    """One figure.

    ``value`` is a median where there were rounds, None when it could not be measured; ``low`` and ``high`` are the
    least and the greatest of the rounds. Without a ``target`` it is there for comparison only.
    """

    what: str
    value: float | None = None
    low: float | None = None
    high: float | None = None
    unit: str = ""
    target: float | None = None
    at_least: bool = False
    """The target is a floor; otherwise it is a ceiling."""
    remark: str = ""

    @property
    def verdict(self) -> str:
        """Whether the target was met: one of four words."""
        if self.value is None:
            return UNMEASURED
        if self.target is None:
            return NO_TARGET
        met = self.value >= self.target if self.at_least else self.value <= self.target
        return HIT if met else MISSED

    def cells(self) -> tuple[str, ...]:
        """The row as text, under ``HEADINGS``."""
        target = "" if self.target is None else f"{'≥' if self.at_least else '≤'} {figure(self.target, self.unit)}"
        measured = "–" if self.value is None else figure(self.value, self.unit)
        percent = self.unit if self.unit == "%" else ""
        ends = [figure(end, percent) for end in (self.low, self.high) if end is not None]
        return (self.what, measured, " – ".join(ends), target, self.verdict)


class Table(Struct, frozen=True):
    """Figures that explain a row, already as text."""

    title: str
    headings: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]


class Findings(Struct, frozen=True):
    """All that one part found."""

    rows: tuple[Row, ...]
    tables: tuple[Table, ...] = ()


def over_rounds(  # noqa: PLR0913 - a row's fields, each by its name
    what: str,
    values: Sequence[float],
    *,
    unit: str = "",
    target: float | None = None,
    at_least: bool = False,
    remark: str = "",
) -> Row:
    """The row of a figure that was measured in several rounds; of one round, without a spread."""
    several = len(values) > 1
    return Row(
        what=what,
        value=statistics.median(values),
        low=min(values) if several else None,
        high=max(values) if several else None,
        unit=unit,
        target=target,
        at_least=at_least,
        remark=remark,
    )


def figure(value: float, unit: str = "") -> str:
    """Three digits that count, and the unit."""
    if unit == "%":
        return f"{value * 100:.0f} %"
    if value == 0 or not math.isfinite(value):
        text = f"{value:g}"
    else:
        decimals = max(0, 2 - math.floor(math.log10(abs(value))))
        text = f"{value:,.{min(decimals, 2 if abs(value) >= 0.1 else 4)}f}"
        text = text.removesuffix(".00")
    return f"{text} {unit}".rstrip()


def grid(headings: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A table for a terminal."""
    widths = [max(map(len, column)) for column in zip(headings, *lines, strict=True)]
    rule = tuple("─" * width for width in widths)
    shown = [headings, rule, *lines]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in shown)


def markdown(headings: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A table for a document."""
    shown = [headings, tuple("---" for _ in headings), *lines]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in shown)
