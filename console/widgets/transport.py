"""The transport of a replay: what it does, how fast, where it stands, and a button for each thing that a key does."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from msgspec import Struct
from textual import events
from textual.message import Message
from textual.strip import Strip

from console.replaying.course import Kind
from console.replaying.playhead import Edge, Input, Speed, Step, Toggle
from console.state.measures import GLYPHS
from console.text import cells, fit
from console.widgets.inks import Inked, Piece

JUMPS: tuple[tuple[Kind, str, str, str], ...] = (
    ("stage", GLYPHS["WARN"], "stage", "warn"),
    ("gate", GLYPHS["GATE"], "gate", "gate"),
    ("failure", "✗", "failure", "fail"),
)
"""What can be jumped to: its sign, its word and its ink."""
GAP = "  "

Button = tuple[str, str, Input | None]
"""Text, ink, and what a click on it does."""


class Standing(Struct, frozen=True):
    """What the line says. Everything in it is safe."""

    playing: bool = True
    speed: float = 1.0
    call: int = 0
    calls: int = 0
    passed: tuple[tuple[int, int], ...] = ((0, 0),) * len(JUMPS)
    """For each of ``JUMPS``: how many have happened, of how many."""
    said: str = ""


class TransportLine(Inked):
    """One line of buttons, and the call at which the replay stands."""

    class Pressed(Message):
        """A button was clicked."""

        def __init__(self, happened: Input) -> None:
            super().__init__()
            self.happened = happened

    def __init__(self, *, id: str) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self.standing = Standing()

    def update(self, standing: Standing) -> None:
        if standing != self.standing:
            self.standing = standing
            self.refresh()

    def buttons(self, width: int) -> list[Button]:
        """What stands in a line of this width: in the fullest form that leaves room for the call."""
        forms = [_moving(self.standing, words=words) + _jumps(self.standing, form) for words, form in FORMS]
        room = width - cells(_call(self.standing)) - len(GAP)
        return next((form for form in forms if _width(form) <= room), forms[-1])

    def render_line(self, y: int) -> Strip:
        width = self.content_size.width
        if y:
            return Strip.blank(width, self.ink(""))
        buttons = self.buttons(width)
        room = max(width - _width(buttons) - 1, 0)
        said = self.standing.said
        right = fit(said or _call(self.standing), room)
        gap = " " * (room - cells(right))
        pieces: list[Piece] = [(text, ink) for text, ink, _ in buttons]
        return self.strip((*pieces, (gap, ""), (right, "warn" if said else "strong")), width)

    def on_click(self, event: events.Click) -> None:
        event.stop()
        offset = event.get_content_offset(self)
        if offset is None:
            return
        start = 0
        for text, _, happened in self.buttons(self.content_size.width):
            start += cells(text)
            if offset.x < start:
                if happened is not None:
                    self.post_message(self.Pressed(happened))
                return


FORMS = ((True, "words"), (True, "numbers"), (False, "numbers"), (False, "signs"))
"""From the fullest to the shortest: whether the play button has its word, and what stands beside a jump's sign."""


def _moving(standing: Standing, *, words: bool) -> list[Button]:
    word = ("‖ pause" if standing.playing else "▶ play ") if words else ("‖" if standing.playing else "▶")
    speed = spelled(standing.speed)
    return [
        (" ⇤ ", "key-off", Edge(end=False)),
        (" ← ", "key-off", Step(-1)),
        (f" {word} ", "key", Toggle()),
        (" → ", "key-off", Step(1)),
        (" ⇥ ", "key-off", Edge(end=True)),
        (" ", "", None),
        (" - ", "key-off", Speed(-1)),
        (f"{speed:^5}" if words else f"{speed:^4}", "strong", None),
        (" + ", "key-off", Speed(1)),
        (" ", "", None),
    ]


def _jumps(standing: Standing, form: str) -> list[Button]:
    buttons: list[Button] = []
    for (kind, sign, word, ink), (number, total) in zip(JUMPS, standing.passed, strict=True):
        beside = {"words": f" {word} {number}/{total} ", "numbers": f" {number}/{total} "}.get(form, "")
        buttons += [
            (" ‹", "key-off", Step(-1, kind)),
            (sign, ink, Step(1, kind)),
            (beside, "", Step(1, kind)),
            ("› ", "key-off", Step(1, kind)),
            (" " if form != "signs" else "", "", None),
        ]
    return buttons


def spelled(speed: float) -> str:
    """``0.5×``, ``10×``, ``max``."""
    return "max" if speed == inf else f"{speed:g}×"


def _call(standing: Standing) -> str:
    return f"call {standing.call:,}/{standing.calls:,}"


def _width(buttons: Sequence[Button]) -> int:
    return sum(cells(text) for text, _, _ in buttons)
