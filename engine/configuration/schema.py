"""The configuration described as JSON Schema, for editors that complete and check as one types."""

from __future__ import annotations

from typing import Any

import msgspec

from engine.config import DEFAULTS
from engine.configuration.rules import IGNORED, REMOVED, SETTINGS, TRUSTED_PROJECTS

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def schema() -> dict[str, Any]:
    """A schema that accepts what ``engine.configuration.file`` accepts, but for keys that stand twice."""
    defaults = msgspec.json.decode(msgspec.json.encode(DEFAULTS))
    properties: dict[str, Any] = {}
    for key, setting in {**SETTINGS, **TRUSTED_PROJECTS}.items():
        properties[key] = {"description": setting.about, **setting.form.schema(), "default": defaults.get(key, [])}
    for key, why in IGNORED.items():
        properties[key] = {"description": f"Ignored: {why}.", "deprecated": True}
    for key, instead in REMOVED.items():
        properties[key] = {"description": f"Removed: {instead}.", "deprecated": True, "not": {}}
    return {
        "$schema": DIALECT,
        "title": "Configuration of repeat-tool-breaker",
        "description": "What an agent's calls are counted by, and what happens at the gate.",
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
    }
