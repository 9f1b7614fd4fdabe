"""The operators' socket: the messages with which a console on another process watches and answers.

The frames are those of ``engine.protocol``. First the two ends prove to each other that they know the token that
the engine printed to its own terminal (``engine.service.proof`` says how, and why the token itself is not sent)::

    -> operator/hello {protocol: 1, nonce}      <- {protocol, server, nonce, proof}
    -> operator/attach {proof}                  <- {}

From the answer to ``operator/attach`` on, every line in both directions carries a seal. The token is used up by that
one attach; while an operator is attached there is none, and when it leaves a new one is printed.

Then ``operator/subscribe {}`` -> ``{subscription}`` starts notifications ``event {subscription, event}``: a
``Snapshot`` first, then every event in order, and another snapshot, which says how many events are missing, for one
that fell behind or asks for it with ``operator/resync {subscription}``. ``operator/answer {ask, answer, note}``,
``operator/revoke {agent, fp}``, ``operator/lift {agent, fp}`` and ``operator/reset {agent}`` do what their names say.
Hanging up is leaving.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from engine.events import Event, Snapshot
from engine.operator import Answer
from engine.protocol import Params, ServerInfo

Nonce = Annotated[str, Meta(pattern="^[0-9a-f]{32}$")]
Proof = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]


class Hello(Params, frozen=True):
    protocol: int
    nonce: Nonce


class HelloAnswer(Struct, frozen=True):
    protocol: int
    server: ServerInfo
    nonce: Nonce
    proof: Proof


class Attach(Params, frozen=True):
    proof: Proof


class Subscribe(Params, frozen=True):
    pass


class Subscribed(Struct, frozen=True):
    subscription: int


class Unsubscribe(Params, frozen=True):
    subscription: int


class Resync(Params, frozen=True):
    subscription: int


class AnswerAsk(Params, frozen=True):
    ask: str
    answer: Answer
    note: str = ""


class OneMeasure(Params, frozen=True, rename={"fingerprint": "fp"}):
    agent: str
    fingerprint: str


class ResetTurn(Params, frozen=True):
    agent: str


class Changed(Struct, frozen=True):
    """Whether there was anything to revoke or to lift."""

    changed: bool


class Occurred(Struct, frozen=True):
    """The parameters of an ``event`` notification."""

    subscription: int
    event: Event | Snapshot
