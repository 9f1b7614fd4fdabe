"""``breaker config``: check a configuration, show what is in force and why, describe what may be written."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click
import msgspec

from console.commands.ascii_json import ascii_json
from console.text import visible
from engine.configuration.file import ConfigError, Loaded, find, load, load_data
from engine.configuration.schema import schema as config_schema
from engine.configuration.thresholds import unreachable
from engine.configuration.yaml import FILE_BYTES

BAD = 2
"""The exit code of a configuration that cannot be used."""

_BARE = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]*")
_NOT_BARE = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})
"""Words that some reader of YAML takes for something else than text."""
_COMMENT_COLUMN = 48


@click.group()
def config() -> None:
    """Check, show or describe the configuration."""


@config.command(
    epilog="""\b
Examples:
  breaker config check breaker.yaml
  breaker config check                     what is in force here
  generate | breaker config check -
"""
)
@click.argument("file", required=False)
def check(file: str | None) -> None:
    """Say everything that is wrong with FILE (- for standard input), with line and column.

    Without FILE, check what is in force here. Thresholds that can never be reached are noted, and are no error.
    Exits with 2 when the configuration cannot be used.
    """
    try:
        loaded = _read(file)
    except ConfigError as error:
        _say(*map(str, error.problems), f"{_counted(len(error.problems), 'problem')}.")
        sys.exit(BAD)
    made = (
        f"{_counted(len(loaded.origins), 'setting')} over the defaults" if loaded.origins else "it changes no default"
    )
    _say(f"{loaded.source}: fine, {made}.")
    _say(*(f"warning: {warning}" for warning in loaded.warnings))
    _say(*(f"note: {note}" for note in unreachable(loaded.config)))


@config.command(
    epilog="""\b
Examples:
  breaker config show
  breaker config show --config breaker.yaml
  breaker config show --json | jq .config.limits
"""
)
@click.option("--config", "file", type=click.Path(path_type=Path), help="Read this file and no other.")
@click.option("--json", "as_json", is_flag=True, help="As JSON, with the origin of each value beside it.")
def show(file: Path | None, *, as_json: bool) -> None:
    """Show what is in force here and where each value comes from. It is YAML, fit to be a configuration itself.

    In force are the defaults, over them the user's file and, if that trusts the project, its .breaker.yaml; or,
    instead of both, the file named by --config or $BREAKER_CONFIG.
    """
    try:
        loaded = find(file).load()
    except ConfigError as error:
        _say(*map(str, error.problems), to_stderr=True)
        sys.exit(BAD)
    notes = unreachable(loaded.config)
    if as_json:
        shown = {
            "config": msgspec.to_builtins(loaded.config),
            "source": loaded.source,
            "files": [str(path) for path in loaded.sources.files],
            "origins": loaded.origins,
            "warnings": loaded.warnings,
            "notes": notes,
        }
        click.echo(ascii_json(shown, indent=2))
        return
    looked = [str(path) for path in loaded.sources.files]
    _say(f"# In force: {loaded.source}. Looked for: {', '.join(looked)}.")
    _say(*(f"# warning: {warning}" for warning in loaded.warnings))
    _say(*(f"# note: {note}" for note in notes))
    click.echo("\n".join(as_yaml(loaded)))


@config.command(
    epilog="""\b
Examples:
  breaker config schema > breaker.schema.json
  and in the first line of a configuration, for editors with the YAML language server:
  # yaml-language-server: $schema=breaker.schema.json
"""
)
def schema() -> None:
    """Print the JSON Schema (draft 2020-12) of the configuration, for editors."""
    click.echo(json.dumps(config_schema(), indent=2))


def _read(file: str | None) -> Loaded:
    if file is None:
        return find().load()
    if file != "-":
        return load(Path(file))
    data = sys.stdin.buffer.read(FILE_BYTES + 1)
    return load_data(data, "standard input")


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _say(*lines: str, to_stderr: bool = False) -> None:
    for line in lines:
        click.echo(visible(line), err=to_stderr)


def as_yaml(loaded: Loaded) -> Iterator[str]:
    """The configuration as lines of YAML that read back as the same, each with a comment that says its origin."""
    for key, value in msgspec.to_builtins(loaded.config).items():
        if isinstance(value, Mapping):
            yield f"{key}:" if value else f"{key}: {{}}"
            for entry, item in value.items():
                yield _commented(f"  {_scalar(entry)}: {_inline(item)}", loaded.origins.get(f"{key}.{entry}"))
        else:
            yield _commented(f"{key}: {_inline(value)}", loaded.origins.get(key))


def _commented(line: str, origin: str | None) -> str:
    return f"{line:<{_COMMENT_COLUMN}}  # {visible(origin) if origin else 'default'}"


def _inline(value: Any) -> str:
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_scalar, value))}]"
    return _scalar(value)


def _scalar(value: Any) -> str:
    """A value as every reader of YAML, old or new, reads it back; what a terminal would not show is escaped."""
    if isinstance(value, str):
        return value if _BARE.fullmatch(value) and value.lower() not in _NOT_BARE else _quoted(value)
    written = json.dumps(value)
    return written if "." in written else written.replace("e-", ".0e-")


def _quoted(text: str) -> str:
    return '"' + "".join(_escaped(one) for one in text) + '"'


def _escaped(one: str) -> str:
    if one in '"\\':
        return "\\" + one
    if visible(one) == one:
        return one
    code = ord(one)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
