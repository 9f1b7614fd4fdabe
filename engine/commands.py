"""What a command line means: its verb, its canonical text, the URLs it requests, where it writes.

Everything here reads what the lexer in ``shell`` gives, by the tables of ``wrappers``, ``programs``, ``sinks``,
``readers`` and ``http_options``. Nothing raises, whatever the text, and time is linear in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import sha256
from itertools import chain, islice

from engine.command_line import Command, CommandLine, Quoted, Redirect, RequestUrl
from engine.nesting import MARK, PLACEHOLDER
from engine.programs.http_clients import read_fetch
from engine.programs.http_options import CLIENTS
from engine.programs.readers import CHECKED, NEUTRAL, READERS, only_reads
from engine.programs.runners import PLAIN_PROGRAMS, RUNNERS, composes, interprets, script_in
from engine.programs.sinks import OUTPUT_PROGRAMS, is_generic, named_sink, sinks_of
from engine.programs.variables import Variables
from engine.programs.wrappers import (
    CLOSING_KEYWORDS,
    DECLARATIONS,
    HEADERS,
    KEYWORDS,
    assignment_in,
    may_have_prefix,
    program_name,
    unwrap,
)
from engine.shell import is_live, parse, spelled, split
from engine.urls import find_urls

MAX_SCRIPT_DEPTH = 4
"""How deep ``bash -c "bash -c …"`` is looked through. Each level reads its text again, so there must be a bound."""

MAX_QUOTED_LINE = 512
"""A longer line is named by a digest where a URL's request has to name it."""

_WRITING = frozenset({">", ">>", ">|", "1>", "1>>", "1>|", "&>", "&>>", ">&"})
_DOCUMENTS = frozenset({"<<", "<<<"})
_PASSES_ON = frozenset({"cat", "tee"})
_JOINTS = (" ; ", " && ", " || ", " | ", " & ")


def read_command(command: str) -> CommandLine:
    """Read any text as a command line. Never raises."""
    reading = _Reading(may_hold_urls=":" in command and "//" in command)
    return reading.result(reading.line(command))


_CLIENT, _READER, _NEUTRAL, _PLAIN, _OTHER = "client", "reader", "neutral", "plain", "other"
_KINDS = (
    dict.fromkeys(PLAIN_PROGRAMS, _PLAIN)
    | dict.fromkeys(READERS, _READER)
    | dict.fromkeys(NEUTRAL | CLOSING_KEYWORDS, _NEUTRAL)
    | dict.fromkeys(RUNNERS | OUTPUT_PROGRAMS | HEADERS | DECLARATIONS | CHECKED, _OTHER)
    | dict.fromkeys(CLIENTS, _CLIENT)
)
"""What has to be asked of the programs that are known. Most commands begin with one of them, spelled just so."""


