"""A command run as a person runs it: a process of its own, with a home of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.parent
PROGRAM = [sys.executable, "-c", "from console.cli import main; main()"]


class Ran:
    """A finished run: exit code, standard output and error."""

    def __init__(self, *arguments: str | Path, home: Path, given: bytes = b"", columns: int = 100) -> None:
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("BREAKER_", "XDG_"))},
            **{f"XDG_{name}_HOME": str(home / name.lower()) for name in ("CONFIG", "STATE", "CACHE", "DATA")},
            "COLUMNS": str(columns),
            "HOME": str(home),
            "MPLCONFIGDIR": str(home / "matplotlib"),
            "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
        }
        done = subprocess.run(
            [*PROGRAM, *map(str, arguments)],
            input=given,
            capture_output=True,
            timeout=300,
            check=False,
            env=environment,
            cwd=home,
        )
        self.code = done.returncode
        self.raw = done.stdout
        self.out = done.stdout.decode()
        self.err = done.stderr.decode()
        assert "Traceback" not in self.err, self.err

    def json(self) -> Any:
        return json.loads(self.out)
