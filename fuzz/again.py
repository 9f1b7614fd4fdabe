"""Inputs that were found, once more: ``python -m fuzz.again TARGET FILE ...``."""

from __future__ import annotations

import sys
import traceback
from pathlib import Path

from fuzz.process import say
from fuzz.targets import TARGETS


def main(name: str, *files: str) -> int:
    """Feed each file to the target, and print where it fails. 1 when one does."""
    failed = 0
    for file in files:
        data = Path(file).read_bytes()
        say(f"{file}: {data!r:.2000}")
        try:
            TARGETS[name].check(data)
        except Exception:  # noqa: BLE001 - any is what was looked for
            say(traceback.format_exc())
            failed = 1
    return failed


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
