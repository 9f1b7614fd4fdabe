"""An operator who answers at random, late, twice or not at all, goes away and comes back."""

from __future__ import annotations

import threading
import time
from random import Random

from engine.events import AskOpened, Snapshot
from engine.operator import Answer, AskNotOpenError
from engine.operator_client import AttachError, RemoteOperator
from fuzz.process import Engine
from tests.chaos.ledger import Ledger

LOOK = 0.01


class OperatorAtRandom:
    """Works in a thread of its own until ``leave``."""

    def __init__(self, engine: Engine, ledger: Ledger, random: Random) -> None:
        self._engine, self._ledger, self._random = engine, ledger, random
        self._over = threading.Event()
        self._token = ""
        self._thread = threading.Thread(target=self._work, name="chaos-operator", daemon=True)

    def begin(self) -> None:
        self._thread.start()

    def leave(self) -> None:
        """Go home for good."""
        self._over.set()
        self._thread.join()

    @property
    def token(self) -> str:
        """The token that was used last."""
        return self._token

    def _work(self) -> None:
        try:
            while not self._over.is_set():
                self._one_shift()
        except Exception as fault:  # noqa: BLE001 - the storm goes on, and says so
            self._ledger.fault(f"the operator's client failed: {fault!r}")

    def _one_shift(self) -> None:
        """Attach, work, go; the engine may be killed at any moment of it."""
        try:
            operator, self._token = self._engine.operator(self._token)
        except (ConnectionError, AttachError, TimeoutError):
            self._over.wait(5 * LOOK)
            return
        self._ledger.deeds["operator attached"] += 1
        try:
            self._answer(operator, time.monotonic() + self._random.uniform(0.5, 4))
        except ConnectionError:
            pass
        finally:
            operator.close()
        self._over.wait(self._random.choice((0, 0.05, 0.5)))

    def _answer(self, operator: RemoteOperator, until: float) -> None:
        random, feed, known = self._random, operator.subscribe(), []
        agents: list[str] = []
        while time.monotonic() < until and not self._over.is_set():
            for event in feed.drain():
                if isinstance(event, Snapshot):
                    known += [ask.id for ask in event.asks]
                    agents = [agent.agent for agent in event.agents]
                    self._undo(operator, event)
                elif isinstance(event, AskOpened):
                    known.append(event.ask.id)
            if known and random.random() < 0.3:
                self._say(operator, random.choice(known[-6:]))
            if agents and random.random() < 0.02:
                operator.reset_turn(random.choice(agents))
                self._ledger.deeds["turn reset"] += 1
            self._over.wait(LOOK)

    def _say(self, operator: RemoteOperator, ask: str) -> None:
        """Answer, perhaps twice, and perhaps for the second time otherwise."""
        for _ in range(self._random.choice((1, 1, 1, 2))):
            answer: Answer = self._random.choice(("approved", "rejected"))
            ledger = self._ledger
            sent, heard = (
                (ledger.approving, ledger.approved) if answer == "approved" else (ledger.rejecting, ledger.rejected)
            )
            sent.add(ask)
            try:
                operator.answer(ask, answer, "not like this")
            except AskNotOpenError:
                ledger.deeds["answered too late"] += 1
            else:
                heard.add(ask)
                ledger.deeds[answer] += 1

    def _undo(self, operator: RemoteOperator, snapshot: Snapshot) -> None:
        for agent in snapshot.agents:
            for fingerprint in agent.exemptions:
                if self._random.random() < 0.2:
                    operator.revoke(agent.agent, fingerprint)
            for refusal in agent.refusals:
                if self._random.random() < 0.2:
                    operator.lift(agent.agent, refusal.fingerprint)
