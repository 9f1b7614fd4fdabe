"""The engine inside another program: in a thread of its own, on a loop of its own, behind its socket.

::

    with Host(load(path), socket=socket_path()) as host:
        operator = host.operator()          # now asks wait for an answer
        feed = operator.subscribe()
        ...
        operator.answer("ask-1", "approved")

Whoever holds the ``Host`` may answer: that is what makes a console that hosts the engine the operator's.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import structs

from engine.config import DEFAULTS, Config
from engine.configuration.file import Loaded
from engine.configuration.layer import ConfigError
from engine.harnesses.endpoint import Endpoint
from engine.harnesses.hooks import Hooks
from engine.journal import Journal
from engine.journal_reader import recover
from engine.local_operator import LocalOperator
from engine.operator import Operator
from engine.paths import operator_socket_path, socket_path
from engine.server import Server
from engine.service.connection import HookHandler
from engine.service.desk import Desk
from engine.service.feed import BoundedFeed, Listener

if TYPE_CHECKING:
    from engine.http_hooks import HttpHooks

GONE = "The engine has stopped."
FAULT_SECONDS, FAULTS_KNOWN = 10.0, 32
"""How seldom one and the same fault is told, and of how many faults that is known."""

Given = TypeVar("Given")


class Host:
    """An engine, from ``start`` to ``stop``; both may be called from any thread but its own.

    ``config``: a loaded one is reloaded whenever its files change. ``journal`` is the directory to write to and to
    recover from; None keeps no record. ``hook`` serves the harnesses' hooks, by default all that are known; with
    ``http`` also there, over HTTP. ``announce`` opens the operators' socket beside the agents', and is given each
    token, in the engine's thread. ``listeners`` are called with every event, in the engine's thread, while the agent
    waits: they must be quick. ``adjust`` changes what the files say, now and after every reload.
    """

    def __init__(  # noqa: PLR0913 - options, each by its name
        self,
        config: Loaded | Config = DEFAULTS,
        *,
        socket: Path | None = None,
        journal: Path | None = None,
        hook: HookHandler | None = None,
        http: Endpoint | None = None,
        announce: Callable[[str], None] | None = None,
        listeners: Iterable[Listener] = (),
        adjust: Callable[[Config], Config] = lambda config: config,
    ) -> None:
        self._loaded = config if isinstance(config, Loaded) else Loaded(config, "the host's own")
        self._path = socket
        self._journal = journal
        self._hook = hook
        self._http = http
        self._announce = announce
        self._listeners = tuple(listeners)
        self._adjust = adjust
        self._early: list[BoundedFeed] = []
        self._early_operators: list[Operator] = []
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._calls: set[Future[Any]] = set()
        self._running: tuple[asyncio.AbstractEventLoop, Desk] | None = None
        self._stop: asyncio.Event | None = None
        self._wanted = True

    # -- its life ---------------------------------------------------------------------------------------------

    def __enter__(self) -> Host:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start to serve. Raises what keeps it from that: EngineRunningError, PathError, SocketError."""
        if self._thread:
            raise RuntimeError("a Host is started once")
        started: Future[None] = Future()
        self._thread = threading.Thread(target=self._run, args=(started,), name="breaker-engine", daemon=True)
        self._thread.start()
        try:
            started.result()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Refuse whoever waits, take the socket away, close the journal. Returns when all that is done."""
        with self._lock:
            self._wanted = False
            if self._running and self._stop:
                self._running[0].call_soon_threadsafe(self._stop.set)
        if self._thread and self._thread.is_alive():
            self._thread.join()

    @property
    def alive(self) -> bool:
        """Whether the engine is serving."""
        return self._running is not None

    @property
    def socket(self) -> Path:
        """Where agents find it."""
        return self._path or socket_path()

    # -- what may be done with it -----------------------------------------------------------------------------

    def operator(self) -> Operator:
        """An operator, here in this process; asks wait for an answer as long as there is one.

        One who is there before the start is there for the first call: nothing is refused because nobody was.
        """
        operator = LocalOperator(self)
        if self._thread is None:
            self._early_operators.append(operator)
        else:
            self.call(Desk.attach)
        return operator

    def leave(self, operator: Operator) -> None:
        """An operator of ``operator()`` has closed. Not for others."""
        with self._lock:
            if self._running is None and operator in self._early_operators:
                self._early_operators.remove(operator)
                return
        with contextlib.suppress(ConnectionError):
            self.call(Desk.detach)

    def subscribe(self) -> BoundedFeed:
        """Watch without being an operator; who subscribes before the start misses nothing that comes with it."""
        feed = BoundedFeed(
            lambda behind: self._post(lambda desk: desk.resync(behind)),
            closed=lambda closed: self._post(lambda desk: desk.unsubscribe(closed)),
        )
        if self._thread is None:
            self._early.append(feed)
        else:
            self.call(lambda desk: desk.subscribe(feed))
        return feed

    def call(self, action: Callable[[Desk], Given]) -> Given:
        """Do something with the desk in the engine's thread, and wait for it.

        Raises ConnectionError when the engine is gone, and what the action raises.
        """
        if self._thread is threading.current_thread():
            raise RuntimeError("the engine's own thread cannot wait for itself")
        done: Future[Given] = Future()
        with self._lock:
            if self._running is None:
                raise ConnectionError(GONE)
            loop, desk = self._running
            try:
                loop.call_soon_threadsafe(_do, action, desk, done)
            except RuntimeError as error:  # the loop has just been closed by a fault
                raise ConnectionError(GONE) from error
            self._calls.add(done)
        try:
            return done.result()
        finally:
            with self._lock:
                self._calls.discard(done)

    def _post(self, action: Callable[[Desk], None]) -> None:
        with self._lock:
            if self._running:
                loop, desk = self._running
                loop.call_soon_threadsafe(action, desk)

    # -- the engine's thread ----------------------------------------------------------------------------------

    def _run(self, started: Future[None]) -> None:
        try:
            with asyncio.Runner(loop_factory=fast_loop()) as runner:
                runner.run(self._serve(started))
        except BaseException as fault:
            if started.done():
                raise
            started.set_exception(fault)
        finally:
            with self._lock:
                self._running = None
                for call in self._calls:
                    if not call.done():
                        call.set_exception(ConnectionError(GONE))
                self._calls.clear()

    async def _serve(self, started: Future[None]) -> None:
        loaded, path, config = self._loaded, self.socket, self._adjust(self._loaded.config)
        desk = Desk(config, config_source=loaded.source, listeners=self._listeners)
        asyncio.get_running_loop().set_exception_handler(_fault_reporter(desk))
        for feed in self._early:
            desk.subscribe(feed)
        operator_path = operator_socket_path(path) if self._announce else None
        hook = self._hook or Hooks()
        async with contextlib.AsyncExitStack() as ending:
            record = ending.enter_context(contextlib.ExitStack())  # closed last: what ends is recorded, too
            server = Server(desk, path, hook=hook, operator_path=operator_path, announce=self._announce)
            ending.push_async_callback(server.stop)
            http = _http_hooks(desk, hook, self._http)
            if http:
                ending.push_async_callback(http.stop)
            if self._journal:
                record.callback(_remember(desk, self._journal, path).close)
            desk.reconfigure(config, loaded.source, loaded.warnings)
            ending.callback(desk.close, GONE)
            with self._lock:
                early = tuple(self._early_operators)
            for _ in early:
                desk.attach()
            if loaded.sources.files:
                ending.callback(_reload(desk, loaded, self._adjust).cancel)
            await server.start()
            if http:
                await http.start()
            stop = asyncio.Event()
            with self._lock:
                self._stop = stop
                self._running = (asyncio.get_running_loop(), desk)
                left = [one for one in early if one not in self._early_operators]
                if not self._wanted:
                    stop.set()
            for _ in left:
                desk.detach()
            started.set_result(None)
            await stop.wait()
            with self._lock:
                self._running = None


def fast_loop() -> Callable[[], asyncio.AbstractEventLoop]:
    """Makes the fastest event loop that is installed: uvloop's, with the extra ``fast``."""
    try:
        import uvloop  # noqa: PLC0415 - an extra
    except ImportError:
        return asyncio.new_event_loop
    return uvloop.new_event_loop


