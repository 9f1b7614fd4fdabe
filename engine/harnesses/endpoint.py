"""Where hooks over HTTP find the engine: a port of the loopback, and a secret that is part of every path.

Kept in a private file, from which the engine that starts next knows that it is to listen there.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
from pathlib import Path

import msgspec
from msgspec import Struct

from engine.paths import PathError, state_directory

HOST = "127.0.0.1"
PATH_HEAD = "/repeat-tool-breaker/"
PORTS = range(20_000, 30_000)
"""Below the ports that outgoing connections get, so that none of those stands in the way later."""
_TRIES = 50


class Endpoint(Struct, frozen=True):
    """A port and the secret that must be in the path of a request."""

    port: int
    secret: str

    def url(self, harness: str, event: str) -> str:
        """Where this hook is posted to."""
        return f"http://{HOST}:{self.port}{PATH_HEAD}{self.secret}/{harness}/{event}"


def endpoint_file() -> Path:
    """Where it is kept. Raises PathError."""
    return state_directory() / "http-hook.json"


def load_endpoint() -> Endpoint | None:
    """The endpoint that hooks were installed for; None when there is none. Raises PathError for one that is damaged."""
    path = endpoint_file()
    try:
        return msgspec.json.decode(path.read_bytes(), type=Endpoint)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.MsgspecError) as error:
        raise PathError(f"{path} cannot be read: {error}. Delete it, and install the http hooks again.") from error


def make_endpoint() -> Endpoint:
    """A new endpoint, on a port that is free now. Nothing is kept yet. Raises PathError when no port is free."""
    for _ in range(_TRIES):
        port = secrets.choice(PORTS)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind((HOST, port))
            return Endpoint(port, secrets.token_hex(24))
    raise PathError(f"No port between {PORTS.start} and {PORTS.stop - 1} is free on {HOST}.")


def keep_endpoint(endpoint: Endpoint) -> None:
    """Keep it for the engine that starts next. Raises PathError."""
    path = endpoint_file()
    fresh = path.with_suffix(f".{os.getpid()}")
    try:
        handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(msgspec.json.encode(endpoint))
        fresh.replace(path)
    except OSError as error:
        raise PathError(f"{path} cannot be written: {error.strerror}.") from error


def drop_endpoint() -> None:
    """Keep it no longer. Raises PathError."""
    with contextlib.suppress(FileNotFoundError):
        endpoint_file().unlink()
