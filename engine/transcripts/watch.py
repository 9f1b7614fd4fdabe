"""A session watched while its harness writes it: what an engine would report, were there one."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

from engine.config import DEFAULTS, Config
from engine.events import Event, Snapshot
from engine.replay import replay_events
from engine.session_items import Damaged, Unknown
from engine.transcripts.follow import follow_session


def watch_session(
    path: Path, stop: threading.Event, config: Config = DEFAULTS
) -> Iterator[Event | Snapshot | Damaged | Unknown]:
    """The events of a session's replay as its lines come, the past first; nobody is there to answer.

    It begins anew, with a snapshot, when another session takes the file's place. Raises NotASessionError, OSError.
    """
    while not stop.is_set():
        yield from replay_events(follow_session(path, stop), config, attended=False)
