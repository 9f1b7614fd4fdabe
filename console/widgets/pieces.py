"""Small drawings made of text: a bar with its stages, a streak, wrapped lines. Safe text in, safe text out."""

from __future__ import annotations

import time

from console.state.measures import Measure, Stage, Thresholds
from console.text import cells, fit

INK_OF_STAGE: dict[Stage, str] = {
    "GATE": "gate",
    "REFUSED": "refused",
    "SUMMARIZE": "summarize",
    "WARN": "warn",
    "EXEMPT": "exempt",
    "": "dim",
}

FULL, HALF, EMPTY = "━", "╸", "─"
PASSED, AHEAD = "┿", "┼"
STREAK_SHOWN = 8


def bar(measure: Measure, thresholds: Thresholds, width: int) -> str:
    """How far a measure has come towards its cap, heavy on light, with a cross where each stage begins."""
    if not measure.cap or width < 1:
        return " " * width
    filled = min(measure.shown_count / measure.cap, 1.0) * width
    whole = int(filled)
    line = [FULL] * whole + [EMPTY] * (width - whole)
    if whole < width and filled - whole >= 0.5:
        line[whole] = HALF
    for at in (thresholds.warn_at, thresholds.summarize_at):
        if at is not None and 0 < at < measure.cap:
            place = max(round(at / measure.cap * width) - 1, 0)
            line[place] = PASSED if measure.shown_count >= at else AHEAD
    return "".join(line)


def streak(measure: Measure, thresholds: Thresholds, width: int = 40) -> str:
    """``✗✗✗·· 3/5``: failures in a row and how many the gate allows; shorter when there is less room."""
    count, limit = measure.streak, thresholds.fail_limit
    if not count:
        return ""
    forms = [f"✗{count}"]
    if limit is not None:
        forms = [f"✗ {count}/{limit:.0f}", *forms]
        if limit <= STREAK_SHOWN:
            shown = min(count, int(limit))
            forms = [f"{'✗' * shown}{'·' * (int(limit) - shown)} {count}/{limit:.0f}", *forms]
    return next((form for form in forms if len(form) <= width), forms[-1])


def clock(at: float) -> str:
    """A time of the day, as wide also for what does not say when it was."""
    return time.strftime("%H:%M:%S", time.localtime(at)) if at else "--:--:--"


def of(count: float, cap: float) -> str:
    """``7/12``."""
    return f"{count:.0f}/{cap:.0f}" if cap else f"{count:.0f}"


def fit_name(label: str, width: int) -> str:
    """An agent's name in exactly ``width`` cells: its last word, which tells agents apart, is cut last."""
    if cells(label) <= width:
        return fit(label, width, pad=True)
    name, _, short = label.rpartition(" ")
    room = width - cells(short) - 1
    return f"{fit(name, room)} {short}" if name and room >= 2 else fit(short or label, width, pad=True)


def right(text: str, width: int) -> str:
    """Text at the right of its column."""
    fitted = fit(text, width)
    return " " * (width - cells(fitted)) + fitted


def wrap(text: str, width: int, most: int) -> list[str]:
    """Safe text in lines of ``width`` cells, broken at a space where one is near, at most ``most`` of them.

    When more is left the last line ends in ``…``. Reads no more of the text than it shows.
    """
    lines: list[str] = []
    rest = text
    while rest and len(lines) < most:
        if len(rest) <= width * 4 and cells(rest) <= width:
            lines.append(rest)
            return lines
        if len(lines) == most - 1:
            lines.append(fit(rest, width))
            return lines
        head = fit(rest, width + 1)[:-1] or rest[:1]
        space = head.rfind(" ", max(len(head) * 2 // 3, 1))
        head = head if space < 0 else head[: space + 1]
        lines.append(head.rstrip(" "))
        rest = rest[len(head) :]
    return lines
