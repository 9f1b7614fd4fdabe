"""The configuration in force, and what holds where nothing was said.

``engine.configuration.rules`` says what may be written, ``engine.configuration.file`` reads it from YAML.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct, field

Limit = float | None

_PRESENTATION = ("description", "timeoutMs", "run_in_background", "justification")
IGNORE_ARGS: Mapping[str, tuple[str, ...]] = {
    "*": (*_PRESENTATION, "reason", "title", "comment"),
    "bash": _PRESENTATION,
    "pwsh": _PRESENTATION,
    "shell": _PRESENTATION,
}
HOST_ALIASES: Mapping[str, str] = {
    "open-data.canada.ca": "open.canada.ca",
    "www.open.canada.ca": "open.canada.ca",
    "www.open-data.canada.ca": "open.canada.ca",
}
LIMITS: Mapping[str, Limit] = {
    "exact": 12,
    "cmd": 12,
    "net": 12,
    "sink": 12,
    "host": 16,
    "site": None,
    "family:http-fetch": None,
    "verb:curl": None,
    "verb:wget": None,
}


class Config(Struct, frozen=True, rename="camel", kw_only=True):
    """A configuration in force: merged over the defaults and valid. A stage or limit that is off is None.

    The thresholds by default are those of the reference's 0.4.2 retuning.
    """

    window: int = 16
    on_limit: Literal["ask", "deny"] = "ask"
    local_hosts: Literal["deny", "allow"] = "deny"
    warn_at: int | None = 7
    summarize_at: int | None = 11
    fail_warn_at: int | None = 3
    fail_limit: Limit = 5
    include_local: bool = False
    preview_chars: int = 400
    result_preview_chars: int = 800
    exclude: tuple[str, ...] = ("todo_write",)
    include: tuple[str, ...] = ()
    ignore_args: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: dict(IGNORE_ARGS))
    host_aliases: Mapping[str, str] = field(default_factory=lambda: dict(HOST_ALIASES))
    limits: Mapping[str, Limit] = field(default_factory=lambda: dict(LIMITS))
    shell_tools: tuple[str, ...] = ()
    ask_timeout: float | None = 300
    """Seconds an ask waits for its answer; None: for ever."""


DEFAULTS = Config()
