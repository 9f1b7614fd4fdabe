"""A call under way: judged and awaiting its result, or awaiting the operator."""

from __future__ import annotations

from msgspec import Struct

from engine.calls import Call, Identity
from engine.turn import Turn
from engine.verdicts import Advisory, Hit


class Pending(Struct):
    """A call between its decision and its result, or between its ask and its decision."""

    ticket: int
    call: Call
    identity: Identity
    turn: Turn
    decided_at: float
    advisories: tuple[Advisory, ...] = ()
    asked: bool = False
    hits: tuple[Hit, ...] = ()
    """What it waited for the operator about."""

    def forget_arguments(self) -> None:
        """Its result is awaited, and nobody needs the arguments for that: they may be a whole file."""
        self.call = Call(self.call.id, self.call.agent, self.call.tool, {})
