"""What agents and operators saw, against what the journal says.

Every call is decided once, and nothing is run or approved without a right.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec import Struct, field

from engine.events import (
    AskClosed,
    AskOpened,
    CallDecided,
    CallSeen,
    CallSettled,
    Event,
    Exempted,
    Notice,
)
from engine.journal_parts import parts_in
from engine.journal_reader import Damaged, read
from engine.verdicts import Outcome

UNGUARDED = ("no breaker guards this call", "the breaker gave no answer", "could not read this call")
"""What a client says of its own when no engine has decided."""

Key = tuple[str, str]
"""An agent and the id of one of its calls. No id is used for two calls."""


class Account(Struct):
    """One call, as the agent who made it saw it.

    ``answers`` are decision and outcome, each time it was told; ``once``: it was asked for on one connection only.
    """

    once: bool
    answers: list[tuple[str, Outcome | None]] = []
    own: bool = False
    """It was the client's own word that the call must not run: no engine had answered."""
    lost: bool = False
    """The connection ended, or the caller gave up, before an answer came."""
    ran: bool = False
    settled: list[bool] = []
    """For each result that was handed in: whether the engine knew of the call."""


class Ledger(Struct):
    """Everything that anybody saw. ``faults`` are what should never be, in words."""

    accounts: dict[Key, Account] = {}
    approving: set[str] = field(default_factory=set)
    """Asks for which an operator has sent an approval, whether it arrived or not."""
    approved: set[str] = field(default_factory=set)
    """Asks whose approval the engine has acknowledged."""
    rejecting: set[str] = field(default_factory=set)
    rejected: set[str] = field(default_factory=set)
    faults: list[str] = []
    deeds: Counter[str] = field(default_factory=Counter)
    """What the storm did, and how often."""

    def open(self, agent: str, call: str, *, once: bool = True) -> Account:
        """A call is about to be asked about."""
        account = self.accounts[agent, call] = Account(once)
        return account

    def fault(self, text: str) -> None:
        self.faults.append(text)


# -- the journal's side -----------------------------------------------------------------------------------------


class Run(Struct):
    """What one run of the engine wrote: its calls that wait, its asks that are open."""

    killed: bool
    waiting: dict[int, CallSeen] = {}
    asks: dict[str, AskOpened] = {}


class _Story(Struct):
    """What the journal tells, all runs together."""

    decisions: dict[Key, list[tuple[str, Outcome | None]]] = field(default_factory=lambda: defaultdict(list))
    seen: Counter[Key] = field(default_factory=Counter)
    allowed: set[int] = field(default_factory=set)
    tickets: set[int] = field(default_factory=set)
    settled: set[int] = field(default_factory=set)
    settlements: Counter[Key] = field(default_factory=Counter)
    outcomes: dict[str, Outcome] = {}
    covered: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    """By agent: the fingerprints of its approved asks."""


def judge(ledger: Ledger, journal: Path) -> Iterator[str]:
    """Everything that does not agree. All runs but the last were ended by ``kill -9``, or said so."""
    yield from ledger.faults
    story = _Story()
    parts = parts_in(journal)
    for run in dict.fromkeys(part.run for part in parts):
        events = (event for part in parts if part.run == run for event in _events(part.events))
        yield from _tell(story, Run(killed=True), events)
    yield from _compare(ledger, story)


def _events(path: Path) -> Iterator[Event | str]:
    for event in read(path):
        if not isinstance(event, Damaged):
            yield event
        elif not event.torn:
            yield str(event)


def _tell(story: _Story, run: Run, events: Iterable[Event | str]) -> Iterator[str]:  # noqa: C901 - one table of cases
    """Take in what one run wrote; say what cannot be."""
    for event in events:
        match event:
            case str():
                yield f"in the journal: {event}"
            case CallSeen():
                yield from _seen(story, run, event)
            case CallDecided():
                yield from _decided(story, run, event)
            case CallSettled():
                yield from _settled(story, event)
            case AskOpened():
                run.asks[event.ask.id] = event
            case AskClosed():
                yield from _closed(story, run, event)
            case Exempted() if not set(event.fingerprints) <= story.covered[event.agent]:
                yield f"{event.agent}: exempted without an approval: {event.fingerprints}"
            case Notice() if event.level == "error":
                yield f"the engine reported a fault: {event.text}"
    if not run.killed:
        yield from (f"ask {ask} was left open" for ask in run.asks)
        yield from (f"call {one.id} of {one.agent} was left waiting" for one in run.waiting.values())


