"""The prompt on the screen. It shows an ask over the lower part of the stream, and never takes the focus.

It says when an ask is really in sight (``Painted``): its lines were drawn at a size that holds all of them, and the
screen was refreshed since. Keys do not come here; the application hands them to the prompt before anybody else.
"""

from __future__ import annotations

from textual import events
from textual.message import Message
from textual.strip import Strip

from console.acts import Place
from console.prompt import Prompt
from console.question import Question
from console.widgets.ask_lines import Line, body, heading, keys, whole
from console.widgets.inks import Inked

TITLE = 1
MARGIN = 1
RESERVED = 13
"""Lines that are kept for it on a tall screen."""
SCREEN_LEFT = 6
"""Lines of the screen that stay free above the prompt: the agents and the hottest measures."""
SCROLLED = {"up": -1, "down": 1, "pageup": -10, "pagedown": 10}
"""Keys that scroll the whole call, and by how many lines."""
LEAST_BODY = 5
"""Who, one line of the call, one reason, and what each answer does."""


class PromptPanel(Inked):
    """Shows the ask of a ``Prompt``, or nothing."""

    class Painted(Message):
        """This ask is in sight."""

        def __init__(self, ask_id: str) -> None:
            super().__init__()
            self.ask_id = ask_id

    class Lost(Message):
        """It has another size: whatever was in sight has to be drawn anew, or has no room any more."""

    class Pressed(Message):
        """One of the prompt's places was clicked."""

        def __init__(self, place: Place) -> None:
            super().__init__()
            self.place = place

    def __init__(self, *, id: str) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self.prompt = Prompt()
        self.question: Question | None = None
        self.calm: list[Line] = []
        """What to show on its place while nothing is asked."""
        self.whole_of = ""
        """The ask whose whole call is shown."""
        self._top = 0
        self._now = 0.0
        self._lines: list[Line] = []
        self._drawn = ""
        self._fits = False

    def update(self, prompt: Prompt, question: Question | None, now: float) -> None:
        """Show the prompt as it is at ``now``, its own clock."""
        if prompt.shown != self.prompt.shown:
            self._drawn = ""
            self._top = 0
            self.whole_of = ""
        self.prompt, self.question, self._now = prompt, question, now
        self.display = prompt.shown is not None or self.reserved
        self.set_class(prompt.shown is not None, "-asking")
        if self.display:
            self._lay_out()
            self.refresh()
        if prompt.shown is not None and prompt.painted_at is None:
            self.call_after_refresh(self._report_painted, prompt.shown.id)

    def toggle_whole(self, ask_id: str) -> None:
        """Show, or no longer show, everything that this ask's call says."""
        self.whole_of = "" if self.whole_of == ask_id else ask_id
        self._top = 0

    def takes_key(self, key: str) -> bool:
        """Scroll the whole call, while it is shown. False for any other key, and at any other time."""
        by = SCROLLED.get(key)
        if by is None or not self.whole_of:
            return False
        self.scroll_call(by)
        return True

    def scroll_call(self, by: int) -> None:
        """Scroll the whole call by so many lines."""
        self._top = max(self._top + by, 0)
        self._lay_out()
        self.refresh()

    def contains(self, event: events.MouseEvent) -> bool:
        """Whether a mouse event is on it."""
        return self.display and self.region.contains(int(event.screen_x), int(event.screen_y))

    @property
    def reserved(self) -> bool:
        """Whether it has a place of its own: on a tall screen."""
        return self.screen.has_class("-tall")

    @property
    def covers_lines(self) -> int:
        """How many lines of the stream it stands over."""
        return self.outer_size.height if self.display and not self.reserved else 0

    @property
    def lines_shown(self) -> list[str]:
        """Its lines as plain text."""
        return [" " * MARGIN + "".join(text for text, _ in line.pieces) for line in self._lines]

    # -- laying out -------------------------------------------------------------------------------------------

    def _lay_out(self) -> None:
        width = (self.content_size.width or self.screen.size.width) - 2 * MARGIN
        if self.question is None or self.prompt.shown is None:
            self._lines = [Line((("─" * (width + 2 * MARGIN), "rule"),)), *self.calm]
            self.styles.height = RESERVED
            return
        title = heading(self.prompt, self.question, width + 2 * MARGIN)
        last = keys(self.prompt, self._now, width, self.prompt.shown.fingerprints)
        most = self.screen.size.height - 2
        if self.whole_of == self.prompt.shown.id:
            first = self._scrolled(whole(self.question, width), most - TITLE - len(last))
        else:
            room = max(RESERVED if self.reserved else most - SCREEN_LEFT, LEAST_BODY + TITLE + len(last))
            first = body(self.question, self.prompt.shown.fingerprints, width, room - TITLE - len(last))
        self._lines = [title, *first, *last]
        height = len(self._lines)
        self._fits = height <= most
        self.styles.height = max(height, RESERVED) if self.reserved else height

    def _scrolled(self, lines: list[Line], room: int) -> list[Line]:
        """The part of the whole call that is in sight."""
        self._top = min(self._top, max(len(lines) - room, 0))
        shown = lines[self._top : self._top + room]
        left = len(lines) - self._top - len(shown)
        if left or self._top:
            shown[-1] = Line(((f"  ↑↓ {self._top} lines above, {left + 1} below · w: back", "dim"),))
        return shown

    # -- drawing ----------------------------------------------------------------------------------------------

    def render_line(self, y: int) -> Strip:
        width = self.content_size.width
        if y >= len(self._lines):
            return Strip.blank(width, self.ink(""))
        if self.prompt.shown is not None and y == len(self._lines) - 1:
            self._drawn = self.prompt.shown.id
        pieces = self._lines[y].pieces
        return self.strip(pieces if y == 0 else ((" " * MARGIN, ""), *pieces), width)

    def _report_painted(self, ask_id: str) -> None:
        in_sight = self.is_on_screen and self.screen.is_current and self.content_size.height >= len(self._lines)
        if self._drawn == ask_id and self._fits and in_sight:
            self.post_message(self.Painted(ask_id))

    def on_resize(self) -> None:
        self._drawn = ""
        self.post_message(self.Lost())
        self._lay_out()
        self.refresh()

    def on_click(self, event: events.Click) -> None:
        event.stop()
        offset = event.get_content_offset(self)
        if offset is None or not 0 <= offset.y < len(self._lines):
            return
        for zone in self._lines[offset.y].zones:
            if zone.start <= offset.x - MARGIN < zone.end:
                self.post_message(self.Pressed(zone.place))
                return

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        if self.whole_of:
            self.scroll_call(3)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        if self.whole_of:
            self.scroll_call(-3)
