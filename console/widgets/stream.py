"""The event stream: followed until you scroll, filtered, paused without a pause in the collecting."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.message import Message

from console.state.stream import Filter, Row, View
from console.state.whole import State
from console.text import cells, fit
from console.widgets.inks import Piece
from console.widgets.lines import Lines
from console.widgets.pieces import clock, fit_name

INK_OF_MARK = {"◆": "gate", "▲": "summarize", "△": "warn", "⊘": "refused", "∅": "exempt", "!": "fail"}
INK_OF_PHASE = {
    "waiting": "gate",
    "running": "dim",
    "ran": "ok",
    "failed": "fail",
    "refused": "refused",
    "aborted": "dim",
    "unknown": "dim",
}
GLYPH_OF_PHASE = {
    "waiting": "?",
    "running": "…",
    "ran": "✓",
    "failed": "✗",
    "refused": "⊘",
    "aborted": "■",
    "unknown": "·",
}
COLUMNS = ((140, (27, 13, 42)), (100, (17, 11, 30)), (72, (11, 7, 20)), (0, (0, 7, 18)))
"""From this width on: the columns of the agent, the tool and how it went. The rest is the call's own."""


class StreamList(Lines):
    """One line an event, a call's line changing until its result is there."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("end,G", "follow", "Follow", show=False)]

    class Scrolled(Message):
        """Following began or ended."""

    def __init__(self, state: State, *, id: str) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self.state = state
        self.view = View(state.stream)
        self.following = True
        self.reserve = 0
        """Lines at the bottom that something covers: while it follows, the newest line stays above them."""
        self._under = 0
        self._version = -1
        self._seen_end = 0

    # -- what is shown ----------------------------------------------------------------------------------------

    @property
    def paused(self) -> bool:
        return self.view.limit is not None

    def pause(self, *, paused: bool) -> None:
        """Freeze what is shown; the collecting goes on."""
        self.view.limit = self.state.stream.end if paused else None
        self._version = -1
        self.update()

    def turn_to(self, state: State) -> None:
        """Show the newest rows of another state from now on, through the same filter."""
        self.state = state
        self.filter_by(self.view.filter)

    def filter_by(self, only: Filter) -> None:
        """Show only the rows that match; the past is looked through step by step."""
        limit = self.view.limit
        self.view = View(self.state.stream, only)
        self.view.limit = limit
        self._version = -1
        self.following = True
        self.update()

    def update(self) -> None:
        """Take in what is new."""
        stream = self.state.stream
        if stream.version == self._version and self.view.complete:
            return
        self._version = stream.version
        self.view.update()
        if not self.following:
            self._keep_in_place()
        self.recount()
        if self.following:
            self._to_end()
        self.title()

    def _keep_in_place(self) -> None:
        """Old rows have left the ring above the cursor: scroll with them, so that nothing moves in sight."""
        moved = self.view.index_of(self._under) - self.cursor
        if moved:
            top = self.scroll_offset.y + moved
            self.set_reactive(type(self).cursor, max(self.cursor + moved, 0))
            self.recount()
            self.scroll_to(y=max(top, 0), animate=False, force=True)

    def _to_end(self) -> None:
        self._seen_end = self.state.stream.end
        last = max(len(self.view) - 1, 0)
        self.set_reactive(type(self).cursor, last)
        self._mark_under()
        self.scroll_to(y=max(self.count() - self.scrollable_content_region.height, 0), animate=False, force=True)
        if self.show_vertical_scrollbar:  # it may have come after the scrolling, and then knows nothing of it
            self.vertical_scrollbar.position = self.scroll_y

    def make_room(self, reserve: int) -> None:
        """Something covers so many lines at the bottom now. What is scrolled to stays where it is."""
        self.reserve = reserve
        self.recount()
        if self.following:
            self._to_end()

    def resized(self) -> None:
        super().resized()
        if self.following:
            self._to_end()

    def action_follow(self) -> None:
        """Go to the newest line and stay there."""
        self.following = True
        self._to_end()
        self.refresh()
        self.title()

    def _mark_under(self) -> None:
        """Remember which row the cursor is on: its place in the list changes when old rows leave."""
        self._under = self.view[self.cursor] if self.cursor < len(self.view) else 0

    def watch_cursor(self, before: int, now: int) -> None:
        super().watch_cursor(before, now)
        self._mark_under()
        self._set_following(now >= len(self.view) - 1)

    def _set_following(self, following: bool) -> None:
        if following != self.following:
            self.following = following
            self._seen_end = self.state.stream.end
            self.title()
            self.post_message(self.Scrolled())

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        if new_value < old_value and self.following and new_value < self.max_scroll_y:
            self._set_following(False)
        elif new_value > old_value and new_value >= self.max_scroll_y and not self.following:
            self._set_following(True)

    def title(self) -> None:
        """What the border says: how the list stands towards what is coming in."""
        behind = self.state.stream.end - self._seen_end
        if self.paused:
            behind = self.state.stream.end - (self.view.limit or 0)
            state = f"paused · {behind} new" if behind else "paused"
        elif not self.following:
            state = f"{behind} new · End follows" if behind else "scrolled · End follows"
        else:
            state = "following"
        shown = f"{len(self.view)} of {len(self.state.stream)} · " if self.view.filter else ""
        self.title_line.say("stream", shown + state)

    # -- lines ------------------------------------------------------------------------------------------------

    def row_at(self, index: int) -> Row | None:
        return self.state.stream.get(self.view[index]) if 0 <= index < len(self.view) else None

    def count(self) -> int:
        return len(self.view) + (self.reserve if self.following else 0)

    def validate_cursor(self, cursor: int) -> int:
        return max(0, min(cursor, len(self.view) - 1))

    def key_of(self, index: int) -> Hashable:
        row = self.row_at(index)
        return (row.number, row.phase, row.mark, row.detail) if row else None

    def pieces(self, index: int, width: int) -> Sequence[Piece]:
        row = self.row_at(index)
        if row is None:
            return ()
        who_width, tool_width, status_width = next(columns for least, columns in COLUMNS if width >= least)
        pieces = [(f"{clock(row.at)} ", "dim"), (f"{row.mark or ' '} ", INK_OF_MARK.get(row.mark, "dim"))]
        if who_width:
            pieces.append((fit_name(row.who, who_width - 1) + " ", "who"))
        left = width - 11 - who_width
        if row.kind != "call":
            text = row.text if who_width or not row.who else f"{row.who}: {row.text}"
            return [*pieces, (fit(text, left), "head" if row.kind in ("ask", "answer", "turn") else "dim")]
        text_width = max(left - tool_width - status_width - 1, 4)
        words = row.status if cells(row.status) + 2 <= status_width else row.brief
        status = f"{GLYPH_OF_PHASE.get(row.phase, ' ')} {words}"
        return [
            *pieces,
            (fit(row.tool, tool_width - 1, pad=True) + " ", "tool"),
            (fit(row.text, text_width, "middle", pad=True) + " ", ""),
            (fit(status, status_width), INK_OF_PHASE.get(row.phase, "dim")),
        ]
