"""The lines to the engine of a program that runs many agents: one for each, made when it is first heard of."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from pathlib import Path
from threading import Lock

from engine.async_client import AsyncClient
from engine.client import Client
from engine.conversation import OnUnreachable

CLIENTS_KEPT = 256
"""Agents with an open line. One that is heard of again after that many others gets a new one."""


class Clients:
    """Options as of ``engine.client.Client``."""

    def __init__(
        self,
        harness: str,
        *,
        socket: Path | None = None,
        on_unreachable: OnUnreachable = "allow",
        timeout: float | None = None,
    ) -> None:
        self._harness = harness
        self._socket = socket
        self._on_unreachable: OnUnreachable = on_unreachable
        self._timeout = timeout
        self._clients: OrderedDict[str, Client] = OrderedDict()
        self._lock = Lock()
        self._closing: set[asyncio.Task[None]] = set()

    def client(self, agent: str, *, parent: str = "", name: str = "") -> Client:
        """This agent's client. Any thread."""
        with self._lock:
            client = self._clients.get(agent)
            if client is None:
                client = self._clients[agent] = Client(
                    agent,
                    socket=self._socket,
                    parent=parent,
                    harness=self._harness,
                    name=name,
                    on_unreachable=self._on_unreachable,
                    timeout=self._timeout,
                )
            self._clients.move_to_end(agent)
            idle = self._clients.popitem(last=False)[1] if len(self._clients) > CLIENTS_KEPT else None
        if idle:
            self._hang_up(idle)
        return client

    def asynchronous(self, agent: str, *, parent: str = "", name: str = "") -> AsyncClient:
        """This agent's client for asyncio."""
        return self.client(agent, parent=parent, name=name).asynchronous()

    def close(self) -> None:
        """Hang up everywhere."""
        with self._lock:
            clients, self._clients = list(self._clients.values()), OrderedDict()
        for client in clients:
            self._hang_up(client)

    def _hang_up(self, client: Client) -> None:
        client.close()
        try:
            task = asyncio.get_running_loop().create_task(client.asynchronous().close())
        except RuntimeError:
            return  # no loop runs here, and a line that was opened on one ends with it
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)
