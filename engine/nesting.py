"""What nests in a command line, taken out of it.

``$(…)``, backticks, ``<(…)``, ``$((…))``, ``${…}``, arrays and here-documents nest, and no regular expression reads
what nests. ``flatten`` walks through them once with a stack and puts a placeholder where each one stood, so that the
lexer in ``shell`` only ever sees flat text: words, quotes and operators.

Time and memory are linear in the text: what nests deeper than ``MAX_DEPTH`` is read as a subshell of what it stands in.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from engine.command_line import Nested

MAX_DEPTH = 8
"""People nest two deep, generators three. The bound keeps a line of a million ``$(`` linear."""

MARK = "\0"
"""Encloses a placeholder's number. No shell passes a NUL on, so no command can contain one by right."""

PLACEHOLDER = re.compile(rf"{MARK}(\d+){MARK}")

_OUTSIDE = re.compile(
    r"""
    [^\\'"$`(){}<>=\#\n]*+ (?:
      (?P<skip> \\. | '[^']*+'? | \$'(?>[^'\\]++|\\.)*+'? | (?<![^\s;&|()<>])\#[^\n]*+ | \$\{\w++\} | <<< )
    | (?P<open> \$\(\(? | \(\( | ` | \$\{ | [<>]\( | (?<=[\w+])=\( )
    | (?P<document> <<-?[ \t]*+ (?P<delimiter> (?>[^\s;&|<>()'"\\`]|'[^'\n]*+'|"[^"\n]*+"|\\.)++ ) )
    | (?P<mark> ["()}\n] )
    | .
    )
    """,
    re.VERBOSE | re.DOTALL,
)
_INSIDE_QUOTES = re.compile(
    r"""[^\\"$`]*+ (?: (?P<mark> " ) | (?P<skip> \\. | \$\{\w++\} ) | (?P<open> \$\(\(? | ` | \$\{ ) | . )""",
    re.VERBOSE | re.DOTALL,
)
_PARENTHESES = ("$(", "((", ">(", "=(")
_CLOSERS = {"$(": ")", "<(": ")", ">(": ")", "=(": ")", "$((": ")", "((": ")", "${": "}", "`": "`"}
_PROGRAMS = frozenset({"$(", "<(", ">(", "`"})
_DOCUMENT = "<<"


class _Frame:
    """A construct that is still open. Double quotes are one too, though they stay in the text."""

    __slots__ = ("opening", "parentheses", "pieces")

    def __init__(self, opening: str, pieces: list[str], parentheses: int = 0) -> None:
        self.opening = opening
        self.pieces = pieces
        self.parentheses = parentheses


class _Document(NamedTuple):
    """A here-document whose body starts after the next line break."""

    number: int
    delimiter: str
    strips_tabs: bool


def nests(source: str) -> bool:
    """Whether there may be anything to take out: most commands have nothing, and are not walked through."""
    return (
        "`" in source
        or ("{" in source and "${" in source)
        or ("<" in source and ("<<" in source or "<(" in source))
        or ("(" in source and any(sign in source for sign in _PARENTHESES))
    )


_ONE_DOCUMENT = re.compile(
    r"""
    (?P<before> [^\\'"$`(){}<\#\n]*+ )
    (?P<document> <<-?[ \t]*+ (?P<delimiter> [\w.-]++ | '[\w.-]++' | "[\w.-]++" ) )
    (?P<behind> (?> [ \t\r;&|>] [^\\'"$`(){}<\#\n]*+ )?+ ) \n
    """,
    re.VERBOSE,
)
"""The line that most here-documents begin with: ``cat > file <<'EOF'``."""


def flatten(source: str) -> tuple[str, list[Nested]]:
    """The text with a placeholder for each construct, and the constructs. ``source`` must not contain ``MARK``."""
    opening = _ONE_DOCUMENT.match(source)
    if opening is not None:  # a file written by a here-document and nothing else that nests: half the time
        delimiter = opening["delimiter"].strip("'\"")
        document = _Document(0, delimiter, strips_tabs=opening["document"].startswith("<<-"))
        body, end = _read_document(source, opening.end(), document)
        rest = source[end:]
        if not nests(rest):
            line = f"{opening['before']}{_DOCUMENT}{MARK}0{MARK}{opening['behind']}\n"
            return line + rest, [Nested(_DOCUMENT, body, "")]
    return _Walk(source).through()


class _Walk:
    """One walk through a text: what is open (``stack``), what is awaited (``documents``), what was taken out."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.copied = 0
        self.nested: list[Nested] = []
        self.stack = [_Frame("", [])]
        self.documents: list[_Document] = []

    def through(self) -> tuple[str, list[Nested]]:
        source, position = self.source, 0
        while True:
            pattern = _INSIDE_QUOTES if self.stack[-1].opening == '"' else _OUTSIDE
            match = pattern.match(source, position)
            if match is None:
                break
            position = match.end()
            kind = match.lastgroup
            if kind == "mark":
                position = self._mark(source[position - 1], position)
            elif kind == "open":
                self._open(match["open"], position)
            elif kind == "document":
                self._announce(match)
        while len(self.stack) > 1:
            self._close(len(source), terminated=False)
        top = self.stack[0].pieces
        top.append(source[self.copied :])
        return "".join(top), self.nested

    def _mark(self, mark: str, position: int) -> int:
        frame = self.stack[-1]
        if mark == "\n":
            return self._read_documents(position) if self.documents else position
        if mark == '"':
            if frame.opening == '"':
                self.stack.pop()
            else:
                self.stack.append(_Frame('"', frame.pieces))
        elif mark == "(":
            frame.parentheses += 1
        elif mark == ")" and frame.parentheses:
            frame.parentheses -= 1
        elif _CLOSERS.get(frame.opening) == mark:
            self._close(position)
        return position

    def _open(self, opening: str, end: int) -> None:
        frame = self.stack[-1]
        if opening == frame.opening == "`":
            self._close(end)
        elif len(self.stack) > MAX_DEPTH:
            frame.parentheses += opening.count("(")
        else:
            frame.pieces.append(self.source[self.copied : end - len(opening)])
            self.copied = end
            self.stack.append(_Frame(opening, [], parentheses=1 if opening.endswith("((") else 0))

    def _close(self, end: int, *, terminated: bool = True) -> None:
        frame = self.stack.pop()
        if frame.opening == '"':
            return
        frame.pieces.append(self.source[self.copied : end - terminated])
        self.copied = end
        opening, content = frame.opening, "".join(frame.pieces)
        closing = _CLOSERS[opening] if terminated else ""
        if opening.endswith("(("):
            if content.endswith(")"):
                content, closing = content[:-1], "))"
            elif opening == "((":
                # Two subshells, not arithmetic: they belong to the line they stand in.
                self.stack[-1].pieces.append(f"(({content}{closing}")
                return
            else:
                opening, content = "$(", f"({content}"
        self._put(Nested(opening, content, closing, program=opening in _PROGRAMS))

    def _put(self, nested: Nested) -> int:
        number = len(self.nested)
        self.nested.append(nested)
        self.stack[-1].pieces.append(f"{MARK}{number}{MARK}")
        return number

    def _announce(self, match: re.Match[str]) -> None:
        frame = self.stack[-1]
        if frame.opening.endswith("(("):
            return  # a shift to the left
        frame.pieces.append(self.source[self.copied : match.start("document")] + _DOCUMENT)
        self.copied = match.end()
        number = self._put(Nested(_DOCUMENT, "", ""))
        delimiter = match["delimiter"].replace("'", "").replace('"', "").replace("\\", "")
        self.documents.append(_Document(number, delimiter, strips_tabs=match["document"].startswith("<<-")))

    def _read_documents(self, start: int) -> int:
        """Take the bodies out that begin at ``start``, just after a line break; return where the line goes on."""
        self.stack[-1].pieces.append(self.source[self.copied : start])
        for document in self.documents:
            body, start = _read_document(self.source, start, document)
            self.nested[document.number] = Nested(_DOCUMENT, body, "")
        self.documents.clear()
        self.copied = start
        return start


def _read_document(source: str, start: int, document: _Document) -> tuple[str, int]:
    """The body that begins at ``start``, and where the line after its end begins. Without an end it is all the rest."""
    needle = document.delimiter.lstrip("\t") if document.strips_tabs else document.delimiter
    at = source.find(needle, start)
    while at >= 0:
        end = at + len(needle)
        if source.startswith(("\n", "\r\n"), end) or end == len(source):
            line = at
            while document.strips_tabs and line > start and source[line - 1] == "\t":
                line -= 1
            if line == start or source[line - 1] == "\n":
                body = source[start:line]
                if document.strips_tabs:
                    body = re.sub(r"^\t++", "", body, flags=re.MULTILINE)
                return body, min(end + 1, len(source))
        at = source.find(needle, at + 1)
    return source[start:], len(source)
