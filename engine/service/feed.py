"""Events on their way to subscribers. A subscriber that falls behind costs a bounded amount, never a growing queue.

The hub lives on the engine's loop; a feed is drained from any thread.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable

from msgspec import structs

from engine.events import ConfigChanged, Event, Notice, Snapshot

FEED_EVENTS = 10_000
FEED_BYTES = 64 * 1024 * 1024
"""What a feed keeps for its subscriber: so many events, from frames of so many bytes. Beyond it, it starts afresh."""

SNAPSHOTS_KEPT = 4
"""Snapshots that wait for a subscriber at once: each may be large, and nothing else bounds them."""
NOTICES_KEPT = 20

Listener = Callable[[Event], None]


class BoundedFeed:
    """A ``Feed``. It begins, and after it fell behind begins again, with a snapshot.

    ``resync`` is called, from the draining thread, when a subscriber that fell behind has come back: whoever
    produces the events then calls ``restart``. ``wake`` is called, from the producing thread, when something
    came to an empty feed.
    """

    def __init__(
        self,
        resync: Callable[[BoundedFeed], None],
        *,
        closed: Callable[[BoundedFeed], None],
        wake: Callable[[], None] | None = None,
        events: int = FEED_EVENTS,
        size: int = FEED_BYTES,
    ) -> None:
        self._resync = resync
        self._closed = closed
        self._wake = wake
        self._most_events = events
        self._most_bytes = size
        self._lock = threading.Lock()
        self._kept: deque[Event | Snapshot] = deque()
        self._bytes = 0
        self._missed = 0
        self._state = "starting"
        self._gone = ""

    # -- the producing thread ---------------------------------------------------------------------------------

    def publish(self, event: Event, size: int = 0) -> None:
        """Add an event that came from a frame of ``size`` bytes."""
        with self._lock:
            if self._state in {"behind", "resyncing"}:
                self._missed += 1
                return
            if self._state != "live":
                return
            if len(self._kept) >= self._most_events or self._bytes + size > self._most_bytes:
                self._lose()
                self._missed += 1
                self._state = "behind"
            else:
                self._kept.append(event)
                self._bytes += size
            first = len(self._kept) <= 1
        if first and self._wake:
            self._wake()

    def restart(self, snapshot: Snapshot) -> None:
        """Begin, or begin again, with ``snapshot``; it is told how many events this feed lost."""
        with self._lock:
            if self._state == "closed":
                return
            if sum(isinstance(one, Snapshot) for one in self._kept) >= SNAPSHOTS_KEPT:
                self._lose()
            if self._missed:
                snapshot = structs.replace(snapshot, missed=snapshot.missed + self._missed)
            self._kept.append(snapshot)
            self._missed = 0
            self._state = "live"
        if self._wake:
            self._wake()

    def _lose(self) -> None:
        self._missed += sum(one.missed if isinstance(one, Snapshot) else 1 for one in self._kept)
        self._kept.clear()
        self._bytes = 0

    def end(self, why: str) -> None:
        """There will be no more events: ``drain`` raises ConnectionError(why) once what is kept was taken."""
        with self._lock:
            self._gone = why

    # -- the draining thread ----------------------------------------------------------------------------------

    def drain(self, most: int = FEED_EVENTS) -> list[Event | Snapshot]:
        """What came since the last call, at most so much, in order, without waiting. Any thread.

        Raises ConnectionError when the engine is gone and everything it said was drained.
        """
        with self._lock:
            kept = self._kept
            drained = [kept.popleft() for _ in range(min(most, len(kept)))]
            if not kept:
                self._bytes = 0
            behind = self._state == "behind"
            if behind:
                self._state = "resyncing"
            if not drained and self._gone:
                raise ConnectionError(self._gone)
        if behind:
            self._resync(self)
        return drained

    def close(self) -> None:
        """Stop listening."""
        with self._lock:
            self._state = "closed"
            self._kept.clear()
        self._closed(self)


class Hub:
    """Hands every event to listeners, as it happens, and to feeds.

    A listener that raises loses that event and is heard of once, in a ``Notice``; nobody else notices. Who comes
    later is told, after its snapshot, the latest notices and what was wrong with the configuration.
    """

    def __init__(self, listeners: Iterable[Listener], clock: Callable[[], float]) -> None:
        self._listeners = list(listeners)
        self._clock = clock
        self._feeds: list[BoundedFeed] = []
        self._faulty: set[int] = set()
        self._standing: deque[Notice | ConfigChanged] = deque(maxlen=NOTICES_KEPT)

    def listen(self, listener: Listener) -> None:
        """Add a listener."""
        self._listeners.append(listener)

    def publish(self, event: Event, size: int = 0) -> None:
        """Hand on one event, which came from a frame of ``size`` bytes."""
        if isinstance(event, Notice | ConfigChanged):
            self._keep(event)
        for listener in self._listeners:
            try:
                listener(event)
            except Exception as fault:  # noqa: BLE001 - whatever a listener does, the call is decided
                self._blame(listener, fault)
        for feed in self._feeds:
            feed.publish(event, size)

    def add(self, feed: BoundedFeed, snapshot: Snapshot) -> None:
        """Start to serve a feed."""
        self._feeds.append(feed)
        feed.restart(snapshot)
        for event in self._standing:
            feed.publish(event)

    def restart(self, feed: BoundedFeed, snapshot: Callable[[], Snapshot]) -> None:
        """Begin again with a feed that fell behind, if it is still served."""
        if feed in self._feeds:
            feed.restart(snapshot())

    def remove(self, feed: BoundedFeed) -> None:
        """Stop serving a feed."""
        if feed in self._feeds:
            self._feeds.remove(feed)

    def restart_all(self, snapshot: Callable[[], Snapshot]) -> None:
        """Give every subscriber a fresh snapshot."""
        if not self._feeds:
            return
        fresh = snapshot()
        for feed in self._feeds:
            feed.restart(fresh)

    def end(self, why: str) -> None:
        """No more events, for anybody."""
        for feed in self._feeds:
            feed.end(why)
        self._feeds.clear()

    def _keep(self, event: Notice | ConfigChanged) -> None:
        if isinstance(event, ConfigChanged):
            for former in [one for one in self._standing if isinstance(one, ConfigChanged)]:
                self._standing.remove(former)
            if not event.error and not event.warnings:
                return
        self._standing.append(event)

    def _blame(self, listener: Listener, fault: Exception) -> None:
        if id(listener) in self._faulty:
            return
        self._faulty.add(id(listener))
        what = getattr(listener, "__qualname__", type(listener).__qualname__)
        self.publish(Notice(self._clock(), "error", f"{what} failed and lost an event: {fault!r}"))
