"""Who may answer over a socket: one operator at a time, who knows the token on the engine's own terminal."""

from __future__ import annotations

from collections.abc import Callable

from engine.protocol import ErrorCode, ProtocolError
from engine.service.proof import Seals, new_nonce, new_token, prove, proves


class Door:
    """Holds the token that lets the next operator in; at most one is outstanding, none while one is inside.

    ``announce`` shows a new token to the operator, and to nobody else. The token is kept nowhere but here.
    """

    def __init__(self, announce: Callable[[str], None]) -> None:
        self._announce = announce
        self._token = ""
        self._closed = False

    def close(self) -> None:
        """Let nobody in any more: the engine stops."""
        self._closed = True
        self._token = ""

    def open(self) -> None:
        """Make the token for the next operator, unless the engine stops."""
        if self._closed:
            return
        self._token = new_token()
        self._announce(self._token)

    def challenge(self, operator_nonce: str) -> tuple[str, str]:
        """A nonce of the engine's, and its proof that it knows the token. Raises ProtocolError when there is none."""
        self._require_token()
        engine_nonce = new_nonce()
        return engine_nonce, prove(self._token, "engine", operator_nonce, engine_nonce)

    def enter(self, operator_nonce: str, engine_nonce: str, proof: str) -> Seals:
        """Let in who proves to know the token, which is used up by that. Raises ProtocolError."""
        self._require_token()
        token = self._token
        if not proves(token, "operator", operator_nonce, engine_nonce, proof):
            raise ProtocolError(ErrorCode.PROOF_REFUSED, "that is not the token this engine printed to its terminal")
        self._token = ""
        return Seals(token, "engine", operator_nonce, engine_nonce)

    def _require_token(self) -> None:
        if not self._token:
            message = "an operator is attached already; when it leaves, the engine prints a token for the next"
            raise ProtocolError(ErrorCode.PROOF_REFUSED, message)
