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


@pytest.mark.parametrize(
    ("command", "code"),
    [("config show >&-", 0), ("replay - <&-", 2), ("explain <&- >&- 2>&-", 0), ("config check - <&-", 0)],
)
def test_a_stream_that_was_closed_is_an_empty_one(command: str, code: int, tmp_path: Path) -> None:
    environment = {**os.environ, "XDG_CONFIG_HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    line = f"exec {sys.executable} -m console {command}"
    done = subprocess.run(
        ["sh", "-c", line], capture_output=True, text=True, timeout=120, check=False, env=environment, cwd=tmp_path
    )
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="macOS has no /dev/full, the disk that is always full")
@pytest.mark.parametrize("calls", [1, 5000])
@pytest.mark.parametrize(
    "arguments", [("replay", "-"), ("replay", "-", "--json"), ("explain",), ("config", "show"), ("config", "schema")]
)
def test_a_full_disk_is_said_in_one_line(arguments: tuple[str, ...], calls: int, tmp_path: Path) -> None:
    environment = {**os.environ, "XDG_CONFIG_HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [*PROGRAM, *arguments],
            input=CALL * calls,
            stdout=full,
            stderr=subprocess.PIPE,
            timeout=120,
            check=False,
            env=environment,
            cwd=tmp_path,
        )
    assert (done.returncode, done.stderr.decode()) == (1, "breaker: No space left on device.\n")
