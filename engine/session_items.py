"""What recorded sessions come to, whoever wrote them: calls, results, turns, agents, and lines that say nothing.

Every reader gives these, and ``engine.replay`` runs them. ``line`` is the number of a line in its file; ``at`` is in
unix seconds, 0.0 when the session does not say.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType

from engine.calls import Failure, Identity, Result
from engine.events import (
    AgentEnded,
    AskClosed,
    AskOpened,
    CallDecided,
    ExemptionRevoked,
    OperatorChanged,
    RefusalLifted,
)
from engine.verdicts import Outcome

LATEST = 32_503_680_000.0
"""The year 3000, in unix seconds: what says it was later is in another unit, or made up."""

ANSWERS: Mapping[str, Outcome] = {"approve": "approved", "reject": "rejected", "unavailable": "unattended"}
"""What the operator says, as a session spells it, and how the ask then ends."""


class Recorded(Struct, frozen=True):
    """What a journal knows of a call: what it is, and what was decided of it when it came.

    The measures of ``identity`` are left empty: which fingerprints have a cap is for the configuration to say.
    """

    ticket: int
    verdict: Literal["allow", "deny", "wait"]
    identity: Identity


class CallLine(Struct, frozen=True):
    """A call. ``answer`` is how an ask about it ends, if the session says.

    ``identity`` is what it is, for one who has worked that out, with the measures of the configuration that judges.
    """

    line: int
    id: str
    agent: str
    tool: str
    args: Mapping[str, Any]
    answer: Outcome | None = None
    recorded: Recorded | None = None
    at: float = 0.0
    identity: Identity | None = None


class ResultLine(Struct, frozen=True):
    """What a call gave back.

    A journal keeps only the head of a result, but its finding on the whole: ``failure`` is UNSET in a session,
    and in a journal the failure or None.
    """

    line: int
    id: str
    agent: str
    result: Result
    failure: Failure | UnsetType | None = UNSET
    at: float = 0.0


class TurnLine(Struct, frozen=True):
    """A message to an agent. Only a human's begins a turn."""

    line: int
    agent: str
    human: bool
    at: float = 0.0


class AgentLine(Struct, frozen=True):
    """Who an agent is: its ``parent`` when it is a sub-agent, its harness and its name where they are known."""

    line: int
    agent: str
    parent: str = ""
    harness: str = ""
    name: str = ""
    at: float = 0.0


class Damaged(Struct, frozen=True):
    """A line that could not be read, and why, for a person. ``file`` when it is not the one that was asked for."""

    line: int
    problem: str
    file: str = ""


class Unknown(Struct, frozen=True):
    """A line of a type that is not known here."""

    line: int
    type: str
    file: str = ""


Recalled = CallDecided | AskOpened | AskClosed | OperatorChanged | ExemptionRevoked | RefusalLifted | AgentEnded
"""The events of a journal that move a breaker, apart from calls, results and turns."""
Line = CallLine | ResultLine | TurnLine | AgentLine | Recalled | Damaged | Unknown


def moment_of(value: object) -> float:
    """Unix seconds; 0.0 for what is no time that could have been."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < LATEST:
        return 0.0
    return float(value)
