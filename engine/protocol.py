"""The agents' socket, frame by frame: everything that a client in any language needs.

**Transport.** A Unix stream socket: ``$BREAKER_SOCKET`` if that is set, else
``$XDG_RUNTIME_DIR/repeat-tool-breaker/engine.sock`` (``engine.paths`` says where it stands without a runtime
directory). Only processes of the same user are served. Each message is one line: a JSON object in UTF-8 that ends
in a newline and holds no other. A message is at most ``FRAME_LIMIT`` bytes long; a longer one is skipped to its end and
answered with an error. Empty lines are ignored.

**Messages** are JSON-RPC 2.0::

    -> {"jsonrpc":"2.0","id":1,"method":"...","params":{...}}
    <- {"jsonrpc":"2.0","id":1,"result":{...}}
    <- {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"...","data":{"field":"agent"}}}

An ``id`` is a string of at most 256 characters, an integer, or null. A request without one is a notification and
gets no answer, not even an error. Write ``jsonrpc`` and ``id`` first, as above: then even a message that cannot be
read is answered under its id, and not under null. Batches (arrays) are refused. Many requests may be under way on one
connection; their answers come as they are ready, in any order.

**Handshake.** The first request on a connection::

    -> {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocol":1,
        "client":{"name":"my-agent","version":"1.2"},
        "agent":{"id":"a1","parent":"","harness":"my-harness","name":"researcher"}}}
    <- {"jsonrpc":"2.0","id":0,"result":{"protocol":1,
        "server":{"name":"repeat-tool-breaker","version":"0.1.0","pid":4711},
        "limits":{"frame":16777216,"waiting":1024,"askTimeout":300.0}}}

``client`` and ``agent`` are optional. ``agent`` tells the engine who the agent is, as ``agent/start`` does, and the
requests that follow may then leave ``agent`` out. Every other method but ``status`` is refused before the handshake,
and another ``protocol`` than 1 is refused with the version that is spoken here. An agent outlives its connections: it
goes on under its id on any other.

**Before a call runs**, ask::

    -> {"jsonrpc":"2.0","id":1,"method":"call/decide","params":{
        "id":"c1","agent":"a1","tool":"bash","args":{"command":"ls"}}}
    <- {"jsonrpc":"2.0","id":1,"result":{"decision":"allow"}}
    <- {"jsonrpc":"2.0","id":1,"result":{"decision":"deny","reason":"REPEAT_TOOL_BLOCKED ...",
        "outcome":"rejected","asked":true}}

``decision`` is ``allow`` or ``deny``; the other fields are left out when empty. ``reason`` is what the model must be
told in place of a result. ``asked`` says that the operator had to decide, ``outcome`` how that ended: ``approved``,
``rejected``, ``unattended`` (nobody is there), ``timed_out`` or ``cancelled``. At the gate the answer comes when the
operator gives it, at the latest after ``limits.askTimeout`` seconds (null: whenever). Until then keep the connection
open in both directions: end of file withdraws every call that waits on it. ``args`` are the tool's arguments, as a
rule an object.

**After it ran**, hand in what it gave back, in the session format::

    -> {"jsonrpc":"2.0","id":2,"method":"call/settle","params":{"id":"c1","agent":"a1","result":{
        "isError":false,"value":{"exitCode":0},"content":[{"type":"text","text":"README.md"}]}}}
    <- {"jsonrpc":"2.0","id":2,"result":{"advisories":[
        {"stage":"warn","fp":"host:example.org","count":7,"text":"CONVERGENCE_CHECK ..."}]}}

The ``text`` of every advisory is for the model, beside the result. ``stage`` is ``warn``, ``summarize`` or
``fail-warn``. ``failure`` (``{"reason","detail"}``) is there when the result counts as a failure;
``"known":false`` says that no allowed call of that id was awaiting a result, so that nothing was counted. A denied call
is not settled.

**The rest**; the answer is ``{}`` where no other is given:

=============================================  =====================================================================
``call/cancel {id, agent}``                    a waiting call is withdrawn: it is denied as ``cancelled``
``turn/start {agent}``                         a human has written to the agent: all its counts are cleared
``agent/start {agent, parent, harness, name}``  who an agent is; a sub-agent names its parent
``agent/end {agent}``                          it is gone, and those under it: they are forgotten
``status {}``                                  what is going on, as ``Status``
``harness/hook {harness, encoding, payload}``  what a harness gave to its hook; the answer is a ``HookAnswer``
=============================================  =====================================================================

Nothing on this socket answers an ask, revokes an exemption or lifts a refusal.

**Errors.** ``code`` is one of ``ErrorCode``, ``message`` is for a person, ``data.field`` names the field at fault where
there is one. Take an error in answer to ``call/decide`` for a denial: an engine that is not there is a reason to go on
without one, an engine that could not read the call is not.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from engine.calls import Failure
from engine.verdicts import Advisory, Decision, Outcome

PROTOCOL = 1
FRAME_LIMIT = 16 * 1024 * 1024
"""Bytes in one message, its newline not counted."""
WAITING_LIMIT = 1024
"""Calls of one connection that may wait for the operator at once; one more is denied."""
SERVER_NAME = "repeat-tool-breaker"

RequestId = Annotated[str, Meta(max_length=256)] | int | None
Name = Annotated[str, Meta(min_length=1, max_length=1024)]
OptionalName = Annotated[str, Meta(max_length=1024)]


class ErrorCode(IntEnum):
    """JSON-RPC's own codes, then ours."""

    PARSE = -32700
    INVALID_REQUEST = -32600
    UNKNOWN_METHOD = -32601
    INVALID_PARAMS = -32602
    INTERNAL = -32603
    FRAME_TOO_LARGE = -32001
    NOT_INITIALIZED = -32002
    UNSUPPORTED_PROTOCOL = -32003
    NOT_ATTACHED = -32010
    PROOF_REFUSED = -32011
    ASK_NOT_OPEN = -32012


