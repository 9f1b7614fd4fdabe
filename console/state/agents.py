"""The agents as the screen knows them: who they are, how they stand under each other, what each is doing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal

from msgspec import Struct

from console.state.measures import Measure, new_measure
from console.text import visible
from engine.verdicts import Refusal

Doing = Literal["waiting for you", "blocked", "working", "idle", "ended"]

GLYPHS: dict[Doing, str] = {"waiting for you": "◆", "blocked": "⊘", "working": "●", "idle": "○", "ended": "·"}

QUIET_SECONDS = 60.0
"""An agent that has made no call for so long, and runs none, is idle: a model may think for a while between calls."""
FORGOTTEN_SECONDS = 900.0
"""A call whose result never came does not keep its agent at work for longer than this."""
ENDED_SHOWN_SECONDS = 30.0
"""An agent that has ended stays in the list for so long, then goes."""
NAME_CHARS = 40
SHORT_ID = 4
DEEPEST = 6
"""Sub-agents of sub-agents are drawn under each other down to this depth, and further down beside each other."""


class Agent(Struct, eq=False):
    """One agent. ``id`` is a name to act on, ``label`` and ``short`` are safe to print.

    ``version`` grows with every change of a measure, an exemption or a refusal.
    """

    id: str
    label: str
    short: str
    parent: str = ""
    harness: str = ""
    turn: int = 1
    calls: int = 0
    last_seen: float = 0.0
    measures: dict[str, Measure] = {}
    exemptions: dict[str, float] = {}
    """Fingerprint: since when."""
    refusals: dict[str, Refusal] = {}
    running: set[int] = set()
    """Tickets of the calls whose results are awaited."""
    asks: set[str] = set()
    blocked: bool = False
    """The last call of which something was decided was refused."""
    ended_at: float | None = None
    version: int = 0

    def doing(self, now: float) -> Doing:
        """What it is up to."""
        if self.ended_at is not None:
            return "ended"
        if self.asks:
            return "waiting for you"
        if self.blocked:
            return "blocked"
        quiet = now - self.last_seen
        return "working" if quiet < (FORGOTTEN_SECONDS if self.running else QUIET_SECONDS) else "idle"

    def measure(self, fingerprint: str) -> Measure:
        """The measure of this fingerprint, made when it is new."""
        found = self.measures.get(fingerprint)
        if found is None:
            found = self.measures[fingerprint] = new_measure(fingerprint)
        return found

    def drop_empty(self, fingerprint: str) -> None:
        """Forget a measure of which nothing is left to show."""
        measure = self.measures.get(fingerprint)
        if measure is not None and measure.empty:
            del self.measures[fingerprint]

    def named(self, harness: str, name: str) -> None:
        """Take over what is now known of who it is."""
        self.harness = harness or self.harness
        who = visible(name or self.harness, NAME_CHARS)
        self.label = f"{who} {self.short}" if who else self.short

    def start_turn(self, number: int) -> None:
        """A new turn: nothing of the old one counts."""
        self.turn, self.calls = number, 0
        self.measures, self.exemptions, self.refusals = {}, {}, {}
        self.blocked = False
        self.version += 1


def new_agent(agent_id: str, at: float) -> Agent:
    """An agent of which only the id is known; its end tells agents apart better than its beginning does."""
    short = visible(agent_id[-SHORT_ID:]) if agent_id else "?"
    return Agent(agent_id, short, short, last_seen=at)


class Agents:
    """The agents by id, in the order in which they were first seen. ``version`` grows when the list changes."""

    __slots__ = ("_by_id", "_tree", "version")

    def __init__(self) -> None:
        self._by_id: dict[str, Agent] = {}
        self._tree: list[tuple[Agent, int]] | None = None
        self.version = 0

    def __iter__(self) -> Iterator[Agent]:
        return iter(self._by_id.values())

    def __len__(self) -> int:
        return len(self._by_id)

    def get(self, agent_id: str) -> Agent | None:
        return self._by_id.get(agent_id)

    def known(self, agent_id: str, at: float) -> Agent:
        """The agent, heard of at this time; made, or taken back, when it was not there."""
        agent = self._by_id.get(agent_id)
        if agent is None:
            agent = self._by_id[agent_id] = new_agent(agent_id, at)
            self.changed()
        elif agent.ended_at is not None:
            agent.ended_at = None
            self.changed()
        agent.last_seen = at
        return agent

    def adopt(self, agent: Agent) -> None:
        """Take in an agent as it stands."""
        self._by_id[agent.id] = agent
        self.changed()

    def changed(self) -> None:
        """Say that the list, a parent or a name is not what it was."""
        self.version += 1
        self._tree = None

    def forget(self, agent_ids: Iterable[str]) -> None:
        for agent_id in agent_ids:
            del self._by_id[agent_id]
        self.changed()

    def clear(self) -> None:
        self.forget(tuple(self._by_id))

    def prune(self, now: float) -> None:
        """Drop the agents that ended a while ago."""
        gone = [
            agent.id
            for agent in self._by_id.values()
            if agent.ended_at is not None and now - agent.ended_at > ENDED_SHOWN_SECONDS
        ]
        if gone:
            self.forget(gone)

    def tree(self) -> list[tuple[Agent, int]]:
        """Each agent with its depth, sub-agents under their parents. A ring of parents is drawn side by side."""
        if self._tree is None:
            self._tree = self._build()
        return self._tree

    def _build(self) -> list[tuple[Agent, int]]:
        under: dict[str, list[Agent]] = {}
        for agent in self._by_id.values():
            under.setdefault(agent.parent if agent.parent in self._by_id else "", []).append(agent)
        placed: dict[str, tuple[Agent, int]] = {}
        for start in (under.get("", []), self._by_id.values()):
            rest = [(agent, 0) for agent in reversed(tuple(start)) if agent.id not in placed]
            while rest:
                agent, depth = rest.pop()
                if agent.id not in placed:
                    placed[agent.id] = (agent, min(depth, DEEPEST))
                    rest.extend((child, depth + 1) for child in reversed(under.get(agent.id, [])))
        return list(placed.values())
