"""Where secrets stand in a text: the signs of them, and what is read on from each.

A sign is looked for in lower case, by one pattern; then its reader says how far the secret goes. What is recognised
is written as secrets are written: after a telling name (``--token x``, ``API_KEY=x``, ``"password": "x"``,
``Authorization: Bearer x``), in a URL before the ``@``, after ``-u user:``, between the lines of a PEM file, or in the
shape that a service gives its tokens.

Time is linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from engine.secret_readers import (
    ASSIGNS,
    CLOSED,
    FIELD,
    SHAPES,
    Reader,
    Span,
    after_header,
    after_name,
    after_pass,
    after_user,
    in_pem,
    in_shape,
    in_userinfo,
    masked_before,
)

SECRET_NAMES = (
    *("password", "passwd", "passphrase", "passcode", "pass", "secret", "token", "key", "auth"),
    *("authorization", "credential", "credentials", "cookie"),
)
"""How the name of a secret ends, in lower case: ``AWS_SECRET_ACCESS_KEY``, ``db_password``, ``X-Auth-Token``."""

SIGN_CHARS = 64
"""No sign of a secret is longer: one that begins before a cut ends before so many characters behind it."""

TOKEN = re.compile(r"<secret:[0-9a-f]{6}>")
"""What stands where a secret was."""

_SIGN_WITH_DASH = re.compile(r"-(?:u|[A-Za-z]{1,6}u[\s\"'\\]|(?<=sk-)|(?<=glpat-)|(?<=xox[a-z]-))")
_SIGN_WITH_UNDERSCORE = re.compile(r"_(?:(?<=gh[pousr]_)|(?<=github_pat_)|(?<=npm_)|(?<=hf_))")
"""Each begins with the one character that a search skips to quickly."""

_READERS: dict[str, Reader] = {
    **dict.fromkeys(SECRET_NAMES, after_name),
    **dict.fromkeys(("authorization", "proxy-authorization", "cookie", "set-cookie"), after_header),
    **dict.fromkeys(SHAPES, in_shape),
    **dict.fromkeys(("-u", "--user", "--proxy-user"), after_user),
    "pass": after_pass,
    "://": in_userinfo,
    "-----begin": in_pem,
    "<secret:": masked_before,
}
"""The signs of a secret, in lower case, and what reads on from each."""
_USER_FLAGS = r"-[a-z]{1,6}u(?=[\s\"'\\])"
"""A sign with many spellings: ``-su user:password``."""

_NAMED: dict[Reader, str] = dict.fromkeys(
    (after_name, after_pass, after_header),
    rf"NAME(?:(?={FIELD}(?:{CLOSED})?{ASSIGNS})|(?<=[\w-]NAME)(?=[ \t\\\"']))",
)
"""What is around a name that tells something: an assignment behind, or perhaps a flag before. In most texts these
names are words of prose, and the pattern steps over them in a tenth of the time that a reader would take."""

_NAME_FAMILIES = ("key", "token", "secret", "pass", "auth", "cookie", "credential")


def may_hold_secret(text: str) -> bool:
    """Whether ``text`` has any sign of a secret. Cheap: about a microsecond for a command line."""
    lower = text.lower()
    return (
        ("key" in lower or "token" in lower or "secret" in lower or "pass" in lower or "auth" in lower)
        or ("cookie" in lower or "credential" in lower)
        or ("@" in text and "://" in text)
        or ("-" in text and _SIGN_WITH_DASH.search(text) is not None)
        or ("_" in text and _SIGN_WITH_UNDERSCORE.search(text) is not None)
        or ("A" in text and ("AKIA" in text or "ASIA" in text or "AIza" in text))
        or ("J" in text and "eyJ" in text)
    )


def secrets_in(text: str, before: int | None = None) -> Iterator[Span]:
    """Where the secrets of a text stand, from left to right. One that is masked already is among them.

    Only those whose sign stands ``before`` this place, if it is given.
    """
    lower = text.lower()
    if len(lower) != len(text):  # a few letters are longer in lower case, and then places would not agree
        lower = "".join(letter.lower() if letter.isascii() else letter for letter in text)
    search = _signs_of(_families_in(text, lower)).search
    at = 0
    while sign := search(lower, at):
        start, at = sign.span()
        if before is not None and start >= before:
            return
        span = _READERS.get(sign[0], after_user)(text, start, at)
        if span is None:
            continue
        at = span[1]
        if span[0] < at:
            yield span


def _families_in(text: str, lower: str) -> tuple[str, ...]:
    """What each sign holds one of. A text has few of these, and a pattern of few signs is found four times as fast."""
    families = [family for family in _NAME_FAMILIES if family in lower]
    if "@" in text:
        families.append("://")
    if "-" in text and (_SIGN_WITH_DASH.search(lower) or "-----begin" in lower):
        families += ("-", "xox")
    if "_" in text and _SIGN_WITH_UNDERSCORE.search(lower):
        families.append("_")
    if "A" in text:
        families += ("akia", "asia", "aiza")
    if "J" in text:
        families.append("eyj")
    return tuple(families)


@lru_cache(maxsize=256)
def _signs_of(families: tuple[str, ...]) -> re.Pattern[str]:
    """The signs that a text with just these families can have, the longest first where several begin alike."""
    signs = sorted((sign for sign in _READERS if any(family in sign for family in families)), key=len, reverse=True)
    patterns = [_NAMED.get(_READERS[sign], "NAME").replace("NAME", re.escape(sign)) for sign in signs]
    return re.compile("|".join([*patterns, _USER_FLAGS] if "-" in families else patterns or ["(?!)"]))
