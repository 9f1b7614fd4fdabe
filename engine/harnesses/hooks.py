"""Serves harnesses' hooks: payload in, decisions at the desk, the bytes to print out."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from hashlib import sha256

from msgspec import structs

from engine.calls import Call
from engine.harnesses.adapter import Adapter, Began, Ended, Prompted, Proposed, Ran, Subject, Told
from engine.harnesses.claude_code import ClaudeCode
from engine.harnesses.codex import Codex
from engine.harnesses.gemini_cli import GeminiCli
from engine.harnesses.pairing import Pairs
from engine.harnesses.payloads import read_payload
from engine.harnesses.rollout import ending_of
from engine.protocol import ErrorCode, HookAnswer, ProtocolError
from engine.service.desk import HookDesk

ADAPTERS: Mapping[str, Adapter] = {one.name: one for one in (ClaudeCode(), Codex(), GeminiCli())}

AGENTS_KEPT = 4096
"""Agents whose introduction is remembered, and sessions whose scheduled prompts are."""
SCHEDULED_KEPT = 64
"""Prompts that one session has scheduled for itself."""

TRIAL_EVENT = "BreakerTrial"
"""The event of a payload that no harness sends: it asks whether a hook gets through to an engine."""
TRIAL_ANSWER = '{"breaker":"here"}'

_NOTHING = HookAnswer()


class Hooks:
    """The hook handler of one engine."""

    def __init__(self) -> None:
        self._pairs = Pairs()
        self._introduced: OrderedDict[str, None] = OrderedDict()
        self._scheduled: OrderedDict[str, OrderedDict[bytes, None]] = OrderedDict()

    async def __call__(self, harness: str, payload: bytes, desk: HookDesk) -> HookAnswer:
        """Serve one hook. Raises ProtocolError for a payload that cannot be made sense of."""
        adapter = ADAPTERS.get(harness)
        if adapter is None:
            message = f"harness: there is no harness {harness[:64]!r}; there are {', '.join(ADAPTERS)}"
            raise ProtocolError(ErrorCode.INVALID_PARAMS, message, field="harness")
        fields = read_payload(payload)
        if fields.text("hook_event_name") == TRIAL_EVENT:
            return HookAnswer(TRIAL_ANSWER)
        told = adapter.read(fields)
        if isinstance(told, Proposed):
            return await self._decide(told, adapter, desk)
        if isinstance(told, Ran):
            return await self._settle(told, adapter, desk)
        self._note(told, adapter, desk)
        return _NOTHING

    async def _decide(self, told: Proposed, adapter: Adapter, desk: HookDesk) -> HookAnswer:
        agent = told.agent
        self._introduce(agent, adapter, desk)
        call = told.call or self._pairs.new_id()
        verdict = await desk.decide(Call(call, agent.id, told.tool, told.args))
        if verdict.decision == "deny":
            return HookAnswer(adapter.denial(verdict.reason))
        if not told.call:
            self._pairs.began(call, agent.id, told.tool, told.args)
        if told.schedules:
            self._schedule(agent.root, told.schedules)
        # Whether the call is permitted at all is for the harness to say: a call that passes is met with silence.
        return _NOTHING

    async def _settle(self, told: Ran, adapter: Adapter, desk: HookDesk) -> HookAnswer:
        agent = told.agent.id
        call = told.call or self._pairs.ended(agent, told.tool, told.args)
        if not call:
            return _NOTHING
        result = told.result
        if ending := await ending_of(told.transcript, call):
            result = structs.replace(ending, text=result.text)
        advisories = desk.settle(agent, call, result).advisories
        if not advisories:
            return _NOTHING
        return HookAnswer(adapter.advice(told.event, "\n\n".join(advisory.text for advisory in advisories)))

    def _note(self, told: Told, adapter: Adapter, desk: HookDesk) -> None:
        if isinstance(told, Prompted):
            if self._is_scheduled(told.agent.id, told.text):
                return
            self._introduced.pop(told.agent.id, None)  # the engine forgets who was idle for hours
            self._introduce(told.agent, adapter, desk)
            self._pairs.forget(told.agent.id)
            desk.start_turn(told.agent.id)
        elif isinstance(told, Began):
            self._introduce(told.agent, adapter, desk)
        elif isinstance(told, Ended):
            agent = told.agent.id
            self._introduced.pop(agent, None)
            self._scheduled.pop(agent, None)
            self._pairs.forget(agent)
            desk.end_agent(agent)

    def _introduce(self, agent: Subject, adapter: Adapter, desk: HookDesk) -> None:
        if agent.id in self._introduced:
            self._introduced.move_to_end(agent.id)
            return
        desk.start_agent(agent.id, parent=agent.parent, harness=adapter.name, name=agent.name)
        self._introduced[agent.id] = None
        if len(self._introduced) > AGENTS_KEPT:
            self._introduced.popitem(last=False)

    def _schedule(self, session: str, prompt: str) -> None:
        prompts = self._scheduled.setdefault(session, OrderedDict())
        self._scheduled.move_to_end(session)
        prompts[_digest(prompt)] = None
        if len(prompts) > SCHEDULED_KEPT:
            prompts.popitem(last=False)
        if len(self._scheduled) > AGENTS_KEPT:
            self._scheduled.popitem(last=False)

    def _is_scheduled(self, session: str, prompt: str) -> bool:
        return _digest(prompt) in self._scheduled.get(session, ())


def _digest(prompt: str) -> bytes:
    return sha256(prompt.strip().encode("utf-8", "surrogatepass")).digest()
