"""The line over a list: what it is on the left, how it stands on the right."""

from __future__ import annotations

from textual.strip import Strip

from console.text import cells, fit
from console.widgets.inks import Inked


class TitleLine(Inked):
    """One line, drawn as a rule that the two texts interrupt. ``-on`` while its list has the keys."""

    def __init__(self) -> None:
        super().__init__()
        self._left = ""
        self._right = ""

    def say(self, left: str, right: str = "") -> None:
        """Set both texts, safe."""
        if (left, right) != (self._left, self._right):
            self._left, self._right = left, right
            self.refresh()

    @property
    def text(self) -> str:
        """Both texts."""
        return f"{self._left} {self._right}".strip()

    def render_line(self, y: int) -> Strip:  # noqa: ARG002 - there is but one
        width = self.content_size.width
        on = self.has_class("-on")
        rule, ink = ("━", "on") if on else ("─", "rule")
        right = fit(self._right, max(width // 2 - 4, 0))
        left = fit(self._left, max(width - cells(right) - 7, 4))
        gap = width - cells(left) - cells(right) - (7 if right else 5)
        pieces = [(rule * 2 + " ", ink), (left, "on" if on else "dim"), (f" {rule * max(gap, 0)}", ink)]
        pieces += [(" " + right + " ", "dim"), (rule, ink)] if right else [(rule * 2, ink)]
        return self.strip(pieces, width)
