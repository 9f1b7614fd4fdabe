"""The agents in the command palette, by name. Names are an agent's own words: they are text here, never markup."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from rich.text import Text
from textual.command import DiscoveryHit, Hit, Hits, Provider

from console.state.agents import Agent

if TYPE_CHECKING:
    from console.app import ConsoleApp

HELP = "show its measures"


class AgentCommands(Provider):
    """One command for each agent."""

    async def discover(self) -> Hits:
        for agent in self._console.state.agents:
            title = _title(agent)
            yield DiscoveryHit(Text(title), self._select(agent), text=title, help=HELP)

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for agent in self._console.state.agents:
            title = _title(agent)
            if (score := matcher.match(title)) > 0:
                yield Hit(score, Text(title), self._select(agent), text=title, help=HELP)

    @property
    def _console(self) -> ConsoleApp:
        return cast("ConsoleApp", self.app)

    def _select(self, agent: Agent) -> Callable[[], None]:
        return lambda: self._console.main.select_agent(agent.id)


def _title(agent: Agent) -> str:
    return f"Agent: {agent.label}"
