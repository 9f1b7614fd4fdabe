"""What a command line means: its verb, its canonical text, the URLs it requests, where it writes.

Everything here reads what the lexer in ``shell`` gives; the tables of programs are in ``programs``, ``http_clients``
and ``readers``. Nothing raises, whatever the text, and time is linear in it.
"""

from __future__ import annotations

import re

from msgspec import Struct

from engine.http_clients import HTTP_CLIENTS, read_fetch
from engine.nesting import MARK, PLACEHOLDER
from engine.programs import (
    ASSIGNMENT,
    CLOSING_KEYWORDS,
    DECLARATIONS,
    HEADERS,
    KEYWORDS,
    PREFIXES,
    RUNNERS,
    interprets,
    program_name,
    script_in,
    sinks_of,
    unwrap,
)
from engine.readers import NEUTRAL, only_reads
from engine.shell import Command, is_live, parse, rest_of, spelled, split
from engine.urls import find_urls
from engine.variables import Variables

MAX_SCRIPT_DEPTH = 4
"""How deep ``bash -c "bash -c …"`` is looked through. Each level reads its text again, so there must be a bound."""

_GENERIC_SINK = re.compile(r"/dev/(?:null|std\w+|zero|full|tty|fd/.*)|/proc/self/fd/.*|-|(?i:nul|\$null)|", re.DOTALL)
_WRITING = frozenset({">", ">>", ">|", "1>", "1>>", "1>|", "&>", "&>>", ">&"})
_HERE = re.compile(r"\A(?:\.[/\\]++)++")
_AROUND = re.compile(r"/(?:\.?/)++")
_JOINTS = (" ; ", " && ", " || ", " | ", " & ")
_COMPOSED = re.compile(
    r"""
      [,({]\s*+(?:params|data|json|body|method|form|query)\s*+[=:]  # get(url, params={...}), fetch(url, {method: ...})
    | \.(?:post|put|patch|delete|format)\(
    | urlencode | %[sd(] | \$\{ | ["'`]\s*+[+%]                         # "https://…?page=" + str(page)
    """,
    re.VERBOSE,
)
"""A program that puts more into its request than the URL that is written in it."""


class RequestUrl(Struct, frozen=True):
    """A URL as it was found. ``request`` is what else makes it another resource: method and body, else empty."""

    url: str
    request: str = ""


class CommandLine(Struct, frozen=True):
    """What a command line is, once spelling, wrappers and volatile flags are taken away."""

    verb: str = ""
    """The first word that is no wrapper, without its folder and in lower case; empty when there is none."""
    text: str = ""
    """The command for ``cmd:``."""
    urls: tuple[RequestUrl, ...] = ()
    sinks: tuple[str, ...] = ()
    """Where it writes; generic targets are left out."""
    fetches: bool = False
    """It runs an HTTP client."""
    reads_only: bool = False
    """It is made of pure readers."""
    asks_http_code: bool = False
    """It has curl print the response code."""


def read_command(command: str) -> CommandLine:
    """Read any text as a command line. Never raises."""
    reading = _Reading(command)
    text = reading.line(command, depth=0)
    return reading.result(text)


