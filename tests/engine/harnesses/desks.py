"""A desk for hooks, without sockets: what a harness would tell, and what was made of it."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from engine.config import DEFAULTS, Config
from engine.events import AskOpened, Event
from engine.harnesses.hooks import Hooks
from engine.operator import Answer
from engine.service.desk import Desk, HookDesk


class HookBench:
    """One engine's hook handler with a desk, and every event. ``operator`` answers what is asked."""

    def __init__(self, config: Config = DEFAULTS, operator: Answer | None = None) -> None:
        self.events: list[Event] = []
        self.desk = Desk(config, listeners=[self.events.append])
        self.hooks = Hooks()
        self.asked = asyncio.Event()
        self.desk.listen(lambda event: self.asked.set() if isinstance(event, AskOpened) else None)
        if operator:
            self.desk.attach()
            self.desk.listen(lambda event: self._answer(event, operator))

    async def raw(self, harness: str, payload: bytes) -> str:
        """What this hook prints."""
        answer = await self.hooks(harness, payload, HookDesk(self.desk, payload))
        assert answer.exit == 0
        return answer.stdout

    async def tell(self, harness: str, payload: dict[str, Any]) -> dict[str, Any]:
        """What this hook prints, read; empty when that is nothing."""
        printed = await self.raw(harness, json.dumps(payload).encode())
        read = json.loads(printed) if printed else {}
        assert isinstance(read, dict)
        return read

    def of(self, kind: type[Any]) -> list[Any]:
        """The events of this kind."""
        return [event for event in self.events if isinstance(event, kind)]

    def _answer(self, event: Event, answer: Answer) -> None:
        if isinstance(event, AskOpened):
            asyncio.get_running_loop().call_soon(self.desk.answer, event.ask.id, answer, "a note")
