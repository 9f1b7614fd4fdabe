"""The timeline of a replay: the hottest measures of the session from its start to its end, and where it stands.

Each column is a stretch of the session, as wide in events as any other. A measure's row shows the hottest it was in
it: its stage by the stage's own sign, below the first stage how near to its cap it came.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from textual import events
from textual.message import Message
from textual.strip import Strip

from console.replaying.course import Course, Kind
from console.replaying.heat import LEVELS, STEPS, Heat, Track
from console.state.measures import GLYPHS
from console.text import cells, fit
from console.widgets.inks import Inked, Piece
from console.widgets.pieces import INK_OF_STAGE

COLD = " ▁▂▃▄"
GLYPH_OF_LEVEL = tuple(COLD[level] if level <= STEPS else GLYPHS[stage] for level, stage in enumerate(LEVELS))
INK_OF_LEVEL = tuple("dim" if level <= STEPS else INK_OF_STAGE[stage] for level, stage in enumerate(LEVELS))
HEAD, PLAYED, AHEAD = "▼", "━", "─"
MARKS: tuple[tuple[Kind, str, str], ...] = (("gate", GLYPHS["GATE"], "gate"), ("failure", "✗", "fail"))
"""What is marked on the line, the more important first: its kind, sign and ink."""
LABELS = ((160, 44), (120, 34), (96, 26), (72, 20), (0, 17))
"""From this width on: cells of the labels."""
WHO_FROM = 26
"""Cells of a label from which on it says whose measure it is, if not all are the same agent's."""
REDRAWN_SECONDS = 0.5
"""While the session is being read, the columns are worked out this often."""


class Timeline(Inked):
    """A line with the playhead, and below it as many of the hottest measures as there is room for."""

    class Sought(Message):
        """A place was clicked, or dragged to."""

        def __init__(self, place: int) -> None:
            super().__init__()
            self.place = place

    def __init__(self, course: Course, heat: Heat, *, id: str) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._course = course
        self._heat = heat
        self._place = 0
        self._count = 0
        """Events in the columns."""
        self._tracks: list[Track] = []
        self._columns: list[list[int]] = []
        self._marks: list[str] = []
        self._worked_out = 0.0
        self._shape = (0, 0)
        self._dragging = False

    def update(self, place: int, now: float) -> None:
        """Draw the replay at a place; ``now`` is in seconds that never go back."""
        shape = (self._columns_wide, self.content_size.height)
        known = self._course.count
        grown = known != self._count and (self._course.complete or now - self._worked_out >= REDRAWN_SECONDS)
        if (shape != self._shape or grown) and shape[0] > 0:
            self._shape, self._count, self._worked_out = shape, known, now
            self._work_out(shape[0], shape[1] - 1)
            self.refresh()
        if place != self._place:
            self._place = place
            self.refresh()

    @property
    def _label_width(self) -> int:
        width = self.content_size.width
        return next(label for least, label in LABELS if width >= least)

    @property
    def _columns_wide(self) -> int:
        return self.content_size.width - self._label_width - 1

    def _work_out(self, width: int, rows: int) -> None:
        edges = [column * self._count // width for column in range(width + 1)]
        self._tracks = self._heat.to_show(rows)
        self._columns = [track.columns(edges) for track in self._tracks]
        self._marks = [self._mark_between(start, stop) for start, stop in pairwise(edges)]

    def _mark_between(self, start: int, stop: int) -> str:
        """The kind of the most important thing in a stretch of events."""
        for kind, _, _ in MARKS:
            place = self._course.next(kind, start)
            if place is not None and place <= stop:
                return kind
        return ""

    # -- columns and places -----------------------------------------------------------------------------------

    def column_of(self, place: int) -> int:
        """The column, from 0 on, that a place is in."""
        width = self._columns_wide
        return min(max(-(-place * width // max(self._count, 1)) - 1, 0), max(width - 1, 0))

    def place_of(self, column: int) -> int:
        """The place at the end of a column; the first column is the start."""
        width = max(self._columns_wide, 1)
        return 0 if column <= 0 else min(column + 1, width) * self._count // width

    # -- drawing ----------------------------------------------------------------------------------------------

    def render_line(self, y: int) -> Strip:
        width = self.content_size.width
        if self._columns_wide <= 0:
            return Strip.blank(width, self.ink(""))
        head = self.column_of(self._place)
        if y == 0:
            return self.strip(self._line(head), width)
        if y > len(self._columns):
            return Strip.blank(width, self.ink(""))
        track, levels = self._tracks[y - 1], self._columns[y - 1]
        several = self._label_width >= WHO_FROM and len({one.agent for one in self._tracks}) > 1
        who = f"{track.short} " if several else ""
        label = who + fit(track.label, self._label_width - 2 - cells(who), "middle", pad=True)
        pieces: list[Piece] = [(f" {label} ", INK_OF_LEVEL[track.peak[0]])]
        before, at_head, after = levels[:head], levels[head : head + 1], levels[head + 1 :]
        strips = [self.strip(_heat(pieces, before), self._label_width + head)]
        strips.append(self.strip(_heat([], at_head, empty="│"), 1, "cursor"))
        strips.append(self.strip(_heat([], after), width - self._label_width - head - 1))
        return Strip.join(strips)

    def _line(self, head: int) -> list[Piece]:
        """The line with the marks and the playhead."""
        shown, all_of_them = len(self._tracks), len(self._heat)
        words = f"top {shown} of {all_of_them:,}" if all_of_them else "nothing warm"
        pieces: list[Piece] = [(f" {fit(words, self._label_width - 2, pad=True)} ", "dim")]
        signs: dict[str, Piece] = {kind: (sign, ink) for kind, sign, ink in MARKS}
        for column, kind in enumerate(self._marks):
            if column == head:
                pieces.append((HEAD, "on"))
            elif kind:
                pieces.append(signs[kind])
            else:
                pieces.append((PLAYED, "on") if column < head else (AHEAD, "rule"))
        return pieces

    # -- the mouse --------------------------------------------------------------------------------------------

    def on_mouse_down(self, event: events.MouseDown) -> None:
        event.stop()
        if event.button == 1 and self._seek(event):
            self._dragging = True
            self.capture_mouse()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        if self._dragging:
            event.stop()
            self._seek(event)

    def on_mouse_up(self, event: events.MouseUp) -> None:
        event.stop()
        if self._dragging:
            self._dragging = False
            self.release_mouse()

    def _seek(self, event: events.MouseEvent) -> bool:
        """Ask for the place under the mouse. False when it is beside the columns, and nothing is dragged."""
        column = event.x - self._label_width
        if not self._dragging and not 0 <= column < self._columns_wide:
            return False
        self.post_message(self.Sought(self.place_of(min(max(column, 0), self._columns_wide - 1))))
        return True


def _heat(pieces: list[Piece], levels: Sequence[int], empty: str = "") -> list[Piece]:
    """The signs of some levels after other pieces, those of the same level together."""
    start = 0
    for index in range(1, len(levels) + 1):
        if index == len(levels) or levels[index] != levels[start]:
            level = levels[start]
            glyph = empty if empty and not level else GLYPH_OF_LEVEL[level]
            pieces.append((glyph * (index - start), INK_OF_LEVEL[level]))
            start = index
    return pieces
