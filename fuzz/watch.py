"""A journal read while it is written, and before its oldest parts are deleted: nothing may be missing from it."""

from __future__ import annotations

import re
from pathlib import Path

from engine.journal_parts import EVENTS

CHUNK = 1 << 22
_KIND = re.compile(rb'^\{"type":"([a-z-]+)"', re.MULTILINE)
_TICKET = re.compile(rb'^\{"type":"call".*?"ticket":(\d+),"turn":', re.MULTILINE)
_FAULT = re.compile(rb'^\{"type":"notice".*?"level":"error".*$', re.MULTILINE)


class JournalWatch:
    """Counts what one run of an engine writes. ``look`` must come round before a part that was written is deleted."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._read: dict[Path, int] = {}
        self.kinds: dict[str, int] = {}
        self.faults: list[str] = []
        self.bytes = 0
        self._ticket = 0

    def look(self) -> None:
        """Take in what came since the last time."""
        for path in sorted(self._directory.glob(f"*{EVENTS}"), key=_number):
            with path.open("rb") as file:
                file.seek(self._read.get(path, 0))
                while (chunk := file.read(CHUNK)) and b"\n" in chunk:
                    whole = chunk[: chunk.rindex(b"\n") + 1]
                    file.seek(len(whole) - len(chunk), 1)
                    self._take(whole)
                    self._read[path] = file.tell()

    def _take(self, lines: bytes) -> None:
        self.bytes += len(lines)
        kinds = _KIND.findall(lines)
        if len(kinds) != lines.count(b"\n"):
            self.faults.append("a line of the journal is no event")
        for kind in set(kinds):
            name = kind.decode()
            self.kinds[name] = self.kinds.get(name, 0) + kinds.count(kind)
        for ticket in map(int, _TICKET.findall(lines)):
            if ticket != self._ticket + 1:
                self.faults.append(f"after ticket {self._ticket} the journal has {ticket}")
            self._ticket = ticket
        self.faults += [f"a fault of the engine: {found[0][:500].decode()}" for found in _FAULT.finditer(lines)]


def _number(path: Path) -> tuple[str, int]:
    """Parts in the order in which one run wrote them: ``…-4711.jsonl``, ``…-4711.1.jsonl``."""
    stem, _, index = path.name.removesuffix(EVENTS).partition(".")
    return stem, int(index or 0)
