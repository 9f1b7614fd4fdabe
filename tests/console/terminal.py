"""A terminal for tests: a program in a real pty, and an emulator that shows what a person would see.

::

    with Terminal([sys.executable, "-m", "console", "demo"], columns=80, rows=24) as terminal:
        terminal.wait_for("ask 1 of 1")
        terminal.send("a")

Nothing sleeps: ``wait_for`` reads what the program writes until it holds or its deadline passes, and then fails with
the screen as it stands.
"""

from __future__ import annotations

import codecs
import os
import re
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pexpect
import pyte

from console.text import cells

DEADLINE = 30.0
"""Seconds; long, because it is only waited for when a test is about to fail."""
_POLL = 0.05

_OSC = re.compile(rb"(?:\x1b\]|\xc2\x9d)([^\x07\x1b\x9c]*)(?:\x07|\x1b\\|\xc2\x9c|\x9c)")
_CLIENT_VARIABLES = frozenset(
    {"COLUMNS", "LINES", "TMUX", "STY", "NO_COLOR", "COLORTERM", "VTE_VERSION", "TERM_PROGRAM", "BREAKER_SOCKET"}
)
"""Of the terminal that runs the tests: the one made here is another."""


class Screen(pyte.Screen):
    """Counts bells. Sequences newer than the emulator are taken, and change nothing."""

    def __init__(self, columns: int, rows: int, answer: Callable[[str], None]) -> None:
        self.bells = 0
        self._answer = answer
        super().__init__(columns, rows)

    def bell(self, *_args: Any) -> None:
        self.bells += 1

    def write_process_input(self, data: str) -> None:
        self._answer(data)

    def select_graphic_rendition(self, *attrs: int, private: bool = False) -> None:
        """``CSI > 4 ; 1 m`` sets how keys are reported, not how text looks."""
        if not private:
            super().select_graphic_rendition(*attrs)

    def restore_cursor(self, *_args: Any, **_private: Any) -> None:
        """``CSI … u`` without an argument restores; with one it is about the keyboard."""
        if not _args and not _private:
            super().restore_cursor()

    def report_device_status(self, mode: int = 0, **private: Any) -> None:
        if not private:
            super().report_device_status(mode)


