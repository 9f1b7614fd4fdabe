"""What the figures were measured on: Linux only, as are the measurements themselves."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import engine.turn
from benchmarks.reference import PACKAGE, VERSION

PACKAGES = ("msgspec", "ada-url", "uvloop", "textual", "pyyaml", "repeat-tool-breaker")


def machine() -> dict[str, str]:
    """Name and value of all that a figure depends on and that names no place."""
    cores = len(os.sched_getaffinity(0))
    release = ".".join(platform.release().split(".")[:2])
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    return {
        "CPU": f"{_field('/proc/cpuinfo', 'model name')}, {cores} cores",
        "memory": f"{memory:.0f} GiB",
        "system": f"{_field('/etc/os-release', 'PRETTY_NAME', '=')}, Linux {release}",
        "Python": f"{platform.python_implementation()} {platform.python_version()}{_build()}",
        "engine": "compiled by mypyc" if _is_compiled() else "not compiled",
        "Node": _printed("node", "--version"),
        "packages": ", ".join(f"{name} {version(name)}" for name in PACKAGES),
        "reference": f"{PACKAGE} {VERSION}",
        "load before": f"{os.getloadavg()[0]:.2f} (one minute's average)",
    }


def _build() -> str:
    """Builds of one version differ by a seventh: distributions optimise with a profile and at link time."""
    return ", the distribution's" if sys.base_prefix == "/usr" else ""


def _is_compiled() -> bool:
    return str(engine.turn.__file__).endswith((".so", ".pyd"))


def _field(path: str, name: str, separator: str = ":") -> str:
    for line in Path(path).read_text().splitlines():
        key, _, value = line.partition(separator)
        if key.strip() == name:
            return value.strip().strip('"')
    return "unknown"


def _printed(*command: str) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=30, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return "none"
