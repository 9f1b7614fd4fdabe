"""How far a secret goes that a sign announces: one reader for each kind of sign.

Where that is unclear, it goes further rather than less far. Every reader looks at a character a bounded number of
times.
"""

from __future__ import annotations

import re
from collections.abc import Callable

Span = tuple[int, int]
"""Where a secret begins and ends in its text."""
Reader = Callable[[str, int, int], Span | None]
"""Reads what follows a sign of a secret: (text, start of the sign, end of the sign) -> the secret.

None when nothing follows; an empty span at the end of what follows when it is read and is no secret.
"""

_NO_SECRETS = frozenset(
    {
        *("", "lambda", "str", "string", "int", "float", "bool", "bytes", "number", "any", "object", "none", "null"),
        *("undefined", "true", "false", "optional", "..."),
    }
)
"""What stands after such a name in program text, and says nothing."""

_VARIABLE = re.compile(r"\$\{?[A-Z_][A-Z0-9_]*\}?")
_REFERENCE = re.compile(rf"{_VARIABLE.pattern}|\$\([\w./-]*|\{{\{{[\w. -]*|<[A-Z_ -]+>")
"""A secret that is named, not told: ``$TOKEN``, ``$(pass show x)``, ``{{ token }}``, ``<YOUR_TOKEN>``.

In quotes only a variable is taken for one.
"""
LONGEST_REFERENCE = 80

_QUOTE = re.compile(r"'\\{1,15}''|'\\{0,15}\"'\\{0,15}\"'|\\{0,15}[\"'`]")
"""As it is written, escaped, or inside single quotes of a command line (``'\\''``)."""
CLOSED = r"\\{0,15}[\"'`]|%2[27]"
ASSIGNS = r"(?>[ \t]|\\t|%20)*+(?:=>|=(?![=~])|:(?![:=]|//)|%3[ADad])"
FIELD = rf"(?:(?:{CLOSED})[ \t]*+,[ \t]*+(?:{CLOSED})value)?"
"""Between a header's name and its value where both are fields: ``{"name":"Authorization","value":"Bearer x"}``."""
_ASSIGNED = re.compile(rf"{FIELD}(?P<closed>{CLOSED})?{ASSIGNS}(?>[ \t]|\\t|%20)*+")
"""Escaped as in a URL, too: ``?to=https%3A%2F%2Fe.com%3Ftoken%3Dx``, ``?q=%22token%22:%22x%22``."""
_NEXT_WORD = re.compile(r"(?>[ \t]|\\t|\\\r?\n|\\{3}(?:r\\)?n)++(?!-)|\\{0,15}[\"'],[ \t]*+(?=\\{0,15}[\"'][^-])")
"""A line that goes on behind a backslash goes on, as JSON writes it, too: three backslashes and an ``n``."""
_BARE_VALUE = re.compile(r"(?>[^\s\"'`&;|\\]|\\++[^\r\n\t\v\f\"'nrt\\])++")
_REST_OF_LINE = re.compile(r"(?>[^\r\n\"'`\\]|\\++[^\r\nrn\"'`\\])++")
_SCHEME = re.compile(r"(?:bearer|basic|token|digest|negotiate|apikey|bot|aws4-hmac-sha256)[ \t]++", re.IGNORECASE)
_FLAG = re.compile(r"(?:^|[\s\"'`,(=]|\\[bfnrt])--?[\w-]*$")
_QUERY_NAME = re.compile(r"[?&][\w.%-]*$")
_FLAG_CHARS = 64


def after_name(text: str, start: int, end: int) -> Span | None:
    """``name=value``, ``name: value``, ``"name": "value"``, ``--name value``."""
    assigned = _ASSIGNED.match(text, end)
    if assigned:
        if assigned["closed"] and text[assigned.end() : assigned.end() + 1] in {"{", "["}:
            return assigned.end(), _end_of_bare(text, _end_of_brackets(text, assigned.end()))
        span = _value(text, assigned.end())
        return _before_fragment(text, start, span) if span else None
    flag_from = max(0, start - _FLAG_CHARS)
    if text.find("-", flag_from, start) >= 0 and _FLAG.search(text[flag_from:start]):
        following = _NEXT_WORD.match(text, end)
        return _value(text, following.end()) if following else None
    return None


