"""What zstd frames hold, many in one file, as a stream: read with bounded memory, also while the file grows.

A frame that is damaged is told and passed over; reading goes on with the next one.
"""

from __future__ import annotations

import io
import sys
from typing import TYPE_CHECKING, BinaryIO

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

MAGIC = b"\x28\xb5\x2f\xfd"
CHUNK_BYTES = 256 * 1024
"""Read at once, and unpacked at once: what a frame of a kilobyte unpacks to may be a gigabyte."""
DAMAGED_MOST = 1000
"""After so many damaged frames the rest of the file is left alone: something else is wrong with it."""


class Frames(io.RawIOBase):
    """The bytes in a file's frames. At the end of a growing file it has nothing for now, and goes on later.

    ``faults`` collects what was wrong, for a person; whoever reads takes them out.
    """

    def __init__(self, file: BinaryIO) -> None:
        super().__init__()
        self.faults: list[str] = []
        self._file = file
        self._frame: zstd.ZstdDecompressor | None = None
        self._packed = b""
        self._unpacked = b""
        self._damaged = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        if not self._unpacked:
            self._unpacked = self._next()
        into = memoryview(buffer).cast("B")
        size = min(len(into), len(self._unpacked))
        into[:size] = self._unpacked[:size]
        self._unpacked = self._unpacked[size:]
        return size

    @property
    def within_frame(self) -> bool:
        """Whether the file has ended, so far, in the middle of a frame."""
        return self._frame is not None

    def _next(self) -> bytes:
        """What comes next; empty at the end of the file."""
        while self._damaged < DAMAGED_MOST:
            frame = self._frame
            if not self._packed and (frame is None or frame.needs_input):
                self._packed = self._file.read(CHUNK_BYTES)
                if not self._packed:
                    return b""
            if frame is None:
                frame = self._frame = zstd.ZstdDecompressor()
            packed, self._packed = self._packed, b""
            try:
                unpacked = frame.decompress(packed, CHUNK_BYTES)
            except zstd.ZstdError as error:
                self._pass_over(packed, str(error))
                return b"\n"  # what the damaged frame began is not what the next one goes on with
            if frame.eof:
                self._frame, self._packed = None, frame.unused_data
            if unpacked:
                return unpacked
        return b""

    def _pass_over(self, packed: bytes, problem: str) -> None:
        """Leave the frame that is damaged; the next one begins where its magic number stands."""
        self.faults.append(f"a zstd frame is damaged and was passed over ({problem[:200]})")
        self._frame = None
        self._damaged += 1
        if self._damaged == DAMAGED_MOST:
            self.faults.append("too many zstd frames are damaged; the rest is not read")
            return
        packed = packed[1:]
        while (at := packed.find(MAGIC)) < 0:
            more = self._file.read(CHUNK_BYTES)
            if not more:
                return
            packed = packed[-len(MAGIC) + 1 :] + more
        self._packed = packed[at:]
