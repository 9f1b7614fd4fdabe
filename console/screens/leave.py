"""Before the console goes: what becomes of the asks that are open."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Horizontal
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from console.widgets.key_line import KeyLine

NOTHING = "Quit? That changes nothing for anybody any more."
LOOK_SECONDS = 0.5
"""How often what it says is brought up to date: asks open and close meanwhile."""


class LeaveScreen(ModalScreen[bool]):
    """Dismissed with True when the console shall go. No key that is easily held down does it.

    ``lines`` gives what becomes of whom, as of now; nothing when nothing changes for anybody any more.
    """

    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "go", "Quit"),
        Binding("escape,n,q", "stay", "Stay", key_display="esc"),
    ]

    def __init__(self, lines: Callable[[], tuple[str, ...]]) -> None:
        super().__init__()
        self._lines = lines

    def compose(self) -> ComposeResult:
        with Container(id="leave"):
            yield Static(self._content(), id="what")
            with Horizontal():
                yield Static(Content.assemble((" enter ", "reverse bold"), " quit"), id="go")
                yield Static(Content.assemble((" esc ", "reverse bold"), " stay"), id="stay")
        yield KeyLine()

    def on_mount(self) -> None:
        self.set_interval(LOOK_SECONDS, lambda: self.query_one("#what", Static).update(self._content()))

    def _content(self) -> Content:
        return Content("\n".join(self._lines() or (NOTHING,)))

    @on(events.Click, "#go")
    def _clicked_go(self) -> None:
        self.action_go()

    @on(events.Click, "#stay")
    def _clicked_stay(self) -> None:
        self.action_stay()

    def action_go(self) -> None:
        self.dismiss(result=True)

    def action_stay(self) -> None:
        self.dismiss(result=False)
