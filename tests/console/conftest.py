"""What several tests of the console need."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def place() -> Iterator[Path]:
    """Where an engine can listen: a short path in a private directory."""
    directory = Path(tempfile.mkdtemp(prefix="brk-", dir="/tmp"))
    yield directory / "engine.sock"
    shutil.rmtree(directory)


@pytest.fixture
def clocks_in_utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Clocks on the screen show UTC, wherever the tests run."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()
