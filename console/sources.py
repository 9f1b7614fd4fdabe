"""Where a console's events come from, and whom it asks to answer: one screen lives on any of them.

The engine is imported only when a source starts, in its thread: what is on the screen first needs none of it.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from engine.events import Event, Notice, Snapshot
from engine.operator import Feed, Operator

if TYPE_CHECKING:
    from engine.config import Config
    from engine.host import Host

READ_AHEAD = 20_000
"""Events of a followed journal that wait to be drawn; then its reading waits."""
FULL_SECONDS = 0.05
TYPES_TOLD = 20
"""Types of lines that are not known: so many are told of, each once."""


class Source(Protocol):
    """An engine seen from the console. No method but ``close`` waits."""

    @property
    def name(self) -> str:
        """What it is, for the status line; raw text."""
        ...

    @property
    def leaving(self) -> tuple[str, ...]:
        """What happens when this console goes, in lines for a person; empty when nothing does."""
        ...

    @property
    def operator(self) -> Operator | None:
        """Whom to ask to answer: None while it starts, and for ever when it can only be watched."""
        ...

    @property
    def observes(self) -> bool:
        """Whether it can only be watched."""
        ...

    def start(self) -> None:
        """Begin, in a thread of its own."""
        ...

    def drain(self) -> list[Event | Snapshot]:
        """What came since the last call. Raises ConnectionError, with a line for a person, when it is gone."""
        ...

    def only_watch(self) -> bool:
        """Nobody here can answer any more: be no operator, but go on draining. False when that is not possible."""
        ...

    def close(self) -> None:
        """End; returns when it has ended."""
        ...


class HostSource:
    """An engine in this process. ``make`` makes the ``Host``, in the source's thread; it may raise.

    ``failed`` holds what kept the engine from starting; then ``drain`` raises.
    """

    observes = False
    leaving = (
        "This console is the engine: it stops with it.",
        "Calls that wait for you are refused.",
        "From then on agents run without a breaker, but those whose hooks were installed with --fail-closed.",
    )

    def __init__(self, make: Callable[[], Host], name: str) -> None:
        self.name = name
        self.operator: Operator | None = None
        self.failed: Exception | None = None
        self._make = make
        self._host: Host | None = None
        self._feed: Feed | None = None
        self._thread = threading.Thread(target=self._run, name="breaker-start", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def _run(self) -> None:
        try:
            host = self._make()
            operator = host.operator()
            feed = operator.subscribe()
            host.start()
            self._host, self._feed, self.operator = host, feed, operator
        except Exception as error:  # noqa: BLE001 - told to the person who started it, by who drains
            self.failed = error

    def drain(self) -> list[Event | Snapshot]:
        if self.failed is not None:
            raise ConnectionError(str(self.failed))
        return self._feed.drain() if self._feed else []

    def only_watch(self) -> bool:
        operator, host = self.operator, self._host
        if operator is None or host is None:
            return False
        self._feed = host.subscribe()
        self.operator = None
        operator.close()
        return True

    def close(self) -> None:
        if self._thread.ident:
            self._thread.join()
        if self.operator:
            self.operator.close()
        if self._host:
            self._host.stop()


class AttachSource:
    """An engine that runs elsewhere, whose operator this console already is."""

    observes = False
    failed: Exception | None = None
    leaving = (
        "The engine goes on without this console.",
        "Calls that wait for you are refused, and so is what would be asked, until somebody attaches again.",
    )

    def __init__(self, operator: Operator, name: str) -> None:
        self.name = name
        self.operator: Operator | None = operator
        self._feed: Feed | None = None
        self._fault = ""

    def start(self) -> None:
        threading.Thread(target=self._run, name="breaker-attach", daemon=True).start()

    def _run(self) -> None:
        try:
            if self.operator:
                self._feed = self.operator.subscribe()
        except ConnectionError as error:
            self._fault = str(error)

    def drain(self) -> list[Event | Snapshot]:
        if self._fault:
            raise ConnectionError(self._fault)
        return self._feed.drain() if self._feed else []

    def only_watch(self) -> bool:
        return False

    def close(self) -> None:
        if self.operator:
            self.operator.close()


class TailSource:
    """A journal that another process writes: to be watched only."""

    observes = True
    operator = None
    failed: Exception | None = None
    leaving: tuple[str, ...] = ()

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        self._path = path
        self._events: deque[Event | Snapshot] = deque()
        self._stop = threading.Event()
        self._fault = ""
        self._thread = threading.Thread(target=self._run, name="breaker-tail", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def _run(self) -> None:
        try:
            for event in self._found():
                self._events.append(event)
                while len(self._events) >= READ_AHEAD and not self._stop.wait(FULL_SECONDS):
                    pass
                if self._stop.is_set():
                    return
        except OSError as error:
            self._fault = f"{self._path} cannot be read: {error.strerror}"

    def _found(self) -> Iterator[Event | Snapshot]:
        from engine.journal_reader import Damaged, follow  # noqa: PLC0415 - after the first paint

        for found in follow(self._path, stop=self._stop):
            yield Notice(time.time(), "warning", str(found)) if isinstance(found, Damaged) else found

    def drain(self) -> list[Event | Snapshot]:
        drained: list[Event | Snapshot] = []
        while self._events:
            drained.append(self._events.popleft())
        if not drained and self._fault:
            raise ConnectionError(self._fault)
        return drained

    def only_watch(self) -> bool:
        return True

    def close(self) -> None:
        self._stop.set()
        if self._thread.ident:
            self._thread.join()


class TranscriptSource(TailSource):
    """A session that a harness writes, and no breaker guards: what one would have done is to be watched.

    ``load`` gives the configuration to judge by, in the source's thread; it may raise ConfigError.
    """

    def __init__(self, path: Path, load: Callable[[], Config]) -> None:
        super().__init__(path)
        self._load = load

    def _found(self) -> Iterator[Event | Snapshot]:
        from engine.configuration.file import ConfigError  # noqa: PLC0415 - after the first paint
        from engine.session_items import Damaged, Unknown  # noqa: PLC0415 - as above
        from engine.sessions import NotASessionError  # noqa: PLC0415 - as above
        from engine.transcripts.watch import watch_session  # noqa: PLC0415 - as above

        types: set[str] = set()
        try:
            for found in watch_session(self._path, self._stop, self._load()):
                if isinstance(found, Damaged):
                    where = f"{found.file or self._path}, line {found.line}"
                    yield Notice(time.time(), "warning", f"{where}: passed over, {found.problem}")
                elif isinstance(found, Unknown):
                    if found.type not in types and len(types) < TYPES_TOLD:
                        types.add(found.type)
                        text = f"lines of the type {found.type[:40]!r} are not known, and passed over"
                        yield Notice(time.time(), "info", text)
                else:
                    yield found
        except NotASessionError as error:
            self._fault = f"{self._path}: {error}"
        except ConfigError as error:
            self._fault = str(error)
