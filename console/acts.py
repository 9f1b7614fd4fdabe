"""What can happen to the approval prompt, and what it then wants done. The rules are in ``console.prompt``."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from engine.events import AskClosed, AskOpened, Snapshot
from engine.operator import Answer as Decision

APPROVE, THIS_TURN, REJECT, REJECT_WITH_NOTE, NEXT, WHOLE_CALL, LEAVE_OPEN = "a", "t", "r", "R", "n", "w", "escape"
KEYS = frozenset({APPROVE, THIS_TURN, REJECT, REJECT_WITH_NOTE, NEXT, WHOLE_CALL, LEAVE_OPEN})
"""The keys the prompt takes while it is shown. Every other key goes on to the screen, and sets back the arming."""

Place = Literal[
    "approve", "this-turn", "reject", "reject-with-note", "next", "whole-call", "leave-open", "send-note", "drop-note"
]
KEY_OF_PLACE: dict[Place, str] = {
    "approve": APPROVE,
    "this-turn": THIS_TURN,
    "reject": REJECT,
    "reject-with-note": REJECT_WITH_NOTE,
    "next": NEXT,
    "whole-call": WHOLE_CALL,
    "leave-open": LEAVE_OPEN,
    "send-note": "enter",
    "drop-note": "escape",
}
"""What can be clicked. ``this-turn`` must be drawn where ``approve`` was not: a double click is no approval."""


class Key(Struct, frozen=True):
    """A key that no text field has: a printable character as itself, anything else by its Textual name."""

    name: str


class Paste(Struct, frozen=True):
    """A bracketed paste. It can be part of a note, never an answer."""

    text: str


class Click(Struct, frozen=True):
    """A click on one of the prompt's places."""

    place: Place


class Elsewhere(Struct, frozen=True):
    """Something typed into a text field, a click outside the prompt, or the terminal's window getting the focus."""


class Painted(Struct, frozen=True):
    """The ask is on the screen now, in sight, as ``describe`` words it."""

    ask: str


class Covered(Struct, frozen=True):
    """Something stands before the prompt (a dialogue, too small a terminal): it must be painted again."""


class Show(Struct, frozen=True):
    """Show the asks that were left open."""


class Failed(Struct, frozen=True):
    """An answer did not arrive. ``gone``: nobody waits for one any more (``AskNotOpenError``)."""

    ask: str
    text: str
    gone: bool


class Tick(Struct, frozen=True):
    """Time went by."""


Input = Key | Paste | Click | Elsewhere | Painted | Covered | Show | Failed | Tick | AskOpened | AskClosed | Snapshot


class Answer(Struct, frozen=True):
    """To do: answer this ask (``Operator.answer``), in a thread; ``Failed`` is owed when that raises."""

    ask: str
    decision: Decision
    note: str = ""


class ShowWholeCall(Struct, frozen=True):
    """To do: show or hide everything this ask's call says."""

    ask: str


Effect = Answer | ShowWholeCall
