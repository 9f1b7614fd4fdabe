"""The approval prompt as a state machine: which ask is shown, and what may answer it. No terminal, no clock of its own.

``step(prompt, input, now)`` gives the next state, an effect for the application to carry out, and whether the input
was the prompt's own (a key that was not goes on to the screen). ``now`` is any clock in seconds that never goes back.

What has to be true for an answer, checked in one place (``_answer``):

* the ask shown is open, it was **painted**, and nothing covers it;
* the prompt is **armed**: nothing was typed or clicked for ``ARMING`` seconds since it was painted, so neither
  what was typed ahead nor a key held down reaches it;
* approving is two acts, ``a`` and then ``t`` within ``CONFIRM_WITHIN``; anything else in between cancels;
* the answer then stands unchallenged for ``SETTLING`` seconds: another key cancels it. Somebody who types a word that
  begins with "at" or "r" into the wrong window has not answered. (A note has been sent with Enter, that is enough.)

The application owes it an input for everything a person does (``Key``, ``Paste``, ``Click``, ``Elsewhere``), for what
became visible (``Painted``, ``Covered``), the engine's events about asks, and a ``Tick`` when ``next_change`` is due.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from console.acts import (
    APPROVE,
    KEY_OF_PLACE,
    KEYS,
    LEAVE_OPEN,
    NEXT,
    REJECT,
    REJECT_WITH_NOTE,
    THIS_TURN,
    WHOLE_CALL,
    Answer,
    Click,
    Covered,
    Effect,
    Elsewhere,
    Failed,
    Input,
    Key,
    Painted,
    Paste,
    Show,
    ShowWholeCall,
    Tick,
)
from engine.events import AskClosed, AskOpened, Snapshot
from engine.operator import Answer as Decision
from engine.verdicts import Ask, Outcome

ARMING = 0.6
CONFIRM_WITHIN = 3.0
SETTLING = 0.25
NOTE_CHARS = 500

Phase = Literal["none", "hidden", "unpainted", "arming", "armed", "confirming", "settling", "noting"]


class Confirming(Struct, frozen=True):
    """``a`` was pressed; ``t`` may come until then."""

    until: float


class Settling(Struct, frozen=True):
    """The gesture is complete; it is an answer from ``at`` on, if nothing is typed before."""

    decision: Decision
    at: float


class Noting(Struct, frozen=True):
    """A note to the model is being written."""

    text: str = ""


class Prompt(Struct, frozen=True):
    """``asks`` are open, oldest first. ``message`` is the last thing to tell, safe; empty when there is none."""

    asks: tuple[Ask, ...] = ()
    shown: Ask | None = None
    left_open: frozenset[str] = frozenset()
    answered: frozenset[str] = frozenset()
    """Answers were sent for these; they are open until the engine says otherwise."""
    painted_at: float | None = None
    touched_at: float = float("-inf")
    gesture: Confirming | Settling | Noting | None = None
    message: str = ""

    @property
    def position(self) -> tuple[int, int]:
        """Which of how many unanswered asks is shown; ``(0, n)`` when none is."""
        waiting = self.waiting
        return (waiting.index(self.shown) + 1 if self.shown in waiting else 0, len(waiting))

    @property
    def waiting(self) -> tuple[Ask, ...]:
        """The asks that no answer was sent for."""
        return tuple(ask for ask in self.asks if ask.id not in self.answered)


class Step(Struct, frozen=True):
    """What an input led to. ``taken``: the prompt has used the key, nobody else may."""

    prompt: Prompt
    effect: Effect | None = None
    taken: bool = False


def phase(prompt: Prompt, now: float) -> Phase:
    """Where the prompt is, for drawing."""
    if prompt.shown is None:
        return "hidden" if prompt.waiting else "none"
    match prompt.gesture:
        case Noting():
            return "noting"
        case Settling():
            return "settling"
        case Confirming(until) if now <= until:
            return "confirming"
    if prompt.painted_at is None:
        return "unpainted"
    return "arming" if arms_in(prompt, now) > 0 else "armed"


def arms_in(prompt: Prompt, now: float) -> float:
    """Seconds until the prompt takes an answer, if nothing is typed; 0 when it does, infinite when not in sight."""
    if prompt.shown is None or prompt.painted_at is None:
        return float("inf")
    return max(0.0, max(prompt.painted_at, prompt.touched_at) + ARMING - now)


def next_change(prompt: Prompt, now: float) -> float | None:
    """Seconds until the prompt changes by time alone, None when it will not: a ``Tick`` is owed then."""
    match prompt.gesture:
        case Settling(_, at):
            return max(0.0, at - now)
        case Confirming(until):
            return max(0.0, until - now)
    left = arms_in(prompt, now)
    return left if 0 < left < float("inf") else None


def step(prompt: Prompt, happened: Input, now: float) -> Step:
    """The one way the prompt changes."""
    match happened:
        case Key() | Click() | Paste() | Elsewhere():
            return _acted(_expire(prompt, now), happened, now)
        case Tick():
            return _ticked(prompt, now)
        case Painted() | Covered() | Show():
            return Step(_seen(prompt, happened, now))
        case Failed():
            return Step(_failed(prompt, happened))
        case AskOpened() | AskClosed() | Snapshot():
            return Step(_reported(prompt, happened))


# -- what a person does ----------------------------------------------------------------------------------------------


def _acted(prompt: Prompt, act: Key | Click | Paste | Elsewhere, now: float) -> Step:
    if isinstance(act, Elsewhere):
        return Step(_disturbed(prompt, now))
    if isinstance(prompt.gesture, Noting):
        return _noted(prompt, prompt.gesture.text, act, now)
    if isinstance(act, Paste):
        return Step(_disturbed(prompt, now))
    return _pressed(prompt, act.name if isinstance(act, Key) else KEY_OF_PLACE[act.place], now)


def _pressed(prompt: Prompt, key: str, now: float) -> Step:
    if prompt.shown is None or key not in KEYS:
        return Step(_disturbed(prompt, now))
    if key == NEXT:
        return Step(_show(_disturbed(prompt, now), _after(prompt)), taken=True)
    if key == WHOLE_CALL:
        return Step(_disturbed(prompt, now), ShowWholeCall(prompt.shown.id), taken=True)
    if isinstance(prompt.gesture, Confirming) and key == THIS_TURN:
        prompt = replace(prompt, gesture=Settling("approved", now + SETTLING), touched_at=now)
    elif prompt.gesture is None and arms_in(prompt, now) == 0:
        prompt = _begun(prompt, key, now)
    else:
        prompt = _disturbed(prompt, now)
    return Step(prompt, taken=True)


def _begun(prompt: Prompt, key: str, now: float) -> Prompt:
    """A key of the prompt's while it is armed and nothing is under way."""
    begun = replace(prompt, message="", touched_at=now)
    if key == APPROVE:
        return replace(begun, gesture=Confirming(now + CONFIRM_WITHIN))
    if key == REJECT:
        return replace(begun, gesture=Settling("rejected", now + SETTLING))
    if key == REJECT_WITH_NOTE:
        return replace(begun, gesture=Noting())
    if key == LEAVE_OPEN:
        return _show(replace(begun, left_open=frozenset(ask.id for ask in prompt.asks)), None)
    return _disturbed(prompt, now)


