"""Commands that cannot go on say so in words and leave with their exit code, whatever the system refused them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
PROGRAM = [sys.executable, "-c", "from console.cli import main; main()"]
CALL = b'{"type":"call","tool":"lookup","args":{}}\n'


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a disk that is always full")
@pytest.mark.parametrize(
    "arguments", [("replay", "-"), ("replay", "-", "--json"), ("explain",), ("config", "show"), ("config", "schema")]
)
def test_a_full_disk_is_said_in_one_line(arguments: tuple[str, ...], tmp_path: Path) -> None:
    environment = {**os.environ, "XDG_CONFIG_HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [*PROGRAM, *arguments],
            input=CALL * 5000,
            stdout=full,
            stderr=subprocess.PIPE,
            timeout=120,
            check=False,
            env=environment,
            cwd=tmp_path,
        )
    assert (done.returncode, done.stderr.decode()) == (1, "breaker: No space left on device.\n")
