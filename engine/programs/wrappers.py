"""What stands in front of a command: keywords, assignments, and wrappers with options of their own."""

from __future__ import annotations

import re
from typing import NamedTuple

from engine.programs.words import words_of
from engine.shell import rest_of


class Wrapper(NamedTuple):
    """A program that runs the command behind it."""

    values: frozenset[str] = frozenset()
    """Its options that take the next word as a value, if it is not glued on."""
    operands: int = 0
    """How many words of its own stand before the command: a duration, a CPU mask."""
    queries: frozenset[str] = frozenset()
    """Options with which it runs nothing."""


def _wrapper(values: str = "", *, operands: int = 0, queries: str = "") -> Wrapper:
    return Wrapper(words_of(values), operands, words_of(queries))


_TIMEOUT = _wrapper("-k -s --kill-after --signal", operands=1)

WRAPPERS = {
    "sudo": _wrapper(
        "-u -g -p -C -h -r -t -U -R -T -D -a --user --group --prompt --close-from --host --role --type --other-user "
        "--chroot --command-timeout --chdir --auth-type",
        queries="-l -v -K -V --list --validate --version",
    ),
    "doas": _wrapper("-u -C"),
    "timeout": _TIMEOUT,
    "gtimeout": _TIMEOUT,
    "time": _wrapper("-f -o --format --output"),
    "nice": _wrapper("-n --adjustment"),
    "ionice": _wrapper("-c -n -p -P -u --class --classdata --pid --pgid --uid"),
    "chrt": _wrapper("-T -P -D", operands=1),
    "taskset": _wrapper(operands=1),
    "env": _wrapper("-u -C -S --unset --chdir --split-string"),
    "stdbuf": _wrapper("-i -o -e --input --output --error"),
    "unbuffer": _wrapper(),
    "nohup": _wrapper(),
    "setsid": _wrapper(),
    "chronic": _wrapper(),
    "caffeinate": _wrapper("-t -w"),
    "fakeroot": _wrapper(),
    "proxychains": _wrapper("-f"),
    "proxychains4": _wrapper("-f"),
    "torsocks": _wrapper(),
    "busybox": _wrapper(),
    "command": _wrapper(queries="-v -V"),
    "builtin": _wrapper(),
    "exec": _wrapper("-a"),
    "xargs": _wrapper(
        "-a -d -E -I -L -n -P -s --arg-file --delimiter --max-args --max-procs --max-chars --replace --process-slot-var"
    ),
}

KEYWORDS = frozenset({"if", "then", "elif", "else", "while", "until", "do", "!", "{", "coproc", "function"})
"""Words of the shell's grammar behind which a command stands; ``function`` has a name in between."""
CLOSING_KEYWORDS = frozenset({"fi", "done", "esac", "}"})
HEADERS = frozenset({"for", "case", "select", "foreach"})
"""Words of the shell's grammar that begin something which is no command."""
DECLARATIONS = frozenset({"export", "declare", "typeset", "local", "readonly"})

_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*+)(?:\[[^\]]*+\])?\+?=")


def assignment_in(word: str) -> tuple[str, str] | None:
    """The name and the value of ``NAME=value``."""
    match = _ASSIGNMENT.match(word)
    return (match[1], rest_of(word, match.end())) if match else None


def program_name(word: str) -> str:
    """What a program is called, wherever it lies."""
    name = word.replace("\\", "/").rstrip("/").rpartition("/")[2].lower()
    return (name.removesuffix(".exe") or word) if name else word


_IN_FRONT = WRAPPERS.keys() | KEYWORDS


def may_have_prefix(words: list[str]) -> bool:
    """Whether ``unwrap`` may find anything: a look at the first word, which tells of most commands in a tenth of its
    time that there is nothing."""
    first = words[0]
    return first in _IN_FRONT or "=" in first[1:] or "/" in first or (first[:1] == "$" and len(words) > 1)


class Prefix:
    """What stands in front of a command. ``start`` is the command's place among the words."""

    __slots__ = ("assignments", "fed", "keywords", "only", "start")

    def __init__(self) -> None:
        self.start = 0
        self.keywords: list[str] = []
        self.assignments: list[tuple[str, str]] = []
        self.fed = False
        """Its arguments come out of a pipe: xargs runs it."""
        self.only = False
        """There is nothing but wrappers: the last word on what runs comes later, as in ``time ( ls )``."""


def unwrap(words: list[str]) -> Prefix:
    """Step over keywords, assignments and wrappers. A wrapper that wraps nothing is a command itself."""
    prefix = Prefix()
    alone: int | None = None
    place, count = 0, len(words)
    while place < count:
        word = words[place]
        name = word if word in WRAPPERS else program_name(word) if "/" in word else ""
        wrapper = WRAPPERS.get(name)
        if wrapper is not None:
            behind = _behind(wrapper, words, place + 1)
            if behind is None:
                break
            alone = place if alone is None else alone
            prefix.fed = prefix.fed or name == "xargs"
            place = behind
        elif word in KEYWORDS:
            length = 2 if word == "function" else 1
            prefix.keywords += words[place : place + length]
            place += length
        elif behind := _assigned(words, place, prefix.assignments):
            place = behind
        else:
            break
    prefix.only = place >= count and alone is not None
    prefix.start = min(place, count) if alone is None or place < count else alone
    return prefix


def _assigned(words: list[str], place: int, assignments: list[tuple[str, str]]) -> int:
    """Where the words go on behind an assignment, 0 if there is none. PowerShell's is ``$name = value``."""
    word = words[place]
    if "=" in word:
        assignment = assignment_in(word)
        if assignment is None:
            return 0
        assignments.append(assignment)
        return place + 1
    if word[:1] != "$" or words[place + 1 : place + 2] != ["="]:
        return 0
    if len(words) == place + 3:
        assignments.append((word[1:], words[place + 2]))
        return place + 3
    return place + 2


def _behind(wrapper: Wrapper, words: list[str], place: int) -> int | None:
    """Where the command begins behind a wrapper, or None if the wrapper is only asked something."""
    count = len(words)
    while place < count:
        word = words[place]
        if word == "--":
            place += 1
            break
        if word[:1] != "-" or word in wrapper.queries:
            break
        place += 2 if _takes_next(wrapper, word) else 1
    if place < count and words[place] in wrapper.queries:
        return None
    return place + wrapper.operands


def _takes_next(wrapper: Wrapper, word: str) -> bool:
    if word.startswith("--"):
        return word in wrapper.values
    for place, letter in enumerate(word[1:], 2):
        if f"-{letter}" in wrapper.values:
            return place == len(word)
    return False
