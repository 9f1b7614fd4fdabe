"""One lexer for command lines.

``parse`` turns a POSIX-like command line into simple commands: their words, where they redirect, and the operator that
ends each. Verb, ``cmd:``, sinks and URLs all read its output, never the raw string again. Any text is a command line
to it (PowerShell, prose, half a quote): it never fails, and its time is linear in the text.

It is fast because one pattern takes a whole run of plain words at a time; only quoted words are looked at one by one.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable

from msgspec import Struct

from engine.nesting import MARK, PLACEHOLDER, Nested, flatten, nests

_BLANK = r"[ \t\r]"
_EXOTIC = "\x0b\x0c\x1c-\x1f\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
"""What ``str.split`` takes for space and a shell does not: such words are taken one by one."""
_ENDS = rf" \t\r\n;&|<>()'\"\\{MARK}{_EXOTIC}"
_PLAIN = rf"[^#{_ENDS}][^{_ENDS}]*+(?![^ \t\r\n;&|()])"
_TOKEN = re.compile(
    rf"""
      ( {_PLAIN} (?: {_BLANK}++ {_PLAIN} )*+ {_BLANK}*+ )        # plain words with the blanks behind them
    | ( (?: && | (?!&>)[\n;&|()] )++ ) {_BLANK}*+               # what ends a command; several may be glued together
    | ( &>>? | [0-9]*+ (?: >&(?:[0-9]++|-) | <<<? | <[>&]? | >[>|&]? ) ) {_BLANK}*+       # a redirect
    | \#[^\n]*+
    | \\\r?\n
    | ( (?: [^ \t\r\n;&|<>()'"\\$]++                             # a word with something quoted in it
          | '[^']*+'?
          | "(?:[^"\\]++|\\.)*+"?
          | \\(?:\r?\n|.)?
          | \$(?:'(?:[^'\\]++|\\.)*+'?)?
        )++ ) {_BLANK}*+
    """,
    re.VERBOSE | re.DOTALL,
)
_SEPARATOR = re.compile(r"&&|\|\||\|&|;;&?|;&|[;&|\n()]")
_ENDINGS = {"\n": ";", "|&": "|", ";": ";", "&": "&", "&&": "&&", "||": "||", "|": "|", "(": "(", ")": ")"}
"""The operators that end a simple command, each in one spelling; ``;;`` and its like stay as they are."""
_BRACKETS = frozenset("()")

_PIECE = re.compile(
    r"""'([^']*+)'?|\$'((?:[^'\\]++|\\.)*+)'?|\$?"((?:[^"\\]++|\\.)*+)"?|\\(\r?\n|.)?|([^'"\\$]++|\$)""", re.DOTALL
)
_DOUBLE, _ANSI, _ESCAPE, _LIVE_PIECES = 3, 2, 4, (3, 5)
_EXPANDS = re.compile(rf"\$[\w@*#?$!{{(-]|[`{MARK}]")
_NEEDS_QUOTES = re.compile(r"""[\s;&|<>()'"\\$`*?\[\]{}~\0]|^\#|^$""")
_NEEDS_QUOTES_IN_URL = re.compile(r"""[\s;&|<>()'"\\$`\0]""")
_NEEDS_QUOTES_AROUND_LIVE = re.compile(r"""[ \t\r\n;&|<>()'"\\`*?\[\]~]|^\#""")
_SPECIAL_IN_DOUBLE_QUOTES = re.compile(r"""[$`"\\]""")
_ESCAPED_IN_DOUBLE_QUOTES = re.compile(r"""\\(?:\r?\n|([$`"\\]))""")
_ANSI_ESCAPE = re.compile(
    r"\\(?:x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|([0-7]{1,3})|c(.)|(.))", re.DOTALL
)
_ANSI_LETTERS = {
    "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
}  # fmt: skip


class Quoted(str):
    """The value of a word of which some part was quoted. Plain words are plain strings."""

    __slots__ = ("live", "spelling")
    spelling: str
    """The word as a canonical command line spells it: quoted only where it must be, always in the same way."""
    live: bool
    """The shell puts something in: a variable, a substitution."""


class Redirect(Struct, frozen=True):
    """``operator`` has its file descriptor in front, if one was written. Of a here-document ``target`` is the body."""

    operator: str
    target: str


class Command(Struct):
    """A simple command, and the operator that ends it (empty at the end of the text)."""

    words: list[str]
    redirects: list[Redirect]
    ending: str = ""


class Script(Struct, frozen=True):
    """A command line. Its words hold placeholders for what is ``nested`` in them."""

    commands: list[Command]
    nested: list[Nested]


def parse(source: str) -> Script:
    """Read any text as a command line."""
    if MARK in source:
        source = source.replace(MARK, "\ufffd")
    if not nests(source):
        return Script(split(source, []), [])
    text, nested = flatten(source)
    return Script(split(text, nested), nested)


def split(text: str, nested: list[Nested]) -> list[Command]:
    """The simple commands of a flat text, in order."""
    line = _Line(nested)
    commands, words = line.commands, line.words
    simple = "[[" not in text
    for plain, separators, redirect, quoted in _TOKEN.findall(text):
        if plain:
            words += plain.split()
        elif quoted:
            words.append(unquote(quoted))
        elif separators:
            ending = _ENDINGS.get(separators)
            if ending and words and simple and not line.redirected:
                commands.append(Command(words, [], ending))
                words = line.words = []
            else:
                line.separate(separators)
                words = line.words
        elif redirect:
            line.redirect(redirect)
    line.end("")
    return commands


class _Line:
    """The simple commands that are complete, and the one that is being read."""

    __slots__ = ("awaited", "commands", "nested", "redirected", "redirects", "words")

    def __init__(self, nested: list[Nested]) -> None:
        self.nested = nested
        self.commands: list[Command] = []
        self.words: list[str] = []
        self.redirects: list[Redirect] = []
        self.awaited: dict[int, str] = {}
        """The redirects that wait for their target, by its place among the words."""
        self.redirected = False

    def redirect(self, operator: str) -> None:
        """Note a redirect: ``2>&1`` is complete, ``>`` awaits the next word as its target."""
        words = self.words
        if _in_condition(words):
            words.append(operator)
            return
        self.redirected = True
        sign, _, descriptor = operator.partition("&")
        if descriptor and sign:
            self.redirects.append(Redirect(f"{sign}&", descriptor))
        else:
            self.awaited[len(words)] = operator

    def separate(self, separators: str) -> None:
        """Act on separators that follow each other at once."""
        for separator in (separators,) if separators in _ENDINGS else _SEPARATOR.findall(separators):
            if _in_condition(self.words):
                self.words.append(separator)
            else:
                self.end(_ENDINGS.get(separator, separator))

    def end(self, ending: str) -> None:
        """Complete a command. An empty one counts only for the operator that it brings."""
        words, commands = self.words, self.commands
        if self.redirected:
            words = self._without_targets() if self.awaited else words
            commands.append(Command(words, self.redirects, ending))
            self.redirects, self.redirected = [], False
        elif words or ending in _BRACKETS or (ending and commands and commands[-1].ending == ")"):
            commands.append(Command(words, [], ending))
        self.words = []

    def _without_targets(self) -> list[str]:
        words = []
        for place, word in enumerate(self.words):
            operator = self.awaited.get(place)
            if operator is None:
                words.append(word)
                continue
            document = PLACEHOLDER.fullmatch(word) if operator.lstrip("0123456789") == "<<" else None
            target = literal(self.nested[int(document[1])].content) if document else word
            self.redirects.append(Redirect(operator, target))
        self.awaited = {}
        return words


def _in_condition(words: list[str]) -> bool:
    """Whether these are the words of an unfinished ``[[ … ]]``, in which ``<``, ``&&`` and ``(`` are words."""
    return "[[" in words[:3] and words[-1] != "]]"


def unquote(raw: str) -> Quoted:
    """The word that a raw token with quotes stands for."""
    quote = raw[0]
    if quote == raw[-1] and raw.count(quote) == 2:
        if quote == "'":
            return literal(raw[1:-1])
        if quote == '"' and "\\" not in raw:
            value = raw[1:-1]
            if "$" in value or MARK in value:
                return _completed(value, value)
            return literal(value)
    return _unquote_pieces(raw)


def literal(value: str) -> Quoted:
    """A word that stands for itself, whatever characters it is made of."""
    word = Quoted(value)
    if " " in value or (_NEEDS_QUOTES_IN_URL if "://" in value else _NEEDS_QUOTES).search(value):
        word.spelling = "'" + value.replace("'", "'\\''") + "'"
    else:
        word.spelling = value
    word.live = False
    return word


def _completed(value: str, inside: str) -> Quoted:
    """A word that the shell completes; ``inside`` is how it is written between double quotes."""
    if not _EXPANDS.search(inside):
        return literal(value)
    word = Quoted(value)
    word.spelling = f'"{inside}"' if _NEEDS_QUOTES_AROUND_LIVE.search(inside) else inside
    word.live = True
    return word


def rest_of(word: str, start: int) -> str:
    """What follows in a word, as a word of the same kind: the value that is glued to an option."""
    if not isinstance(word, Quoted):
        return word[start:]
    return _completed(word[start:], word[start:]) if word.live else literal(word[start:])


def is_live(word: str) -> bool:
    """Whether the shell puts something in this word that it does not show."""
    return word.live if isinstance(word, Quoted) else ("$" in word and _EXPANDS.search(word) is not None)


def spelled(words: Iterable[str]) -> str:
    """Words as a canonical command line spells them."""
    return " ".join([word.spelling if isinstance(word, Quoted) else word for word in words])


def _unquote_pieces(raw: str) -> Quoted:
    values: list[str] = []
    inside: list[str] = []
    live = False
    for piece in _PIECE.finditer(raw):
        kind, text = piece.lastindex, piece[piece.lastindex or 0]
        if kind in _LIVE_PIECES:
            live = live or _EXPANDS.search(text) is not None
            inside.append(text)
            values.append(_ESCAPED_IN_DOUBLE_QUOTES.sub(r"\1", text) if kind == _DOUBLE else text)
            continue
        if kind == _ANSI:
            text = _ANSI_ESCAPE.sub(_ansi_character, text)
        elif kind == _ESCAPE and text.endswith("\n"):
            text = ""
        values.append(text)
        inside.append(_SPECIAL_IN_DOUBLE_QUOTES.sub(r"\\\g<0>", text))
    value = "".join(values)
    return _completed(value, "".join(inside)) if live else literal(value)


def _ansi_character(escape: re.Match[str]) -> str:
    two, four, eight, octal, control, letter = escape.groups()
    if control:
        return chr(ord(control) & 0x1F)
    if letter:
        return _ANSI_LETTERS.get(letter, letter)
    code = int(octal, 8) & 0xFF if octal else int(two or four or eight, 16)
    return chr(code) if 0 < code <= sys.maxunicode else ""
