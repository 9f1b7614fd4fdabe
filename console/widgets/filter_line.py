"""The line in which the stream's filter is typed."""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.widgets import Input

from console.text import visible

HINT = "words · agent:7f3a · tool:bash · kind:failed,refused,asks"


class FilterLine(Input):
    """An input that takes no hidden characters. Enter keeps the filter, Escape drops it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "submit", "Keep filter"),
        Binding("escape", "drop", "Drop filter", key_display="esc"),
    ]

    class Closed(Message):
        """Typing is done."""

    def __init__(self, *, id: str) -> None:  # noqa: A002 - Textual's name
        super().__init__(placeholder=HINT, id=id, compact=True, select_on_focus=False)
        self.display = False
        self.border_title = Content("filter")

    def complain(self, about: str) -> None:
        """Say what is wrong with what was typed; empty: nothing is."""
        self.border_subtitle = Content(visible(about))
        self.set_class(bool(about), "-wrong")

    def validate_value(self, value: str) -> str:
        """What is pasted is made visible: it may come from a screen an agent wrote to."""
        return visible(value)

    def action_drop(self) -> None:
        self.value = ""
        self.post_message(self.Closed())

    async def action_submit(self) -> None:
        self.post_message(self.Closed())

    def on_click(self, event: events.Click) -> None:
        event.stop()
