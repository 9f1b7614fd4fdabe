"""A console on a real pty, whose output is read and timed, and what its process takes of the machine."""

from __future__ import annotations

import itertools
import os
import pty
import re
import resource
import select
import signal
import struct
import termios
import threading
import time
from collections.abc import Sequence
from fcntl import ioctl
from pathlib import Path

SIZE = (40, 120)
TICKS = os.sysconf("SC_CLK_TCK")
RECENT_BYTES = 200_000


class Screen:
    """A program on a pty of ``SIZE`` (lines, columns), whose output is read and timed."""

    def __init__(self, command: Sequence[str]) -> None:
        self.pid, self._handle = pty.fork()
        if not self.pid:
            os.environ |= {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
            os.execv(command[0], command)
        ioctl(self._handle, termios.TIOCSWINSZ, struct.pack("HHHH", *SIZE, 0, 0))
        self.writes: list[float] = []
        self._recent = b""
        self._found = threading.Condition()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        while True:
            try:
                select.select([self._handle], [], [])
                read = os.read(self._handle, 1 << 16)
            except OSError:
                return
            with self._found:
                self.writes.append(time.perf_counter())
                self._recent = (self._recent + read)[-RECENT_BYTES:]
                self._found.notify_all()

    def key(self, key: str, shows: str) -> float:
        """Seconds from a key to text that matches ``shows``. Raises TimeoutError."""
        with self._found:
            self._recent = b""
            before = time.perf_counter()
            os.write(self._handle, key.encode())
            self._wait(shows, 10)
            return time.perf_counter() - before

    def wait_for(self, text: str) -> None:
        """Return when text that matches has been written. Raises TimeoutError."""
        with self._found:
            self._wait(text, 30)

    def _wait(self, text: str, seconds: float) -> None:
        matches = re.compile(text.encode()).search
        if not self._found.wait_for(lambda: matches(self._recent), seconds):
            raise TimeoutError(f"{text!r} never came, but {self._recent[-300:]!r}")

    def longest_gap(self, since: int) -> float:
        """The longest time between two writes, in seconds, from the write of this number on."""
        return max(after - before for before, after in itertools.pairwise(self.writes[since:]))

    def close(self) -> None:
        """End the program."""
        os.kill(self.pid, signal.SIGTERM)
        os.waitpid(self.pid, 0)


def processor_seconds(pid: int) -> float:
    """What the process has used of the processor so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def resident_megabytes(pid: int) -> float:
    """What the process holds of memory."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * resource.getpagesize() / 1e6


def wait_for(path: Path) -> None:
    """Return when there is a file of this name, or after half a minute."""
    deadline = time.monotonic() + 30
    while not path.exists() and time.monotonic() < deadline:
        time.sleep(0.02)


def centile(values: Sequence[float], share: float) -> float:
    """The value below which this share of the values lies, in milliseconds if they are seconds."""
    return sorted(values)[min(int(len(values) * share), len(values) - 1)] * 1000
