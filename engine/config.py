"""The configuration: what it may say, what it says when it says nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

Limit = float | None


class Config(Struct, frozen=True, rename="camel"):
    """A configuration in force: merged over the defaults and valid. A stage or limit that is off is None."""

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
    ignore_args: Mapping[str, tuple[str, ...]] = {}
    host_aliases: Mapping[str, str] = {}
    limits: Mapping[str, Limit] = {}
    shell_tools: tuple[str, ...] = ()
    ask_timeout: float | None = 300


DEFAULTS = Config(
    ignore_args={
        "*": ("description", "timeoutMs", "run_in_background", "justification", "reason", "title", "comment"),
        "bash": ("description", "timeoutMs", "run_in_background", "justification"),
        "pwsh": ("description", "timeoutMs", "run_in_background", "justification"),
        "shell": ("description", "timeoutMs", "run_in_background", "justification"),
    },
    host_aliases={
        "open-data.canada.ca": "open.canada.ca",
        "www.open.canada.ca": "open.canada.ca",
        "www.open-data.canada.ca": "open.canada.ca",
    },
    limits={
        "exact": 12,
        "cmd": 12,
        "net": 12,
        "sink": 12,
        "host": 16,
        "site": None,
        "family:http-fetch": None,
        "verb:curl": None,
        "verb:wget": None,
    },
)
"""What holds where a file says nothing. The thresholds are those of the reference's 0.4.2 retuning."""
