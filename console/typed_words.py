"""What can be typed in line mode. Words are matched whole: nothing shorter than the sentence does what it says."""

from __future__ import annotations

from msgspec import Struct

_SENTENCES = {
    "list": "open asks, agents, exemptions and refusals",
    "show 3": "print ask 3 again",
    "approve 3 this turn": "approve ask 3: its measures are not counted until your next message to that agent",
    "reject 3": "refuse them until then",
    "reject 3 use the file": "the same, and tell the model: use the file",
    "revoke 5": "take exemption 5 back: it is counted again",
    "lift 6": "take refusal 6 back: it is asked about again",
    "verbose": "print every call",
    "quiet": "print only what matters: asks, stages, refusals, failures, turns",
    "help": "these lines",
    "quit": "leave",
}
HELP = tuple(f"{sentence:<21}  {meaning}" for sentence, meaning in _SENTENCES.items())


class Approve(Struct, frozen=True):
    number: int


class Reject(Struct, frozen=True):
    number: int
    note: str = ""


class ShowAsk(Struct, frozen=True):
    number: int


class Revoke(Struct, frozen=True):
    number: int


class Lift(Struct, frozen=True):
    number: int


class Verbose(Struct, frozen=True):
    on: bool


class ListAll(Struct, frozen=True):
    pass


class Help(Struct, frozen=True):
    pass


class Quit(Struct, frozen=True):
    anyway: bool = False


class NotUnderstood(Struct, frozen=True):
    """``instead`` says what to type."""

    instead: str


Words = Approve | Reject | ShowAsk | Revoke | Lift | Verbose | ListAll | Help | Quit | NotUnderstood

_BARE: dict[str, Words] = {
    "list": ListAll(),
    "help": Help(),
    "?": Help(),
    "verbose": Verbose(on=True),
    "quiet": Verbose(on=False),
    "quit": Quit(),
    "exit": Quit(),
    "quit anyway": Quit(anyway=True),
}
_NUMBERED: dict[str, type[ShowAsk] | type[Revoke] | type[Lift]] = {"show": ShowAsk, "revoke": Revoke, "lift": Lift}


def understand(line: str) -> Words | None:
    """What a typed line says; None for an empty one. In any case, however spaced; a note keeps its case."""
    words = line.split()
    if not words:
        return None
    bare = _BARE.get(" ".join(words).lower())
    if bare:
        return bare
    verb, number = words[0].lower(), _number(words[1]) if len(words) > 1 else None
    if verb == "approve":
        complete = number is not None and [word.lower() for word in words[2:]] == ["this", "turn"]
        return Approve(number) if complete and number is not None else NotUnderstood("approve 3 this turn")
    if verb == "reject":
        return NotUnderstood("reject 3") if number is None else Reject(number, " ".join(words[2:]))
    if verb in _NUMBERED:
        return NotUnderstood(f"{verb} 3") if number is None or len(words) > 2 else _NUMBERED[verb](number)
    return NotUnderstood("help")


def _number(word: str) -> int | None:
    return int(word) if word.isascii() and word.isdigit() and len(word) < 10 else None
