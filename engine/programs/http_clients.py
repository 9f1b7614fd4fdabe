"""What an HTTP client is asked for: which resource, written where, and what of its command line matters."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from urllib.parse import quote

from engine.programs.http_options import CLIENTS, ITEM_CLIENTS, Client, Option
from engine.shell import is_live, literal, rest_of

Settings = list[tuple[str, str]]
"""Roles and values in the order of the command line; operands are among them."""

MAX_ADDED = 4096
"""Characters of a query or a folder that are added to every URL or file of a command."""


Target = tuple[str, str, bool]
"""A URL; the rest of the request that is sent there (empty for a plain GET); and whether some of it comes out of a
variable or a pipe, so that only the whole command line says what is requested."""


class Fetch:
    """What one HTTP client is asked for."""

    __slots__ = ("asks_http_code", "sinks", "targets", "words")

    def __init__(self, words: list[str]) -> None:
        self.words = words
        """Its arguments without volatile flags, each option separate and under one name."""
        self.targets: list[Target] = []
        self.sinks: list[str] = []
        self.asks_http_code = False


class _Request:
    """The settings that belong to the same URLs, being collected."""

    __slots__ = ("body", "default", "from_stdin", "get", "method", "query", "urls")

    def __init__(self) -> None:
        self.method = ""
        self.default = ""
        """The method that the settings imply."""
        self.get = False
        self.body: list[str] = []
        self.query: list[str] = []
        self.urls: list[str] = []
        self.from_stdin = False


def read_fetch(verb: str, words: list[str], document: str | None, complete: Callable[[str], str]) -> Fetch:
    """Read a client's command. ``document`` is its here-document; ``complete`` puts known variables in a word."""
    kept, settings = _decode(CLIENTS[verb], iter(words[1:]))
    fetch = Fetch(kept)
    request = _Request()
    folder = ""
    for role, word in settings:
        value = complete(word) if is_live(word) else word
        if role == "operand":
            request.urls.append(value)
        elif role == "sink":
            fetch.sinks.append(value)
        elif role == "folder":
            folder = value
        elif role == "report":
            fetch.asks_http_code = "%{http_code}" in value or "%{response_code}" in value
        elif role == "next":
            fetch.targets += _targets(request)
            request = _Request()
        else:
            _set(request, role, value, document)
    if verb in ITEM_CLIENTS:
        _place_items(request)
    fetch.targets += _targets(request)
    if folder and len(folder) <= MAX_ADDED:
        fetch.sinks = [f"{folder.rstrip('/')}/{sink}" for sink in fetch.sinks]
    return fetch


def _decode(client: Client, rest: Iterator[str]) -> tuple[list[str], Settings]:
    kept: list[str] = []
    settings: Settings = []
    options = client.options
    for word in rest:
        option = options.get(word)
        if option is not None:
            _take(option, None, rest, kept, settings)
        elif word[:1] != "-" or word == "-":
            kept.append(word)
            settings.append(("operand", word))
        elif client.volatile.fullmatch(word):
            continue
        elif word == "--":
            operands = list(rest)
            kept += operands
            settings += [("operand", operand) for operand in operands]
        else:
            for option, value in _unglue(options, word):
                _take(option, value, rest, kept, settings)
    return kept, settings


def _take(option: Option, value: str | None, rest: Iterator[str], kept: list[str], settings: Settings) -> None:
    role, name, takes_value = option
    if takes_value and value is None:
        value = next(rest, "")
    if role == "drop":
        return
    kept.append(name)
    if value is not None:
        kept.append(value)
    if role != "keep":
        settings.append((role, value or ""))


def _unglue(options: dict[str, Option], word: str) -> list[tuple[Option, str | None]]:
    """The options in a word that holds several (``-sSL``) or one with its value (``-m60``, ``--max-time=60``)."""
    if word.startswith("--"):
        name, equals, _ = word.partition("=")
        option = options.get(name)
        if option is None or not equals:
            return [(("keep", word, False), None)]
        return [(option, rest_of(word, len(name) + 1) if option[2] else None)]
    found: list[tuple[Option, str | None]] = []
    place = 1
    while place < len(word):
        # Only wget has options of two letters: -nv, -nc.
        length = 2 if word[place] == "n" and f"-{word[place : place + 2]}" in options else 1
        option = options.get(f"-{word[place : place + length]}")
        if option is None:
            rest = word if place == 1 else literal(f"-{word[place:]}")
            found.append((("keep", rest, False), None))
            break
        place += length
        if option[2]:
            found.append((option, rest_of(word, place) if place < len(word) else None))
            break
        found.append((option, None))
    return found


