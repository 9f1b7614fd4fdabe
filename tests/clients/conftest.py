"""The clients that are there, and a home for one."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.clients import CLIENTS
from tests.clients.sessions import Client


@pytest.fixture(params=CLIENTS, ids=lambda client: client.harness)
def client(request: pytest.FixtureRequest) -> Client:
    chosen: Client = request.param
    if not chosen.program.exists():
        pytest.fail(f"{chosen.harness} is not installed in {chosen.program}. Run: make test-clients")
    return chosen


@pytest.fixture
def root() -> Iterator[Path]:
    """A home with a short path, for the sockets in it."""
    directory = Path(tempfile.mkdtemp(prefix="rtb-", dir="/tmp"))
    yield directory
    shutil.rmtree(directory, ignore_errors=True)
