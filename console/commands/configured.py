"""The configuration that a command works under, or an end that says what is wrong with it."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from console.text import visible
from engine.config import Config
from engine.configuration.file import ConfigError, find

UNUSABLE = 2
"""The exit code when the configuration cannot be used."""


def configured(file: Path | None) -> Config:
    """The configuration in force: that of ``file``, or the one that is found. Ends the command when it is bad."""
    try:
        loaded = find(file).load()
    except ConfigError as error:
        for line in str(error).splitlines():
            click.echo(visible(line), err=True)
        sys.exit(UNUSABLE)
    for warning in loaded.warnings:
        click.echo(f"warning: {visible(warning)}", err=True)
    return loaded.config
