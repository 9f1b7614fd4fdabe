"""How an operator and an engine prove to each other that both know a token, over a socket that others can reach.

Any process of the same user can connect to the operators' socket, and can also move it away and stand in its
place. So the token itself is never sent:

1. the operator sends a nonce; the engine answers with one of its own and ``prove(token, "engine", …)`` over both;
2. an impostor cannot, so the operator goes no further with it; then it sends ``prove(token, "operator", …)``;
3. from then on every line, either way, carries a seal: a keyed digest over its number and its text, with a key
   made of the token and both nonces. One who passes messages on between the two can read them (the journal says
   the same), but can add none, change none, repeat none and leave none out.

The digests tell nothing about the token: it has 120 random bits, so there is nothing to guess.
"""

from __future__ import annotations

import hmac
import secrets

ALPHABET = "abcdefghjkmnpqrstuvwxyz123456789"
"""32 characters that are not taken for one another (no i, l, o, 0)."""
TOKEN_GROUPS = 6
GROUP = 4
SEAL_CHARS = 32
"""Hexadecimal digits of a seal (128 bits)."""
NONCE_BYTES = 16


class SealBrokenError(Exception):
    """A line that the other end cannot have written, or not at this place."""


def new_token() -> str:
    """A token to be shown to the operator, in groups: ``abcd-efgh-…``, 120 random bits."""
    return "-".join("".join(secrets.choice(ALPHABET) for _ in range(GROUP)) for _ in range(TOKEN_GROUPS))


def typed_token(text: str) -> str:
    """A token as somebody typed or pasted it: case, spaces and dashes do not matter."""
    return "".join(one for one in text.lower() if one in ALPHABET)


def new_nonce() -> str:
    """A fresh random value, never used twice."""
    return secrets.token_hex(NONCE_BYTES)


def prove(token: str, who: str, operator_nonce: str, engine_nonce: str) -> str:
    """The proof of ``who`` (``engine`` or ``operator``), or for another purpose a key, over both nonces."""
    text = f"repeat-tool-breaker 1 {who} {operator_nonce} {engine_nonce}"
    return hmac.digest(typed_token(token).encode(), text.encode(), "sha256").hex()


def proves(token: str, who: str, operator_nonce: str, engine_nonce: str, proof: str) -> bool:
    """Whether ``proof`` is the one of ``who``. Takes the same time wherever it differs."""
    return hmac.compare_digest(
        prove(token, who, operator_nonce, engine_nonce).encode(), proof.encode("utf-8", "replace")
    )


class Seals:
    """One end's seals after a proof: puts them on what it writes, checks them on what it reads."""

    __slots__ = ("_read", "_read_key", "_write_key", "_written")

    def __init__(self, token: str, own: str, operator_nonce: str, engine_nonce: str) -> None:
        other = "engine" if own == "operator" else "operator"
        self._write_key = prove(token, f"{own} seals", operator_nonce, engine_nonce).encode()
        self._read_key = prove(token, f"{other} seals", operator_nonce, engine_nonce).encode()
        self._written = 0
        self._read = 0

    def seal(self, line: bytes) -> bytes:
        """A line with its seal before it."""
        self._written += 1
        return b"%b %b" % (_digest(self._write_key, self._written, line.rstrip(b"\n")), line)

    def open(self, line: bytes) -> bytes:
        """What is under the seal of a line. Raises SealBrokenError; then nothing on this connection can be trusted."""
        self._read += 1
        text = line[SEAL_CHARS + 1 :]
        if not hmac.compare_digest(line[:SEAL_CHARS], _digest(self._read_key, self._read, text)):
            raise SealBrokenError("a message was not written by the other end, or not at this place")
        return text


def _digest(key: bytes, number: int, text: bytes) -> bytes:
    return hmac.digest(key, b"%d %b" % (number, text), "sha256").hex()[:SEAL_CHARS].encode()
