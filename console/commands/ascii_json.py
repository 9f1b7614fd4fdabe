"""JSON that may pass through a terminal on its way to a file: ASCII only, DEL escaped too, so it cannot talk to it."""

from __future__ import annotations

import json
from typing import Any


def ascii_json(value: Any, indent: int | None = None) -> str:
    """A value of plain types as JSON, on one line or indented."""
    return json.dumps(value, indent=indent).replace("\x7f", "\\u007f")
