"""``--plain``: append-only lines, asks answered by typed words. For screen readers, logs, pipes and dumb terminals.

It needs no terminal size, moves no cursor and rewrites nothing. An answer names the ask by the number it was printed
with, and counts only when the line was typed after the ask was printed: what waits in a pipe or was typed ahead
answers nothing.
"""

from __future__ import annotations

import io
import os
import select
import signal
import time
from collections.abc import Callable, Iterable, Sequence
from typing import TextIO

from console.attention import Attention, Settings, attend
from console.hosting import Collecting
from console.plain_lines import Lines, clock
from console.prompt import ARMING
from console.sources import Source
from console.text import visible
from console.typed_words import (
    HELP,
    Approve,
    Help,
    Lift,
    ListAll,
    NotUnderstood,
    Quit,
    Reject,
    Revoke,
    ShowAsk,
    Verbose,
    Words,
    understand,
)
from engine.events import Event, Snapshot
from engine.operator import Answer, AskNotOpenError

POLL_SECONDS = 0.1
LINE_BYTES = 4096
"""Longer lines are no words of ours, and are dropped."""
TROUBLE_CHARS = 400
NO_ENGINE = "there is no engine to tell"
BELL_ONLY = Settings(bell=True, title=False, notify=False)


def run_plain(source: Source, out: TextIO, inp: TextIO, *, bell: bool = True) -> int:
    """Print what happens at ``source`` and take typed answers until ``quit``, Ctrl-C or its end; starts and closes it.

    Returns the exit code. ``bell`` rings when ``out`` is a terminal. A source that can only be watched takes no
    words; neither is any taken from the end of the input on.
    """
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _end)
    mode = PlainMode(source, Printer(out), bell=bell and out.isatty())
    typed = None if source.observes else Typed(inp)
    source.start()
    try:
        mode.greet()
        while not mode.left:
            mode.happened(source.drain())
            typed = _take(typed, mode)
    except KeyboardInterrupt:
        mode.say("interrupted")
        return 130
    except _ToldToEndError as told:
        return 128 + told.number
    except OutputClosedError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), out.fileno())  # nothing more is said, also not while closing
        return 0
    except ConnectionError as gone:
        mode.say(f"the engine is gone: {visible(str(gone), TROUBLE_CHARS)}")
        return 1
    finally:
        source.close()
    return 0


