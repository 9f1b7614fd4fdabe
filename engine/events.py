"""What the engine reports, one type each. The journal writes them, the console draws them, nobody else decides by them.

Every event is one JSON object whose ``type`` is its tag; ``call``, ``result`` and ``turn`` are lines of the
session format with fields of our own, so a journal is a session. ``at`` is unix seconds. Everything an agent
wrote (ids, tools, arguments, results, names) is hostile text as it came.

A subscriber holds a ``Snapshot`` and then applies events in order; counts and streaks come with the events, so
nobody but ``turn.py`` ever computes one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec
from msgspec import Struct

from engine.calls import Failure, Measure
from engine.verdicts import Advisory, Ask, Hit, Outcome, Refusal


class _Event(Struct, frozen=True, tag_field="type", omit_defaults=True):
    at: float


class AgentStarted(_Event, frozen=True, tag="agent"):
    """First sight of an agent, or more known about one: a sub-agent names its ``parent``."""

    agent: str
    parent: str = ""
    harness: str = ""
    name: str = ""


class AgentEnded(_Event, frozen=True, tag="agent-end"):
    agent: str
    reason: Literal["ended", "idle"] = "ended"


class TurnStarted(_Event, frozen=True, tag="turn"):
    """A human message (``user``) or the operator (``operator``) cleared the agent's turn; ``turn`` is its number."""

    agent: str
    turn: int
    source: Literal["user", "operator"] = "user"


class CallSeen(_Event, frozen=True, tag="call"):
    """A call, and what was decided at once. ``verdict`` is ``wait`` when the operator must answer first.

    ``counts`` are the window counts that this call's commit changed, of capped fingerprints only (0: left the
    window). ``tracked`` is False for a tool that the configuration excludes: it has no fingerprints. With the
    last four fields a line holds the call's whole ``Identity``, so that who reads it needs no full arguments.
    """

    id: str
    agent: str
    tool: str
    args: Mapping[str, Any]
    ticket: int
    turn: int
    verdict: Literal["allow", "deny", "wait"]
    fingerprints: tuple[str, ...] = ()
    measures: tuple[Measure, ...] = ()
    hits: tuple[Hit, ...] = ()
    advisories: tuple[Advisory, ...] = ()
    counts: Mapping[str, int] = {}
    outcome: Outcome | None = None
    asked: bool = False
    asks: tuple[str, ...] = ()
    reason: str = ""
    tracked: bool = True
    local: bool = False
    shell: bool = False
    reads_only: bool = False
    asks_http_code: bool = False


class CallDecided(_Event, frozen=True, tag="verdict"):
    """A call that waited is decided. The fields mean what they mean in ``CallSeen``."""

    id: str
    agent: str
    ticket: int
    verdict: Literal["allow", "deny"]
    outcome: Outcome | None = None
    hits: tuple[Hit, ...] = ()
    advisories: tuple[Advisory, ...] = ()
    counts: Mapping[str, int] = {}
    reason: str = ""


class CallSettled(_Event, frozen=True, tag="result"):
    """What a call gave back. ``result`` has the session format's form; ``seconds`` is from verdict to result.

    ``streaks`` are the failure streaks this result changed (0: cleared).
    """

    id: str
    agent: str
    ticket: int
    result: Mapping[str, Any]
    failure: Failure | None = None
    aborted: bool = False
    streaks: Mapping[str, int] = {}
    advisories: tuple[Advisory, ...] = ()
    seconds: float = 0.0


class AskOpened(_Event, frozen=True, tag="ask"):
    ask: Ask


class AskClosed(_Event, frozen=True, tag="ask-closed"):
    """``calls`` is how many calls were waiting on it."""

    id: str
    agent: str
    outcome: Outcome
    calls: int
    note: str = ""


class Exempted(_Event, frozen=True, tag="exempted"):
    """The operator stopped the counting of these measures for the rest of the turn."""

    agent: str
    fingerprints: tuple[str, ...]


class ExemptionRevoked(_Event, frozen=True, tag="exemption-revoked"):
    agent: str
    fingerprints: tuple[str, ...]


class Refused(_Event, frozen=True, tag="refused"):
    """These measures are refused without asking for the rest of the turn."""

    agent: str
    refusals: tuple[Refusal, ...]


class RefusalLifted(_Event, frozen=True, tag="refusal-lifted"):
    agent: str
    fingerprints: tuple[str, ...]


class OperatorChanged(_Event, frozen=True, tag="operator"):
    """Whether anybody is there to answer."""

    attended: bool


class ConfigChanged(_Event, frozen=True, tag="config"):
    """A configuration came into force, or (``error`` set) was refused and changed nothing."""

    source: str
    config: Mapping[str, Any] = {}
    error: str = ""
    warnings: tuple[str, ...] = ()


class Notice(_Event, frozen=True, tag="notice"):
    """Something the operator must know about the engine itself: a journal that cannot be written, a fault."""

    level: Literal["info", "warning", "error"]
    text: str


Event = (
    AgentStarted
    | AgentEnded
    | TurnStarted
    | CallSeen
    | CallDecided
    | CallSettled
    | AskOpened
    | AskClosed
    | Exempted
    | ExemptionRevoked
    | Refused
    | RefusalLifted
    | OperatorChanged
    | ConfigChanged
    | Notice
)


class AgentSnapshot(Struct, frozen=True):
    """One agent as it stands: its turn's counts and streaks of capped fingerprints, caps beside them."""

    agent: str
    parent: str
    harness: str
    name: str
    turn: int
    calls: int
    """Calls made this turn, refused ones included."""
    last_seen: float
    caps: Mapping[str, float]
    counts: Mapping[str, int]
    streaks: Mapping[str, int]
    exemptions: tuple[str, ...]
    refusals: tuple[Refusal, ...]


class Snapshot(Struct, frozen=True, tag_field="type", tag="snapshot"):
    """Everything a subscriber needs to draw the present; calls before it are not in it, but those that wait are."""

    at: float
    agents: tuple[AgentSnapshot, ...]
    asks: tuple[Ask, ...]
    waiting: tuple[CallSeen, ...]
    attended: bool
    config: Mapping[str, Any]
    config_source: str
    missed: int = 0
    """Events this subscriber lost because it fell behind."""
    supposed: bool = False
    """The events are of a replay: no breaker was there, every call ran, and the verdicts are what would have been."""


encoder = msgspec.json.Encoder()
event_decoder: msgspec.json.Decoder[Event] = msgspec.json.Decoder(Event)
