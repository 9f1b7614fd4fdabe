"""What an ask says to the operator, in lines that are safe to print: the prompt and the line mode word it alike."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from typing import Any

from msgspec import Struct

from console.text import as_json, safe, visible, visible_lines
from engine.events import CallSeen
from engine.messages import approval_covers, because, rejection_means
from engine.verdicts import Ask

COMMAND_ARGUMENTS = ("command", "cmd")
"""Shown first and without its name: it is what would run."""
LINE_CHARS = 20_000
LINES = 400
NAME_CHARS = 80
FINGERPRINT_CHARS = 600


class Question(Struct, frozen=True):
    """One ask in words, every part safe. ``why`` pairs each measure with its reason."""

    who: str
    call: tuple[str, ...]
    why: tuple[tuple[str, str], ...]
    approving: str
    rejecting: str
    left: str
    hidden: int
    """Characters of the call that a terminal would not have shown; ``call`` shows what stands for them."""


def describe(ask: Ask, agent_label: str, call: CallSeen | None, now: float, waiting: int = 1) -> Question:
    """Word an ask. ``call`` is the call that raised it, None when it is not known (any more).

    ``waiting`` is how many calls wait on this ask; ``now`` is in unix seconds, as ``ask.deadline``.
    """
    tool = visible(ask.tool, NAME_CHARS) or "a tool without a name"
    others = f", and {waiting - 1} more of its calls wait on this" if waiting > 1 else ""
    return Question(
        who=f"{visible(agent_label, NAME_CHARS)} wants to run {tool}{others}",
        call=call_lines(call.args) if call else ("(the call is not known here)",),
        why=tuple((visible(hit.fingerprint, FINGERPRINT_CHARS), visible(because(hit))) for hit in ask.hits),
        approving=visible(approval_covers(agent_label, ask.fingerprints)),
        rejecting=visible(rejection_means(agent_label, ask.fingerprints)),
        left=time_left(ask.deadline, now),
        hidden=hidden_in(call.args) if call else 0,
    )


def call_lines(args: Mapping[str, Any]) -> tuple[str, ...]:
    """All arguments of a call, the command first, the others by name, what is too long counted."""
    names = [*(name for name in COMMAND_ARGUMENTS if name in args), *(n for n in args if n not in COMMAND_ARGUMENTS)]
    lines: list[str] = []
    for name in names[:LINES]:
        shown = visible_lines(_as_text(args[name]), LINE_CHARS, LINES)
        label = visible(str(name), NAME_CHARS)
        if name in COMMAND_ARGUMENTS:
            lines.extend(shown)
        elif len(shown) == 1:
            lines.append(f"{label}: {shown[0]}")
        else:
            lines += (f"{label}:", *(f"  {line}" for line in shown))
    more = len(lines) - LINES + max(len(names) - LINES, 0)
    return (*lines[:LINES], f"…‹+{more} lines›") if more > 0 else tuple(lines) or ("(no arguments)",)


def hidden_in(args: Mapping[str, Any]) -> int:
    """How many characters of a call's arguments a terminal would have hidden, of those shown."""
    return sum(safe(f"{name} {_as_text(value)}", LINE_CHARS).hidden for name, value in args.items())


def time_left(deadline: float | None, now: float) -> str:
    """``4:12 left``, ``9 s left``, ``no time left`` or, without a deadline, ``no time limit``."""
    if deadline is None:
        return "no time limit"
    left = ceil(deadline - now)
    if left <= 0:
        return "no time left"
    if left < 60:
        return f"{left} s left"
    return f"{left // 60}:{left % 60:02} left" if left < 3600 else f"{left // 3600} h {left % 3600 // 60:02} min left"


def _as_text(value: object) -> str:
    """A string as it is, a list of words (a command given as one) as JSON like anything else: where a word ends
    is part of what would run."""
    return value if isinstance(value, str) else as_json(value)
