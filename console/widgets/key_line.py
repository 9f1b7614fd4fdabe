"""The last line: what may be pressed now. Each key in it can be clicked."""

from __future__ import annotations

from textual.widgets import Footer

ROOMY = 80
"""Columns from which on there is space between the keys."""


class KeyLine(Footer):
    """A footer that moves its keys together on a narrow screen."""

    def __init__(self) -> None:
        super().__init__(show_command_palette=False)

    def on_resize(self) -> None:
        self.compact = self.app.size.width < ROOMY
