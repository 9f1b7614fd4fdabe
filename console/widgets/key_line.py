"""The last line: what may be pressed now. Each key in it can be clicked.

Textual's own footer makes a widget of every key anew at each change, which takes 50 to 100 ms on a busy screen; it
changes whenever an ask opens.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from textual import events
from textual.app import App
from textual.screen import Screen
from textual.strip import Strip

from console.text import cells
from console.widgets.inks import Inked, Piece

ROOMY = 80
"""Columns from which on there is space between the keys."""


class Key(Struct, frozen=True):
    """What may be pressed: as the keyboard calls it, as it is shown, what it does, and whether it works just now."""

    name: str
    shown: str
    does: str
    works: bool = True

    @property
    def width(self) -> int:
        """Cells it takes, without the space around it."""
        return cells(f"{self.shown} {self.does}")


class KeyLine(Inked):
    """One line of keys. Those for which there is no room are left out, the last ones first."""

    def __init__(self) -> None:
        super().__init__()
        self._keys: Sequence[Key] = ()

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, self._bindings_changed)

    def on_unmount(self) -> None:
        self.screen.bindings_updated_signal.unsubscribe(self)

    def _bindings_changed(self, screen: Screen[object]) -> None:
        if screen is self.screen and screen.app.app_focus:
            self.offer(keys_of(screen, screen.app))

    def offer(self, keys: Sequence[Key]) -> None:
        """Show these keys."""
        if keys != self._keys:
            self._keys = keys
            self.refresh()

    def render_line(self, y: int) -> Strip:  # noqa: ARG002 - there is but one
        width = self.content_size.width
        pieces: list[Piece] = []
        at = 0
        for place, key in self._placed(width):
            pieces += ((" " * (place - at), ""), (key.shown, "on" if key.works else "dim"))
            pieces.append((f" {key.does}", "" if key.works else "dim"))
            at = place + key.width
        return self.strip(pieces, width)

    def _placed(self, width: int) -> list[tuple[int, Key]]:
        """The keys for which there is room, each with the column it begins in."""
        gap = 2 if width >= ROOMY else 1
        place = 1
        placed: list[tuple[int, Key]] = []
        for key in self._keys:
            if place + key.width > width:
                break
            placed.append((place, key))
            place += key.width + gap
        return placed

    def on_click(self, event: events.Click) -> None:
        """As if the key under the pointer had been pressed."""
        for place, key in self._placed(self.content_size.width):
            if place <= event.x < place + key.width:
                if key.works:
                    self.app.simulate_key(key.name)
                else:
                    self.app.bell()


def keys_of(screen: Screen[object], app: App[object]) -> tuple[Key, ...]:
    """What may be pressed on a screen now: one key of each action."""
    found: dict[str, Key] = {}
    for _, binding, works, _ in screen.active_bindings.values():
        if binding.show and binding.action not in found:
            found[binding.action] = Key(binding.key, app.get_key_display(binding), binding.description, works)
    return tuple(found.values())