def _before_fragment(text: str, start: int, span: Span) -> Span:
    """The span without a URL's ``#fragment``, when the name that starts at ``start`` is of a query."""
    fragment = text.find("#", *span)
    if fragment < 0 or not _QUERY_NAME.search(text[max(0, start - _FLAG_CHARS) : start]):
        return span
    return span[0], fragment


def after_pass(text: str, start: int, end: int) -> Span | None:
    """As any name, but ``3 tests pass: 12`` is a report."""
    return None if text[end : end + 2] in {": ", ":\t"} else after_name(text, start, end)


def after_header(text: str, start: int, end: int) -> Span | None:
    """``Authorization: Bearer value``: to the end of the line, or of the word that is quoted around it."""
    assigned = _ASSIGNED.match(text, end)
    if not assigned:
        return after_name(text, start, end)
    at = assigned.end()
    if "=" in assigned[0] or assigned["closed"] or _QUOTE.match(text, at):
        return _value(text, at)
    opened = _slashes_before(text, start - 1) if text[start - 1 : start] in {'"', "'"} else -1
    if opened >= 0:
        return _secret(text, at, _closing_quote(text, at, text[start - 1], opened))
    line = _REST_OF_LINE.match(text, at)
    return _secret(text, at, line.end()) if line else None


def _value(text: str, at: int) -> Span | None:
    quote = _QUOTE.match(text, at)
    if quote:
        return _secret(text, quote.end(), _end_of_quoted(text, quote), _VARIABLE)
    return _bare_value(text, at)


def _bare_value(text: str, at: int) -> Span | None:
    end = _end_of_bare(text, at)
    return _secret(text, at, end) if end > at else None


def _end_of_bare(text: str, at: int) -> int:
    """Where an unquoted value ends. What closes the brackets around it is not part of it."""
    bare = _BARE_VALUE.match(text, at)
    return at + len(bare[0].rstrip(",)]}")) if bare else at


def _secret(text: str, start: int, end: int, reference: re.Pattern[str] = _REFERENCE) -> Span:
    """The span without its scheme; an empty one if what it holds tells nothing."""
    scheme = _SCHEME.match(text, start, end)
    if scheme:
        start = scheme.end()
    if end - start <= LONGEST_REFERENCE:
        value = text[start:end]
        if value.lower().rstrip(",;:)]}") in _NO_SECRETS or reference.fullmatch(value):
            return end, end
    return start, end


def _end_of_quoted(text: str, opening: re.Match[str]) -> int:
    """Where a quoted text ends; never later than the text around it."""
    quote = opening[0]
    if quote[0] == quote[-1] and len(quote) > 1:
        found = text.find(quote, opening.end())
        return found if found >= 0 else len(text)
    return _closing_quote(text, opening.end(), quote[-1], len(quote) - 1)


def _closing_quote(text: str, at: int, quote: str, slashes: int) -> int:
    """Where a quoted text ends whose opening quote had ``slashes`` backslashes before it; never later than the text."""
    while (found := text.find(quote, at)) >= 0:
        before = _slashes_before(text, found)
        if before <= slashes:
            return found - before
        at = found + 1
    return len(text)


def _slashes_before(text: str, at: int) -> int:
    first = at
    while first > 0 and text[first - 1] == "\\":
        first -= 1
    return at - first


_BRACKET = re.compile(r"\"(?>[^\"\\]|\\.)*+\"?|[{}\[\]]", re.DOTALL)


def _end_of_brackets(text: str, at: int) -> int:
    depth = 0
    for found in _BRACKET.finditer(text, at):
        if found[0] in {"{", "["}:
            depth += 1
        elif found[0] in {"}", "]"}:
            depth -= 1
            if depth == 0:
                return found.end()
    return len(text)


_AUTHORITY = re.compile(r"[^\s/?#\"'`\\]*+")
_COLON = re.compile(r"(?<!<secret):|:(?![0-9a-f]{6}>)")
_USER_NAME = re.compile(r"[A-Za-z0-9._+$%@-]{0,15}")
"""What is longer or otherwise written may be a token in a user's place (``-u ghp_…:x-oauth-basic``)."""