class ProtocolError(Exception):
    """A message that cannot be served. ``str()`` is the error's message; ``id`` is the request's, when it is known."""

    def __init__(
        self, code: ErrorCode, message: str, *, field: str = "", request: RequestId | UnsetType = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.field = field
        self.request = request


# -- the envelope ---------------------------------------------------------------------------------------------


class Request(Struct, frozen=True):
    """A request or, without an ``id``, a notification. ``params`` is decoded once the method is known."""

    method: str
    jsonrpc: Literal["2.0"]
    id: RequestId | UnsetType = UNSET
    params: Raw = Raw(b"{}")


class ErrorBody(Struct, frozen=True, omit_defaults=True):
    code: int
    message: str
    data: Mapping[str, Any] = {}


class Response(Struct, frozen=True):
    """What a client reads: an answer, or (``method`` set) a notification from the server."""

    id: RequestId = None
    result: Raw | UnsetType = UNSET
    error: ErrorBody | None = None
    method: str = ""
    params: Raw = Raw(b"{}")


# -- what is asked --------------------------------------------------------------------------------------------


class Params(Struct, frozen=True, forbid_unknown_fields=True):
    """Parameters of a method. A field that is not known is an error: a misspelt ``args`` would blind the engine."""


class ClientInfo(Params, frozen=True):
    name: OptionalName = ""
    version: OptionalName = ""


class AgentInfo(Params, frozen=True):
    id: Name
    parent: OptionalName = ""
    harness: OptionalName = ""
    name: OptionalName = ""


class Initialize(Params, frozen=True):
    protocol: int
    client: ClientInfo = ClientInfo()
    agent: AgentInfo | None = None


class DecideCall(Params, frozen=True):
    """``agent`` may be left out on a connection that named one; so in the other requests below."""

    id: Name
    tool: Name
    agent: OptionalName = ""
    args: Any = None


class SettleCall(Params, frozen=True):
    id: Name
    agent: OptionalName = ""
    result: Any = None


class CancelCall(Params, frozen=True):
    id: Name
    agent: OptionalName = ""


class StartTurn(Params, frozen=True):
    agent: OptionalName = ""


class StartAgent(Params, frozen=True):
    agent: OptionalName = ""
    parent: OptionalName = ""
    harness: OptionalName = ""
    name: OptionalName = ""


class EndAgent(Params, frozen=True):
    agent: OptionalName = ""


class AskStatus(Params, frozen=True):
    pass


class RunHook(Params, frozen=True):
    """``payload`` is what the harness wrote to its hook, as it came.

    With ``encoding`` ``hex``, ``stdout`` comes back as the hexadecimal digits of its bytes, so that a hook which knows
    no JSON can print it.
    """

    harness: Name
    encoding: Literal["text", "hex"] = "text"
    payload: Raw = Raw(b"null")


# -- what is answered -----------------------------------------------------------------------------------------


class ServerInfo(Struct, frozen=True):
    name: str
    version: str
    pid: int


class Limits(Struct, frozen=True, rename="camel"):
    """``frame`` in bytes, ``ask_timeout`` in seconds; None waits for ever."""

    frame: int
    waiting: int
    ask_timeout: float | None


class Initialized(Struct, frozen=True):
    protocol: int
    server: ServerInfo
    limits: Limits


class DecideAnswer(Struct, frozen=True, omit_defaults=True):
    decision: Decision
    reason: str = ""
    outcome: Outcome | None = None
    asked: bool = False


class SettleAnswer(Struct, frozen=True, omit_defaults=True):
    advisories: tuple[Advisory, ...]
    failure: Failure | None = None
    known: bool = True


class HookAnswer(Struct, frozen=True):
    """What the hook's process must print, and its exit status."""

    stdout: str = ""
    exit: int = 0


class Done(Struct, frozen=True):
    """The answer of a method that has nothing to say: ``{}``."""


class Heat(Struct, frozen=True, rename={"fingerprint": "fp"}):
    """One measure of an agent: how often it stands in the window, its cap, how often it failed in a row."""

    fingerprint: str
    count: int
    cap: float
    streak: int


class AgentStatus(Struct, frozen=True):
    """``waiting`` counts the calls that wait for the operator. ``hottest`` is nearest its cap first, at most 5;
    of exemptions and refusals there are at most 20.
    """

    agent: str
    parent: str
    harness: str
    name: str
    state: Literal["waiting", "blocked", "idle", "working"]
    turn: int
    calls: int
    waiting: int
    last_seen: float
    hottest: tuple[Heat, ...]
    exemptions: tuple[str, ...]
    refusals: tuple[str, ...]


class AskState(Struct, frozen=True):
    """An open ask, without what the tool gave back before."""

    id: str
    agent: str
    tool: str
    fingerprints: tuple[str, ...]
    opened: float
    deadline: float | None


class Status(Struct, frozen=True):
    server: ServerInfo
    started: float
    attended: bool
    config_source: str
    agents: tuple[AgentStatus, ...]
    asks: tuple[AskState, ...]
