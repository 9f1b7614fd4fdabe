"""One agent's turn, from one human message to the next. Every rule that changes a count is in this file.

Two counters stand side by side:

* the **window** holds the fingerprints of the last ``window`` committed calls; ``counts`` says how often each
  stands in it, and is kept on push and evict so that a judgement costs the same in any window;
* a **streak** is how often a fingerprint failed in a row; only its own success clears it.

Both are read together at the gate. An exempted fingerprint is in neither; a refused one is in both.

What is remembered is bounded (``STREAKS_KEPT``, ``RESULTS_KEPT``, ``REFUSALS_KEPT``), the least recently
touched goes first: an agent that never repeats itself costs no more after a million calls than after a few
thousand.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from engine.calls import Failure, Measure, Streak, kind_of
from engine.verdicts import Hit, Refusal, Stage

STREAKS_KEPT = 2048
RESULTS_KEPT = 256
REFUSALS_KEPT = 2048

TELLING = {"host": 0, "net": 1, "site": 2, "sink": 3, "cmd": 4, "exact": 5}
"""Which kind names the trouble best, when several measures reach a stage together."""

STRENGTH: Mapping[Stage, int] = {"summarize": 0, "warn": 1, "fail-warn": 2}
"""Which stage speaks when a call reaches two."""


def telling(fingerprint: str) -> int:
    """The rank of a fingerprint's kind in ``TELLING``; a kind not listed comes last."""
    return TELLING.get(kind_of(fingerprint), len(TELLING))


