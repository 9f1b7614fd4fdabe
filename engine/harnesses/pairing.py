"""Ids for calls that their harness gives none: a result is paired with a call by what the two say of it."""

from __future__ import annotations

import itertools
from collections import OrderedDict
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from engine.canonical import canonical

KINDS_KEPT = 4096
"""Different calls under way, over all agents."""
ALIKE_KEPT = 64
"""Calls under way that are alike."""


class Pairs:
    """The calls under way by agent, tool and arguments; how many are kept is bounded.

    Of calls that are alike the newest is paired first: an older one may be left over, allowed here and then turned
    down by its harness, and would take the result of every later one.
    """

    def __init__(self) -> None:
        self._open: OrderedDict[bytes, list[str]] = OrderedDict()
        self._of_agent: dict[str, set[bytes]] = {}
        self._agents: dict[bytes, str] = {}
        self._numbers = itertools.count(1)

    def new_id(self) -> str:
        """An id for a call without one."""
        return f"unnamed-{next(self._numbers)}"

    def began(self, call: str, agent: str, tool: str, args: Mapping[str, Any]) -> None:
        """A call of this id is under way."""
        kind = _kind(agent, tool, args)
        alike = self._open.setdefault(kind, [])
        self._open.move_to_end(kind)
        alike.append(call)
        del alike[:-ALIKE_KEPT]
        self._agents[kind] = agent
        self._of_agent.setdefault(agent, set()).add(kind)
        if len(self._open) > KINDS_KEPT:
            self._drop(next(iter(self._open)))

    def ended(self, agent: str, tool: str, args: Mapping[str, Any]) -> str:
        """The id of the call that this is the result of; empty when none is known."""
        kind = _kind(agent, tool, args)
        alike = self._open.get(kind)
        if not alike:
            return ""
        call = alike.pop()
        if not alike:
            self._drop(kind)
        return call

    def forget(self, agent: str) -> None:
        """Nothing of this agent is under way any more."""
        for kind in tuple(self._of_agent.get(agent, ())):
            self._drop(kind)

    def _drop(self, kind: bytes) -> None:
        del self._open[kind]
        agent = self._agents.pop(kind)
        kinds = self._of_agent[agent]
        kinds.discard(kind)
        if not kinds:
            del self._of_agent[agent]


def _kind(agent: str, tool: str, args: Mapping[str, Any]) -> bytes:
    digest = sha256()
    for part in (agent, tool, canonical(args)):
        data = part.encode("utf-8", "surrogatepass")
        digest.update(b"%d:" % len(data))
        digest.update(data)
    return digest.digest()