class _Reading:
    """What has been found so far."""

    def __init__(self, *, may_hold_urls: bool) -> None:
        self.may_hold_urls = may_hold_urls
        self.verb = ""
        self.urls: dict[tuple[str, str, bool], None] = {}
        self.sinks: dict[str, None] = {}
        self.fetches = False
        self.asks_http_code = False
        self.reads = False
        self.acts = False
        self.variables = Variables()

        # Where in the line the reading is:
        self.depth = 0
        """How many scripts inside scripts."""
        self.alone = False
        """In a command that is all of its line."""
        self.fed = False
        """In a command whose arguments come out of a pipe."""
        self.document: str | None = None
        """Behind a command that pipes this on: ``cat <<EOF | sh``."""
        self.swallowed = False
        """Behind a command whose here-document was its script: the text shows it already."""
        self.nested_texts: list[str] = []

    def result(self, text: str) -> CommandLine:
        for url in self.variables.unused_urls():
            self.urls[url, "", "$" in url] = None
        return CommandLine(
            self.verb,
            text,
            _requests(self.urls, text) if self.urls else (),
            tuple(self.sinks),
            self.fetches,
            self.reads and not self.acts and not self.sinks,
            self.asks_http_code,
        )

    # -- lines -------------------------------------------------------------------------------------------------------

    def line(self, source: str) -> str:
        """Read a line, or a script inside one; return its canonical text."""
        script = parse(source)
        if not script.nested:
            return self._commands(split(script.text, []))
        outer_texts, self.nested_texts = self.nested_texts, []
        outer_verb, self.verb = self.verb, ""
        for nested in script.nested:
            content = nested.content
            if nested.program:
                content = self._commands(split(content, script.nested))
            elif nested.opening == "<<" and ("$(" in content or "`" in content):
                self.acts = True
            opening, closing = ("$(", ")") if nested.opening == "`" else (nested.opening, nested.closing)
            self.nested_texts.append(f"{opening}{self._with_nested(content)}{closing}")
        nested_verb, self.verb = self.verb, outer_verb
        text = self._with_nested(self._commands(split(script.text, script.nested)))
        self.verb = self.verb or nested_verb
        self.nested_texts = outer_texts
        return text

    def _with_nested(self, text: str) -> str:
        return PLACEHOLDER.sub(lambda mark: self.nested_texts[int(mark[1])], text) if MARK in text else text

    def _commands(self, commands: Iterator[Command]) -> str:
        first = list(islice(commands, 2))
        self.alone = len(first) == 1
        pieces: list[str] = []
        for command in chain(first, commands):
            words, ending = command.words, command.ending
            if not words:
                text = ""
            elif kind := _KINDS.get(words[0]):
                text = self._run(kind, words[0], words, command)
            else:
                text = self._prefixed(command)
            if command.redirects:
                text = f"{text} {self._redirects(command.redirects)}".strip(" ")
                self.document = _document(command) if ending == "|" and words and words[0] in _PASSES_ON else None
            if text:
                pieces.append(text)
            if ending and not (ending == ";" and text in KEYWORDS):
                pieces.append(ending)
        if pieces and pieces[-1] == ";":
            pieces.pop()
        return " ".join(pieces)

    def _redirects(self, redirects: Sequence[Redirect]) -> str:
        pieces: list[str] = []
        for redirect in redirects:
            operator, target = redirect.operator, redirect.target
            if self.swallowed and operator in _DOCUMENTS:
                self.swallowed = False
                continue
            if operator[-1] == "&" and target[:1].isdigit():
                pieces.append(f"{operator}{target}")
                continue
            if operator in _WRITING:
                self._add_sink(self.variables.complete(target))
            elif ">" in operator and not is_generic(target):
                self.acts = True
            pieces.append(f"{operator} {target.spelling if isinstance(target, Quoted) else target}")
        return " ".join(pieces)

    # -- simple commands ---------------------------------------------------------------------------------------------

    def _prefixed(self, command: Command) -> str:
        """Read a command that may have keywords, assignments and wrappers in front."""
        words = command.words
        if not may_have_prefix(words):
            return self._named(words, command)
        prefix = unwrap(words)
        for name, value in prefix.assignments:
            self.variables.assign(name, value)
        start, keywords = prefix.start, prefix.keywords
        if start == len(words):
            return spelled(words)
        if prefix.only and command.ending == "(":
            return " ".join(keywords)
        if keywords:
            self.alone = False
        outer_fed, self.fed = self.fed, self.fed or prefix.fed
        text = self._named(words[start:] if start else words, command)
        self.fed = outer_fed
        return f"{' '.join(keywords)} {text}" if keywords else text

    def _named(self, words: list[str], command: Command) -> str:
        """Read a command by its first word, which may be a path, or hold a variable."""
        verb = words[0]
        if verb not in _KINDS:
            verb = program_name((self.variables.complete(verb).split() or [""])[0] if is_live(verb) else verb)
        return self._run(_KINDS.get(verb, _OTHER), verb, words, command)

    def _run(self, kind: str, verb: str, words: list[str], command: Command) -> str:
        """Read a command that begins with its program; return its canonical text."""
        document = _document(command) if command.redirects else None
        if self.document is not None:
            document, self.document = self.document if document is None else document, None
        if kind == _CLIENT:
            text = self._fetch(verb, words, document)
        elif kind == _OTHER:
            text = self._look_closer(verb, words, document, command)
        else:
            text = spelled(words) if command.quoted else " ".join(words)
            if self.may_hold_urls and ("//" in text or "$" in text or document is not None):
                self._find_urls(verb, words, document)
            if kind == _READER:
                self.reads = True
            elif kind == _PLAIN:
                self.acts = True
        if not self.verb:
            self.verb = verb
        return text

    def _look_closer(self, verb: str, words: list[str], document: str | None, command: Command) -> str:
        """Read a command whose program is known for what it does with its arguments, or not known at all."""
        arguments = words[1:]
        if verb in RUNNERS and self.depth < MAX_SCRIPT_DEPTH:
            script = script_in(verb, arguments, document)
            if script is not None:
                others = any(redirect.operator not in _DOCUMENTS for redirect in command.redirects)
                text = self._script(*script, alone=self.alone and not others)
                self.swallowed = script[0] is document and bool(command.redirects)
                return text
        if verb in DECLARATIONS:
            for word in arguments:
                if assignment := assignment_in(word):
                    self.variables.assign(*assignment)
            return spelled(words)
        if self.may_hold_urls:
            self._find_urls(verb, words, document)
        for sink in sinks_of(verb, arguments):
            self._add_sink(self.variables.complete(sink))
        if verb in HEADERS:
            self.variables.forget(arguments[0] if arguments else "")
        elif only_reads(verb, arguments):
            self.reads = True
        else:
            self.acts = True
        return spelled(words)

    def _script(self, source: str, arguments: list[str], *, alone: bool) -> str:
        outer_alone = self.alone
        self.depth += 1
        text = self.line(self._with_nested(source))
        self.depth -= 1
        self.alone = outer_alone
        if not alone and any(joint in text for joint in _JOINTS):
            text = f"( {text} )"
        return f"{text} {spelled(arguments)}" if arguments else text

    def _fetch(self, verb: str, words: list[str], document: str | None) -> str:
        self.fetches = self.acts = True
        fetch = read_fetch(verb, words, document, self.variables.complete)
        for url, request, depends in fetch.targets:
            self.urls[url, request, depends or self.fed] = None
        for sink in fetch.sinks:
            self._add_sink(sink)
        if fetch.asks_http_code:
            self.asks_http_code = True
        return f"{verb} {spelled(fetch.words)}" if fetch.words else verb

    def _find_urls(self, verb: str, words: list[str], document: str | None) -> None:
        program = interprets(verb)
        for text in words if document is None or not program else [*words, document]:
            if "//" not in text and "$" not in text:
                continue
            completed = self.variables.complete(text)
            urls = find_urls(completed)
            if not urls:
                continue
            composed = self.fed or (program and composes(completed))
            holes = "$" in completed and is_live(completed)
            for url in urls:
                depends = composed or "{}" in url or (holes and "$" in url) or (program and "{" in url)
                self.urls[url, "", depends] = None

    def _add_sink(self, path: str) -> None:
        if sink := named_sink(path):
            self.sinks[sink] = None


def _document(command: Command) -> str | None:
    """The command's here-document or here-string."""
    for redirect in command.redirects:
        if redirect.operator in _DOCUMENTS:
            return redirect.target
    return None


def _requests(found: dict[tuple[str, str, bool], None], text: str) -> tuple[RequestUrl, ...]:
    """The URLs with what is requested of each. What the line completes is named by the whole line."""
    line = ""
    requests: list[RequestUrl] = []
    for url, request, depends in found:
        if depends:
            line = line or (text if len(text) <= MAX_QUOTED_LINE else _digest(text))
            requests.append(RequestUrl(url, f"{request} {line}" if request else line))
        else:
            requests.append(RequestUrl(url, request))
    return tuple(requests)


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
