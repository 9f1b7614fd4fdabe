"""What all screens of details share: a page, a title, Escape to go back, and a line that says when an ask waits."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar, cast

from msgspec import structs
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen

from console.state import State
from console.widgets.key_line import KeyLine
from console.widgets.lines import Lines
from console.widgets.page import Page, Writer
from console.widgets.status import Facts, StatusLine

if TYPE_CHECKING:
    from console.app import ConsoleApp


class PageScreen(Screen[None]):
    """A screen of details. Subclasses write the page; it is written again when ``version`` changes."""

    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,left", "back", "Back", key_display="esc"),
    ]

    STEPS: ClassVar[bool] = False
    """Whether the cursor goes from target to target."""

    def __init__(self, state: State) -> None:
        super().__init__()
        self.state = state
        self.page = Page(steps=self.STEPS)
        self.status = StatusLine(id="status")
        self.now = 0.0
        self._written: object = None

    # -- for subclasses ---------------------------------------------------------------------------------------
    # (Textual's classes have a metaclass of their own: it is the type checker that keeps these from being left out.)

    @abstractmethod
    def heading(self) -> str:
        """The page's title, safe."""

    @abstractmethod
    def version(self) -> object:
        """Something that changes when the page must be written again."""

    @abstractmethod
    def write(self, writer: Writer) -> None:
        """Write the page."""

    def follow(self, target: object) -> None:
        """A line with a target was chosen."""

    # -- the rest ---------------------------------------------------------------------------------------------

    @property
    def console_app(self) -> ConsoleApp:
        return cast("ConsoleApp", self.app)

    def compose(self) -> ComposeResult:
        yield self.status
        yield self.page.title_line
        yield self.page
        yield KeyLine()

    def on_mount(self) -> None:
        self.page.focus()
        self.console_app.pulse()  # so that a key that follows at once finds the page written

    def show(self, facts: Facts, now: float) -> None:
        """Draw what has changed by ``now``, unix seconds."""
        self.now = now
        self.status.update(structs.replace(facts, away=True))
        width = (self.page.scrollable_content_region.width or self.app.size.width) - 1
        version = (width, self.version())
        if width > 1 and version != self._written:
            self._written = version
            writer = Writer(width)
            self.write(writer)
            self.page.fill(writer.lines)
            self.page.title_line.say(self.heading())

    @on(Lines.Opened)
    def _opened(self, event: Lines.Opened) -> None:
        event.stop()
        target = self.page.target(event.index)
        if target is not None:
            self.follow(target)

    def action_back(self) -> None:
        self.dismiss()