class Turn:
    """The counters of one turn. ``number`` counts the agent's turns from 1; ``calls`` counts its calls."""

    __slots__ = ("_window", "calls", "counts", "exemptions", "number", "refusals", "results", "size", "streaks")

    def __init__(self, size: int, number: int = 1) -> None:
        self.number = number
        self.size = size
        self.calls = 0
        self.counts: dict[str, int] = {}
        self.streaks: dict[str, Streak] = {}
        self.exemptions: dict[str, None] = {}
        self.refusals: dict[str, Refusal] = {}
        self._window: deque[Sequence[str]] = deque()
        self.results: dict[str, str] = {}

    # -- reading ----------------------------------------------------------------------------------------------

    def notable(self, measures: Iterable[Measure], stages: Mapping[int, Stage]) -> list[Measure]:
        """Those of a call's measures that may hit or reach a stage. Hardly ever any, so that this one look is all
        that most calls cost."""
        counts, streaks = self.counts, self.streaks
        return [
            measure
            for measure in measures
            if (count := counts.get(measure.fingerprint, 0) + 1) >= measure.cap
            or count in stages
            or measure.fingerprint in streaks
        ]

    def hits(self, measures: Iterable[Measure], fail_limit: float | None) -> tuple[Hit, ...]:
        """The measures that a call with these would bring to the gate, failure track first. Changes nothing."""
        failing: list[Hit] = []
        repeating: list[Hit] = []
        counts, streaks, exemptions = self.counts, self.streaks, self.exemptions
        for measure in measures:
            fingerprint = measure.fingerprint
            if fingerprint in exemptions:
                continue
            if fail_limit is not None and fingerprint in streaks:
                streak = streaks[fingerprint]
                if streak.count >= fail_limit:
                    previous = self.results.get(fingerprint, "")
                    hit = Hit("failure", fingerprint, streak.count, fail_limit, streak.failure, previous)
                    failing.append(hit)
            count = counts.get(fingerprint, 0) + 1
            if count >= measure.cap:
                previous = self.results.get(fingerprint, "")
                repeating.append(Hit("repeat", fingerprint, count, measure.cap, previous=previous))
        return (*failing, *repeating)

    def reached(self, measures: Iterable[Measure], stages: Mapping[int, Stage]) -> tuple[Stage, Measure] | None:
        """The strongest stage that a call with these reaches, and its most telling measure. Changes nothing.

        ``stages`` says which count, the present call included, is which stage. Equality, so that each crossing
        speaks once however long the count then stays where it is.
        """
        counts, exemptions = self.counts, self.exemptions
        found: list[tuple[int, int, Measure]] = []
        for measure in measures:
            count = counts.get(measure.fingerprint, 0) + 1
            if count in stages and measure.fingerprint not in exemptions:
                found.append((STRENGTH[stages[count]], telling(measure.fingerprint), measure))
        if not found:
            return None
        _, _, strongest = min(found, key=lambda one: one[:2])
        return stages[counts.get(strongest.fingerprint, 0) + 1], strongest

    def refusal(self, hits: Iterable[Hit]) -> Refusal | None:
        """The refusal in force that covers one of these hits, if any."""
        if not self.refusals:
            return None
        return next((self.refusals[hit.fingerprint] for hit in hits if hit.fingerprint in self.refusals), None)

    def window(self) -> Iterable[Sequence[str]]:
        """The committed calls in the window, oldest first, each as its fingerprints."""
        return iter(self._window)

    # -- the occurrence track ---------------------------------------------------------------------------------

    def commit(self, fingerprints: Sequence[str]) -> Sequence[str]:
        """Push a call into the window; exempted fingerprints stay out. Returns every fingerprint that moved."""
        if self.exemptions:
            fingerprints = tuple(one for one in fingerprints if one not in self.exemptions)
        if not fingerprints:
            return ()
        counts = self.counts
        for fingerprint in fingerprints:
            counts[fingerprint] = counts.get(fingerprint, 0) + 1
        self._window.append(fingerprints)
        if len(self._window) <= self.size:
            return fingerprints
        return (*fingerprints, *self._evict())

    def resize(self, size: int) -> Sequence[str]:
        """Take a new window size into force; the oldest calls leave when it shrinks. Returns what moved."""
        self.size = size
        moved: list[str] = []
        while len(self._window) > size:
            moved.extend(self._evict())
        return moved

    def _evict(self) -> Sequence[str]:
        counts = self.counts
        evicted = self._window.popleft()
        for fingerprint in evicted:
            left = counts[fingerprint] - 1
            if left:
                counts[fingerprint] = left
            else:
                del counts[fingerprint]
        return evicted

    # -- the failure track ------------------------------------------------------------------------------------

    def failed(self, measures: Iterable[Measure], failure: Failure) -> Mapping[str, int]:
        """Lengthen the streak of each measure that is not exempted. Returns the streaks as they now are."""
        streaks, exemptions = self.streaks, self.exemptions
        changed: dict[str, int] = {}
        for measure in measures:
            fingerprint = measure.fingerprint
            if fingerprint in exemptions:
                continue
            before = streaks.pop(fingerprint, None)
            count = before.count + 1 if before else 1
            streaks[fingerprint] = Streak(count, failure)
            changed[fingerprint] = count
        _keep_latest(streaks, STREAKS_KEPT)
        return changed

    def succeeded(self, measures: Iterable[Measure]) -> Mapping[str, int]:
        """Clear the streak of each measure that is not exempted. Returns those cleared, at 0."""
        streaks = self.streaks
        if not streaks:
            return {}
        cleared = [
            measure.fingerprint
            for measure in measures
            if measure.fingerprint in streaks and measure.fingerprint not in self.exemptions
        ]
        for fingerprint in cleared:
            del streaks[fingerprint]
        return dict.fromkeys(cleared, 0)

    def remember(self, measures: Iterable[Measure], preview: str) -> None:
        """Keep a preview of the last result of each measure, to be quoted when that measure is refused."""
        results = self.results
        for measure in measures:
            results.pop(measure.fingerprint, None)
            results[measure.fingerprint] = preview
        _keep_latest(results, RESULTS_KEPT)

    # -- the gate ---------------------------------------------------------------------------------------------

    def exempt(self, fingerprints: Iterable[str]) -> None:
        """Stop counting these on both tracks. What they had counted stays, and speaks again if this is revoked."""
        for fingerprint in fingerprints:
            self.exemptions[fingerprint] = None
            self.refusals.pop(fingerprint, None)

    def revoke(self, fingerprint: str) -> bool:
        """Count an exempted fingerprint again. False when it was not exempted."""
        if fingerprint not in self.exemptions:
            return False
        del self.exemptions[fingerprint]
        return True

    def refuse(self, refusals: Iterable[Refusal]) -> None:
        """Refuse these without asking from now on."""
        for refusal in refusals:
            self.refusals.pop(refusal.fingerprint, None)
            self.refusals[refusal.fingerprint] = refusal
        _keep_latest(self.refusals, REFUSALS_KEPT)

    def lift(self, fingerprint: str) -> bool:
        """Take a refusal back, so that the gate asks again. False when there was none."""
        return self.refusals.pop(fingerprint, None) is not None


def _keep_latest(kept: dict[str, Any], most: int) -> None:
    while len(kept) > most:
        del kept[next(iter(kept))]