def _noted(prompt: Prompt, text: str, act: Key | Click | Paste, now: float) -> Step:
    """A note is being written: it takes every key and paste, so nothing typed into it does anything else."""
    match act:
        case Key("enter") | Click("send-note"):
            return _answer(prompt, "rejected", text.strip())
        case Key("escape") | Click("drop-note"):
            return Step(replace(prompt, gesture=None, touched_at=now, message="note dropped, nothing sent"), taken=True)
        case Paste(pasted):
            text += " ".join(pasted[: 4 * NOTE_CHARS].split())
        case Key("backspace"):
            text = text[:-1]
        case Key("ctrl+u"):
            text = ""
        case Key(key) if len(key) == 1:
            text += key
    return Step(replace(prompt, gesture=Noting(text[:NOTE_CHARS]), touched_at=now), taken=True)


def _disturbed(prompt: Prompt, now: float) -> Prompt:
    """Something else was typed or clicked: what was under way is off, but for a note, and arming starts again."""
    gesture = prompt.gesture if isinstance(prompt.gesture, Noting) else None
    message = "cancelled: another key came" if prompt.gesture and not gesture else prompt.message
    return replace(prompt, gesture=gesture, touched_at=now, message=message)


# -- time and the one answer ----------------------------------------------------------------------------------------


def _ticked(prompt: Prompt, now: float) -> Step:
    if isinstance(prompt.gesture, Settling) and now >= prompt.gesture.at:
        return _answer(prompt, prompt.gesture.decision, "")
    return Step(_expire(prompt, now))