def in_userinfo(text: str, start: int, end: int) -> Span | None:  # noqa: ARG001 - a Reader
    """``://user:password@host``, and ``://token@host``."""
    at = text.rfind("@", end, _end_of(_AUTHORITY, text, end))
    return _credentials(text, end, at) if at >= 0 else None


def _credentials(text: str, start: int, end: int) -> Span | None:
    """The password of ``user:password``, or all of it when the user is no plain name."""
    found = _COLON.search(text, start, end)
    colon = found.start() if found else -1
    user_end = colon if found else end
    if not _USER_NAME.fullmatch(text, start, user_end):
        return start, end
    if colon < 0 or (text[start:colon].isdigit() and text[colon + 1 : end].isdigit()):
        return None  # a name alone, or the numbers of a user and a group
    return _secret(text, colon + 1, end)


_USER_GAP = re.compile(r"\\{0,15}[\"'],[ \t]*+|[ \t]*+=?")
_URL_SCHEME = re.compile(r"[A-Za-z]{1,12}+://")
_BEFORE_FLAG = " \t\n\r\"'`,("
_BLANKS_IN_JSON = frozenset({"\\b", "\\f", "\\n", "\\r", "\\t"})
"""A line break as JSON writes it: its letter belongs to no word."""


def after_user(text: str, start: int, end: int) -> Span | None:
    """``-u user:password``, ``-su "user:password"``, ``--user=user:password``."""
    if text[start - 1 : start] not in _BEFORE_FLAG and text[max(0, start - 2) : start] not in _BLANKS_IN_JSON:
        return None
    at = _end_of(_USER_GAP, text, end)
    quote = _QUOTE.match(text, at)
    at = quote.end() if quote else at
    stop = _end_of_quoted(text, quote) if quote else _end_of_bare(text, at)
    if not _COLON.search(text, at + 1, stop) or _URL_SCHEME.match(text, at, stop):
        return None
    return _credentials(text, at, stop)


_PEM_LABEL = re.compile(r"[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")


def in_pem(text: str, start: int, end: int) -> Span | None:  # noqa: ARG001 - a Reader
    """What stands between the lines of a PEM file that holds a private key."""
    label = _PEM_LABEL.match(text, end)
    if not label:
        return None
    close = text.find("-----END", label.end())
    return _secret(text, label.end(), close if close >= 0 else len(text))


SHAPES = {
    **{f"gh{kind}_": rf"gh{kind}_[A-Za-z0-9]{{12,}}+" for kind in "pousr"},
    "github_pat_": r"github_pat_[A-Za-z0-9_]{12,}+",
    "sk-": r"sk-(?=[A-Za-z_-]*+[0-9])[A-Za-z0-9_-]{16,}+",
    "xox": r"xox[a-z]-[A-Za-z0-9-]{11,}+",
    "akia": r"AKIA[A-Z0-9]{12,}+",
    "asia": r"ASIA[A-Z0-9]{12,}+",
    "aiza": r"AIza[A-Za-z0-9_-]{24,}+",
    "glpat-": r"glpat-[A-Za-z0-9_-]{12,}+",
    "npm_": r"npm_[A-Za-z0-9]{16,}+",
    "hf_": r"hf_[A-Za-z0-9]{16,}+",
    "eyj": r"eyJ[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{8,}+(?>\.[A-Za-z0-9_-]*+)*+",
}
"""Tokens of GitHub, OpenAI and Anthropic, Slack, AWS, Google, GitLab, npm, Hugging Face, and JSON Web Tokens."""
_SHAPE_OF = {sign: re.compile(rf"{shape}[\w-]*+") for sign, shape in SHAPES.items()}


def in_shape(text: str, start: int, end: int) -> Span | None:
    """A token of ``SHAPES``, which needs no name in front of it."""
    shape = text[start:end].lower()
    found = None if _continues_word(text, start) else _SHAPE_OF[shape].match(text, start)
    return found.span() if found else None


def masked_before(text: str, start: int, end: int) -> Span | None:  # noqa: ARG001 - a Reader
    """Our own token: stepped over, or its name would be read as a name."""
    return None


def _end_of(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else at


def _continues_word(text: str, start: int) -> bool:
    before = text[start - 1 : start]
    if before.isalnum():
        return text[max(0, start - 2) : start] not in _BLANKS_IN_JSON
    return before in {"_", "-"}
