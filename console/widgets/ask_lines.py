"""The prompt drawn as lines: what is asked, why, what each answer does, and what may be pressed now."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from console.acts import Place
from console.prompt import Noting, Phase, Prompt, Settling, phase
from console.question import Question
from console.text import cells, fit, visible
from console.widgets.inks import Piece
from console.widgets.pieces import wrap

LABEL = 9
"""Width of the words ``because``, ``approve`` and ``reject`` before their lines."""
CALL_LINES, WHY_LINES, MEANING_LINES = 6, 6, 2
ROOMY, WORDY = 72, 96
"""From the second width on, what an answer does is said in whole sentences, if they fit."""


class Zone(Struct, frozen=True):
    """A part of a line that can be clicked."""

    start: int
    end: int
    place: Place


class Line(Struct, frozen=True):
    """One line of the prompt."""

    pieces: tuple[Piece, ...] = ()
    zones: tuple[Zone, ...] = ()


HINTS: dict[Phase, str] = {
    "unpainted": "not in sight yet: nothing typed answers it",
    "arming": "… hands off the keys for a moment",
    "armed": "approving takes two keys: a, then t",
    "confirming": "t approves; any other key cancels",
}
"""The last line: what the prompt is waiting for."""

Key = tuple[str, str, Place]
"""What is on the key, what it does, and its place."""

ANSWERS: tuple[Key, ...] = (
    ("a", "approve…", "approve"),
    ("r", "reject", "reject"),
    ("R", "reject + note", "reject-with-note"),
)
MORE: tuple[Key, ...] = (("w", "whole call", "whole-call"), ("esc", "later", "leave-open"))
NEXT: Key = ("n", "next", "next")


def heading(prompt: Prompt, question: Question, width: int) -> Line:
    """The first line: which ask of how many, and how long it waits."""
    at, waiting = prompt.position
    left = f" ◆ ask {at or 1} of {max(waiting, 1)}"
    return _line(left + f"{question.left} ".rjust(max(width - cells(left), 0)), "alarm")


def body(question: Question, covers: Sequence[str], width: int, room: int) -> list[Line]:
    """What is asked and why, in at most ``room`` lines; the call gives way first, and says so."""
    meanings = _meanings(question, width) or _short_meanings(covers, width)
    for whys in (WHY_LINES, 2, 1):
        fixed = [*_hidden(question), *_because(question, width, whys), *meanings]
        if len(fixed) + 2 <= room:
            break
    return [
        _line(fit(question.who, width), "strong"),
        *_call(question.call, width, max(room - len(fixed) - 1, 1)),
        *fixed,
    ]


def whole(question: Question, width: int) -> list[Line]:
    """Everything the call says, all of it, to be scrolled."""
    lines = [_line(fit(question.who, width), "strong"), *_hidden(question)]
    for text in question.call:
        lines += [_code(part, width) for part in wrap(text, width - 4, 2_000) or [""]]
    return lines


def keys(prompt: Prompt, now: float, width: int, covers: Sequence[str]) -> list[Line]:
    """The last lines: what may be pressed now. As many in every phase, so that nothing moves under a finger."""
    rows = _key_rows(prompt, width)
    state = phase(prompt, now)
    match prompt.gesture:
        case Noting(text):
            lines = _note(text, width)
        case Settling(decision):
            lines = [_line(f"{'approving' if decision == 'approved' else 'rejecting'} … any other key cancels", "gate")]
        case _ if state == "confirming":
            lines = _confirm(width, covers)
        case _:
            lines = [_row(row, armed=state == "armed") for row in rows]
    lines = lines[: len(rows)] + [Line()] * (len(rows) - len(lines))
    return [*lines, _status(prompt, state, width)]


def _line(text: str, ink: str = "") -> Line:
    return Line(((text, ink),))


def _code(text: str, width: int) -> Line:
    """A line of the call itself, on a ground of its own."""
    return Line((("  ", ""), (" " + fit(text, width - 3, pad=True), "code")))


def _call(call: Sequence[str], width: int, room: int) -> list[Line]:
    room = min(room, CALL_LINES)
    shown: list[str] = []
    cut = False
    for text in call:
        parts = wrap(text, width - 4, room + 1 - len(shown)) or [""]
        shown += parts
        if len(shown) > room:
            cut = True
            break
    if cut:
        shown = [*shown[: room - 1], fit(shown[room - 1], max(width - 24, 8)) + "  w: the whole call"]
    return [_code(text, width) for text in shown]


def _hidden(question: Question) -> list[Line]:
    if not question.hidden:
        return []
    plural = "" if question.hidden == 1 else "s"
    return [_line(f"! {question.hidden} hidden character{plural} in it, shown as ‹…› or ␛", "fail")]


def _because(question: Question, width: int, most: int) -> list[Line]:
    """Each measure that hit and why, over ``most`` lines; a reason that is too long goes below its measure."""
    lines: list[Line] = []
    room = width - LABEL
    for index, (measure, reason) in enumerate(question.why):
        label = f"{'' if index else 'because':{LABEL}}"
        beside = room - cells(measure) - 2
        if len(lines) == most - 1 and index < len(question.why) - 1:
            lines.append(_line(f"{label}and {len(question.why) - index} more measures", "dim"))
            break
        if cells(reason) <= beside or len(lines) == most - 1:
            name = fit(measure, max(room - 20, room // 2), "middle")
            rest = fit(reason, max(room - cells(name) - 2, 4))
            lines.append(Line(((label, "dim"), (f"{name}  ", "gate"), (rest, ""))))
        else:
            lines.append(Line(((label, "dim"), (fit(measure, room, "middle"), "gate"))))
            lines.append(Line(((" " * LABEL, ""), (fit(reason, room), ""))))
        if len(lines) >= most:
            break
    return lines


def _meanings(question: Question, width: int) -> list[Line]:
    """What each answer does, in whole sentences; nothing when there is no room for all of them."""
    lines: list[Line] = []
    for label, text in (("approve", question.approving), ("reject", question.rejecting)):
        parts = wrap(text, width - LABEL, MEANING_LINES + 1)
        if width < WORDY or len(parts) > MEANING_LINES:
            return []
        for index, part in enumerate(parts):
            lines.append(Line(((f"{label if index == 0 else '':{LABEL}}", "dim"), (part, ""))))
    return lines


def _short_meanings(covers: Sequence[str], width: int) -> list[Line]:
    """The same in one line each."""
    rest = "this turn: " if width < ROOMY else "for the rest of this turn: "
    covered = _covered(covers, max(width - LABEL - len(rest), 8))
    return [
        Line((("approve  ", "dim"), (f"{rest}{covered}", ""))),
        Line((("reject   ", "dim"), (fit("refuses them this turn; the model is told why", width - LABEL), ""))),
    ]


def _covered(covers: Sequence[str], width: int) -> str:
    """The measures that an answer is about: as many as there is room for, and how many more.

    The broadest come first (a call's fingerprints are listed from the narrowest on): that is what must not go unseen.
    """
    covers = covers[::-1]
    named = len(covers)
    while named > 1 and cells(_named(covers, named)) > width:
        named -= 1
    more = _and_more(covers, named)
    return fit(_named(covers, named).removesuffix(more), max(width - len(more), 4), "middle") + more


def _named(covers: Sequence[str], named: int) -> str:
    return visible(", ".join(covers[:named]), 600) + _and_more(covers, named)


def _and_more(covers: Sequence[str], named: int) -> str:
    return f" and {len(covers) - named} more" if named < len(covers) else ""


def _key_rows(prompt: Prompt, width: int) -> list[list[Key]]:
    """The keys, in as many rows as they need."""
    more = MORE if len(prompt.waiting) < 2 else (NEXT, *MORE)
    rows: list[list[Key]] = [[]]
    used = 0
    for key in (*ANSWERS, *more):
        size = _key_width(key)
        if used and used + size > width:
            rows.append([])
            used = 0
        rows[-1].append(key)
        used += size
    return rows


def _key_width(key: Key) -> int:
    return len(key[0]) + len(key[1]) + 5


def _row(row: Sequence[Key], *, armed: bool) -> Line:
    pieces: list[Piece] = []
    zones: list[Zone] = []
    start = 0
    for cap, label, place in row:
        live = armed or place in ("next", "whole-call")
        pieces += ((f" {cap} ", "key" if live else "key-off"), (f" {label}  ", "" if live else "dim"))
        end = start + _key_width((cap, label, place))
        zones.append(Zone(start, end - 2, place))
        start = end
    return Line(tuple(pieces), tuple(zones))


def _confirm(width: int, covers: Sequence[str]) -> list[Line]:
    """The second act. Its place is where the first one's was not, so that a double click approves nothing."""
    start = _key_width(ANSWERS[0])
    label = " this turn: "
    what = _covered(covers, max(width - start - 3 - len(label), 8))
    zone = Zone(start, min(start + 3 + len(label) + cells(what), width), "this-turn")
    pieces = ((f"{'approve':{start}}", "gate"), (" t ", "key"), (label + what, "gate"))
    return [Line(pieces, (zone,))]


def _note(text: str, width: int) -> list[Line]:
    """The note as it is being written: its end is what matters."""
    shown = visible(text)
    room = max(width - LABEL - 2, 8)
    while cells(shown) > room:
        shown = "…" + shown[max(len(shown) // 8, 2) :]
    return [Line((("note", "dim"), (" " * (LABEL - 4), ""), (shown, ""), ("▏", "gate")))]


def _status(prompt: Prompt, state: Phase, width: int) -> Line:
    """The very last line: what the prompt is waiting for, or what just happened."""
    if state == "noting":
        return _row(
            (("enter", "reject with this note", "send-note"), ("esc", "drop the note", "drop-note")), armed=True
        )
    said = " · ".join(part for part in (HINTS.get(state, ""), visible(prompt.message)) if part)
    return _line(fit(said, width), "warn" if prompt.message else "dim")
