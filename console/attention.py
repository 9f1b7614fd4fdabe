"""Calling the operator: the bell, the window's title, a desktop notification. Decided here, written by whoever draws.

Nothing an agent wrote reaches a sequence but the tool's name and a measure without arguments, both made safe.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from console.text import visible
from engine.verdicts import Ask

RINGS_AT = (0.0, 60.0, 120.0, 240.0, 480.0, 960.0, 1920.0, 3840.0)
"""Seconds after it was opened at which an ask rings; it gets rarer, for one who heard and did not come."""
LAST_CALL = 30.0
"""Seconds before its deadline at which an ask rings once more."""

NAMED_WHOLE = frozenset({"host", "site", "family", "verb"})
"""Kinds of fingerprint that hold no argument; of any other a notification names the kind alone."""
WITHOUT_TITLE = frozenset({"", "dumb", "linux", "vt52", "vt100", "vt220"})
"""Values of TERM whose terminals print an OSC sequence, or have no window."""

BELL = "\a"
SAVE_TITLE = "\x1b[22;2t"
RESTORE_TITLE = "\x1b[23;2t"
_OSC, _ST = "\x1b]", "\x1b\\"
_TOOL_CHARS, _MEASURE_CHARS = 40, 80


class Settings(Struct, frozen=True):
    """What the operator wants of it."""

    bell: bool = True
    title: bool = True
    notify: bool = True


class Terminal(Struct, frozen=True):
    """What the terminal understands."""

    titles: bool = True
    notify_777: bool = False
    """It knows OSC 777 (rxvt, foot, VTE) rather than OSC 9."""
    tmux: bool = False


class Attention(Struct, frozen=True):
    """How often each open ask has rung, by its id and when it was opened. Starts empty."""

    rung: Mapping[tuple[str, float], int] = {}


class Signals(Struct, frozen=True):
    """What to do now. ``waiting`` is for the title; ``notification`` is empty when there is none."""

    waiting: int
    bell: bool = False
    notification: str = ""


def terminal_of(environment: Mapping[str, str]) -> Terminal:
    """What the terminal of this environment understands."""
    term = environment.get("TERM", "")
    by_777 = term.startswith(("rxvt", "foot")) or "VTE_VERSION" in environment
    return Terminal(term not in WITHOUT_TITLE, by_777, "TMUX" in environment)


def attend(
    attention: Attention, asks: Sequence[Ask], now: float, *, focused: bool, settings: Settings
) -> tuple[Attention, Signals]:
    """What the open asks call for at ``now`` (unix seconds). Asks that ring together ring once."""
    due = {(ask.id, ask.opened): _rings_due(ask, now) for ask in asks}
    ringing = [ask for ask in asks if due[ask.id, ask.opened] > attention.rung.get((ask.id, ask.opened), 0)]
    signals = Signals(
        waiting=len(asks),
        bell=settings.bell and bool(ringing),
        notification=_notification(ringing, len(asks)) if settings.notify and ringing and not focused else "",
    )
    return Attention(due), signals


def next_ring(asks: Sequence[Ask], now: float) -> float | None:
    """Seconds until an ask rings again, None when none will."""
    return min((at - now for ask in asks for at in _rings(ask) if at > now), default=None)


def sequences(signals: Signals, settings: Settings, terminal: Terminal) -> str:
    """The signals as the terminal is to be told; write it between two frames."""
    parts: list[str] = []
    if settings.title and terminal.titles:
        parts.append(_osc(f"2;{title(signals.waiting)}"))
    if signals.bell:
        parts.append(BELL)
    if signals.notification and terminal.titles:
        body = signals.notification
        told = _osc(f"777;notify;breaker;{body}" if terminal.notify_777 else f"9;breaker: {body}")
        parts.append(_through_tmux(told) if terminal.tmux else told)
    return "".join(parts)


def opening(settings: Settings, terminal: Terminal) -> str:
    """What to write before the first title, so that ``closing`` can give the old one back."""
    return SAVE_TITLE if settings.title and terminal.titles else ""


def closing(settings: Settings, terminal: Terminal) -> str:
    """What to write at the end."""
    return RESTORE_TITLE if settings.title and terminal.titles else ""


def title(waiting: int) -> str:
    """The window's title."""
    return f"({waiting}) breaker · {waiting} waiting for you" if waiting else "breaker"


def _rings(ask: Ask) -> list[float]:
    """When an ask rings, in unix seconds."""
    rings = [ask.opened + after for after in RINGS_AT]
    if ask.deadline is None:
        return rings
    last_call = ask.deadline - LAST_CALL
    return [*(at for at in rings if at < last_call), max(last_call, ask.opened)]


def _rings_due(ask: Ask, now: float) -> int:
    """How many times it should have rung by now. Once at least: an ask that is heard of is due."""
    return max(1, sum(at <= now for at in _rings(ask)))


def _notification(ringing: Sequence[Ask], waiting: int) -> str:
    first = ringing[0]
    tool = visible(first.tool, _TOOL_CHARS) or "a tool"
    measure = _measure(first.fingerprints[0]) if first.fingerprints else "its limit"
    more = f", and {waiting - 1} more" if waiting > 1 else ""
    return f"{tool} waits for you at {measure}{more}".replace(";", ",")


def _measure(fingerprint: str) -> str:
    kind, _, rest = fingerprint.partition(":")
    return visible(f"{kind}:{rest}" if kind in NAMED_WHOLE else f"the gate of {kind}", _MEASURE_CHARS)


def _osc(body: str) -> str:
    return f"{_OSC}{body}{_ST}"


def _through_tmux(sequence: str) -> str:
    """Wrapped for tmux to hand on, where ``allow-passthrough`` is on; where it is off, tmux drops it."""
    return f"\x1bPtmux;{sequence.replace(chr(27), chr(27) * 2)}{_ST}"
