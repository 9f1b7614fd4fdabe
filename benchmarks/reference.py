"""The published JavaScript plugin: installed by npm into a folder of its own, run by Node."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

PACKAGE = "dsh-repeat-tool-breaker"
VERSION = "0.5.2"
HERE = Path(__file__).parent
CACHE = HERE.parent / ".cache"
FOLDER = CACHE / "reference"


class UnavailableError(Exception):
    """Something outside of this project is needed for a measurement, and is not there. ``str()`` says what."""


def plugin() -> Path:
    """The plugin's entry, installed if it is not yet. Raises UnavailableError."""
    entry = FOLDER / "node_modules" / PACKAGE / "index.js"
    if _installed_version(entry) == VERSION:
        return entry
    npm = _program("npm")
    FOLDER.mkdir(parents=True, exist_ok=True)
    options = ("--no-save", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error")
    command = (npm, "install", "--prefix", str(FOLDER), *options, f"{PACKAGE}@{VERSION}")
    try:
        subprocess.run(command, check=True, timeout=120, stdout=subprocess.DEVNULL)
    except subprocess.SubprocessError as error:
        raise UnavailableError(f"npm could not install {PACKAGE}@{VERSION}") from error
    if _installed_version(entry) != VERSION:
        raise UnavailableError(f"npm installed another version than {VERSION} of {PACKAGE}")
    return entry


def node(script: str, *arguments: str) -> tuple[str, ...]:
    """The command that runs a script of this folder. Raises UnavailableError."""
    return (_program("node"), "--expose-gc", str(HERE / script), *arguments)


def _installed_version(entry: Path) -> str:
    try:
        about = json.loads((entry.parent / "package.json").read_bytes())
    except (OSError, ValueError):
        return ""
    return str(about.get("version", ""))


def _program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise UnavailableError(f"{name} is needed for the reference, and is not installed")
    return found
