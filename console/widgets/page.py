"""A page of prepared lines to read and scroll: the body of every screen that shows details."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

from console.text import fit
from console.widgets.inks import Piece
from console.widgets.lines import Lines
from console.widgets.pieces import wrap

LABEL = 13


class Page(Lines):
    """Lines made beforehand; one that leads somewhere says where (``target``).

    With ``steps`` the cursor goes from one line that leads somewhere to the next.
    """

    def __init__(self, *, id: str = "page", steps: bool = False) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self.steps = steps
        self._pages: list[tuple[tuple[Piece, ...], Hashable]] = []
        self._version = 0

    def fill(self, lines: Iterable[tuple[Sequence[Piece], Hashable]]) -> None:
        """Show these lines instead of those that were there. The cursor stays on its target, or goes to one before."""
        under = self.target(self.cursor)
        self._pages = [(tuple(pieces), target) for pieces, target in lines]
        self._version += 1
        self.recount()
        self.refresh_bindings()
        if self.steps:
            self._find(under)
        self.cursor = min(self.cursor, max(len(self._pages) - 1, 0))

    def _find(self, under: Hashable) -> None:
        places = [index for index, (_, target) in enumerate(self._pages) if target is not None]
        same = [index for index in places if self.target(index) == under]
        before = [index for index in places if index <= self.cursor]
        self.cursor = next(iter(same or before[-1:] or places), 0)

    def target(self, index: int) -> Hashable:
        """Where a line leads, None when nowhere."""
        return self._pages[index][1] if 0 <= index < len(self._pages) else None

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002 - as Textual has it
        """A page of which no line leads anywhere has nothing to open."""
        return action != "open" or any(target is not None for _, target in self._pages)

    def action_cursor(self, by: int) -> None:
        if not self.steps:
            super().action_cursor(by)
            return
        for index in range(self.cursor + by, len(self._pages) if by > 0 else -1, by):
            if self.target(index) is not None:
                self.cursor = index
                return

    def count(self) -> int:
        return len(self._pages)

    def key_of(self, index: int) -> Hashable:
        return (self._version, index)

    def pieces(self, index: int, width: int) -> Sequence[Piece]:  # noqa: ARG002 - written for a width already
        return self._pages[index][0]


class Writer:
    """Collects the lines of a page, wrapped to a width."""

    def __init__(self, width: int) -> None:
        self.width = max(width, 20)
        self.lines: list[tuple[Sequence[Piece], Hashable]] = []

    def heading(self, text: str) -> None:
        """A heading, a blank line before it unless it is the first."""
        if self.lines:
            self.lines.append(((), None))
        self.lines.append((((text, "head"),), None))

    def line(self, *pieces: Piece, target: Hashable = None) -> None:
        self.lines.append((pieces, target))

    def fact(self, label: str, text: str, ink: str = "") -> None:
        """A label and its text, which may take several lines. Safe text only."""
        for index, part in enumerate(wrap(text, self.width - LABEL, 40) or [""]):
            self.lines.append((((f"{label if index == 0 else '':{LABEL}}", "dim"), (part, ink)), None))

    def text(self, text: str, ink: str = "", *, most: int = 400, indent: int = 2) -> None:
        """One line of safe text, wrapped."""
        for part in wrap(text, self.width - indent - 1, most) or [""]:
            shown = fit(part, self.width - indent - 1, pad=True) if ink == "code" else part
            self.lines.append((((" " * indent, ""), (shown, ink)), None))

    def note(self, text: str) -> None:
        """A remark in the background."""
        self.lines.append((((fit(text, self.width), "dim"),), None))