# -- the request -----------------------------------------------------------------------------------------------------

_FILES = frozenset({"file", "upload"})
_FROM_STDIN = frozenset({"@-", "-", "@/dev/stdin", "/dev/stdin"})
_BARE_HOST = re.compile(
    r"(?:[^/?#\s@]*+@)?(?:(?>[\w-]++\.)++[\w-]*+|localhost|\[[0-9A-Fa-f:.]++\])(?::\d*+)?(?:[/?#]|$)", re.IGNORECASE
)
"""A host without a scheme. It needs a dot, for anything is a host to curl; ``localhost`` is nothing else anywhere."""
_ITEM = re.compile(r"([^:=@]*+)(==|:=@|:=|=@|=|@|:)(.*)", re.DOTALL)
_METHODS = frozenset(
    {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PURGE", "PROPFIND", "REPORT"}
)


def _set(request: _Request, role: str, value: str, document: str | None) -> None:
    if value in _FROM_STDIN:
        request.from_stdin = document is None or "$" in document
        value = document or value
    elif role in _FILES:
        value = f"@{value}"
    elif role == "encoded":
        value = _encoded(value)
    if role == "url":
        request.urls.append(value)
    elif role == "query":
        request.query.append(value)
    elif role == "method":
        request.method = value.upper()
    elif role == "head":
        request.default = "HEAD"
    elif role == "get":
        request.get = True
    else:
        request.body.append(value)
        request.default = "PUT" if role == "upload" else "POST"


def _encoded(value: str) -> str:
    """What ``--data-urlencode`` makes of ``content``, ``=content`` and ``name=content``; files stay names."""
    name, equals, content = value.partition("=")
    if not equals:
        return value if "@" in value else quote(value, errors="replace")
    content = quote(content, errors="replace")
    return f"{name}={content}" if name else content


def _place_items(request: _Request) -> None:
    """Put HTTPie's operands (``[METHOD] URL [ITEM...]``) where they belong."""
    operands = request.urls
    if len(operands) > 1 and operands[0].upper() in _METHODS:
        request.method = operands.pop(0).upper()
    for operand in operands[1:]:
        item = _ITEM.match(operand)
        if item is None or item[2] == ":":
            continue  # a header
        if item[2] == "==":
            request.query.append(f"{item[1]}={item[3]}")
        else:
            request.body.append(operand)
            request.default = "POST"
    request.urls = [f"localhost{url}" if url.startswith((":", "/")) else url for url in operands[:1]]


def _targets(request: _Request) -> list[Target]:
    query, body, depends = request.query, request.body, request.from_stdin
    method = request.method or request.default or "GET"
    if query or body:
        depends = depends or any(map(is_live, query)) or any(map(is_live, body))
    if request.get:
        query, body = query + body, []
        method = request.method or ("HEAD" if request.default == "HEAD" else "GET")
    rest = f"{method} {'&'.join(body)}".rstrip() if body else "" if method == "GET" else method
    added = "&".join(query)
    if len(added) > MAX_ADDED:
        added, rest = "", f"{rest or 'GET'} ?{added}"
    return [(_with_query(url.strip(), added), rest, depends or is_live(url)) for url in request.urls if _is_url(url)]


def _is_url(word: str) -> bool:
    scheme, separator, _ = word.partition("://")
    if separator:
        return scheme.strip().lower() in {"http", "https"}
    return _BARE_HOST.match(word) is not None


def _with_query(url: str, query: str) -> str:
    if not query:
        return url
    page, hash_sign, fragment = url.partition("#")
    return f"{page}{'&' if '?' in page else '?'}{query}{hash_sign}{fragment}"
