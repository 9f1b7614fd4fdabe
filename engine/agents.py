"""Who the breaker knows: each agent's turn, its calls under way, and the agents long idle, forgotten."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator

from engine.pending import Pending
from engine.turn import Turn
from engine.verdicts import Ask

IDLE_SECONDS = 6 * 3600.0
"""An agent unheard of for so long is forgotten, unless it waits for the operator."""
AGENTS_KEPT = 16_384
"""Beyond so many the one longest unheard of is forgotten: whoever reaches the socket can name agents without end."""
IN_FLIGHT_KEPT = 1024
"""Allowed calls whose results are awaited, per agent; a harness that never settles forgets its oldest."""


class Agent:
    """One agent. ``waiting`` holds its undecided calls by ticket, in order of arrival; ``asks`` its open asks."""

    __slots__ = ("asks", "harness", "id", "in_flight", "last_seen", "name", "parent", "turn", "waiting")

    def __init__(self, agent_id: str, window: int, now: float) -> None:
        self.id = agent_id
        self.parent = ""
        self.harness = ""
        self.name = ""
        self.turn = Turn(window)
        self.in_flight: dict[str, Pending] = {}
        self.waiting: dict[int, Pending] = {}
        self.asks: dict[str, Ask] = {}
        self.last_seen = now

    def await_result(self, pending: Pending) -> None:
        """Remember an allowed call until its result comes. A second call of the same id takes its place."""
        in_flight = self.in_flight
        in_flight.pop(pending.call.id, None)
        in_flight[pending.call.id] = pending
        if len(in_flight) > IN_FLIGHT_KEPT:
            del in_flight[next(iter(in_flight))]


class Agents:
    """The agents by id, least recently heard of first, and who is under whom (a child may be known first)."""

    __slots__ = ("_by_id", "_children")

    def __init__(self) -> None:
        self._by_id: OrderedDict[str, Agent] = OrderedDict()
        self._children: dict[str, set[str]] = {}

    def __iter__(self) -> Iterator[Agent]:
        return iter(tuple(self._by_id.values()))

    def __len__(self) -> int:
        return len(self._by_id)

    def get(self, agent_id: str) -> Agent | None:
        return self._by_id.get(agent_id)

    def heard(self, agent_id: str, now: float) -> Agent | None:
        """The agent, marked as heard of just now; None when it is not known."""
        agent = self._by_id.get(agent_id)
        if agent is not None:
            agent.last_seen = now
            self._by_id.move_to_end(agent_id)
        return agent

    def add(self, agent: Agent) -> None:
        self._by_id[agent.id] = agent

    def remove(self, agent: Agent) -> None:
        del self._by_id[agent.id]
        self._orphan(agent)

    def adopt(self, agent: Agent, parent: str) -> None:
        """Put an agent under its parent, known or not yet known."""
        self._orphan(agent)
        agent.parent = parent
        self._children.setdefault(parent, set()).add(agent.id)

    def _orphan(self, agent: Agent) -> None:
        siblings = self._children.get(agent.parent, set())
        siblings.discard(agent.id)
        if not siblings:
            self._children.pop(agent.parent, None)

    def descendants(self, agent: Agent) -> list[Agent]:
        """The agents under this one, deepest first, in the same order in every process. A ring of parents ends."""
        found: dict[str, Agent] = {}
        rest = [agent]
        while rest:
            for child_id in sorted(self._children.get(rest.pop().id, ())):
                child = self._by_id.get(child_id)
                if child is not None and child is not agent and child_id not in found:
                    found[child_id] = child
                    rest.append(child)
        return list(reversed(found.values()))

    def idle(self, now: float) -> list[Agent]:
        """Agents to forget before one more comes: unheard of since ``IDLE_SECONDS`` or too many, and waiting for
        nothing. Looks at the oldest only."""
        found: list[Agent] = []
        surplus = len(self._by_id) - AGENTS_KEPT + 1
        for agent in self._by_id.values():
            if now - agent.last_seen <= IDLE_SECONDS and len(found) >= surplus:
                break
            if not agent.waiting:
                found.append(agent)
        return found
