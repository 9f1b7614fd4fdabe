"""A list of single lines that stays quick at a hundred thousand of them: the base of every list on the screen.

A line is drawn only while it is in sight, and kept as a strip until what it shows changes (``key_of``). Lists never
take the focus by themselves, and what is in them is text, never markup.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Sequence
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from console.widgets.inks import Inked, Piece
from console.widgets.title_line import TitleLine

STRIPS_KEPT = 400


class Lines(Inked, ScrollView, can_focus=True):
    """A list with a cursor. Subclasses say how many lines there are, what identifies each, and what stands in it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "cursor(-1)", "Up", show=False),
        Binding("down,j", "cursor(1)", "Down", show=False),
        Binding("pageup", "page(-1)", "Page up", show=False),
        Binding("pagedown", "page(1)", "Page down", show=False),
        Binding("home,g", "first", "First", show=False),
        Binding("end,G", "last", "Last", show=False),
        Binding("enter", "open", "Open"),
    ]

    MARKED: ClassVar[bool] = False
    """Whether the cursor's line is marked also while another list has the keys."""

    cursor: reactive[int] = reactive(0, init=False)

    class Opened(Message):
        """A line was chosen, with Enter or a second click."""

        def __init__(self, lines: Lines, index: int) -> None:
            super().__init__()
            self.lines = lines
            self.index = index

        @property
        def control(self) -> Lines:
            return self.lines

    def __init__(self, *, id: str) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self.title_line = TitleLine()
        """To be mounted above it."""
        self._keys_drawn: list[Hashable] = []
        self._strips: dict[tuple[Hashable, int, bool, bool], Strip] = {}

    # -- for subclasses ---------------------------------------------------------------------------------------
    # (Textual's classes have a metaclass of their own: it is the type checker that keeps these from being left out.)

    @abstractmethod
    def count(self) -> int:
        """How many lines there are."""

    @abstractmethod
    def key_of(self, index: int) -> Hashable:
        """What the line shows, as something that changes when it must be drawn again."""

    @abstractmethod
    def pieces(self, index: int, width: int) -> Sequence[Piece]:
        """What stands in the line."""

    # -- drawing ----------------------------------------------------------------------------------------------

    def recount(self) -> None:
        """Take in that there are more or fewer lines, and draw what is in sight again."""
        height = self.count()
        if self.vertical_scrollbar.display and self.virtual_size.height != height > self.size.height:
            self._lengthen(height)
        else:
            self.virtual_size = Size(max(self.scrollable_content_region.width, 1), height)
        self._refresh_changed()

    def _refresh_changed(self) -> None:
        """Draw again the lines in sight that show something else than when they were drawn last."""
        top, count = self.scroll_offset.y, self.count()
        wanted = [
            self.key_of(top + y) if top + y < count else None for y in range(self.scrollable_content_region.height)
        ]
        changed = [y for y, key in enumerate(wanted) if y >= len(self._keys_drawn) or self._keys_drawn[y] != key]
        self._keys_drawn = wanted
        if len(changed) * 2 > len(wanted):
            self.refresh()
        else:
            for y in changed:
                self.refresh_line(top + y)

    def _lengthen(self, height: int) -> None:
        """Set the height without a new layout of the screen: there was a scroll bar, and there still is."""
        self.set_reactive(Lines.virtual_size, self.virtual_size.with_height(height))
        self.vertical_scrollbar.window_virtual_size = height
        self.vertical_scrollbar.refresh()

    def render_line(self, y: int) -> Strip:
        index = y + self.scroll_offset.y
        width = self.scrollable_content_region.width
        if not 0 <= index < self.count():
            return Strip.blank(width, self.ink(""))
        here = index == self.cursor
        key = (self.key_of(index), width, here, here and self.has_focus)
        strip = self._strips.get(key)
        if strip is None:
            if len(self._strips) > STRIPS_KEPT:
                self._strips.clear()
            strip = self._strips[key] = self._draw(index, width, here=here)
        return strip

    def _draw(self, index: int, width: int, *, here: bool) -> Strip:
        lit = here and (self.has_focus or self.MARKED)
        marker = "▌" if here and self.has_focus else "▏" if lit else " "
        return self.strip(((marker, "on"), *self.pieces(index, max(width - 1, 0))), width, "cursor" if lit else "")

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._strips.clear()
        self._keys_drawn.clear()

    def on_resize(self) -> None:
        self.resized()

    def resized(self) -> None:
        """It has another size now. (A handler of events is called for each class that has one, this is not.)"""
        self._keys_drawn.clear()
        self.recount()

    # -- the cursor -------------------------------------------------------------------------------------------

    def validate_cursor(self, cursor: int) -> int:
        return max(0, min(cursor, self.count() - 1))

    def watch_cursor(self, before: int, now: int) -> None:
        self.refresh_line(before)
        self.refresh_line(now)
        self.show_line(now)

    def show_line(self, index: int) -> None:
        """Scroll as little as brings the line into sight."""
        if self.count():
            self.scroll_to_region(Region(0, index, 1, 1), animate=False, force=True)

    def action_cursor(self, by: int) -> None:
        self.cursor += by

    def action_page(self, by: int) -> None:
        self.cursor += by * max(self.scrollable_content_region.height - 1, 1)

    def action_first(self) -> None:
        self.cursor = 0

    def action_last(self) -> None:
        self.cursor = self.count() - 1

    def action_open(self) -> None:
        if self.count():
            self.post_message(self.Opened(self, self.cursor))

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        index = -1 if offset is None else offset.y + self.scroll_offset.y
        if not 0 <= index < self.count():
            return
        again = index == self.cursor and event.chain > 1
        self.cursor = index
        if again:
            self.action_open()

    def on_focus(self) -> None:
        self._mark_focus(on=True)

    def on_blur(self) -> None:
        self._mark_focus(on=False)

    def _mark_focus(self, *, on: bool) -> None:
        self.title_line.set_class(on, "-on")
        self.title_line.refresh()
        self.refresh_line(self.cursor)
