"""A connection that carries lines: fair to the others, and bounded whatever the peer does or fails to do."""

from __future__ import annotations

import asyncio
import threading
from abc import ABC, abstractmethod
from collections import deque
from time import perf_counter
from typing import Any, ClassVar, cast

from engine.service.fairness import Rounds
from engine.service.frames import Lines, Overlong

SLICE, SLICE_SECONDS = 32, 0.005
"""Lines served in one go, and how long, before the other connections are served."""
WRITE_HIGH_WATER = 256 * 1024
"""Bytes a peer may leave unread before it is no longer read from."""
READ_BYTES = 256 * 1024
"""Bytes read in one go."""


class _Shared(threading.local):
    """What all connections of a loop share."""

    def __init__(self) -> None:
        self.rounds = Rounds()
        self.buffer = memoryview(bytearray(READ_BYTES))
        """What they read into: each is done with it before the next one reads. Without it asyncio asks the system for
        this much memory at every read, and gives it back."""


_shared = _Shared()


class LineProtocol(asyncio.BufferedProtocol, ABC):
    """Reads lines and writes lines.

    A peer that does not read its answers is not read from any more, so what it costs is what it had sent by
    then. Lines that came in one burst are served ``SLICE`` at a time, and those of an ``urgent`` peer before those of
    others. End of file means that the peer is gone, for there is no telling a peer that only closed its writing end
    from one that died.
    """

    urgent: ClassVar[bool] = False

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._buffer = memoryview(b"")
        self._rounds = _shared.rounds
        self._lines = Lines()
        self._todo: deque[bytes | Overlong] = deque()
        self._out: list[bytes] = []
        self._collecting = False
        self._reading = True
        self._scheduled = False
        self._ended = False
        self._is_gone = False
        self.backed_up = False
        self._held = False

    # -- for those who extend it ------------------------------------------------------------------------------

    @abstractmethod
    def line_received(self, line: bytes) -> None:
        """Serve one line."""

    @abstractmethod
    def overlong_received(self, line: Overlong) -> None:
        """Answer a line that was skipped."""

    def opened(self) -> bool:
        """Somebody connected. False turns them away."""
        return True

    def gone(self) -> None:
        """The peer is gone, or as good as: called once. What is sent from now on may still reach it."""

    def writable(self) -> None:
        """A peer that had backed up reads again."""

    async def finish(self) -> None:
        """Return when what is under way has been answered. What waits for a person is not waited for."""

    def send(self, line: bytes) -> None:
        """Write a line, its newline included; dropped when the peer is gone."""
        if self._collecting:
            self._out.append(line)
        elif self._transport is not None:
            self._transport.write(line)

    def hold(self) -> None:
        """Serve no further line until ``release``."""
        self._held = True

    def release(self) -> None:
        """Serve again."""
        self._held = False
        self._serve()

    def close(self) -> None:
        """Flush what was sent and hang up."""
        if self._transport is not None:
            self._flush()
            self._transport.close()

    def abort(self) -> None:
        """Hang up at once: no further line is served, not even one that has come."""
        self._ended = True
        self._todo.clear()
        if self._transport is not None:
            self._transport.abort()

    @property
    def transport(self) -> asyncio.Transport | None:
        """The transport, while there is a connection."""
        return self._transport

    # -- asyncio's side ---------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._buffer, self._rounds = _shared.buffer, _shared.rounds
        self._transport = cast("asyncio.Transport", transport)
        self._transport.set_write_buffer_limits(high=WRITE_HIGH_WATER)
        admitted = False
        try:
            admitted = self.opened()
        finally:  # whatever goes wrong: who was not let in stays outside
            if not admitted:
                self._ended = self._is_gone = True
                self._transport.abort()

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 - asyncio's signature
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        if not self._ended:
            self._todo.extend(self._lines.feed(bytes(self._buffer[:nbytes])))
            if self._todo:
                self._serve()

    def eof_received(self) -> bool:
        """Serve what had come, then hang up."""
        self._ended = True
        self._serve()
        return not self._is_gone

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        self._ended = True
        self._transport = None
        self._todo.clear()
        self._out.clear()
        self._be_gone()

    def pause_writing(self) -> None:
        self.backed_up = True
        self._set_reading(False)

    def resume_writing(self) -> None:
        self.backed_up = False
        self.writable()
        self._serve()

    # -- inside -----------------------------------------------------------------------------------------------

    def _serve(self) -> None:
        """Serve some of the lines that wait, now or when others have been served."""
        if self._scheduled:
            return
        if self.urgent:
            self.serve_some()
        elif not self._rounds.serve(self):
            self._scheduled = True
            self._set_reading(False)

    def serve_some(self) -> None:
        """Serve some of the lines that wait; come back for the rest, reading nothing more before. For ``Rounds``."""
        self._scheduled = False
        todo = self._todo
        self._collecting = True
        ends = perf_counter() + SLICE_SECONDS
        try:
            for _ in range(SLICE):
                if not todo or self.backed_up or self._held:
                    break
                line = todo.popleft()
                if isinstance(line, bytes):
                    self.line_received(line)
                else:
                    self.overlong_received(line)
                if todo and perf_counter() > ends:
                    break
        finally:
            self._collecting = False
            self._flush()
        stalled = self.backed_up or self._held
        if todo and not stalled:
            self._come_back()
        self._set_reading(not todo and not stalled)
        if self._ended and not todo and not self._held:
            self._be_gone()
            self.close()

    def _come_back(self) -> None:
        self._scheduled = True
        if self.urgent:
            asyncio.get_running_loop().call_soon(self.serve_some)
        else:
            self._rounds.wait(self)

    def _flush(self) -> None:
        if self._out and self._transport is not None:
            out, self._out = self._out, []
            self._transport.write(out[0] if len(out) == 1 else b"".join(out))

    def _set_reading(self, wanted: bool) -> None:
        transport: Any = self._transport
        if transport is None or wanted == self._reading or transport.is_closing() or self._ended:
            return
        self._reading = wanted
        if wanted:
            transport.resume_reading()
        else:
            transport.pause_reading()

    def _be_gone(self) -> None:
        if not self._is_gone:
            self._is_gone = True
            self.gone()
