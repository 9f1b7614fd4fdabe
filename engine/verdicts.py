"""What the breaker says of a call: what hit, what was advised, and how it was decided."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from engine.calls import Failure

Track = Literal["repeat", "failure"]
"""The occurrence track is called ``repeat`` on the wire, as in the session format."""
Stage = Literal["warn", "summarize", "fail-warn"]
Decision = Literal["allow", "deny"]
Outcome = Literal["approved", "rejected", "unattended", "timed_out", "cancelled"]
"""How an ask ended. Everything but ``approved`` refuses its calls."""


class Hit(Struct, frozen=True, gc=False, rename={"fingerprint": "fp"}):
    """A measure at the gate: ``count`` includes the present call on the repeat track, not on the failure track."""

    track: Track
    fingerprint: str
    count: int
    cap: float
    failure: Failure | None = None
    """The last failure, on the failure track."""
    previous: str = ""
    """A preview of the last result of a call that carried this measure, as the tool wrote it: hostile text."""


class Advisory(Struct, frozen=True, gc=False, rename={"fingerprint": "fp"}):
    """Advice owed to the model. ``text`` is the whole message; it begins with ``CONVERGENCE_CHECK``."""

    stage: Stage
    fingerprint: str
    count: int
    text: str = ""


class Verdict(Struct, frozen=True, gc=False):
    """A decided call. ``reason`` is what the model is told when it is refused, empty otherwise.

    ``hits`` are what refused it, or what the operator approved.

    ``advisories`` are those of the occurrence track; they are handed over when the call is settled, because
    no harness lets a guard both allow a call and speak.
    """

    decision: Decision
    asked: bool = False
    outcome: Outcome | None = None
    hits: tuple[Hit, ...] = ()
    advisories: tuple[Advisory, ...] = ()
    reason: str = ""


class Waiting(Struct, frozen=True, gc=False):
    """An undecided call: it waits on ``asks``. ``ticket`` names it in the ``Decided`` that will follow."""

    ticket: int
    asks: tuple[str, ...]


class Decided(Struct, frozen=True, gc=False):
    """A call that waited, decided."""

    ticket: int
    agent: str
    call: str
    verdict: Verdict


class Settlement(Struct, frozen=True, gc=False):
    """A settled call: why it failed, if it did, and the advice the model is owed, failure track first."""

    failure: Failure | None = None
    advisories: tuple[Advisory, ...] = ()
    known: bool = True
    """False when no call of that id was awaiting a result; then nothing changed."""


class Ask(Struct, frozen=True):
    """An open question to the operator, about exactly ``fingerprints``, raised by one call."""

    id: str
    agent: str
    call: str
    tool: str
    fingerprints: tuple[str, ...]
    hits: tuple[Hit, ...]
    opened: float
    """Unix seconds."""
    deadline: float | None
    """Unix seconds; None when it waits for ever."""


class Refusal(Struct, frozen=True, gc=False, rename={"fingerprint": "fp"}):
    """A measure that is refused without asking for the rest of the turn, and how that came about."""

    fingerprint: str
    outcome: Outcome
    note: str = ""
