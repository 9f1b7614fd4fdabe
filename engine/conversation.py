"""What both clients say to an engine, how they read its answers, and what holds when there is none."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from typing import Any, Literal, TypeVar

import msgspec
from msgspec import Struct, UnsetType

from engine.protocol import (
    FRAME_LIMIT,
    PROTOCOL,
    AgentInfo,
    ClientInfo,
    DecideAnswer,
    ErrorBody,
    HookAnswer,
    Initialize,
    Initialized,
    RequestId,
    Response,
    SettleAnswer,
)
from engine.service.frames import encode_request
from engine.verdicts import Settlement, Verdict

OnUnreachable = Literal["allow", "deny"]

HANDSHAKE_SECONDS = 2.0
"""How long an engine may take to take a connection and introduce itself; one that is not there is known at once."""
RETRY_SECONDS = 0.005
"""How soon a full queue of connections is tried again."""
ANSWER_SECONDS = 10.0
"""How long an engine may take to answer what it need not ask anybody about."""
PATIENCE_SECONDS = 15.0
"""How much longer than its own ``askTimeout`` an engine is waited for."""

Answer = TypeVar("Answer", bound=Struct)

_response = msgspec.json.Decoder(Response)
_encoder = msgspec.json.Encoder(enc_hook=str)


class BreakerUnreachableWarning(UserWarning):
    """No engine answered, so a call went unguarded."""


class UnreachableError(Exception):
    """No engine answered; ``str()`` says what was tried."""


class UnansweredError(UnreachableError):
    """An engine is there, or was when it was asked, and gave no answer that can be used; ``str()`` says why."""


class UnwritableError(Exception):
    """What the caller gave cannot be written as a message."""


class Terms(Struct, frozen=True):
    """Who speaks, and what it does without an engine; one that only looks needs no ``agent``.

    ``timeout``: seconds to wait for a verdict; None waits a little longer than the engine lets an ask wait.
    """

    agent: str
    parent: str = ""
    harness: str = ""
    name: str = ""
    on_unreachable: OnUnreachable = "allow"
    timeout: float | None = None

    def patience(self, engine: Initialized) -> float | None:
        """How long to wait for a verdict of this engine; None waits for ever."""
        if self.timeout is not None:
            return self.timeout
        asked = engine.limits.ask_timeout
        return None if asked is None else asked + PATIENCE_SECONDS


# -- what is said ---------------------------------------------------------------------------------------------


def greeting(terms: Terms) -> bytes:
    """The handshake, as a line."""
    agent = AgentInfo(terms.agent, terms.parent, terms.harness, terms.name) if terms.agent else None
    return encode_request("initialize", Initialize(PROTOCOL, ClientInfo("python"), agent), 0)


def request(method: str, params: Mapping[str, Any], number: RequestId | UnsetType) -> bytes:
    """A request with a tool's own data in it, as a line. Values of no JSON type are written as their ``str``.

    Raises UnwritableError.
    """
    try:
        body = _encoder.encode(params)
    except UnicodeEncodeError:
        body = _with_lone_surrogates(params)
    except Exception as error:
        raise UnwritableError(f"{type(error).__name__}: {error}") from error
    line = encode_request(method, msgspec.Raw(body), number)
    if len(line) > FRAME_LIMIT:
        raise UnwritableError(f"the message would have {len(line)} bytes, and {FRAME_LIMIT} are the most")
    return line


def _with_lone_surrogates(params: Mapping[str, Any]) -> bytes:
    try:
        readable = json.loads(json.dumps(params, default=str), parse_constant=lambda _: None)
        return json.dumps(readable).encode()
    except Exception as error:
        raise UnwritableError(f"{type(error).__name__}: {error}") from error


# -- what is answered -----------------------------------------------------------------------------------------


def response_of(line: bytes) -> Response:
    """Read an answer. Raises UnreachableError: whatever wrote this is no engine."""
    try:
        return _response.decode(line)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise UnreachableError(f"what answered is no engine: {error}") from error


def printed_of(response: Response) -> str:
    """What a harness's hook is to print. Raises UnansweredError."""
    if response.error:
        raise UnansweredError(response.error.message)
    return result_of(response, HookAnswer).stdout


def welcome_of(response: Response) -> Initialized:
    """The engine's side of the handshake. Raises UnreachableError when it speaks another protocol."""
    return result_of(response, Initialized)


def result_of(response: Response, answer: type[Answer]) -> Answer:
    """The result in an answer. Raises UnreachableError for an error, or for another result than was asked for."""
    if response.error or isinstance(response.result, UnsetType):
        raise UnreachableError(f"the engine said: {response.error.message if response.error else 'nothing'}")
    try:
        return msgspec.json.decode(response.result, type=answer)
    except msgspec.MsgspecError as error:
        raise UnreachableError(f"what answered is no engine: {error}") from error


def verdict_of(response: Response) -> Verdict:
    """A verdict. An error is a denial: an engine is there, and it has not let the call through."""
    if response.error:
        return unread(response.error)
    try:
        answer = result_of(response, DecideAnswer)
    except UnreachableError as error:
        return silent(error)
    return Verdict(answer.decision, answer.asked, answer.outcome, reason=answer.reason)


def settlement_of(response: Response) -> Settlement:
    """What the engine made of a result; nothing, when it could not read it."""
    if response.error:
        return Settlement(known=False)
    answer = result_of(response, SettleAnswer)
    return Settlement(answer.failure, answer.advisories, answer.known)


def why(error: BaseException) -> str:
    """What went wrong with a connection, in a few words."""
    return (error.strerror if isinstance(error, OSError) else "") or str(error) or type(error).__name__


# -- what holds without an answer -----------------------------------------------------------------------------


def unread(error: ErrorBody | UnwritableError) -> Verdict:
    """The verdict of a call that the engine could not read."""
    why = error.message if isinstance(error, ErrorBody) else str(error)
    return Verdict(
        "deny", reason=f"REPEAT_TOOL_BLOCKED: the breaker could not read this call, so it was not run: {why}."
    )


def unanswered(seconds: float) -> Verdict:
    """The verdict of a call whose caller has waited long enough."""
    reason = f"REPEAT_TOOL_BLOCKED: the breaker gave no answer within {seconds:g} seconds, so the call was not run."
    return Verdict("deny", outcome="timed_out", reason=reason)


def hung_up(lost: Exception | None, *, asked: bool) -> UnreachableError:
    """The error for an engine that is gone: an UnansweredError if it may have been ``asked`` before."""
    if asked:
        return UnansweredError(f"the engine was asked and ended before it answered ({lost})")
    return UnreachableError(f"the engine hung up ({lost})")


def silent(error: UnreachableError) -> Verdict:
    """The verdict of a call that an engine was asked about, and that it never answered."""
    reason = f"REPEAT_TOOL_BLOCKED: the breaker gave no answer about this call, so it was not run: {error}."
    return Verdict("deny", reason=reason)


def unguarded(terms: Terms, error: UnreachableError) -> Verdict:
    """The verdict without an engine: what the caller chose, with a warning when the call goes on unguarded."""
    if terms.on_unreachable == "deny":
        return Verdict("deny", reason=f"REPEAT_TOOL_BLOCKED: no breaker guards this call, so it was not run: {error}.")
    warnings.warn(f"no breaker guards this call: {error}", BreakerUnreachableWarning, stacklevel=3)
    return Verdict("allow")
