"""A Python function guarded as a tool: its arguments are the call's, what it returns or raises is the result."""

from __future__ import annotations

import functools
import itertools
import secrets
from abc import abstractmethod
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from inspect import Parameter, Signature, iscoroutinefunction, signature
from types import TracebackType
from typing import Any, Literal, TypeVar, cast, overload

from engine.results import result_from, result_raised
from engine.verdicts import Settlement, Verdict

OnRefusal = Literal["raise", "return"]
Tool = TypeVar("Tool", bound=Callable[..., Any])

_BOUND_TO = {"self", "cls"}
_call_ids = (f"{secrets.token_hex(4)}-{number}" for number in itertools.count(1))


class CallRefusedError(Exception):
    """A call that must not run. ``str()`` is the reason, and is meant for the model."""

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(verdict.reason)
        self.verdict = verdict


class _Call:
    """One call under way, and what came of it."""

    def __init__(self, tool: str, args: Mapping[str, Any]) -> None:
        self.id = next(_call_ids)
        self.tool = tool
        self.args = args
        self.verdict = Verdict("deny")
        self.settlement = Settlement(known=False)
        self._result: Mapping[str, Any] = {"isError": False}

    def returned(self, value: object) -> None:
        """Say what the tool gave back."""
        self._result = result_from(value)

    @property
    def advice(self) -> str:
        """What the model is to be told beside the result, once the call is settled; as a rule nothing."""
        return "\n\n".join(advisory.text for advisory in self.settlement.advisories)

    def advised(self, value: Any) -> Any:
        """The tool's own return value; a text with the advice under it."""
        return f"{value}\n\n{self.advice}" if self.advice and isinstance(value, str) else value

    def _judged(self, verdict: Verdict) -> None:
        self.verdict = verdict
        if verdict.decision == "deny":
            raise CallRefusedError(verdict)

    def _outcome(self, raised: BaseException | None) -> Mapping[str, Any]:
        return self._result if raised is None else result_raised(raised)


class GuardedCall(_Call, AbstractContextManager["GuardedCall"]):
    """``with breaker.call("bash", {"command": "ls"}) as call: call.returned(run())``."""

    def __init__(self, guard: Guard, tool: str, args: Mapping[str, Any]) -> None:
        super().__init__(tool, args)
        self._guard = guard

    def __enter__(self) -> GuardedCall:
        self._judged(self._guard.decide(self.id, self.tool, self.args))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.settlement = self._guard.settle(self.id, self._outcome(raised))


class AsyncGuardedCall(_Call, AbstractAsyncContextManager["AsyncGuardedCall"]):
    """``GuardedCall`` for ``async with``."""

    def __init__(self, guard: AsyncGuard, tool: str, args: Mapping[str, Any]) -> None:
        super().__init__(tool, args)
        self._guard = guard

    async def __aenter__(self) -> AsyncGuardedCall:
        self._judged(await self._guard.decide(self.id, self.tool, self.args))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.settlement = await self._guard.settle(self.id, self._outcome(raised))


class _Decorates:
    """``@breaker.guard`` and ``@breaker.guard(tool=..., refused=...)``."""

    @overload
    def guard(self, function: Tool) -> Tool: ...

    @overload
    def guard(self, *, tool: str = "", refused: OnRefusal = "raise") -> Callable[[Tool], Tool]: ...

    def guard(
        self, function: Tool | None = None, *, tool: str = "", refused: OnRefusal = "raise"
    ) -> Tool | Callable[[Tool], Tool]:
        """Let a function run only when its call passes the breaker.

        ``tool`` is what the call is counted as, by default the function's name. A refused call raises
        CallRefusedError, or with ``refused="return"`` returns the reason in place of a result. Advice for the model is
        added to a text that the function returns.
        """

        def decorate(plain: Tool) -> Tool:
            return cast("Tool", self._guarded(plain, tool or plain.__name__, refused))

        return decorate if function is None else decorate(function)

    @abstractmethod
    def _guarded(self, function: Callable[..., Any], tool: str, refused: OnRefusal) -> Callable[..., Any]: ...


class AsyncGuard(_Decorates):
    """What guards coroutine functions."""

    @abstractmethod
    async def decide(self, call_id: str, tool: str, args: Mapping[str, Any]) -> Verdict: ...

    @abstractmethod
    async def settle(self, call_id: str, result: Mapping[str, Any]) -> Settlement: ...

    def call(self, tool: str, args: Mapping[str, Any]) -> AsyncGuardedCall:
        """One guarded call, for ``async with``; a refused one raises CallRefusedError at once."""
        return AsyncGuardedCall(self, tool, args)

    def _guarded(self, function: Callable[..., Any], tool: str, refused: OnRefusal) -> Callable[..., Any]:
        if not iscoroutinefunction(function):
            raise TypeError(f"{tool} is no coroutine function: guard it with a Client")
        parameters = signature(function)

        @functools.wraps(function)
        async def guarded(*args: Any, **named: Any) -> Any:
            call = self.call(tool, arguments_of(parameters, args, named))
            try:
                async with call:
                    value = await function(*args, **named)
                    call.returned(value)
            except CallRefusedError as error:
                if refused == "return" and error.verdict is call.verdict:
                    return str(error)
                raise
            return call.advised(value)

        return guarded


class Guard(_Decorates):
    """What guards functions, and by ``asynchronous`` coroutine functions."""

    @abstractmethod
    def decide(self, call_id: str, tool: str, args: Mapping[str, Any]) -> Verdict: ...

    @abstractmethod
    def settle(self, call_id: str, result: Mapping[str, Any]) -> Settlement: ...

    @abstractmethod
    def asynchronous(self) -> AsyncGuard: ...

    def call(self, tool: str, args: Mapping[str, Any]) -> GuardedCall:
        """One guarded call, for ``with``; a refused one raises CallRefusedError at once."""
        return GuardedCall(self, tool, args)

    def _guarded(self, function: Callable[..., Any], tool: str, refused: OnRefusal) -> Callable[..., Any]:
        if iscoroutinefunction(function):
            return self.asynchronous().guard(tool=tool, refused=refused)(function)
        parameters = signature(function)

        @functools.wraps(function)
        def guarded(*args: Any, **named: Any) -> Any:
            call = self.call(tool, arguments_of(parameters, args, named))
            try:
                with call:
                    value = function(*args, **named)
                    call.returned(value)
            except CallRefusedError as error:
                if refused == "return" and error.verdict is call.verdict:
                    return str(error)
                raise
            return call.advised(value)

        return guarded


def arguments_of(parameters: Signature, args: tuple[Any, ...], named: Mapping[str, Any]) -> dict[str, Any]:
    """A call's arguments by name, defaults included: however it is written, the same call has the same arguments.

    Raises TypeError where the function itself would.
    """
    bound = parameters.bind(*args, **named)
    bound.apply_defaults()
    arguments = dict(bound.arguments)
    for name, parameter in parameters.parameters.items():
        if parameter.kind is Parameter.VAR_KEYWORD:
            arguments |= arguments.pop(name)
    first = next(iter(parameters.parameters), "")
    if first in _BOUND_TO:
        del arguments[first]
    return arguments
