"""How long each open ask may still wait, and what became of those that are closed."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable

from engine.events import AskClosed
from engine.verdicts import Ask, Outcome

CLOSED_KEPT = 1024
LOOK_SECONDS = 5.0
"""How often at least the clock is looked at: the loop's own time stands still while a machine is suspended."""

_ENDED: dict[Outcome, str] = {
    "approved": "it was already approved",
    "rejected": "it was already rejected",
    "unattended": "it was refused because no operator was left",
    "timed_out": "nobody answered in time, so it was refused",
    "cancelled": "nobody waits for it any more: the call was withdrawn",
}


class AskTimes:
    """Times every open ask out at its deadline, and remembers how the latest ended, for those who answer late."""

    def __init__(self, clock: Callable[[], float], time_out: Callable[[str], None]) -> None:
        self._clock = clock
        self._time_out = time_out
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._closed: OrderedDict[str, AskClosed] = OrderedDict()

    def opened(self, ask: Ask) -> None:
        """Start an ask's time. Needs the running loop."""
        if ask.deadline is not None:
            ends = asyncio.get_running_loop().time() + ask.deadline - self._clock()
            self._wait(ask.id, ask.deadline, ends)

    def _wait(self, ask_id: str, deadline: float, ends: float) -> None:
        """Until the clock or the loop's time says so: either may be set back or stand still."""
        loop = asyncio.get_running_loop()
        left = min(deadline - self._clock(), ends - loop.time(), LOOK_SECONDS)
        self._timers[ask_id] = loop.call_later(max(0.0, left), self._look, ask_id, deadline, ends)

    def _look(self, ask_id: str, deadline: float, ends: float) -> None:
        if self._clock() >= deadline or asyncio.get_running_loop().time() >= ends:
            self._time_out(ask_id)
        else:
            self._wait(ask_id, deadline, ends)

    def closed(self, event: AskClosed) -> None:
        """Stop an ask's time, and remember how it ended."""
        if timer := self._timers.pop(event.id, None):
            timer.cancel()
        self._closed[event.id] = event
        if len(self._closed) > CLOSED_KEPT:
            self._closed.popitem(last=False)

    def explain(self, ask_id: str) -> str:
        """Why an ask is not open, for a person."""
        event = self._closed.get(ask_id)
        if event is None:
            return f"{ask_id} is not open: no such ask is remembered."
        ago = max(0.0, self._clock() - event.at)
        return f"{ask_id} is no longer open: {_ENDED[event.outcome]} ({ago:.0f} s ago)."
