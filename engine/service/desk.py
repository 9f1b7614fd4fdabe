"""One breaker on one event loop: who waits for which call, when an ask's time is up, what a fault decides.

Everything that reaches the engine passes here, whatever it came through: the agents' socket, a harness's hook,
the operators' socket, the hosting process. All of it on the loop's thread.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Literal

from msgspec import structs

from engine.breaker import Breaker
from engine.calls import Call, Identity, Result
from engine.config import DEFAULTS, Config
from engine.events import AskClosed, AskOpened, ConfigChanged, Event, Notice, Snapshot
from engine.operator import Answer, AskNotOpenError
from engine.service.asks import AskTimes
from engine.service.bounded import bounded, is_large
from engine.service.feed import BoundedFeed, Hub, Listener
from engine.verdicts import Decided, Settlement, Verdict, Waiting

SLOW_FRAME = 256 * 1024
"""Bytes of a message from which on its call is read aside: a command line of a megabyte may take a second."""
NOTE_CHARS = 4000
"""Characters kept of an operator's note."""

Waiter = Callable[[Verdict], None]

FAULT_REASON = (
    "REPEAT_TOOL_BLOCKED: the breaker failed while it judged this call, so the call was not run. The fault is the "
    "breaker's, not the call's; its operator has been told. Go on with other work, or try once more."
)


