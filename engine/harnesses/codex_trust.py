"""Whether Codex will run a hook: it skips, without a word, what its user has not approved in ``/hooks``.

An approval stands in Codex's ``config.toml`` as the digest of what was approved, under the hook's place::

    [hooks.state."/home/me/.codex/hooks.json:pre_tool_use:0:0"]
    trusted_hash = "sha256:…"

The digest is of the entry as canonical JSON, seen in Codex 0.171.0.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from msgspec import Struct

from engine.harnesses.handlers import installed
from engine.harnesses.known import Harness
from engine.harnesses.settings import HOOKS

Trust = Mapping[str, Mapping[str, Any]]


class CodexConfig(Struct, frozen=True):
    """What of Codex's own configuration concerns hooks. ``fault`` says why it could not be read.

    ``projects`` is what its user thinks of each directory: ``trusted`` or ``untrusted``.
    """

    trust: Trust = {}
    projects: Mapping[str, str] = {}
    hooks_off: bool = False
    fault: str = ""


def read_config(directory: Path) -> CodexConfig:
    """Read ``config.toml`` in Codex's directory. Never raises."""
    file = directory / "config.toml"
    try:
        config = tomllib.loads(file.read_text("utf-8"))
    except FileNotFoundError:
        return CodexConfig()
    except (OSError, ValueError) as error:
        return CodexConfig(fault=f"{file} cannot be read: {error}")
    state = _table(_table(config, HOOKS), "state")
    trust = {key: value for key, value in state.items() if isinstance(value, dict)}
    tables = {path: _table(_table(config, "projects"), path) for path in _table(config, "projects")}
    projects = {path: str(table.get("trust_level", "")) for path, table in tables.items()}
    return CodexConfig(trust, projects, hooks_off=_table(config, "features").get("hooks") is False)


def is_distrusted(directory: Path, config: CodexConfig) -> bool:
    """Whether its user told Codex not to trust this project; then it reads none of the project's hooks."""
    opinions = (config.projects.get(str(one), "") for one in (directory, *directory.parents))
    return next(filter(None, opinions), "") == "untrusted"


def untrusted(harness: Harness, settings: Mapping[str, Any], files: tuple[Path, ...], config: CodexConfig) -> list[str]:
    """The events whose hook of ours Codex will skip. ``files`` are the names of the settings file, any may be used."""
    return [
        event
        for event, place, group, handler in _places(settings)
        if installed(harness, event, handler)
        and not any(_is_trusted(config.trust.get(f"{file}:{place}"), event, group, handler) for file in files)
    ]


def trust_key(file: Path, event: str, group: int, handler: int) -> str:
    """The name under which Codex keeps its user's word about the hook at this place."""
    return f"{file}:{_label(event)}:{group}:{handler}"


def trust_hash(event: str, group: Mapping[str, Any], handler: Mapping[str, Any]) -> str:
    """The digest of a hook that its user approves. A command's defaults are part of it, what is not set is not."""
    entry = {key: handler[key] for key in ("type", "command", "timeout", "statusMessage") if key in handler}
    identity = {"event_name": _label(event), HOOKS: [entry | {"async": handler.get("async") is True}]}
    if "matcher" in group:
        identity["matcher"] = group["matcher"]
    text = json.dumps(identity, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"sha256:{sha256(text.encode('utf-8', 'replace')).hexdigest()}"


def _is_trusted(
    word: Mapping[str, Any] | None, event: str, group: Mapping[str, Any], handler: Mapping[str, Any]
) -> bool:
    if word is None or word.get("enabled") is False:
        return False
    return word.get("trusted_hash") == trust_hash(event, group, handler)


def _places(settings: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any], Mapping[str, Any]]]:
    """Every handler with its event, its place as Codex counts it, and its group."""
    hooks = settings.get(HOOKS)
    for event, groups in hooks.items() if isinstance(hooks, dict) else ():
        for group_index, group in enumerate(groups if isinstance(groups, list) else ()):
            handlers = group.get(HOOKS) if isinstance(group, dict) else None
            for index, handler in enumerate(handlers if isinstance(handlers, list) else ()):
                if isinstance(handler, dict):
                    yield event, f"{_label(event)}:{group_index}:{index}", group, handler


def _label(event: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", event).lower()


def _table(value: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    table = value.get(key)
    return table if isinstance(table, dict) else {}
