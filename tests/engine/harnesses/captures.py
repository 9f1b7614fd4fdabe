"""Payloads as the real harnesses sent them, by harness and file name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

CAPTURES = Path(__file__).resolve().parents[2] / "data" / "captures"
HARNESSES = ("claude-code", "codex", "gemini-cli")


def names(harness: str) -> list[str]:
    """Every payload of this harness."""
    return sorted(file.name.removesuffix(".json") for file in (CAPTURES / harness).glob("*.json"))


def capture(harness: str, name: str) -> dict[str, Any]:
    """One payload."""
    payload = json.loads((CAPTURES / harness / f"{name}.json").read_bytes())
    assert isinstance(payload, dict)
    return payload


EVERY = [(harness, name) for harness in HARNESSES for name in names(harness)]
