"""How hot each measure was when: what the timeline draws, gathered event by event."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import pairwise

from msgspec import Struct, field

from console.state.agents import Agent
from console.state.measures import HEAT, Measure, Stage, Thresholds
from console.state.whole import State
from engine.events import (
    AgentEnded,
    AskClosed,
    AskOpened,
    CallDecided,
    CallSeen,
    CallSettled,
    Event,
    Exempted,
    ExemptionRevoked,
    RefusalLifted,
    Refused,
    TurnStarted,
)

HOTTEST_KEPT = 24
"""Measures that are held ready to be drawn, the hottest of the whole session."""
STEPS = 4
"""Levels below the first stage, by nearness to the cap."""
LEVELS: tuple[Stage, ...] = ("", "", "", "", "", "EXEMPT", "REFUSED", "WARN", "SUMMARIZE", "GATE")
"""What each level is: 0 is cold, then ``STEPS`` without a stage, then the stages as ``HEAT`` sorts them."""
_LEVEL_OF: dict[Stage, int] = {stage: STEPS + heat for stage, heat in HEAT.items() if heat}

TELLING = ("host", "net", "site", "sink", "cmd", "exact")
"""Of measures equally hot, the kind that says more comes first."""

Key = tuple[str, str]
"""Agent and fingerprint."""


class Track(Struct, eq=False):
    """One measure over the session. ``peak``: how hot it ever was, by level, nearness to its cap, and streak."""

    agent: str
    short: str
    label: str
    peak: tuple[int, float, int] = (0, 0.0, 0)
    at: array[int] = field(default_factory=lambda: array("q"))
    """Numbers of the events at which its level changed."""
    levels: bytearray = field(default_factory=bytearray)

    @property
    def rank(self) -> tuple[int, float, int, int]:
        """Sorts the hottest first when reversed."""
        kind = self.label.partition(":")[0]
        return *self.peak, -TELLING.index(kind) if kind in TELLING else -len(TELLING)

    @property
    def level(self) -> int:
        """Its latest level."""
        return self.levels[-1] if self.levels else 0

    def moves_with(self, other: Track) -> bool:
        """Whether it was as hot as another one of the same agent all the time."""
        return self.agent == other.agent and self.at == other.at and self.levels == other.levels

    def moved(self, event: int, level: int) -> None:
        if self.at and self.at[-1] == event:
            self.levels[-1] = level
        elif level != self.level:
            self.levels.append(level)
            self.at.append(event)

    def columns(self, edges: Sequence[int]) -> list[int]:
        """The highest level between each of these numbers of events and the next."""
        known = len(self.at)
        at, levels = self.at[:known], self.levels[:known]
        found: list[int] = []
        before = 0
        for start, stop in pairwise(edges):
            first, end = bisect_left(at, start), bisect_left(at, stop)
            if first:
                before = levels[first - 1]
            inside = max(levels[first:end], default=0)
            begins_later = first == end or at[first] > start
            found.append(max(inside, before) if begins_later else inside)
        return found


class Heat:
    """The tracks of all measures that were ever more than counted once."""

    def __init__(self) -> None:
        self._tracks: dict[Key, Track] = {}
        self._lit: dict[str, set[Key]] = {}
        """By agent: the tracks that are not cold now."""
        self.hottest: tuple[Track, ...] = ()
        """The hottest of the session, the hottest first."""

    def __len__(self) -> int:
        return len(self._tracks)

    def to_show(self, most: int) -> list[Track]:
        """The hottest, at most so many; of measures that moved together all the time only the most telling one."""
        shown: list[Track] = []
        for track in self.hottest:
            if len(shown) < most and not any(track.moves_with(other) for other in shown):
                shown.append(track)
        return shown

    def happened(self, number: int, event: Event, state: State) -> None:
        """Take in what the event of this number has made of the state."""
        if isinstance(event, TurnStarted | AgentEnded):
            for key in self._lit.pop(event.agent, ()):
                self._tracks[key].moved(number, 0)
            return
        agent_id = event.ask.agent if isinstance(event, AskOpened) else getattr(event, "agent", "")
        agent = state.agents.get(agent_id)
        if agent is not None:
            for fingerprint in _touched(event, self._lit.get(agent_id, ())):
                self._look_at(number, agent, fingerprint, state.thresholds)

    def _look_at(self, number: int, agent: Agent, fingerprint: str, thresholds: Thresholds) -> None:
        measure = agent.measures.get(fingerprint)
        key = (agent.id, fingerprint)
        track = self._tracks.get(key)
        if track is None:
            if measure is None or not measure.warm:
                return
            track = self._tracks[key] = Track(agent.id, agent.short, measure.label)
        level = level_of(measure, thresholds) if measure else 0
        track.moved(number, level)
        lit = self._lit.setdefault(agent.id, set())
        (lit.add if level else lit.discard)(key)
        if measure:
            self._rank(track, (level, measure.shown_count / (measure.cap or 1), measure.streak))

    def _rank(self, track: Track, peak: tuple[int, float, int]) -> None:
        if peak <= track.peak:
            return
        track.peak = peak
        hottest = self.hottest
        if len(hottest) < HOTTEST_KEPT or track.rank > hottest[-1].rank:
            others = [one for one in hottest if one is not track]
            self.hottest = tuple(sorted([*others, track], key=lambda one: one.rank, reverse=True)[:HOTTEST_KEPT])


def level_of(measure: Measure, thresholds: Thresholds) -> int:
    """How hot a measure is, as an index of ``LEVELS``."""
    stage = measure.stage(thresholds)
    if stage:
        return _LEVEL_OF[stage]
    if not (measure.count or measure.streak):
        return 0
    near = measure.count / measure.cap if measure.cap else 0.0
    return min(1 + int(near * STEPS), STEPS)


def _touched(event: Event, lit: Iterable[Key]) -> Iterable[str]:
    """The fingerprints whose numbers an event may have changed."""
    touched: Iterable[str] = ()
    match event:
        case CallSeen() | CallDecided():
            touched = event.counts
        case CallSettled():
            touched = event.streaks
        case AskOpened():
            touched = event.ask.fingerprints
        case Exempted() | ExemptionRevoked() | RefusalLifted():
            touched = event.fingerprints
        case Refused():
            touched = tuple(refusal.fingerprint for refusal in event.refusals)
        case AskClosed():
            touched = sorted(fingerprint for _, fingerprint in lit)
    return touched