class _Reading:
    """What has been found so far."""

    def __init__(self, source: str) -> None:
        self.verb = ""
        self.urls: dict[tuple[str, str, bool], None] = {}
        self.sinks: dict[str, None] = {}
        self.fetches = self.asks_http_code = self.reads = self.acts = False
        self.may_hold_urls = "//" in source
        self.alone = False
        self.nested_texts: list[str] = []
        self.variables = Variables()

    def result(self, text: str) -> CommandLine:
        """The findings. A URL that the line completes is known only together with the whole line."""
        for url in self.variables.unused_urls():
            self.urls[url, "", "$" in url] = None
        return CommandLine(
            self.verb,
            text,
            tuple(
                [
                    RequestUrl(url, f"{request} {text}".strip() if depends else request)
                    for url, request, depends in self.urls
                ]
            ),
            tuple(self.sinks),
            self.fetches,
            self.reads and not self.acts and not self.sinks,
            self.asks_http_code,
        )

    # -- lines -------------------------------------------------------------------------------------------------------

    def line(self, source: str, depth: int) -> str:
        """Read a line or a script inside one; return its canonical text."""
        script = parse(source)
        if not script.nested:
            return self._commands(script.commands, depth)
        outer_texts, self.nested_texts = self.nested_texts, []
        outer_verb, self.verb = self.verb, ""
        for nested in script.nested:
            content = nested.content
            if nested.program:
                content = self._commands(split(content, script.nested), depth)
            elif nested.opening == "<<" and ("$(" in content or "`" in content):
                self.acts = True
            opening, closing = ("$(", ")") if nested.opening == "`" else (nested.opening, nested.closing)
            self.nested_texts.append(f"{opening}{self._with_nested(content)}{closing}")
        nested_verb, self.verb = self.verb, outer_verb
        text = self._with_nested(self._commands(script.commands, depth))
        self.verb = self.verb or nested_verb
        self.nested_texts = outer_texts
        return text

    def _with_nested(self, text: str) -> str:
        return PLACEHOLDER.sub(lambda mark: self.nested_texts[int(mark[1])], text) if MARK in text else text

    def _commands(self, commands: list[Command], depth: int) -> str:
        self.alone = len(commands) == 1
        pieces: list[str] = []
        for command in commands:
            text = self._command(command, depth)
            if text:
                pieces.append(text)
            if command.ending and not (command.ending == ";" and text in KEYWORDS):
                pieces.append(command.ending)
        if pieces and pieces[-1] == ";":
            pieces.pop()
        return " ".join(pieces)

    # -- simple commands ---------------------------------------------------------------------------------------------

    def _command(self, command: Command, depth: int) -> str:
        words, redirects = command.words, command.redirects
        if not redirects:
            return self._simple(words, None, depth) if words else ""
        document = None
        pieces: list[str] = []
        for redirect in redirects:
            operator, target = redirect.operator, redirect.target
            if operator in {"<<", "<<<"}:
                document = target
            elif operator in _WRITING:
                self._add_sink(self.variables.complete(target))
            elif ">" in operator and operator[-1] != "&" and not _GENERIC_SINK.fullmatch(target):
                self.acts = True
            joint = "" if operator[-1] == "&" else " "
            pieces.append(f"{operator}{joint}{spelled((target,))}")
        text = self._simple(words, document, depth) if words else ""
        return " ".join([text, *pieces]) if text else " ".join(pieces)

    def _simple(self, words: list[str], document: str | None, depth: int) -> str:
        first = words[0]
        start, fed, keywords = 0, False, ""
        if first in PREFIXES or "=" in first or "/" in first or first[:1] == "$":
            prefix = unwrap(words)
            start, fed = prefix.start, prefix.fed
            keywords = " ".join(prefix.keywords)
            self._assign(words[:start])
            if start == len(words):
                return spelled(words)
            if len(words) == 3 and words[1] == "=":  # PowerShell's assignment
                self.variables.assign(first[1:], words[2])
                return spelled(words)
        verb = program_name(words[start])
        arguments = words[start + 1 :]
        if verb in HTTP_CLIENTS:
            text = self._fetch(verb, arguments, document, fed=fed)
        elif verb in RUNNERS and depth < MAX_SCRIPT_DEPTH and (script := script_in(verb, arguments, document)):
            alone = self.alone and not keywords and document is None
            text = self._script(script, depth, alone=alone)
        else:
            text = spelled(words[start:] if start else words)
            self._program(verb, arguments, document, fed=fed)
        if not self.verb and verb not in CLOSING_KEYWORDS:
            self.verb = verb
        return f"{keywords} {text}" if keywords else text

    def _fetch(self, verb: str, arguments: list[str], document: str | None, *, fed: bool) -> str:
        self.fetches = self.acts = True
        fetch = read_fetch(verb, arguments, document, self.variables.complete)
        for target in fetch.targets:
            self.urls[target.url, target.request, target.depends or fed] = None
        for sink in fetch.sinks:
            self._add_sink(sink)
        self.asks_http_code = self.asks_http_code or fetch.asks_http_code
        return f"{verb} {spelled(fetch.words)}" if fetch.words else verb

    def _script(self, script: tuple[str, list[str]], depth: int, *, alone: bool) -> str:
        source, arguments = script
        text = self.line(source, depth + 1)
        if not alone and any(mark in text for mark in _JOINTS):
            text = f"( {text} )"
        return f"{text} {spelled(arguments)}" if arguments else text

    def _program(self, verb: str, arguments: list[str], document: str | None, *, fed: bool) -> None:
        if self.may_hold_urls:
            self._find_urls(verb, arguments, document, fed=fed)
        for sink in sinks_of(verb, arguments):
            self._add_sink(self.variables.complete(sink))
        if verb in HEADERS:
            self.variables.forget(arguments[0] if arguments else "")
        elif verb in DECLARATIONS:
            self._assign(arguments)
        elif verb in NEUTRAL or verb in CLOSING_KEYWORDS:
            pass
        elif only_reads(verb, arguments):
            self.reads = True
        else:
            self.acts = True

    def _find_urls(self, verb: str, arguments: list[str], document: str | None, *, fed: bool) -> None:
        program = interprets(verb)
        texts = arguments if document is None or not program else [*arguments, document]
        for text in texts:
            if "//" not in text and "$" not in text:
                continue
            completed = self.variables.complete(text)
            urls = find_urls(completed)
            if not urls:
                continue
            composed = fed or (program and _COMPOSED.search(completed) is not None)
            live = is_live(completed)
            for url in urls:
                depends = composed or (live and "$" in url) or (program and "{" in url)
                self.urls[url, "", depends] = None

    def _assign(self, words: list[str]) -> None:
        for word in words:
            name = ASSIGNMENT.match(word)
            if name:
                self.variables.assign(name[1], rest_of(word, name.end()))

    def _add_sink(self, path: str) -> None:
        if _GENERIC_SINK.fullmatch(path) or MARK in path or "$(" in path:
            return  # a computed name names no one place
        path = _AROUND.sub("/", _HERE.sub("", path, count=1))
        if path:
            self.sinks[path] = None
