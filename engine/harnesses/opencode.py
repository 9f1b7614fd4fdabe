"""opencode: a file among its plugins that loads ours. Written from opencode 1.18.33."""

from __future__ import annotations

import json
import re
from typing import Any

from engine.harnesses.mounts import JAVASCRIPT, Mount
from engine.harnesses.settings import SettingsError

NAME = "opencode"
PLUGIN = JAVASCRIPT / "opencode.mjs"

_MARK = "// repeat-tool-breaker: `breaker uninstall opencode` takes this file away again.\n"
_FILE = (
    _MARK
    + """\
const plugin = %s
const settings = %s
const gone = 'REPEAT_TOOL_BLOCKED: repeat-tool-breaker is not where it was installed, and calls are denied without it.'

export const RepeatToolBreaker = async (context) => {
  try {
    const { bridge } = await import(plugin)
    return bridge(context, settings)
  } catch (error) {
    if (settings.onUnreachable !== 'deny') throw error
    return { 'tool.execute.before': async () => { throw new Error(gone) } }
  }
}
"""
)
_LINE = re.compile(r"^const (plugin|settings) = (.*)$", re.MULTILINE)


def mounted(text: str, mount: Mount) -> str:
    """The whole file. Raises SettingsError where somebody else's is in its place."""
    _require_ours(text)
    return _FILE % (json.dumps(mount.plugin), json.dumps(mount.settings))


def unmounted(text: str) -> str:
    """Nothing is left of our own file, and somebody else's is none of our business."""
    return "" if text.startswith(_MARK) else text


def mounts(text: str) -> tuple[Mount, ...]:
    """Our file, read."""
    if not text.startswith(_MARK):
        return ()
    found: dict[str, Any] = dict(_LINE.findall(text))
    try:
        plugin, settings = json.loads(found.get("plugin", '""')), json.loads(found.get("settings", "{}"))
    except ValueError:
        plugin, settings = "", {}
    return (Mount(plugin if isinstance(plugin, str) else "", settings if isinstance(settings, dict) else {}),)


def _require_ours(text: str) -> None:
    if text.strip() and not text.startswith(_MARK):
        raise SettingsError("There is a plugin of this name that is not the breaker's. Move it away first.")
