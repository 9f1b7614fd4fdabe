"""The measures of the selected agent, or of all of them, the hottest first."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from msgspec import Struct

from console.state.agents import Agent
from console.state.measures import GLYPHS, Measure, Stage
from console.state.whole import State
from console.text import fit
from console.widgets.agents import ALL
from console.widgets.inks import Piece
from console.widgets.lines import Lines
from console.widgets.pieces import INK_OF_STAGE, bar, fit_name, of, right, streak

SHOWN = 500
"""Measures in the list: those below are colder than all of them."""
SHORT_WORDS: dict[Stage, str] = {"SUMMARIZE": "SUMM", "REFUSED": "DENY", "EXEMPT": "FREE"}
"""For a narrow list."""


class Columns(Struct, frozen=True):
    """Widths of the columns, each with the space before it; what is left is the measure's own."""

    word: int
    who: int
    bar: int
    count: int
    streak: int
    age: int


COLUMNS = (
    (140, Columns(word=12, who=26, bar=34, count=8, streak=11, age=5)),
    (100, Columns(word=12, who=18, bar=20, count=8, streak=11, age=5)),
    (76, Columns(word=12, who=11, bar=13, count=7, streak=6, age=0)),
    (62, Columns(word=7, who=10, bar=10, count=6, streak=4, age=0)),
    (0, Columns(word=7, who=0, bar=9, count=6, streak=4, age=0)),
)
"""From this width on."""


class MeasureList(Lines):
    """One line a measure. The cursor stays on its measure when others overtake it."""

    def __init__(self, state: State, *, id: str) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self.state = state
        self.agent_id = ALL
        self._measures: list[tuple[Agent, Measure]] = []
        self._drawn: tuple[object, ...] = ()
        self._now = 0.0

    def turn_to(self, state: State) -> None:
        """Show another state from now on."""
        self.state = state
        self._drawn = ()

    def update(self, now: float) -> None:
        """Sort again if a number has changed, and draw what is different by ``now``, unix seconds."""
        agents = self._agents()
        drawn = (self.agent_id, self.state.config_version, *((agent.id, agent.version) for agent in agents))
        if drawn == self._drawn and int(now) == int(self._now):
            return
        self._now = now
        if drawn != self._drawn:
            self._drawn = drawn
            self._sort(agents)
        self._title(agents)
        self.recount()

    def show(self, agent_id: str, now: float) -> None:
        """Show another agent's measures."""
        if agent_id != self.agent_id:
            self.agent_id = agent_id
            self._measures = []
            self.cursor = 0
            self.scroll_home(animate=False)
        self.update(now)

    def selected(self) -> tuple[Agent, Measure] | None:
        """The measure under the cursor."""
        return self._measures[self.cursor] if self.cursor < len(self._measures) else None

    def at(self, index: int) -> tuple[Agent, Measure] | None:
        return self._measures[index] if 0 <= index < len(self._measures) else None

    def _agents(self) -> list[Agent]:
        if self.agent_id == ALL:
            return [agent for agent in self.state.agents if agent.ended_at is None]
        agent = self.state.agents.get(self.agent_id)
        return [agent] if agent else []

    def _sort(self, agents: list[Agent]) -> None:
        thresholds = self.state.thresholds
        under = self.selected()
        warm: list[tuple[Agent, Measure]] = []
        cold: list[tuple[Agent, Measure]] = []
        for agent in agents:
            for measure in agent.measures.values():
                (warm if measure.warm else cold).append((agent, measure))
        warm.sort(key=lambda pair: pair[1].heat(thresholds), reverse=True)
        self._measures = (warm + cold[::-1])[:SHOWN]
        if under is not None and self.has_focus:
            self._stay_on(under)
        elif self.cursor >= len(self._measures):
            self.cursor = max(len(self._measures) - 1, 0)

    def _stay_on(self, under: tuple[Agent, Measure]) -> None:
        agent, measure = under
        for index, (other_agent, other) in enumerate(self._measures):
            if other.fingerprint == measure.fingerprint and other_agent.id == agent.id:
                self.cursor = index
                return
        self.cursor = min(self.cursor, max(len(self._measures) - 1, 0))

    def _title(self, agents: list[Agent]) -> None:
        if self.agent_id == ALL or not agents:
            self.title_line.say("measures · all agents")
            return
        agent = agents[0]
        calls = f"{agent.calls} call{'' if agent.calls == 1 else 's'}"
        self.title_line.say(f"measures · {agent.label}", f"turn {agent.turn} · {calls}")

    # -- lines ------------------------------------------------------------------------------------------------

    def count(self) -> int:
        return len(self._measures)

    def key_of(self, index: int) -> Hashable:
        agent, measure = self._measures[index]
        stage = measure.stage(self.state.thresholds)
        numbers = (measure.shown_count, measure.cap, measure.streak)
        age = _age(self._now - measure.last_seen)
        return (agent.id, self.agent_id, measure.fingerprint, stage, numbers, age, self.state.config_version)

    def pieces(self, index: int, width: int) -> Sequence[Piece]:
        agent, measure = self._measures[index]
        thresholds = self.state.thresholds
        stage = measure.stage(thresholds)
        ink = INK_OF_STAGE[stage]
        columns = next(columns for least, columns in COLUMNS if width >= least)
        word = stage if columns.word > 8 else SHORT_WORDS.get(stage, stage)
        who = columns.who if self.agent_id == ALL else 0
        fixed = columns.word + who + columns.bar + columns.count + columns.streak + columns.age
        name = fit(measure.label, max(width - fixed, 8), "middle", pad=True)
        pieces = [
            (fit(f"{GLYPHS[stage]} {word}", columns.word, pad=True), ink),
            (name, "" if stage else "dim"),
            (" " + bar(measure, thresholds, columns.bar - 1), ink),
            (right(of(measure.shown_count, measure.cap), columns.count), ink),
            (" " + fit(streak(measure, thresholds, columns.streak - 1), columns.streak - 1, pad=True), "fail"),
        ]
        if who:
            pieces.insert(1, (fit_name(agent.label, who - 1) + " ", "who"))
        if columns.age:
            pieces.append((right(_age(self._now - measure.last_seen), columns.age), "dim"))
        return pieces


def _age(seconds: float) -> str:
    """``2s``, ``4m``, ``3h``, ``2d``: how long ago."""
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= size:
            return f"{seconds // size:.0f}{unit}"
    return f"{max(seconds, 0):.0f}s"
