"""Unix sockets that only their owner can reach, each held by one engine at a time.

The lock beside the socket (``engine.sock.lock``) is what makes taking over safe: it goes with the process that
holds it, however that ends. A socket without a locked lock is left over from a crash and is replaced, unless
somebody does answer on it.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import socket
import stat
import struct
import sys
import time
from pathlib import Path

from engine.paths import check_socket_path, private_directory

BACKLOG = 1024
PROBE_SECONDS = 0.5
LOCK_SECONDS = 1.0
"""How long to try again while somebody else is just coming or going."""

_SOL_LOCAL, _LOCAL_PEERCRED, _LOCAL_PEERPID = 0, 1, 2
"""macOS; Python has names for none of them."""


class EngineRunningError(Exception):
    """Another engine serves this socket. ``str()`` says which and what to do, for a person."""

    def __init__(self, path: Path, pid: int | None) -> None:
        who = f"process {pid}" if pid else "another process"
        super().__init__(
            f"An engine already serves {path} ({who}). Use that one, stop it first, or give this one another --socket."
        )
        self.pid = pid


class SocketError(Exception):
    """A socket that cannot be made here; ``str()`` says why, for a person."""


class Listening:
    """A socket that is bound and listens, from ``Listening(path)`` to ``close``.

    Raises EngineRunningError when another engine serves it, PathError for a path that is too long or a directory
    that is not private, SocketError for whatever else is in the way.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        check_socket_path(path)
        private_directory(path.parent)
        self._lock_path = path.with_name(path.name + ".lock")
        self._lock = self._take_lock()
        try:
            self.socket = self._bind()
        except BaseException:
            self._release()
            raise

    def close(self) -> None:
        """Stop listening and take away what was made here, if it is still what stands there."""
        with contextlib.suppress(OSError):
            if self._identity == _identity(self.path):
                self.path.unlink()
        self.socket.close()
        self._release()

    # -- the lock ---------------------------------------------------------------------------------------------

    def _take_lock(self) -> int:
        give_up = time.monotonic() + LOCK_SECONDS
        while True:
            lock = self._open_lock()
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                holder = self._holder(lock)
                os.close(lock)
                if error.errno not in {errno.EAGAIN, errno.EACCES}:
                    raise SocketError(f"{self._lock_path} cannot be locked: {error.strerror}.") from error
                if holder is not None or time.monotonic() > give_up:
                    raise EngineRunningError(self.path, holder) from None
                time.sleep(0.01)
                continue
            if self._still_there(lock):
                os.ftruncate(lock, 0)
                os.pwrite(lock, b"%d\n" % os.getpid(), 0)
                return lock
            os.close(lock)

    def _open_lock(self) -> int:
        try:
            return os.open(self._lock_path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise SocketError(f"{self._lock_path} cannot be made: {error.strerror}.") from error

    def _still_there(self, lock: int) -> bool:
        """Whether the file just locked is still the one at its path: its last holder deleted it on leaving."""
        held = os.fstat(lock)
        return (held.st_dev, held.st_ino) == _identity(self._lock_path)

    def _holder(self, lock: int) -> int | None:
        """The process that holds the lock, by its own word; None while it has not written it yet."""
        written = os.pread(lock, 32, 0).strip()
        return int(written) if written.isdigit() else probe(self.path)

    def _release(self) -> None:
        with contextlib.suppress(OSError):
            self._lock_path.unlink()
        os.close(self._lock)

    # -- the socket -------------------------------------------------------------------------------------------

    def _bind(self) -> socket.socket:
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._clear_the_way()
            if sys.platform == "linux":
                os.fchmod(listener.fileno(), 0o600)
            listener.bind(os.fspath(self.path))
            self.path.chmod(0o600)
            self._identity = _identity(self.path)
            listener.listen(BACKLOG)
            listener.setblocking(False)
        except OSError as error:
            listener.close()
            raise SocketError(f"{self.path} cannot be listened on: {error.strerror}.") from error
        except BaseException:
            listener.close()
            raise
        return listener

    def _clear_the_way(self) -> None:
        try:
            mode = self.path.lstat().st_mode
        except FileNotFoundError:
            return
        if not stat.S_ISSOCK(mode):
            raise SocketError(f"{self.path} is in the way: it is no socket. Move it, or give another --socket.")
        if (pid := probe(self.path)) is not None:
            raise EngineRunningError(self.path, pid or None)
        self.path.unlink(missing_ok=True)


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.lstat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def probe(path: Path) -> int | None:
    """The process that listens on a socket, 0 when it does not say which; None when nobody listens."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probing:
        probing.settimeout(PROBE_SECONDS)
        try:
            probing.connect(os.fspath(path))
        except (TimeoutError, BlockingIOError):
            return 0
        except OSError:
            return None
        return peer_of(probing)[0]


def peer_of(connected: socket.socket) -> tuple[int, int]:
    """The pid (0 when the platform does not tell) and the uid at the other end. Raises OSError."""
    if sys.platform == "darwin":
        credentials = connected.getsockopt(_SOL_LOCAL, _LOCAL_PEERCRED, 76)
        uid = struct.unpack_from("=II", credentials)[1]
        return connected.getsockopt(_SOL_LOCAL, _LOCAL_PEERPID), uid
    pid, uid, _ = struct.unpack("=iII", connected.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return pid, uid


def is_own(connected: socket.socket) -> bool:
    """Whether the other end belongs to the same user. What cannot be told is not."""
    try:
        return peer_of(connected)[1] == os.geteuid()
    except (OSError, struct.error):
        return False
