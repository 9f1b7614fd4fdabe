"""The first line: whether the engine lives, who is there, and how many asks wait."""

from __future__ import annotations

from msgspec import Struct
from textual import events
from textual.message import Message
from textual.strip import Strip

from console.text import cells, fit, visible
from console.widgets.inks import Inked, Piece


class Facts(Struct, frozen=True):
    """What the line says. Raw text is made safe when it is drawn."""

    source: str = ""
    standing: str = "starting"
    trouble: str = ""
    """Why the engine is gone, or what the operator must know about it."""
    agents: int = 0
    waiting: int = 0
    hidden: bool = False
    """Asks are open and none is shown."""
    away: bool = False
    """The screen is not the one that shows asks."""
    paused: bool = False
    observes: bool = False
    unattended: bool = False
    replay: str = ""
    """How a replay goes, safe; empty when this is none."""
    place: str = ""
    """Where it stands, safe."""
    remarks: tuple[str, ...] = ()
    """What else is to be known about it, safe."""


class StatusLine(Inked):
    """One line at the top. A click on it shows the asks that were left open."""

    class Clicked(Message):
        """The line was clicked."""

    def __init__(self, *, id: str) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self.facts = Facts()

    def update(self, facts: Facts) -> None:
        if facts != self.facts:
            self.facts = facts
            self.refresh()

    def render_line(self, y: int) -> Strip:
        width = self.content_size.width
        if y:
            return Strip.blank(width, self.ink(""))
        right = self._waiting()
        right_width = sum(cells(text) for text, _ in right)
        left: list[Piece] = [(" breaker ", "strong")]
        room = width - right_width - 10
        for text, ink in self._parts():
            shown = fit(text, room - 3)
            if room < 8 or not shown:
                break
            left += ((" ", ""), (shown, ink), (" ", ""))
            room -= cells(shown) + 2
        gap = width - right_width - sum(cells(text) for text, _ in left)
        return self.strip((*left, (" " * max(gap, 0), ""), *right), width)

    def _parts(self) -> list[Piece]:
        """From the most to the least important: what does not fit is left out."""
        facts = self.facts
        parts: list[Piece] = []
        if facts.standing == "gone":
            parts.append((f"■ disconnected: {visible(facts.trouble, 200)}", "fail"))
            return parts
        if facts.replay:
            parts.append((facts.replay, "ok"))
        else:
            parts.append(("○ starting", "dim") if facts.standing == "starting" else ("● live", "ok"))
        if facts.paused:
            parts.append(("‖ view paused", "warn"))
        parts += ((remark, "warn") for remark in facts.remarks)
        if facts.replay:
            pass  # of course nothing can be answered
        elif facts.observes:
            parts.append(("watching only", "dim"))
        elif facts.unattended:
            parts.append(("no operator: asks are refused", "warn"))
        if facts.trouble:
            parts.append((f"! {visible(facts.trouble, 200)}", "fail"))
        parts.append((f"{facts.agents} agent{'' if facts.agents == 1 else 's'}", "dim"))
        parts.append((visible(facts.source, 200), "dim"))
        return parts

    def _waiting(self) -> list[Piece]:
        facts = self.facts
        if facts.standing == "gone":
            return [("nothing can be answered ", "dim")]
        place: list[Piece] = [(f"{facts.place} ", "dim")] if facts.place else []
        if not facts.waiting:
            if place:
                return place
            return [("nothing waits " if facts.observes else "nothing waits for you ", "dim")]
        if facts.observes:
            return [(f" ◆ {facts.waiting} open ask{'' if facts.waiting == 1 else 's'} ", "alarm"), (" ", ""), *place]
        words = f"◆ {facts.waiting} wait{'s' if facts.waiting == 1 else ''} for you"
        how = " · esc: back to it" if facts.away else " · s shows" if facts.hidden else ""
        return [(f" {words}{how} ", "alarm")]

    def on_click(self, event: events.Click) -> None:
        event.stop()
        self.post_message(self.Clicked())
