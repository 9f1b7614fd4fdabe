"""One agent's connection: requests in, verdicts out. What waits on it is withdrawn when it closes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import ClassVar, Protocol

from msgspec import Struct, UnsetType, structs

from engine.calls import Call, args_of, result_of
from engine.protocol import (
    FRAME_LIMIT,
    PROTOCOL,
    WAITING_LIMIT,
    AskStatus,
    CancelCall,
    DecideAnswer,
    DecideCall,
    Done,
    EndAgent,
    ErrorCode,
    HookAnswer,
    Initialize,
    Initialized,
    Limits,
    ProtocolError,
    Request,
    RequestId,
    RunHook,
    ServerInfo,
    SettleAnswer,
    SettleCall,
    StartAgent,
    StartTurn,
    Status,
)
from engine.service.desk import SLOW_FRAME, Desk, HookDesk
from engine.service.frames import encode_error, encode_result
from engine.service.requests import RequestProtocol, fault_error, method
from engine.verdicts import Verdict, Waiting

_DONE = Done()
_TOO_MANY = DecideAnswer(
    "deny",
    f"REPEAT_TOOL_BLOCKED: {WAITING_LIMIT} calls of this connection already wait for the operator, so this one was "
    "not run. Wait for their answers.",
)


class HookHandler(Protocol):
    """Turns what a harness told its hook into decisions, and those into what the hook must print.

    It may await ``desk.decide``; it is cancelled, and with it the waiting call, when the hook's connection closes.
    """

    async def __call__(self, harness: str, payload: bytes, desk: HookDesk) -> HookAnswer:
        """``payload`` is JSON, as the harness wrote it. Raises ProtocolError for what it cannot make sense of."""
        ...


class Service(Struct, frozen=True):
    """What all connections of a server share. ``admit`` says whether a connection may stay; ``left``: it closed."""

    desk: Desk
    server: ServerInfo
    status: Callable[[], Status]
    admit: Callable[[AgentConnection], bool]
    left: Callable[[AgentConnection], None]
    hook: HookHandler | None = None


class AgentConnection(RequestProtocol):
    """Serves one connection on the agents' socket."""

    def __init__(self, service: Service) -> None:
        super().__init__()
        self._service = service
        self._desk = service.desk
        self._agent = ""
        self._waiting: dict[int, str] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._line = b""

    # -- its life ---------------------------------------------------------------------------------------------

    def opened(self) -> bool:
        return self._service.admit(self)

    def line_received(self, line: bytes) -> None:
        self._line = line
        super().line_received(line)
        self._line = b""

    def gone(self) -> None:
        waiting, self._waiting = self._waiting, {}
        for ticket, agent in waiting.items():
            self._desk.withdraw(agent, ticket)
        for hook in self._tasks:
            hook.cancel()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._service.left(self)

    async def finish(self) -> None:
        if self._tasks:
            await asyncio.wait(self._tasks)

    def not_introduced(self, name: str) -> ProtocolError:
        message = f"{name}: the first request must be initialize, with protocol {PROTOCOL}"
        return ProtocolError(ErrorCode.NOT_INITIALIZED, message)

    def failed(self, name: str, fault: Exception) -> None:
        self._desk.blame(f"serving {name}", fault)

    # -- what is asked ----------------------------------------------------------------------------------------

    def initialize(self, asked: Initialize, _: Request) -> Initialized:
        if asked.protocol != PROTOCOL:
            message = f"protocol: version {asked.protocol} is not served here; this engine speaks version {PROTOCOL}"
            raise ProtocolError(ErrorCode.UNSUPPORTED_PROTOCOL, message, field="protocol")
        self.introduced = True
        if about := asked.agent:
            self._agent = about.id
            self._desk.start_agent(about.id, parent=about.parent, harness=about.harness, name=about.name)
        timeout = self._desk.breaker.config.ask_timeout
        return Initialized(PROTOCOL, self._service.server, Limits(FRAME_LIMIT, WAITING_LIMIT, timeout))

    def decide(self, asked: DecideCall, request: Request) -> DecideAnswer | None:
        call = Call(asked.id, asked.agent or self._own(), asked.tool, args_of(asked.args))
        if len(self._waiting) >= WAITING_LIMIT:
            return _TOO_MANY
        waiter = _Waiter(self, request.id)
        if len(self._line) > SLOW_FRAME:
            self.hold()
            self._start(self._decide_aside(call, waiter, self._line))
            return None
        return self._answer(call, waiter, self._desk.judge(call, waiter, self._line))

    async def _decide_aside(self, call: Call, waiter: _Waiter, line: bytes) -> None:
        try:
            answer = self._answer(call, waiter, await self._desk.judge_aside(call, waiter, line))
            if answer and not isinstance(waiter.request, UnsetType):
                self.send(encode_result(waiter.request, answer))
        finally:
            self.release()

    def _answer(self, call: Call, waiter: _Waiter, answer: Verdict | Waiting) -> DecideAnswer | None:
        """What to answer now; None when the answer comes later, or is wanted by nobody."""
        if not isinstance(answer, Waiting):
            return answer_of(answer)
        if isinstance(waiter.request, UnsetType):
            self._desk.withdraw(call.agent, answer.ticket)
        else:
            waiter.ticket = answer.ticket
            self._waiting[answer.ticket] = call.agent
        return None

    def decided(self, ticket: int, request: RequestId | UnsetType, verdict: Verdict) -> None:
        """A call that waited on this connection is decided."""
        if self._waiting.pop(ticket, None) is not None and not isinstance(request, UnsetType):
            self.send(encode_result(request, answer_of(verdict)))

    def settle(self, asked: SettleCall, _: Request) -> SettleAnswer:
        settlement = self._desk.settle(asked.agent or self._own(), asked.id, result_of(asked.result))
        return SettleAnswer(settlement.advisories, settlement.failure, settlement.known)

    def cancel(self, asked: CancelCall, _: Request) -> Done:
        self._desk.cancel(asked.agent or self._own(), asked.id)
        return _DONE

    def start_turn(self, asked: StartTurn, _: Request) -> Done:
        self._desk.start_turn(asked.agent or self._own())
        return _DONE

    def start_agent(self, asked: StartAgent, _: Request) -> Done:
        agent = asked.agent or self._own()
        self._desk.start_agent(agent, parent=asked.parent, harness=asked.harness, name=asked.name)
        return _DONE

    def end_agent(self, asked: EndAgent, _: Request) -> Done:
        self._desk.end_agent(asked.agent or self._own())
        return _DONE

    def status(self, _: AskStatus, __: Request) -> Status:
        return self._service.status()

    def start_hook(self, asked: RunHook, request: Request) -> None:
        handler = self._service.hook
        if handler is None:
            message = "harness: this engine serves no harness's hooks"
            raise ProtocolError(ErrorCode.INVALID_PARAMS, message, field="harness")
        if len(self._tasks) >= WAITING_LIMIT:
            raise ProtocolError(ErrorCode.INTERNAL, f"{WAITING_LIMIT} hooks of this connection are being served")
        self._start(self._run_hook(handler, asked, request))

    async def _run_hook(self, handler: HookHandler, asked: RunHook, request: Request) -> None:
        payload = bytes(asked.payload)
        try:
            answer = await handler(asked.harness, payload, HookDesk(self._desk, payload))
            if asked.encoding == "hex":
                answer = structs.replace(answer, stdout=answer.stdout.encode("utf-8", "replace").hex())
            line = encode_result(None if isinstance(request.id, UnsetType) else request.id, answer)
        except ProtocolError as error:
            error.request = request.id
            line = encode_error(error)
        except Exception as fault:  # noqa: BLE001 - the hook's process decides by the error what to tell its harness
            self.failed(f"a hook of {asked.harness[:64]!r}", fault)
            line = encode_error(fault_error(fault, request))
        if not isinstance(request.id, UnsetType):
            self.send(line)

    def _start(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _own(self) -> str:
        if not self._agent:
            message = "agent: name the agent, here or once for all in initialize"
            raise ProtocolError(ErrorCode.INVALID_PARAMS, message, field="agent")
        return self._agent

    methods: ClassVar = {
        "initialize": method(Initialize, initialize, at_any_time=True),
        "call/decide": method(DecideCall, decide),
        "call/settle": method(SettleCall, settle),
        "call/cancel": method(CancelCall, cancel),
        "turn/start": method(StartTurn, start_turn),
        "agent/start": method(StartAgent, start_agent),
        "agent/end": method(EndAgent, end_agent),
        "status": method(AskStatus, status, at_any_time=True),
        "harness/hook": method(RunHook, start_hook),
    }
    """Everything that can be asked on the agents' socket. There is no answering here, no revoking and no lifting."""


class _Waiter:
    """Takes the verdict of one call that waited back to the request that asked for it."""

    __slots__ = ("_connection", "request", "ticket")

    def __init__(self, connection: AgentConnection, request: RequestId | UnsetType) -> None:
        self._connection = connection
        self.request = request
        self.ticket = 0

    def __call__(self, verdict: Verdict) -> None:
        self._connection.decided(self.ticket, self.request, verdict)


def answer_of(verdict: Verdict) -> DecideAnswer:
    """A verdict as it is told to an agent."""
    return DecideAnswer(verdict.decision, verdict.reason, verdict.outcome, verdict.asked)