def _expire(prompt: Prompt, now: float) -> Prompt:
    if isinstance(prompt.gesture, Confirming) and now > prompt.gesture.until:
        return replace(prompt, gesture=None, message=f"not approved: t did not follow within {CONFIRM_WITHIN:.0f} s")
    return prompt


def _answer(prompt: Prompt, decision: Decision, note: str) -> Step:
    """The one place that answers. Whatever led here began while the prompt was armed; it must still be in sight."""
    ask = prompt.shown
    done = replace(prompt, gesture=None)
    if ask is None or prompt.painted_at is None or ask not in prompt.asks or ask.id in prompt.answered:
        return Step(replace(done, message="not answered: the ask was not in sight"), taken=True)
    done = replace(done, answered=done.answered | {ask.id}, message="")
    return Step(_show(done, _oldest(done)), Answer(ask.id, decision, note), taken=True)


# -- what is in sight -----------------------------------------------------------------------------------------------


def _seen(prompt: Prompt, happened: Painted | Covered | Show, now: float) -> Prompt:
    match happened:
        case Painted(ask) if prompt.shown is not None and prompt.shown.id == ask and prompt.painted_at is None:
            return replace(prompt, painted_at=now)
        case Covered():
            return replace(prompt, painted_at=None, gesture=None)
        case Show() if prompt.shown is None:
            shown = replace(prompt, left_open=frozenset())
            return _show(shown, _oldest(shown))
    return prompt


def _show(prompt: Prompt, ask: Ask | None) -> Prompt:
    """Show this ask. One that was shown already goes on as it is; any other has yet to be painted and armed."""
    if ask == prompt.shown:
        return prompt
    return replace(prompt, shown=ask, painted_at=None, gesture=None)


def _oldest(prompt: Prompt) -> Ask | None:
    """The oldest ask that waits for an answer and was not left open."""
    return next((ask for ask in prompt.waiting if ask.id not in prompt.left_open), None)


def _after(prompt: Prompt) -> Ask | None:
    """The ask after the one shown, in a ring; those left open are in it, those answered are not."""
    ring = prompt.waiting
    if prompt.shown not in ring:
        return prompt.shown
    return ring[(ring.index(prompt.shown) + 1) % len(ring)]


# -- what the engine says -------------------------------------------------------------------------------------------


def _reported(prompt: Prompt, event: AskOpened | AskClosed | Snapshot) -> Prompt:
    match event:
        case AskOpened(ask=ask):
            return _refresh(prompt, (*(one for one in prompt.asks if one.id != ask.id), ask))
        case AskClosed(id=ask_id, outcome=outcome):
            return _refresh(replace(prompt, message=_closing(prompt, ask_id, outcome)), _without(prompt, ask_id))
        case Snapshot(asks=asks):
            return _refresh(prompt, tuple(sorted(asks, key=lambda ask: ask.opened)))


def _closing(prompt: Prompt, ask_id: str, outcome: Outcome) -> str:
    if prompt.shown is None or prompt.shown.id != ask_id or ask_id in prompt.answered:
        return prompt.message
    return CLOSED_WITHOUT_US[outcome]


CLOSED_WITHOUT_US: dict[Outcome, str] = {
    "approved": "that ask was approved elsewhere",
    "rejected": "that ask was rejected elsewhere",
    "unattended": "that ask was refused: no operator was there",
    "timed_out": "that ask timed out and was refused",
    "cancelled": "that ask was withdrawn: the agent no longer waits",
}


def _failed(prompt: Prompt, failed: Failed) -> Prompt:
    prompt = replace(prompt, message=failed.text)
    if failed.gone:
        return _refresh(prompt, _without(prompt, failed.ask))
    return _refresh(replace(prompt, answered=prompt.answered - {failed.ask}), prompt.asks)


def _without(prompt: Prompt, ask_id: str) -> tuple[Ask, ...]:
    return tuple(ask for ask in prompt.asks if ask.id != ask_id)


def _refresh(prompt: Prompt, asks: tuple[Ask, ...]) -> Prompt:
    """Take in what is open now. An ask of a known name that is another ask (an engine was restarted) is new."""
    unchanged = {ask.id for ask in asks} & {ask.id for ask in prompt.asks if ask in asks}
    prompt = replace(prompt, asks=asks, left_open=prompt.left_open & unchanged, answered=prompt.answered & unchanged)
    keeps = prompt.shown in asks and prompt.shown is not None and prompt.shown.id not in prompt.answered
    return prompt if keeps else _show(prompt, _oldest(prompt))
