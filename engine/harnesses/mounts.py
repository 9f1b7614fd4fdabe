"""A plugin of ours in a harness's settings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

JAVASCRIPT = Path(__file__).resolve().parent / "javascript"
"""Where the plugins are; they are loaded from there."""


class Mount(Struct, frozen=True):
    """``plugin`` is the file that is loaded, ``settings`` what it is told; ``off`` when it stands there disabled."""

    plugin: str
    settings: Mapping[str, Any]
    off: bool = False