class Desk:
    """A breaker that waits.

    A fault inside the breaker denies the call (``FAULT_REASON``) and is told to the operator: it never hangs, and
    never lets a call through that nobody judged.
    """

    def __init__(
        self,
        config: Config = DEFAULTS,
        *,
        config_source: str = "defaults",
        listeners: Iterable[Listener] = (),
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._clock = clock
        self._hub = Hub(listeners, clock)
        self._times = AskTimes(clock, self._time_out)
        self._waiters: dict[int, Waiter] = {}
        self._operators = 0
        self._size = 0
        self._closed = False
        self._reader = ThreadPoolExecutor(1, "breaker-reader")
        self.breaker = Breaker(config, clock=clock, listener=self._heard, config_source=config_source)

    # -- agents -----------------------------------------------------------------------------------------------

    def judge(
        self, call: Call, waiter: Waiter, frame: bytes = b"", identity: Identity | None = None
    ) -> Verdict | Waiting:
        """Decide a call now, or call ``waiter`` with its verdict later, once; ``withdraw`` takes that back.

        ``frame`` is the message it came in: of a large one, only a bounded part of the arguments is kept.
        ``identity`` is what the call is, if that is known already.
        """
        self._size = len(frame)
        try:
            if is_large(frame, call.args):
                identity = identity or self.breaker.identify(call)
                call = structs.replace(call, args=bounded(call.args))
            answer = self.breaker.decide(call, identity)
        except Exception as fault:  # noqa: BLE001 - a fault in the guard is a decided answer
            self.blame("judging a call", fault)
            return Verdict("deny", reason=FAULT_REASON)
        finally:
            self._size = 0
        if isinstance(answer, Waiting):
            self._waiters[answer.ticket] = waiter
        return answer

    async def judge_aside(self, call: Call, waiter: Waiter, frame: bytes) -> Verdict | Waiting:
        """``judge`` for a call that takes long to read: meanwhile other calls are judged."""
        try:
            loop = asyncio.get_running_loop()
            identity = await loop.run_in_executor(self._reader, self.breaker.identify, call)
        except asyncio.CancelledError:
            if not self._closed:
                raise
            return Verdict("deny", reason=FAULT_REASON)
        except Exception as fault:  # noqa: BLE001 - as above
            self.blame("reading a call", fault)
            return Verdict("deny", reason=FAULT_REASON)
        return self.judge(call, waiter, frame, identity)

    async def decide(self, call: Call, frame: bytes = b"") -> Verdict:
        """Decide a call, waiting for the operator if need be. Cancelled, it withdraws the call."""
        verdict: asyncio.Future[Verdict] = asyncio.get_running_loop().create_future()

        def decided(given: Verdict) -> None:
            if not verdict.done():
                verdict.set_result(given)

        if len(frame) > SLOW_FRAME:
            answer = await self.judge_aside(call, decided, frame)
        else:
            answer = self.judge(call, decided, frame)
        if isinstance(answer, Verdict):
            return answer
        try:
            return await verdict
        except asyncio.CancelledError:
            self.withdraw(call.agent, answer.ticket)
            raise

    def withdraw(self, agent: str, ticket: int) -> None:
        """The one who waited for this call is gone."""
        if self._waiters.pop(ticket, None):
            self._hand_out(self.breaker.cancel_ticket(agent, ticket))

    def settle(self, agent: str, call_id: str, result: Result) -> Settlement:
        """Take the result of an allowed call."""
        try:
            return self.breaker.settle(agent, call_id, result)
        except Exception as fault:  # noqa: BLE001 - the tool has run; its agent must go on
            self.blame("reading a result", fault)
            return Settlement(known=False)

    def cancel(self, agent: str, call_id: str) -> None:
        """Withdraw the waiting calls of this id."""
        self._hand_out(self.breaker.cancel(agent, call_id))

    def start_turn(self, agent: str) -> None:
        """A human has written to the agent."""
        self._hand_out(self.breaker.start_turn(agent))

    def start_agent(self, agent: str, *, parent: str = "", harness: str = "", name: str = "") -> None:
        """Say who an agent is."""
        self.breaker.start_agent(agent, parent=parent, harness=harness, name=name)

    def end_agent(self, agent: str) -> None:
        """Forget an agent and those under it."""
        self._hand_out(self.breaker.end_agent(agent))

    # -- operators --------------------------------------------------------------------------------------------

    def attach(self) -> None:
        """One more operator is there."""
        self._operators += 1
        self.breaker.attend()

    def detach(self) -> None:
        """An operator has left; with the last, open asks end as ``unattended``."""
        self._operators -= 1
        if self._operators == 0:
            self._hand_out(self.breaker.leave())

    def answer(self, ask_id: str, answer: Answer, note: str = "") -> None:
        """Answer an open ask. Raises AskNotOpenError, which says what became of it."""
        try:
            decided = self.breaker.answer(ask_id, answer, note[:NOTE_CHARS] if answer == "rejected" else "")
        except KeyError:
            raise AskNotOpenError(self._times.explain(ask_id)) from None
        self._hand_out(decided)

    def revoke(self, agent: str, fingerprint: str) -> bool:
        """Count an exempted measure again."""
        return self.breaker.revoke(agent, fingerprint)

    def lift(self, agent: str, fingerprint: str) -> bool:
        """Take a refusal back."""
        return self.breaker.lift(agent, fingerprint)

    def reset_turn(self, agent: str) -> None:
        """Clear an agent's turn by hand."""
        self._hand_out(self.breaker.reset_turn(agent))

    # -- subscribers and the host -----------------------------------------------------------------------------

    def snapshot(self) -> Snapshot:
        """Everything that stands now."""
        return self.breaker.snapshot()

    def listen(self, listener: Listener) -> None:
        """Call ``listener`` with every event from now on, in order, before the event has any effect."""
        self._hub.listen(listener)

    def subscribe(self, feed: BoundedFeed) -> None:
        """Serve a feed, beginning with a snapshot."""
        self._hub.add(feed, self.snapshot())

    def resync(self, feed: BoundedFeed) -> None:
        """Begin again with a feed that fell behind."""
        self._hub.restart(feed, self.snapshot)

    def unsubscribe(self, feed: BoundedFeed) -> None:
        """Stop serving a feed."""
        self._hub.remove(feed)

    def reconfigure(self, config: Config, source: str, warnings: tuple[str, ...] = ()) -> None:
        """Take a configuration into force; subscribers get a fresh snapshot, for caps and counts may differ."""
        self.breaker.reconfigure(config, source, warnings)
        self._hub.restart_all(self.snapshot)

    def refuse_config(self, source: str, error: str) -> None:
        """Tell that a configuration was refused and changed nothing."""
        self._hub.publish(ConfigChanged(self._clock(), source, error=error))

    def report(self, level: Literal["info", "warning", "error"], text: str) -> None:
        """Tell the operator something about the engine itself."""
        self._hub.publish(Notice(self._clock(), level, text))

    def blame(self, what: str, fault: Exception) -> None:
        """Tell the operator that the breaker itself failed while doing ``what``."""
        self.report("error", f"The breaker failed while {what}: {fault!r:.500}")

    def close(self, why: str) -> None:
        """The engine stops: whoever waits is refused, as when no operator is there; feeds end."""
        self._closed = True
        self._operators = 0
        self._hand_out(self.breaker.leave())
        self._hub.end(why)
        self._reader.shutdown(wait=False, cancel_futures=True)

    # -- inside -----------------------------------------------------------------------------------------------

    def _heard(self, event: Event) -> None:
        if isinstance(event, AskOpened):
            self._times.opened(event.ask)
        elif isinstance(event, AskClosed):
            self._times.closed(event)
        self._hub.publish(event, self._size)

    def _time_out(self, ask_id: str) -> None:
        if self.breaker.ask(ask_id):
            self._hand_out(self.breaker.answer(ask_id, "timed_out"))

    def _hand_out(self, decided: Iterable[Decided]) -> None:
        for one in decided:
            if waiter := self._waiters.pop(one.ticket, None):
                waiter(one.verdict)


class HookDesk:
    """What a harness's hook may do with the desk: an agent's side of it, for calls that came in ``frame``."""

    def __init__(self, desk: Desk, frame: bytes) -> None:
        self._desk = desk
        self._frame = frame
        self.settle = desk.settle
        self.cancel = desk.cancel
        self.start_turn = desk.start_turn
        self.start_agent = desk.start_agent
        self.end_agent = desk.end_agent

    async def decide(self, call: Call) -> Verdict:
        """Decide a call, waiting for the operator if need be. Cancelled, it withdraws the call."""
        return await self._desk.decide(call, self._frame)