def _seen(story: _Story, run: Run, event: CallSeen) -> Iterator[str]:
    if event.ticket in story.tickets:
        yield f"ticket {event.ticket} was given twice"
    story.tickets.add(event.ticket)
    story.seen[event.agent, event.id] += 1
    if event.verdict == "wait":
        run.waiting[event.ticket] = event
        return
    if event.outcome == "approved":
        yield f"call {event.id} of {event.agent} was approved without waiting"
    yield from _decide(story, event)


def _decided(story: _Story, run: Run, event: CallDecided) -> Iterator[str]:
    if run.waiting.pop(event.ticket, None) is None:
        yield f"ticket {event.ticket} ({event.id} of {event.agent}) was decided, and it did not wait"
    if event.outcome == "approved":
        uncovered = {hit.fingerprint for hit in event.hits} - story.covered[event.agent]
        if uncovered or not event.hits:
            yield f"call {event.id} of {event.agent} was approved, and nobody approved {uncovered}"
    yield from _decide(story, event)


def _decide(story: _Story, event: CallSeen | CallDecided) -> Iterator[str]:
    if event.verdict == "allow":
        story.allowed.add(event.ticket)
        if event.outcome not in {None, "approved"}:
            yield f"call {event.id} of {event.agent} was allowed, and {event.outcome}"
    elif event.outcome == "approved" or not event.hits:
        yield f"call {event.id} of {event.agent} was refused for nothing"
    story.decisions[event.agent, event.id].append((event.verdict, event.outcome))


def _settled(story: _Story, event: CallSettled) -> Iterator[str]:
    if event.ticket not in story.allowed:
        yield f"call {event.id} of {event.agent} ran, and was not allowed"
    if event.ticket in story.settled:
        yield f"call {event.id} of {event.agent} was settled twice"
    story.settled.add(event.ticket)
    story.settlements[event.agent, event.id] += 1


def _closed(story: _Story, run: Run, event: AskClosed) -> Iterator[str]:
    opened = run.asks.pop(event.id, None)
    if opened is None:
        yield f"{event.id} was closed, and was not open"
    elif event.outcome == "approved":
        story.covered[event.agent] |= set(opened.ask.fingerprints)
    if event.id in story.outcomes:
        yield f"{event.id} was closed twice"
    story.outcomes[event.id] = event.outcome


# -- both sides -------------------------------------------------------------------------------------------------


def _compare(ledger: Ledger, story: _Story) -> Iterator[str]:
    for ask, outcome in story.outcomes.items():
        if outcome == "approved" and ask not in ledger.approving:
            yield f"{ask} was approved, and no operator had approved it"
        if outcome == "rejected" and ask not in ledger.rejecting:
            yield f"{ask} was rejected, and no operator had rejected it"
    for ask in ledger.approved - {ask for ask, outcome in story.outcomes.items() if outcome == "approved"}:
        yield f"{ask} was approved by an operator, and is not in the journal"
    for ask in ledger.rejected - {ask for ask, outcome in story.outcomes.items() if outcome == "rejected"}:
        yield f"{ask} was rejected by an operator, and is not in the journal"
    for key in story.seen.keys() - ledger.accounts.keys():
        yield f"{key} is in the journal, and nobody called"
    for key, account in ledger.accounts.items():
        yield from _compare_call(key, account, story)


def _compare_call(key: Key, account: Account, story: _Story) -> Iterator[str]:
    decisions, told = story.decisions.get(key, []), account.answers
    if len(told) > 1:
        yield f"{key} was answered {len(told)} times: {told}"
    if account.once and len(decisions) > 1:
        yield f"{key} was decided {len(decisions)} times: {decisions}"
    if not told and not account.lost and not account.own:
        yield f"{key} got no answer"
    if told and (not decisions or told[0] not in decisions[-1:]):
        yield f"{key} was told {told[0]}, and the journal says {decisions}"
    if account.ran and ("allow", told[0][1] if told else None) not in decisions:
        yield f"{key} ran, and the journal says {decisions}"
    refused = bool(told) and told[0][0] == "deny"
    if refused and (account.ran or any(account.settled)):
        yield f"{key} was refused, and ran"
    if sum(account.settled) > max(1, len(decisions)):
        yield f"{key} was settled {sum(account.settled)} times"
    if any(account.settled) and not story.settlements[key]:
        yield f"{key} was settled, and the journal does not say so"
