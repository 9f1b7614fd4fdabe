"""The few inks everything on the screen is drawn in, and the drawing of a line of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip
from textual.widget import Widget

Piece = tuple[str, str]
"""Text, safe, and the name of its ink: one of ``INKS``, or empty for the widget's own colour."""

INKS = (
    "dim",
    "strong",
    "who",
    "tool",
    "head",
    "gate",
    "refused",
    "summarize",
    "warn",
    "exempt",
    "fail",
    "ok",
    "code",
    "key",
    "key-off",
    "alarm",
    "cursor",
    "rule",
    "on",
)


class Inked(Widget):
    """A widget that draws in inks. What each looks like is for the stylesheet to say."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {f"ink--{ink}" for ink in INKS}

    _styles: dict[tuple[str, str], Style] | None = None
    """Ink on ground, as they were worked out for the theme in force."""

    def ink(self, name: str, ground: str = "") -> Style:
        """The style of an ink, on the widget's own ground or on that of another ink."""
        if self._styles is None:
            self._styles = {}
        style = self._styles.get((name, ground))
        if style is None:
            style = self.rich_style
            for one in (ground, name):
                if one:
                    style += self.get_component_rich_style(f"ink--{one}", partial=True)
            self._styles[name, ground] = style
        return style

    def strip(self, pieces: Iterable[Piece], width: int, ground: str = "") -> Strip:
        """A line of exactly ``width`` cells."""
        line = Strip([Segment(text, self.ink(ink, ground)) for text, ink in pieces if text])
        return line if line.cell_length == width else line.adjust_cell_length(width, self.ink("", ground))

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._styles = None
