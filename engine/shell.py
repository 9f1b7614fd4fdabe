"""One lexer for command lines.

``parse`` turns a POSIX-like command line into simple commands: their words, where they redirect, and the operator that
ends each. Verb, ``cmd:``, sinks and URLs all read its output, never the raw string again. Any text is a command line
to it (PowerShell, prose, half a quote): it never fails, and its time is linear in the text.

It is fast because one pattern takes a whole run of plain words at a time; only quoted words are looked at one by one.
A single character is found fifty times as fast as two, and is looked for first.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Sequence

from engine.command_line import Command, Nested, Quoted, Redirect, Script
from engine.nesting import MARK, flatten, nests

_BLANK = r"[ \t\r]"
_EXOTIC = "\x0b\x0c\x1c-\x1f\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
"""What ``str.split`` takes for space and a shell does not: such words are taken one by one."""
_ENDS = rf" \t\r\n;&|<>()'\"\\{MARK}{_EXOTIC}"
_PLAIN = rf"[^#{_ENDS}][^{_ENDS}]*+(?![^ \t\r\n;&|()])"
_TOKEN = re.compile(
    rf"""
      ( {_PLAIN} (?> {_BLANK}++ {_PLAIN} )*+ {_BLANK}*+ )        # plain words with the blanks behind them
    | ( (?> && | (?!&>)[\n;&|()] )++ ) {_BLANK}*+               # what ends a command; several may be glued together
    | ( &>>?                                                     # a redirect, with what is glued to it
      | [0-9]*+ (?: >&(?:[0-9]++|-) | <<{MARK}[0-9]++{MARK} | <<<? | <[>&]? | >[>|&]? ) ) {_BLANK}*+
    | \#[^\n]*+
    | \\\r?\n
    | ( (?> [^ \t\r\n;&|<>()'"\\$]++                             # a word with something quoted in it
          | '[^']*+'?
          | "(?>[^"\\]++|\\.)*+"?
          | \\(?:\r?\n|.)?
          | \$(?:'(?>[^'\\]++|\\.)*+'?)?
        )++ ) {_BLANK}*+
    """,
    re.VERBOSE | re.DOTALL,
)
_SEPARATOR = re.compile(r"&&|\|\||\|&|;;&?|;&|[;&|\n()]")
_ENDINGS = {"\n": ";", "|&": "|", ";": ";", "&": "&", "&&": "&&", "||": "||", "|": "|", "(": "(", ")": ")"}
"""The operators that end a simple command, each in one spelling; ``;;`` and its like stay as they are."""
_BRACKETS = frozenset("()")

_PIECE = re.compile(
    r"""'([^']*+)'?|\$'((?>[^'\\]++|\\.)*+)'?|\$?"((?>[^"\\]++|\\.)*+)"?|\\(\r?\n|.)?|([^'"\\$]++|\$)""", re.DOTALL
)
_DOUBLE, _ANSI, _ESCAPE, _LIVE_PIECES = 3, 2, 4, (3, 5)
_NEEDS_READING = re.compile(rf"[\"'\\$`{MARK}]")
"""What else stands as it is: it was only glued to a redirect."""
_EXPANDS = re.compile(rf"\$[\w@*#?$!{{(-]|[`{MARK}]")
_NAME = re.compile(r"-{0,2}[A-Za-z_][\w-]*+=")
_NEEDS_QUOTES = re.compile(r"""[\s;&|<>()'"\\$`*?\[\]~\0]|\{(?!\})|(?<!\{)\}|^\#|^$""")
_NEEDS_QUOTES_IN_URL = re.compile(r"""[\s;&|<>()'"\\$`\0]""")
_NEEDS_QUOTES_AROUND_LIVE = re.compile(r"""[ \t\r\n;&|<>()'"\\`*?\[\]~]|^\#""")
_SPECIAL_IN_DOUBLE_QUOTES = re.compile(r"""[$`"\\]""")
_ESCAPED = re.compile(r"\\.", re.DOTALL)
_ESCAPED_IN_DOUBLE_QUOTES = re.compile(r"""\\(?:\r?\n|([$`"\\]))""")
_ANSI_ESCAPE = re.compile(
    r"\\(?:x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|([0-7]{1,3})|c(.)|(.))", re.DOTALL
)
_ANSI_LETTERS = {
    "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
}  # fmt: skip


_ERRORS_TOO = Redirect("2>&", "1")


_EMPTY = Command([])


def parse(source: str) -> Script:
    """Read any text as a command line."""
    if MARK in source:
        source = source.replace(MARK, "\ufffd")
    return Script(*flatten(source)) if nests(source) else Script(source, [])


def split(text: str, nested: list[Nested]) -> Iterator[Command]:
    """The simple commands of a flat text, in order and one at a time: of a megabyte of them, few are there at once."""
    words: list[str] = []
    signs: list[tuple[int, str]] = []
    redirects: Sequence[Redirect]
    quoted = False
    before = ""
    conditional = "[" in text and "[[" in text
    for plain, separators, redirect, word in _TOKEN.findall(text):
        if plain:
            words += plain.split()
        elif word:
            if _NEEDS_READING.search(word):
                word = unquote(word)  # noqa: PLW2901 - the same word, read
                quoted = True
            words.append(word)
        elif conditional and _in_condition(words):
            words.append(redirect or separators)
        elif redirect:
            signs.append((len(words), redirect))
        elif separators:
            words, redirects = _without_redirects(words, signs, nested) if signs else (words, ())
            ending = _ENDINGS.get(separators)
            if ending and words:
                yield Command(words, redirects, ending, quoted)
                before = ending
            else:
                ended = _ended(Command(words, redirects, "", quoted), _SEPARATOR.findall(separators), before)
                yield from ended
                before = ended[-1].ending if ended else before
            words, signs, quoted = [], [], False
    words, redirects = _without_redirects(words, signs, nested) if signs else (words, ())
    if words or redirects:
        yield Command(words, redirects, "", quoted)


def _ended(command: Command, separators: list[str], before: str) -> list[Command]:
    """The command that the first separator ends, and an empty one for each other separator that means something.

    ``before``: what ended the command before this one.
    """
    ended: list[Command] = []
    for separator in separators:
        ending = _ENDINGS.get(separator, separator)
        if command.words or command.redirects or ending in _BRACKETS or (ending and before == ")"):
            ended.append(Command(command.words, command.redirects, ending, command.quoted))
            before = ending
        command = _EMPTY
    return ended


def _in_condition(words: list[str]) -> bool:
    """Whether these are the words of an unfinished ``[[ … ]]``, in which ``<``, ``&&`` and ``(`` are words."""
    return "[[" in words[:3] and words[-1] != "]]"


def _without_redirects(
    words: list[str], signs: list[tuple[int, str]], nested: list[Nested]
) -> tuple[list[str], Sequence[Redirect]]:
    """The words that are left, and the redirects, given the operators and the place among the words of each."""
    redirects: list[Redirect] = []
    targets: set[int] = set()
    for place, operator in signs:
        if operator == "2>&1":
            redirects.append(_ERRORS_TOO)
            continue
        sign, _, descriptor = operator.partition("&")
        if operator[-1] == MARK:
            redirects.append(Redirect("<<", literal(nested[int(operator.split(MARK)[1])].content)))
        elif sign and descriptor:
            redirects.append(Redirect(f"{sign}&", descriptor))
        elif place < len(words) and place not in targets:  # one word is no target of two: nested, that would multiply
            redirects.append(Redirect(operator, words[place]))
            targets.add(place)
    if targets:
        words = [word for place, word in enumerate(words) if place not in targets]
    return words, redirects


def unquote(raw: str) -> Quoted:
    """The word that a raw token with quotes stands for."""
    quote = raw[0]
    if raw.find(quote, 1) == len(raw) - 1:
        inside = raw[1:-1]
        if quote == "'" or (quote == '"' and "$" not in inside and "\\" not in inside and MARK not in inside):
            return literal(inside)
        if quote == '"' and "\\" not in inside:
            return _word_of(inside)
    return _unquote_pieces(raw)


def literal(value: str) -> Quoted:
    """A word that stands for itself, whatever characters it is made of."""
    word = Quoted(value)
    word.live = False
    url = ":" in value and "://" in value
    if url:
        bare = "&" not in value and not _NEEDS_QUOTES_IN_URL.search(value)
    else:
        bare = " " not in value and not _NEEDS_QUOTES.search(value)
    if bare:
        word.spelling = value
    elif "'" in value or ("=" in value and not url):
        name = _NAME.match(value)
        start = name.end() if name else 0
        word.spelling = value[:start] + "'" + value[start:].replace("'", "'\\''") + "'"
    else:
        word.spelling = f"'{value}'"
    return word


def _word_of(inside: str) -> Quoted:
    """The word that a text without escapes makes between double quotes."""
    if ("$" in inside or MARK in inside) and _EXPANDS.search(inside):
        return _completed(inside, inside)
    return literal(inside)


def _completed(value: str, inside: str) -> Quoted:
    """A word that the shell completes; ``inside`` is how it is written between double quotes."""
    word = Quoted(value)
    word.spelling = f'"{inside}"' if _NEEDS_QUOTES_AROUND_LIVE.search(inside) else inside
    word.live = True
    return word


def rest_of(word: str, start: int) -> str:
    """What follows in a word, as a word of the same kind: the value that is glued to an option."""
    if not isinstance(word, Quoted):
        return word[start:]
    return _word_of(word[start:]) if word.live else literal(word[start:])


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
            live = live or _EXPANDS.search(_ESCAPED.sub("", text)) is not None
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
