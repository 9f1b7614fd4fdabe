"""What several tests of the console need."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def place() -> Iterator[Path]:
    """Where an engine can listen: a short path in a private directory."""
    directory = Path(tempfile.mkdtemp(prefix="brk-", dir="/tmp"))
    yield directory / "engine.sock"
    shutil.rmtree(directory)
