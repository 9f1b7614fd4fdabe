"""A bare echo of whatever comes, on a Unix socket: the floor for any server on its loop. Ends with its standard input.

    python -I echo.py PATH asyncio|uvloop

It imports nothing of ours. What a process has imported decides how the C library finds the memory that asyncio asks
for at every read, and so whether this takes 16 or 33 microseconds.
"""

from __future__ import annotations

import asyncio
import sys
from typing import cast


class Echo(asyncio.Protocol):
    """Sends back what it is sent."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Somebody connected."""
        self.write = cast("asyncio.Transport", transport).write

    def data_received(self, data: bytes) -> None:
        """Something came."""
        self.write(data)


async def serve(path: str) -> None:
    """Echo until standard input ends; a line on standard output says that it has begun."""
    server = await asyncio.get_running_loop().create_unix_server(Echo, path)
    print(flush=True)
    await asyncio.to_thread(sys.stdin.read)
    server.close()


if __name__ == "__main__":
    if sys.argv[2] == "uvloop":
        import uvloop

        uvloop.run(serve(sys.argv[1]))
    else:
        asyncio.run(serve(sys.argv[1]))