class _ToldToEndError(Exception):
    """A signal came that ends a process, and would have left the engine's socket and its waiting agents behind."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def _end(number: int, _frame: object) -> None:
    raise _ToldToEndError(number)


def _take(typed: Typed | None, mode: PlainMode) -> Typed | None:
    """Wait a moment for typed lines and do what they say. Gives None when there will be no more."""
    if typed is None:
        time.sleep(POLL_SECONDS)
        return None
    for line in typed.lines(POLL_SECONDS):
        mode.typed(line)
    if typed.ended:
        mode.input_ended()
        return None
    return typed


class OutputClosedError(Exception):
    """Nobody reads what is printed any more."""


class PlainMode:
    """One operator in line mode. ``left`` is True once they have quit."""

    def __init__(
        self, source: Source, printer: Printer, *, bell: bool, clock_now: Callable[[], float] = time.time
    ) -> None:
        self.left = False
        self._source = source
        self._print = printer
        self._bell = bell
        self._now = clock_now
        self._lines = Lines(answers=not source.observes)
        self._attention = Attention()
        self._collecting = Collecting()
        self._printed_at: dict[int, float] = {}
        self._answered: set[int] = set()
        self._to_leave_answering = False

    def greet(self) -> None:
        """Say what this is."""
        about = "only watching" if self._source.observes else "type help for what can be typed"
        self.say(f"breaker, line mode: {visible(self._source.name)}; {about}")

    def say(self, *lines: str) -> None:
        """Print lines of our own, which must be safe."""
        self._print(lines)

    def happened(self, events: Sequence[Event | Snapshot]) -> None:
        """Print what events are worth a line, and call for the operator."""
        if self._to_leave_answering and self._source.operator:
            self._to_leave_answering = False
            self._only_watch()
        lines = self._lines
        now = self._now()
        self.say(*lines.told(events, now))
        printed = self._now()
        self._printed_at = {number: self._printed_at.get(number, printed) for number in lines.asks}
        self._answered &= lines.asks.keys()
        self._call(now)
        self._collecting.look(now, busy=bool(events or lines.asks))

    @property
    def _open(self) -> list[int]:
        """The asks not answered here; the engine calls one closed a moment after it took the answer."""
        return [number for number in self._lines.asks if number not in self._answered]

    def _call(self, now: float) -> None:
        asks = [] if self._source.observes else [self._lines.asks[number] for number in self._open]
        fresh = {(ask.id, ask.opened) for ask in asks} - set(self._attention.rung)
        self._attention, signals = attend(self._attention, asks, now, focused=True, settings=BELL_ONLY)
        if not signals.bell:
            return
        if self._bell:
            self._print.ring()
        if not fresh:
            open_asks = ", ".join(f"ask {number}" for number in self._open)
            self.say(f"{clock(now)} still waiting for you: {open_asks}")

    def input_ended(self) -> None:
        """Nothing more will be typed."""
        self.say("input has ended: from here on nothing can be answered here, only watched")
        self._to_leave_answering = True

    def _only_watch(self) -> None:
        """Do not let agents wait for one who cannot answer."""
        if not self._source.only_watch():
            self.say("asks wait until somebody else answers or their time is up")

    # -- what is typed ----------------------------------------------------------------------------------------

    def typed(self, line: str) -> None:
        """Do what a line says that was typed just now."""
        words = understand(line)
        if words is not None:
            self.say(*self._answer_to(words))

    def _answer_to(self, words: Words) -> Iterable[str]:
        match words:
            case Approve(number):
                return self._decide(number, "approved", "")
            case Reject(number, note):
                return self._decide(number, "rejected", note)
            case Revoke(number):
                return self._take_back(number, "exemption")
            case Lift(number):
                return self._take_back(number, "refusal")
            case Quit(anyway):
                return self._quit(anyway=anyway)
            case _:
                return self._tell(words)

    def _tell(self, words: ShowAsk | Verbose | ListAll | Help | NotUnderstood) -> Iterable[str]:
        lines = self._lines
        match words:
            case ShowAsk(number):
                return lines.ask_lines(number, self._now()) if number in lines.asks else (self._no_ask(number),)
            case Verbose(on):
                lines.verbose = on
                return ("printing every call" if on else "printing what matters",)
            case ListAll():
                return lines.list_lines(self._now())
            case Help():
                return HELP
            case NotUnderstood(instead):
                return (f"not understood; for example: {instead}",)

    def _decide(self, number: int, answer: Answer, note: str) -> Iterable[str]:
        """The one place that answers: the ask is open, and was printed long enough ago to have been read."""
        ask = self._lines.asks.get(number)
        if ask is None:
            return (self._no_ask(number),)
        if self._now() - self._printed_at.get(number, float("inf")) < ARMING:
            return (f"too soon: ask {number} was printed this moment; read it, then type that again",)
        operator = self._source.operator
        if operator is None:
            return (NO_ENGINE,)
        try:
            operator.answer(ask.id, answer, note)
        except AskNotOpenError as late:
            return (f"ask {number}: {visible(str(late), TROUBLE_CHARS)}",)
        self._answered.add(number)
        return (f"{answer}: ask {number}",)

    def _no_ask(self, number: int) -> str:
        open_asks = ", ".join(f"ask {one}" for one in self._open)
        return f"there is no open ask {number}; open: {open_asks}" if open_asks else "no ask is open"

    def _take_back(self, number: int, kind: str) -> Iterable[str]:
        rule = self._lines.rules.get(number)
        if rule is None or rule[0] != kind:
            return (f"there is no {kind} {number}; list shows those there are",)
        operator = self._source.operator
        if operator is None:
            return (NO_ENGINE,)
        act = operator.revoke if kind == "exemption" else operator.lift
        return () if act(rule[1], rule[2]) else (f"{kind} {number} is not in force any more",)

    def _quit(self, *, anyway: bool) -> Iterable[str]:
        waiting = len(self._open)
        if waiting and not anyway:
            asks = "1 ask is open." if waiting == 1 else f"{waiting} asks are open."
            return (asks, *self._source.leaving, "to leave, type: quit anyway")
        self.left = True
        return ("leaving",)


class Printer:
    """Writes lines that any stream can take: what its encoding lacks is written as an escape like ``\\u2026``."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._encoding = out.encoding or "utf-8"

    def __call__(self, lines: Iterable[str]) -> None:
        text = "".join(f"{line}\n" for line in lines)
        if text:
            self._write(text.encode(self._encoding, "backslashreplace").decode(self._encoding))

    def ring(self) -> None:
        self._write("\a")

    def _write(self, text: str) -> None:
        try:
            self._out.write(text)
            self._out.flush()
        except BrokenPipeError as error:
            raise OutputClosedError from error


class Typed:
    """Lines as they are typed, read without a thread: one that blocks in a read cannot be ended."""

    def __init__(self, inp: TextIO) -> None:
        self.ended = False
        self._rest = b""
        self._overlong = False
        try:
            self._handle = inp.fileno()
        except (io.UnsupportedOperation, AttributeError, ValueError):
            self._handle = -1
            self.ended = True

    def lines(self, seconds: float) -> list[str]:
        """The lines that were completed within ``seconds``; returns early when something was typed."""
        if self._handle < 0 or not select.select([self._handle], [], [], seconds)[0]:
            return []
        read = os.read(self._handle, LINE_BYTES)
        self.ended = not read
        *complete, self._rest = (self._rest + read).split(b"\n")
        lines = [line.decode(errors="replace") for line in complete]
        if self._overlong and lines:
            del lines[0]
            self._overlong = False
        if len(self._rest) > LINE_BYTES:
            self._rest, self._overlong = b"", True
        return lines