class Terminal:
    """``command`` in a pty of its own, in ``directory``, with ``environment`` on top of this process's."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        columns: int = 100,
        rows: int = 30,
        environment: Mapping[str, str] | None = None,
        term: str = "xterm-256color",
        directory: Path | None = None,
    ) -> None:
        variables = {name: value for name, value in os.environ.items() if name not in _CLIENT_VARIABLES}
        variables |= {"TERM": term, "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "PYTHONUTF8": "1", **(environment or {})}
        self.raw = bytearray()
        self._written = ""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._screen = Screen(columns, rows, self._reply)
        self._stream = pyte.ByteStream(self._screen)
        self._child: Any = pexpect.spawn(
            command[0],
            list(command[1:]),
            env=variables,
            cwd=directory,
            dimensions=(rows, columns),
            timeout=DEADLINE,
            echo=False,
        )
        self._child.delaybeforesend = None
        self._child.delayafterclose = 0.05
        self._child.delayafterterminate = 0.05

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # -- what is seen -----------------------------------------------------------------------------------------

    def lines(self) -> list[str]:
        """The screen, line by line, without trailing blanks."""
        self.read()
        return [line.rstrip() for line in self._screen.display]

    def screen(self) -> str:
        """The screen as one text."""
        return "\n".join(self.lines())

    @property
    def title(self) -> str:
        """The window's title as the program set it last."""
        return self.titles[-1] if self.titles else ""

    @property
    def titles(self) -> list[str]:
        """Every title the program has set."""
        return [body.partition(";")[2] for body in self.operating_system_commands() if body.startswith(("0;", "2;"))]

    @property
    def bells(self) -> int:
        """How often it rang."""
        self.read()
        return self._screen.bells

    @property
    def written(self) -> str:
        """Everything the program wrote, as it was written."""
        self.read()
        return self._written

    def operating_system_commands(self, number: int | None = None) -> list[str]:
        """The bodies of the OSC sequences it wrote (0, 2: title; 8: link; 9, 777: notification; 52: clipboard)."""
        self.read()
        bodies = [body.decode(errors="replace") for body in _OSC.findall(bytes(self.raw))]
        return [body for body in bodies if number is None or body.split(";", 1)[0] == str(number)]

    # -- waiting ----------------------------------------------------------------------------------------------

    def read(self, seconds: float = 0.0) -> bool:
        """Take in what the program wrote, waiting up to ``seconds`` for the first of it. False at its end."""
        wait = seconds
        while True:
            try:
                read: bytes = self._child.read_nonblocking(65536, timeout=wait)
            except pexpect.TIMEOUT:
                return True
            except pexpect.EOF:
                return False
            self.raw += read
            self._written += self._decoder.decode(read)
            self._stream.feed(read)
            wait = 0

    def wait_until(self, holds: Callable[[], bool], what: str, timeout: float = DEADLINE) -> None:
        """Read until ``holds()``; fails with ``what`` was waited for and the screen."""
        deadline = time.monotonic() + timeout
        running = True
        while not holds():
            if not running or time.monotonic() > deadline:
                state = "still running" if running else "ended"
                raise AssertionError(f"waited for {what}; the program is {state}; the screen:\n{self.screen()}")
            running = self.read(_POLL)

    def wait_for(self, text: str, timeout: float = DEADLINE) -> None:
        """Wait until ``text`` stands on the screen, within a line."""
        self.wait_until(lambda: text in self.screen(), repr(text), timeout)

    def wait_for_absence(self, text: str, timeout: float = DEADLINE) -> None:
        """Wait until ``text`` stands nowhere on the screen."""
        self.wait_until(lambda: text not in self.screen(), f"{text!r} to go", timeout)

    def wait_for_written(self, text: str, timeout: float = DEADLINE) -> None:
        """Wait until ``text`` has been written, whether or not it is still in sight."""
        self.wait_until(lambda: text in self.written, f"{text!r} to be written", timeout)

    def wait_for_exit(self, timeout: float = DEADLINE) -> int:
        """Wait until the program has ended; its exit code, or the negated signal that ended it."""
        deadline = time.monotonic() + timeout
        while self.read(_POLL):
            if time.monotonic() > deadline:
                raise AssertionError(f"waited for the program's end; the screen:\n{self.screen()}")
        self._child.wait()
        code = self._child.exitstatus
        return int(code) if code is not None else -int(self._child.signalstatus or 0)

    # -- what a person does -----------------------------------------------------------------------------------

    def send(self, keys: str) -> None:
        """Type, exactly this and at once."""
        self._child.send(keys)

    def send_line(self, line: str) -> None:
        """Type a line and Enter."""
        self._child.send(line + "\r")

    def insist(self, line: str, done: str, refused: str, timeout: float = DEADLINE) -> None:
        """Type a line until ``done`` is written, again whenever the program wrote ``refused`` instead."""
        deadline = time.monotonic() + timeout
        while done not in self.written and time.monotonic() < deadline:
            before = self.written.count(refused)
            self.send_line(line)
            self.wait_until(
                lambda before=before: done in self.written or self.written.count(refused) > before,  # type: ignore[misc]
                f"{done!r} or {refused!r}",
            )
            self.read(_POLL)
        self.wait_for_written(done, timeout=0)

    def paste(self, text: str) -> None:
        """Paste, as a terminal with bracketed paste does."""
        self._child.send(f"\x1b[200~{text}\x1b[201~")

    def click(self, text: str) -> None:
        """Press and release the left button on the first cell of ``text`` (SGR mouse reports)."""
        for row, line in enumerate(self.lines(), 1):
            if (index := line.find(text)) >= 0:
                column = cells(line[:index]) + 1
                self._child.send(f"\x1b[<0;{column};{row}M\x1b[<0;{column};{row}m")
                return
        raise AssertionError(f"{text!r} is not on the screen:\n{self.screen()}")

    def resize(self, columns: int, rows: int) -> None:
        """Give the window another size."""
        self._screen.resize(rows, columns)
        self._child.setwinsize(rows, columns)

    def interrupt(self) -> None:
        """Ctrl-C, as a terminal sends it."""
        self._child.send("\x03")

    def vanish(self) -> None:
        """Close the window: nobody reads any more, and the program is told so."""
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, self._child.child_fd)
        os.close(nothing)

    @property
    def pid(self) -> int:
        """The program's process."""
        return int(self._child.pid)

    @property
    def running(self) -> bool:
        """Whether the program runs."""
        return bool(self._child.isalive())

    def close(self) -> None:
        """End the program, as a terminal that is closed does, or harder when it does not go."""
        for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGKILL):
            deadline = time.monotonic() + 3
            if self._child.isalive():
                self._child.kill(number)
            while self._child.isalive() and time.monotonic() < deadline:
                self.read(_POLL)
            if not self._child.isalive():
                break
        self._child.close(force=True)

    def _reply(self, data: str) -> None:
        if self._child.isalive():
            self._child.send(data)
