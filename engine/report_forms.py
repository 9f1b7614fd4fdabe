"""What a report holds, from the whole session down to one loop, one piece of advice, one ask.

Names, arguments and notes in it are raw text, as an agent or an operator wrote them.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct, field

from engine.calls import FailureReason
from engine.verdicts import Outcome, Stage

Reached = Literal["gate", "summarize", "fail-warn", "warn"]
REACHED: tuple[Reached, ...] = ("warn", "fail-warn", "summarize", "gate")
"""The lowest first."""


class Thresholds(Struct, frozen=True, rename="camel"):
    """What of a configuration says where the stages are."""

    warn_at: int | None = 7
    summarize_at: int | None = 11
    fail_warn_at: int | None = 3


class Loop(Struct, frozen=True, rename={"fingerprint": "fp"}):
    """A measure that reached a stage. ``first`` and ``last`` are the numbers of the calls of the turn that carried it.

    ``peak`` is its highest count in the window, the present call included; ``failures`` its longest streak.
    ``repeats`` are the calls after the first, ``seconds`` what they took to run. Measures that the same calls carried
    are one loop: the one that got nearest the gate, or tells most, and ``also`` the others.
    """

    fingerprint: str
    also: tuple[str, ...]
    cap: float
    reached: Reached
    peak: int
    failures: int
    calls: int
    refused: int
    first: int
    last: int
    repeats: int
    seconds: float


class Advised(Struct, rename={"fingerprint": "fp"}):
    """Advice that the model was given with call ``call``, and what it did next."""

    stage: Stage
    fingerprint: str
    count: int
    call: int
    next: Literal["again", "other", "nothing"] = "nothing"
    """The next call carried the measure, or did not, or there was none in this turn."""
    next_what: str = ""
    """The tool of the next call and what it was about; raw text of the agent's."""
    later: int = 0
    """Calls of this turn after the advice that carried the measure."""


class Asked(Struct):
    """A question to the operator. ``waited`` is in seconds; None while it is open, or when no times are known."""

    id: str
    call: int
    what: str
    fingerprints: tuple[str, ...]
    opened: float
    waited: float | None = None
    outcome: Outcome | None = None
    note: str = ""
    calls: int = 1
    """How many calls were waiting on it."""


class TurnReport(Struct):
    """One turn. ``repeats`` and ``repeat_seconds`` are of the calls that went on with a loop, each counted once."""

    turn: int
    started: float
    ended: float
    calls: int = 0
    failed: int = 0
    refused: int = 0
    asked: int = 0
    seconds: float = 0.0
    """What its calls took to run."""
    repeats: int = 0
    repeat_seconds: float = 0.0
    failures: dict[FailureReason, int] = field(default_factory=dict)
    loops: list[Loop] = field(default_factory=list)
    """Those that got nearest the gate first."""
    advice: list[Advised] = field(default_factory=list)
    asks: list[Asked] = field(default_factory=list)

    @property
    def quiet(self) -> bool:
        """Whether the breaker had nothing to say in it."""
        return not (self.loops or self.advice or self.asks or self.refused)


class AgentReport(Struct):
    """One agent, its turns in order."""

    agent: str
    parent: str = ""
    harness: str = ""
    name: str = ""
    turns: list[TurnReport] = field(default_factory=list)


class Sums(Struct):
    """Of the whole session, of one agent, or of what was not told one by one."""

    turns: int = 0
    calls: int = 0
    failed: int = 0
    refused: int = 0
    advised: int = 0
    asked: int = 0
    loops: int = 0
    repeats: int = 0
    seconds: float = 0.0
    repeat_seconds: float = 0.0
    waited: float = 0.0
    """Seconds that calls waited for the operator, ask by ask."""

    def add(self, turn: TurnReport) -> None:
        """Add a turn."""
        self.turns += 1
        self.calls += turn.calls
        self.failed += turn.failed
        self.refused += turn.refused
        self.advised += len(turn.advice)
        self.asked += turn.asked
        self.loops += len(turn.loops)
        self.repeats += turn.repeats
        self.seconds += turn.seconds
        self.repeat_seconds += turn.repeat_seconds
        self.waited += sum(ask.waited or 0.0 for ask in turn.asks)


class Report(Struct):
    """A session. ``source`` names it; ``supposed``: no breaker was there, this is what one would have done."""

    source: str
    supposed: bool
    started: float = 0.0
    ended: float = 0.0
    thresholds: Thresholds = Thresholds()
    sums: Sums = field(default_factory=Sums)
    agents: list[AgentReport] = field(default_factory=list)
