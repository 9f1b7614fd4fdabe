"""Harnesses that run a plugin of ours in their own process: it asks the engine itself, over the agents' socket."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from engine.harnesses import dsh, opencode
from engine.harnesses.mounts import Mount

PLUGIN = "plugin"
"""What such a harness is given in place of hooks."""


class Bridge(Struct, frozen=True):
    """How one harness mounts its plugin, in a text that it reads.

    ``mounted`` gives the text with the plugin at its end, with these settings, ``unmounted`` the text without it, and
    ``mounts`` is where it stands in there. They raise SettingsError.
    """

    plugin: Path
    mounted: Callable[[str, Mount], str]
    unmounted: Callable[[str], str]
    mounts: Callable[[str], tuple[Mount, ...]]


BRIDGES: Mapping[str, Bridge] = {
    dsh.NAME: Bridge(dsh.PLUGIN, dsh.mounted, dsh.unmounted, dsh.mounts),
    opencode.NAME: Bridge(opencode.PLUGIN, opencode.mounted, opencode.unmounted, opencode.mounts),
}


def plugin_settings(socket: Path, *, fail_closed: bool) -> Mapping[str, Any]:
    """What the plugin is told: where the engine is, and what to do without one."""
    return {"socket": str(socket), "onUnreachable": "deny" if fail_closed else "allow"}
