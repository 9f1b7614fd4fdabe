"""Where the breaker keeps things, and how it makes sure that they are the user's alone.

The socket stands in the user's runtime directory if there is one, else under the state directory. Never in a
shared ``/tmp``: there somebody else could stand first, and a program that another started with a different
``$TMPDIR`` would look elsewhere and find no breaker.
"""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path
from shlex import quote

APP = "repeat-tool-breaker"
SOCKET_VARIABLE = "BREAKER_SOCKET"
SOCKET_NAME = "engine.sock"
SOCKET_PATH_BYTES = 103 if sys.platform == "darwin" else 107
"""The longest path that fits ``sun_path``, its closing zero byte deducted."""

_CHOOSE = "Choose a directory of your own; one that is not there yet is made, closed to others."


class PathError(Exception):
    """A path that cannot be used; ``str()`` says why and what to do, for a person."""


def socket_path() -> Path:
    """Where agents find the engine: ``$BREAKER_SOCKET``, else in the runtime directory, else in the state directory.

    Makes nothing and checks no directory but the runtime directory's owner. Raises PathError when
    ``$BREAKER_SOCKET`` is no absolute path: hooks run in other directories than the engine.
    """
    named = os.environ.get(SOCKET_VARIABLE, "")
    if named:
        path = Path(named)
        if not path.is_absolute():
            raise PathError(f"${SOCKET_VARIABLE} is '{named}'; it must be an absolute path.")
        return path
    runtime = _runtime_directory()
    return (runtime / APP if runtime else _state_path() / "run") / SOCKET_NAME


def operator_socket_path(socket: Path) -> Path:
    """The operators' socket beside an agents' socket: ``engine.operator.sock`` beside ``engine.sock``."""
    return socket.with_name(f"{socket.stem}.operator{socket.suffix}")


def check_socket_path(path: Path) -> None:
    """Raise PathError when the platform allows no socket of so long a path."""
    length = len(os.fsencode(path))
    if length > SOCKET_PATH_BYTES:
        raise PathError(
            f"The socket's path has {length} bytes and this platform allows {SOCKET_PATH_BYTES}: {path}\n"
            f"Set ${SOCKET_VARIABLE} to a shorter one in a private directory of yours."
        )


def state_directory() -> Path:
    """The private directory where journals are kept, made if need be. Raises PathError."""
    return private_directory(_state_path())


def journal_directory() -> Path:
    """Where engines keep their journals unless told otherwise. Raises PathError."""
    return private_directory(state_directory() / "journal")


def config_directory() -> Path:
    """Where the user's configuration file is looked for. Makes nothing."""
    from platformdirs import user_config_path  # noqa: PLC0415 - a hook that only wants the socket never pays for it

    return user_config_path(APP, appauthor=False)


def private_directory(path: Path) -> Path:
    """Make a directory that only its owner can look into, or make sure that it is one. Returns it.

    Raises PathError for a link, a file, another user's directory, one that others may look into, and one that
    stands where everybody may move it away.
    """
    try:
        _make(path)
        above = path.parent.stat()
        handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            found = os.fstat(handle)
        finally:
            os.close(handle)
    except OSError as error:
        if path.is_symlink():
            raise PathError(f"{path} is a symbolic link; it must be a directory of yours.") from error
        raise PathError(f"The directory {path} cannot be made or used: {error.strerror}.") from error
    mode = stat.S_IMODE(found.st_mode)
    if mode & stat.S_IWOTH:
        raise PathError(f"The directory {path} is everybody's (mode {mode:04o}). {_CHOOSE}")
    if found.st_uid != os.geteuid():
        raise PathError(f"The directory {path} belongs to another user (uid {found.st_uid}). {_CHOOSE}")
    if mode & 0o077:
        raise PathError(
            f"The directory {path} is open to others (mode {mode:04o}). {_CHOOSE} "
            f"Or close this one: chmod 700 {quote(str(path))}"
        )
    if above.st_mode & stat.S_IWOTH and not above.st_mode & stat.S_ISVTX:
        raise PathError(f"Everybody may replace {path}: its parent is writable for all. Choose another place.")
    return path


def _make(path: Path) -> None:
    """Make a directory and those above it that are missing, each closed to others whatever the umask."""
    missing = [path]
    for one in path.parents:
        if one.exists():
            break
        missing.append(one)
    for one in reversed(missing):
        one.mkdir(mode=0o700, exist_ok=True)


def _runtime_directory() -> Path | None:
    """The user's runtime directory, if there is a proper one.

    ``/run/user/<uid>`` is tried when the variable is not set, so that a program whose environment was emptied
    finds the socket of one whose was not.
    """
    candidates = (Path(os.environ.get("XDG_RUNTIME_DIR", "")), Path(f"/run/user/{os.geteuid()}"))
    return next((one for one in candidates if one.is_absolute() and _is_own_directory(one)), None)


def _is_own_directory(path: Path) -> bool:
    try:
        found = path.stat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()


def _state_path() -> Path:
    from platformdirs import user_state_path  # noqa: PLC0415 - as above

    path = user_state_path(APP, appauthor=False)
    # On macOS one directory serves both ends, and the one with the configuration is not ours to close to others.
    return path / "state" if path == config_directory() else path
