"""Our entries in a harness's settings: written for it, and read back from there."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import Any

from msgspec import Struct

from engine.harnesses.endpoint import PATH_HEAD, Endpoint
from engine.harnesses.known import BEFORE_A_CALL, LAST_WORDS, Harness, has_matcher
from engine.paths import APP

HOOK_SCRIPT = Path(__file__).resolve().parent.parent / "hook.py"
"""What a harness runs at every call."""

ENDLESS_SECONDS = 24 * 3600
"""How long a hook waits when an ask waits for ever: a harness cannot be told to."""
MOST_SECONDS = 20 * 24 * 3600
"""Node's timers overflow not far above this, and then fire at once."""
HOOK_MARGIN, HARNESS_MARGIN = 30, 60
"""Seconds by which a hook outlasts an ask, and a harness its hook's ask: each answers before the next one gives up."""
BRIEF_SECONDS, LAST_WORDS_SECONDS = 20, 3
"""What a hook gets that waits for nobody."""

_GONE = "repeat-tool-breaker is not where it was installed, and calls are denied without it"
_URL = re.compile(rf"http://127\.0\.0\.1:(\d{{1,5}}){re.escape(PATH_HEAD)}([^/]+)/([^/]+)/([^/]+)")


class Wishes(Struct, frozen=True):
    """How hooks are to be installed. ``ask_timeout`` as in the configuration; ``endpoint`` for hooks over HTTP."""

    interpreter: Path
    script: Path
    socket: Path
    ask_timeout: float | None
    fail_closed: bool = False
    endpoint: Endpoint | None = None


class Installed(Struct, frozen=True):
    """One of our entries, as it stands in the settings. ``seconds`` is the harness's timeout, whatever its unit there.

    ``words`` is the hook's own command line, ``url`` where it is over HTTP, ``plugin`` the file that is loaded; all
    but one are empty. ``handler`` is the entry itself, or what the plugin is told.
    """

    event: str
    handler: Mapping[str, Any]
    seconds: float | None
    words: tuple[str, ...] = ()
    url: str = ""
    plugin: str = ""
    off: bool = False
    narrowed: bool = False
    """It is asked about some tools only."""

    def option(self, name: str) -> str:
        """The word after this option; empty when it is not there."""
        at = self.words.index(name) + 1 if name in self.words else len(self.words)
        return self.words[at] if at < len(self.words) else ""

    @property
    def interpreter(self) -> str:
        return self.words[0] if self.words else ""

    @property
    def script(self) -> str:
        return self.words[3] if self.words else ""

    @property
    def endpoint(self) -> Endpoint | None:
        found = _URL.fullmatch(self.url)
        return Endpoint(int(found[1]), found[2]) if found else None


def groups(harness: Harness, wishes: Wishes) -> dict[str, dict[str, Any]]:
    """What is put into the settings, by event."""
    return {event: _group(harness, event, wishes) for event in harness.events}


def waiting_seconds(ask_timeout: float | None) -> tuple[int, int]:
    """How long a hook before a call waits for the engine, and how long its harness must wait for the hook."""
    ask = ENDLESS_SECONDS if ask_timeout is None else min(int(ask_timeout), MOST_SECONDS) + 1
    return ask + HOOK_MARGIN, ask + HARNESS_MARGIN


def installed(
    harness: Harness, event: str, handler: Mapping[str, Any], group: Mapping[str, Any] | None = None
) -> Installed | None:
    """This entry, if it is one of ours for this harness. ``group`` is what it stands in."""
    timeout = handler.get("timeout")
    seconds = timeout / harness.second if isinstance(timeout, int | float) else None
    narrowed = group is not None and has_matcher(event) and group.get("matcher", "*") not in ("", "*")
    url = handler.get("url")
    if isinstance(url, str):
        found = _URL.fullmatch(url)
        ours = Installed(event, handler, seconds, url=url, narrowed=narrowed)
        return ours if found and found[3] == harness.name else None
    words = _hook_words(handler.get("command"))
    ours = Installed(event, handler, seconds, words, narrowed=narrowed)
    return ours if words and words[4] == harness.name else None


