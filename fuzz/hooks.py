"""What must hold of a harness's hook, whatever the harness gives it."""

from __future__ import annotations

import asyncio
import json

from engine.harnesses.hooks import ADAPTERS, Hooks
from engine.protocol import ProtocolError
from engine.service.desk import Desk, HookDesk
from fuzz.reading import text_of
from tests.engine.steps import TIGHT

INPUTS_SERVED = 200
STDOUT_MOST = 64 * 1024


class _Engine:
    """An engine without an operator, begun afresh every so often: each input may be another agent."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._served = 0
        self._begin()

    def _begin(self) -> None:
        self.desk = Desk(TIGHT)
        self.hooks = Hooks()

    def serve(self, harness: str, payload: bytes) -> str:
        """What the hook must print. Raises ProtocolError."""
        self._served += 1
        if self._served % INPUTS_SERVED == 0:
            self._begin()
        answer = self._loop.run_until_complete(self.hooks(harness, payload, HookDesk(self.desk, payload)))
        assert answer.exit in {0, 2}, f"it ends with {answer.exit}"
        return answer.stdout

    def calls(self) -> int:
        return sum(agent.calls for agent in self.desk.snapshot().agents)


_engine = _Engine()


def hook(data: bytes) -> None:
    """A hook is answered in its harness's form, or by an error; it counts one call at most."""
    harness, _, payload = data.partition(b"\n")
    name = text_of(harness)
    if b"transcript" in payload:
        return  # no fuzzer has any business in somebody's files
    before, desk = _engine.calls(), _engine.desk
    try:
        stdout = _engine.serve(name, payload)
    except ProtocolError as error:
        assert len(str(error)) < 2000, "an error without end"
        return
    assert name in ADAPTERS, "a harness that nobody knows"
    assert len(stdout) <= STDOUT_MOST, f"it prints {len(stdout)} characters"
    if stdout:
        assert isinstance(json.loads(stdout), dict), "what it prints is no object"
    assert desk is not _engine.desk or _engine.calls() <= before + 1, "one hook is two calls"
