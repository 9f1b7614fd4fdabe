"""The operator in the engine's own process: what a console holds that hosts its engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from engine.operator import Answer
from engine.service.desk import Desk
from engine.service.feed import BoundedFeed

if TYPE_CHECKING:
    from engine.host import Host

LEFT = "This operator has left."

Given = TypeVar("Given")


class LocalOperator:
    """An ``Operator`` in the engine's own process."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._feeds: list[BoundedFeed] = []
        self._left = False

    def subscribe(self) -> BoundedFeed:
        if self._left:
            raise ConnectionError(LEFT)
        feed = self._host.subscribe()
        self._feeds.append(feed)
        return feed

    def answer(self, ask_id: str, answer: Answer, note: str = "") -> None:
        self._call(lambda desk: desk.answer(ask_id, answer, note))

    def revoke(self, agent: str, fingerprint: str) -> bool:
        return self._call(lambda desk: desk.revoke(agent, fingerprint))

    def lift(self, agent: str, fingerprint: str) -> bool:
        return self._call(lambda desk: desk.lift(agent, fingerprint))

    def reset_turn(self, agent: str) -> None:
        self._call(lambda desk: desk.reset_turn(agent))

    def close(self) -> None:
        if self._left:
            return
        self._left = True
        for feed in self._feeds:
            feed.close()
        self._host.leave(self)

    def _call(self, action: Callable[[Desk], Given]) -> Given:
        if self._left:
            raise ConnectionError(LEFT)
        return self._host.call(action)
