"""One agent's measures as the screen knows them: counts and streaks as the events gave them, and what they mean.

Nothing here counts. A measure's numbers are copied from events; the stage is read off them and the thresholds in
force, because the operator wants to see how far a measure has come also after the advisory was spoken.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct

from console.text import visible

Stage = Literal["GATE", "REFUSED", "SUMMARIZE", "WARN", "EXEMPT", ""]

GLYPHS: dict[Stage, str] = {"GATE": "◆", "REFUSED": "⊘", "SUMMARIZE": "▲", "WARN": "△", "EXEMPT": "∅", "": "·"}
"""Each stage's own shape, so that none needs its colour."""
HEAT: dict[Stage, int] = {"GATE": 5, "SUMMARIZE": 4, "WARN": 3, "REFUSED": 2, "EXEMPT": 1, "": 0}

CALLS_KEPT = 128
MOMENTS_KEPT = 128
LABEL_CHARS = 600
"""A fingerprint is at most 512 characters and its digest."""


class Thresholds(Struct, frozen=True):
    """Where the stages are. None: that stage is off."""

    warn_at: int | None = None
    summarize_at: int | None = None
    fail_warn_at: int | None = None
    fail_limit: float | None = None

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> Thresholds:
        """From a configuration as events carry it."""
        return cls(config.get("warnAt"), config.get("summarizeAt"), config.get("failWarnAt"), config.get("failLimit"))


class Moment(Struct, frozen=True, gc=False):
    """One step of a measure's history."""

    at: float
    count: int
    streak: int
    what: str
    """What moved it, in words: ``counted``, ``left the window``, ``failed: exit 1``, ``succeeded``, ``approved``…"""


class Measure(Struct):
    """A fingerprint with its numbers. ``label`` is the fingerprint made safe, ``fingerprint`` the name to act on."""

    fingerprint: str
    label: str
    cap: float = 0
    count: int = 0
    streak: int = 0
    failure: str = ""
    """The last failure of the streak, safe."""
    last_seen: float = 0.0
    exempt: bool = False
    refused: bool = False
    asking: int = 0
    """Its count in an open ask: the call that waits is counted with it, as the ask says. 0: no ask is open on it."""
    calls: list[int] = []
    """Rows of the calls that were counted, oldest first; the last ``count`` of them stand in the window."""
    history: list[Moment] = []

    @property
    def kind(self) -> str:
        return self.fingerprint.partition(":")[0]

    @property
    def shown_count(self) -> int:
        """The count to draw: at the gate the waiting call is part of it."""
        return max(self.count, self.asking)

    @property
    def empty(self) -> bool:
        """Whether nothing is left to show of it."""
        return not (self.count or self.streak or self.exempt or self.refused or self.asking)

    @property
    def warm(self) -> bool:
        """Whether it has to be held against others to be placed: most have been counted once, and that is all."""
        return self.count > 1 or self.streak > 0 or self.asking > 0 or self.exempt or self.refused

    def counted_by(self, row: int) -> None:
        """Remember that the call in this row was counted."""
        self.calls.append(row)
        if len(self.calls) > CALLS_KEPT:
            del self.calls[: -CALLS_KEPT // 2]

    def moved(self, at: float, what: str) -> None:
        """Add its present numbers to its history."""
        self.history.append(Moment(at, self.shown_count, self.streak, what))
        if len(self.history) > MOMENTS_KEPT:
            del self.history[: -MOMENTS_KEPT // 2]

    def stage(self, thresholds: Thresholds) -> Stage:
        """How far it has come, the graver of its two tracks."""
        if self.asking:
            return "GATE"
        if self.refused or self.exempt:
            return "REFUSED" if self.refused else "EXEMPT"
        steps: tuple[tuple[Stage, float | None, float | None], ...] = (
            ("GATE", self.cap, thresholds.fail_limit),
            ("SUMMARIZE", thresholds.summarize_at, None),
            ("WARN", thresholds.warn_at, thresholds.fail_warn_at),
        )
        for stage, count_at, streak_at in steps:
            if _reached(self.count, count_at) or _reached(self.streak, streak_at):
                return stage
        return ""

    def heat(self, thresholds: Thresholds) -> tuple[int, float, int, float]:
        """Sorts the hottest first when reversed: stage, nearness to its cap, streak, recency."""
        near = self.shown_count / self.cap if self.cap else 0.0
        return HEAT[self.stage(thresholds)], near, self.streak, self.last_seen


def _reached(number: int, threshold: float | None) -> bool:
    return threshold is not None and number >= threshold > 0


def new_measure(fingerprint: str) -> Measure:
    """A measure just seen for the first time."""
    return Measure(fingerprint, visible(fingerprint, LABEL_CHARS))
