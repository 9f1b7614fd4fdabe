"""What a console may do to an engine, wherever that engine runs, and how the engine's events reach it."""

from __future__ import annotations

from typing import Literal, Protocol

from engine.events import Event, Snapshot

Answer = Literal["approved", "rejected"]


class AskNotOpenError(Exception):
    """The ask was answered by someone else, timed out or was withdrawn; ``str()`` says which, for a person."""


class Feed(Protocol):
    """One subscriber's side of the event stream. The first item is a ``Snapshot``; so is the first after a gap."""

    def drain(self) -> list[Event | Snapshot]:
        """What came since the last call, in order, without waiting. Any thread.

        Raises ConnectionError, with a line for a person, when the engine is gone and all it said was drained.
        """
        ...

    def close(self) -> None:
        """Stop listening."""
        ...


class Operator(Protocol):
    """One operator's connection: the hosting process has it in-process, ``breaker attach`` over a socket.

    Methods may be called from any thread, and block for as long as the engine takes (milliseconds); they raise
    ``ConnectionError`` with a line for a person when the engine is gone.
    """

    def subscribe(self) -> Feed:
        """Start to listen."""
        ...

    def answer(self, ask_id: str, answer: Answer, note: str = "") -> None:
        """Answer an open ask; ``note`` goes to the model with a rejection. Raises AskNotOpenError."""
        ...

    def revoke(self, agent: str, fingerprint: str) -> bool:
        """Count an exempted measure again; False when it is not exempted."""
        ...

    def lift(self, agent: str, fingerprint: str) -> bool:
        """Take a refusal back; False when there is none."""
        ...

    def reset_turn(self, agent: str) -> None:
        """Clear an agent's turn by hand, as a human message would."""
        ...

    def close(self) -> None:
        """Leave. Open asks end as ``unattended`` when no operator is left."""
        ...
