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

    def ink(self, name: str) -> Style:
        """The style of an ink in the theme in force."""
        return self.get_component_rich_style(f"ink--{name}", partial=True) if name else Style.null()

    def strip(self, pieces: Iterable[Piece], width: int, base: Style | None = None) -> Strip:
        """A line of exactly ``width`` cells."""
        segments = [Segment(text, self.ink(ink)) for text, ink in pieces if text]
        return Strip(segments).adjust_cell_length(width).apply_style(self.rich_style if base is None else base)