def is_own(harness: Harness, entry: Installed, interpreter: Path) -> bool:
    """Whether this entry is, to the letter, one that the breaker which runs here writes.

    Anything else in there may be an agent's, and must not be run for it.
    """
    closed = bool(entry.url) or "--fail-closed" in entry.words
    if _blocks(harness, entry.event, closed=closed) and entry.handler.get("onFailure") != "block":
        return False
    if entry.url:
        return entry.endpoint is not None
    if harness.bridge:
        return entry.plugin == str(harness.bridge.plugin)
    own = Path(entry.interpreter)
    if own.parent != interpreter.parent or own.resolve() != interpreter.resolve():
        return False
    wishes = Wishes(own, HOOK_SCRIPT, Path(entry.option("--socket")), None, fail_closed=closed)
    seconds = entry.option("--timeout")
    return seconds.isdigit() and entry.handler.get("command") == _command(harness, entry.event, wishes, int(seconds))


def _group(harness: Harness, event: str, wishes: Wishes) -> dict[str, Any]:
    handler = _handler(harness, event, wishes)
    return ({"matcher": "*"} if has_matcher(event) else {}) | {"hooks": [handler]}


def _handler(harness: Harness, event: str, wishes: Wishes) -> dict[str, Any]:
    hook_seconds, seconds = _seconds(event, wishes.ask_timeout)
    handler: dict[str, Any] = {"name": APP} if harness.handler_name else {}
    if wishes.endpoint:
        handler |= {"type": "http", "url": wishes.endpoint.url(harness.name, event)}
    else:
        handler |= {"type": "command", "command": _command(harness, event, wishes, hook_seconds)}
    handler["timeout"] = seconds * harness.second
    # Over HTTP nobody of ours is there to tell an engine that went while a call waited from one that never was.
    if _blocks(harness, event, closed=wishes.fail_closed or wishes.endpoint is not None):
        handler["onFailure"] = "block"
    return handler


def _blocks(harness: Harness, event: str, *, closed: bool) -> bool:
    """Whether the harness is told that a call must not run when its hook breaks."""
    return closed and harness.can_block and event in BEFORE_A_CALL


def _seconds(event: str, ask_timeout: float | None) -> tuple[int, int]:
    if event in BEFORE_A_CALL:
        return waiting_seconds(ask_timeout)
    seconds = LAST_WORDS_SECONDS if event == LAST_WORDS else BRIEF_SECONDS
    return seconds - 1, seconds


def _command(harness: Harness, event: str, wishes: Wishes, seconds: int) -> str:
    """A line for any POSIX shell. Where the breaker is gone, a call goes on as without one, or is denied."""
    interpreter, script = quote(str(wishes.interpreter)), quote(str(wishes.script))
    closed = wishes.fail_closed and event in BEFORE_A_CALL
    otherwise = f"{{ echo {quote(_GONE)} >&2; exit 2; }}" if closed else "exit 0"
    line = (
        f"[ -x {interpreter} ] && [ -f {script} ] || {otherwise}; exec {interpreter} -I -S {script} "
        f"{harness.name} {event} --socket {quote(str(wishes.socket))} --timeout {seconds}"
    )
    return f"{line} --fail-closed" if closed else line


def _hook_words(command: object) -> tuple[str, ...]:
    """The words from the interpreter on of a line that runs our hook, wherever that stood when it was installed."""
    if not isinstance(command, str) or "/hook.py" not in command:
        return ()
    try:
        words: Sequence[str] = shlex.split(command.partition("; exec ")[2] or command)
    except ValueError:
        return ()
    ours = len(words) >= 6 and words[1:3] == ["-I", "-S"] and words[3].endswith("/engine/hook.py")
    return tuple(words) if ours else ()
