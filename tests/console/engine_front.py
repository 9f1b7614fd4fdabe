"""For tests in a pty: hosts an engine on a socket behind the line mode or the screen, as ``breaker`` does.

``python -m tests.console.engine_front plain|screen SOCKET``
"""

from __future__ import annotations

import sys
from pathlib import Path

from console.sources import HostSource
from engine.host import Host


def main(front: str, socket: str) -> int:
    """Run until it is told to quit."""
    source = HostSource(lambda: Host(socket=Path(socket)), "test")
    if front == "plain":
        from console.plain import run_plain  # noqa: PLC0415 - one of the two

        return run_plain(source, sys.stdout, sys.stdin)
    from console.app import ConsoleApp  # noqa: PLC0415 - one of the two

    try:
        return ConsoleApp(source).run() or 0
    finally:
        source.close()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
