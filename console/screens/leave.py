"""Before the console goes: what becomes of the asks that are open."""

from __future__ import annotations

from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Horizontal
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from console.widgets.key_line import KeyLine


class LeaveScreen(ModalScreen[bool]):
    """Dismissed with True when the console shall go. No key that is easily held down does it."""

    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "go", "Quit"),
        Binding("escape,n,q", "stay", "Stay", key_display="esc"),
    ]

    def __init__(self, lines: tuple[str, ...]) -> None:
        super().__init__()
        self.lines = lines

    def compose(self) -> ComposeResult:
        with Container(id="leave"):
            yield Static(Content("\n".join(self.lines)))
            with Horizontal():
                yield Static(Content.assemble((" enter ", "reverse bold"), " quit"), id="go")
                yield Static(Content.assemble((" esc ", "reverse bold"), " stay"), id="stay")
        yield KeyLine()

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