def _do(action: Callable[[Desk], Given], desk: Desk, done: Future[Given]) -> None:
    try:
        done.set_result(action(desk))
    except Exception as fault:  # noqa: BLE001 - it is raised where it was asked for
        done.set_exception(fault)


def _http_hooks(desk: Desk, hook: HookHandler, endpoint: Endpoint | None) -> HttpHooks | None:
    if endpoint is None:
        return None
    from engine.http_hooks import HttpHooks  # noqa: PLC0415 - h11, for those who have such hooks

    return HttpHooks(desk, hook, endpoint)


def _remember(desk: Desk, directory: Path, path: Path) -> Journal:
    """Go on where the last engine at this socket stopped, and write down what happens from here on."""
    served = str(path.absolute())
    past = recover(directory, desk.breaker.config, served)
    desk.breaker.restore(past.checkpoint)
    journal = Journal(
        directory,
        checkpoint=lambda: structs.replace(desk.breaker.checkpoint(), socket=served),
        on_fault=lambda text: desk.report("warning", text),
    )
    desk.listen(journal)
    for warning in past.warnings:
        desk.report("warning", warning)
    return journal


def _reload(desk: Desk, loaded: Loaded, adjust: Callable[[Config], Config]) -> asyncio.Task[None]:
    """Take every change of the configuration's files into force, as long as the task runs."""
    from engine.configuration.reload import watch  # noqa: PLC0415 - watchfiles, for those who have a file

    def changed(found: Loaded | ConfigError) -> None:
        if isinstance(found, ConfigError):
            desk.refuse_config(loaded.source, str(found))
        else:
            desk.reconfigure(adjust(found.config), found.source, found.warnings)

    async def watching() -> None:
        try:
            await watch(loaded, changed)
        except Exception as fault:  # noqa: BLE001 - the configuration in force stays, and the operator is told
            desk.blame("watching the configuration", fault)

    return asyncio.get_running_loop().create_task(watching())


def _fault_reporter(desk: Desk) -> Callable[[asyncio.AbstractEventLoop, dict[str, Any]], None]:
    """Tells the operator of a loop's faults; of one that comes over and over (no file is left to open) now and then."""
    told: dict[str, float] = {}

    def report(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        text = f"Fault in the engine: {context.get('message', '')} {context.get('exception')!r:.500}"
        now = time.monotonic()
        if now - told.get(text, -FAULT_SECONDS) >= FAULT_SECONDS:
            if len(told) >= FAULTS_KNOWN:
                told.clear()
            told[text] = now
            desk.report("error", text)

    return report
