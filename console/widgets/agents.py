"""The agents: sub-agents under their parents, what each is doing, and how hot its hottest measure is."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from textual.message import Message

from console.state.agents import GLYPHS, Agent, Doing
from console.state.measures import GLYPHS as STAGE_GLYPHS
from console.state.measures import Measure
from console.state.whole import State
from console.text import fit
from console.widgets.inks import Piece
from console.widgets.lines import Lines
from console.widgets.pieces import INK_OF_STAGE, fit_name, of, right

INK_OF_DOING: dict[Doing, str] = {
    "waiting for you": "gate",
    "blocked": "refused",
    "working": "ok",
    "idle": "dim",
    "ended": "dim",
}
SHORT_DOING: dict[Doing, str] = {
    "waiting for you": "asks you",
    "blocked": "blocked",
    "working": "working",
    "idle": "idle",
    "ended": "ended",
}
ALL = ""
"""The id that stands for all agents together."""


class AgentList(Lines):
    """The first line stands for all agents, then one line each. ``selected`` is an agent's id, or ``ALL``."""

    MARKED = True

    class Selected(Message):
        """Another agent's measures are wanted."""

        def __init__(self, agent_id: str) -> None:
            super().__init__()
            self.agent_id = agent_id

    def __init__(self, state: State, *, id: str) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self.state = state
        self.selected = ALL
        self._awaited = ALL
        """To be selected when it is there."""
        self._agents: list[tuple[Agent, int]] = []
        self._hottest: dict[str, tuple[int, Measure | None]] = {}
        self._now = 0.0

    def turn_to(self, state: State) -> None:
        """Show another state from now on; the agent that is selected stays so, as soon as there is one of that id."""
        self.state = state
        self._awaited = self._awaited or self.selected
        self._agents = []
        self._hottest = {}

    def update(self, now: float) -> None:
        """Draw what has changed by ``now``, unix seconds. The cursor stays on the agent it was on."""
        self._now = now
        tree = self.state.agents.tree()
        if tree is not self._agents:
            self._agents = tree
            self._hottest = {agent.id: self._hottest.get(agent.id, (-1, None)) for agent, _ in tree}
            self._follow_selected()
        waiting = sum(bool(agent.asks) for agent, _ in tree)
        self.title_line.say(
            f"agents · {len(tree)}", f"{waiting} ask{'s' if waiting == 1 else ''} you" if waiting else ""
        )
        self.recount()

    def select(self, agent_id: str) -> None:
        """Put the cursor on an agent."""
        self.selected, self._awaited = agent_id, ALL
        self._follow_selected()
        self.post_message(self.Selected(self.selected))

    def _follow_selected(self) -> None:
        ids = [ALL, *(agent.id for agent, _ in self._agents)]
        wanted, awaited = self.selected, self._awaited
        if awaited != ALL and awaited in ids:
            wanted, awaited = awaited, ALL
        self.cursor = ids.index(wanted) if wanted in ids else min(self.cursor, len(ids) - 1)
        self._select_under(self.cursor)
        self._awaited = awaited

    def watch_cursor(self, before: int, now: int) -> None:
        super().watch_cursor(before, now)
        self._awaited = ALL
        self._select_under(now)

    def _select_under(self, cursor: int) -> None:
        selected = ALL if cursor == 0 or cursor > len(self._agents) else self._agents[cursor - 1][0].id
        if selected != self.selected:
            self.selected = selected
            self.post_message(self.Selected(selected))

    # -- lines ------------------------------------------------------------------------------------------------

    def count(self) -> int:
        return len(self._agents) + 1

    def key_of(self, index: int) -> Hashable:
        if index == 0:
            return (ALL, len(self._agents))
        agent, depth = self._agents[index - 1]
        hot = self._hottest_of(agent)
        numbers = (hot.fingerprint, hot.shown_count, hot.cap, hot.stage(self.state.thresholds)) if hot else None
        return (agent.id, agent.label, depth, agent.doing(self._now), numbers)

    def pieces(self, index: int, width: int) -> Sequence[Piece]:
        if index == 0:
            return [(fit("all agents", width, pad=True), "strong")]
        agent, depth = self._agents[index - 1]
        doing = agent.doing(self._now)
        hot = self._hottest_of(agent)
        stage = hot.stage(self.state.thresholds) if hot else ""
        heat = f"{STAGE_GLYPHS[stage]} {of(hot.shown_count, hot.cap)}" if hot else ""
        word = SHORT_DOING[doing]
        tree = "  " * (depth - 1) + "└ " if depth else ""
        name_width = max(width - 2 - 10 - (8 if width >= 30 else 0), 6)
        name = tree + fit_name(agent.label, name_width - len(tree))
        pieces = [
            (f"{GLYPHS[doing]} ", INK_OF_DOING[doing]),
            (name, "who" if doing != "ended" else "dim"),
            (right(word, 10), INK_OF_DOING[doing]),
        ]
        if width >= 30:
            pieces.append((right(heat, 8), INK_OF_STAGE[stage]))
        return pieces

    def _hottest_of(self, agent: Agent) -> Measure | None:
        version, hottest = self._hottest.get(agent.id, (-1, None))
        if version != agent.version:
            thresholds = self.state.thresholds
            warm = [measure for measure in agent.measures.values() if measure.warm]
            latest = next(reversed(agent.measures.values()), None)
            hottest = max(warm, key=lambda measure: measure.heat(thresholds), default=latest)
            self._hottest[agent.id] = (agent.version, hottest)
        return hottest
