"""Which commands only read: what they print is somebody else's log, not their own outcome."""

from __future__ import annotations

import re
from collections.abc import Callable

from engine.programs.words import words_of

READERS = words_of(
    "cat tac head tail less more nl rev column fold paste join comm cut tr wc cmp diff colordiff sdiff od xxd hexdump "
    "hd strings file stat du df tree ls exa eza dir basename dirname realpath readlink grep egrep fgrep zgrep rg ag "
    "ack ripgrep zcat bzcat xzcat zstdcat gzcat zless jq bat batcat lsof ps pstree dmesg journalctl "
    "get-content get-childitem select-string gc gci select-object measure-object sort-object where-object out-string "
    "format-table format-list type findstr"
)
NEUTRAL = words_of(
    "echo printf cd pushd popd pwd true false : sleep wait set shopt test [ [[ exit return break continue which "
    "read write-output write-host set-location"
)
"""Commands that print nothing but what the agent wrote, or nothing at all."""

_GIT = words_of(
    "log show diff blame grep ls-files ls-tree rev-parse rev-list describe shortlog reflog cat-file show-ref "
    "name-rev whatchanged diff-tree"
)
_GIT_VALUES = frozenset({"-C", "-c", "--git-dir", "--work-tree", "--namespace"})
_LOG_READERS = {
    "docker": frozenset({"logs", "ps", "inspect", "images"}),
    "podman": frozenset({"logs", "ps", "inspect", "images"}),
    "kubectl": frozenset({"logs"}),
}
_FIND_ACTIONS = words_of("-exec -execdir -ok -okdir -delete -fprint -fprint0 -fprintf -fls")
_AWK_ACTIONS = re.compile(r"\bsystem\s*+\(|\|&|(?<!\|)\|(?!\|)\s*+[\"a-z]")
_AWK_STATEMENT_END = re.compile(r"[;}\n]")
_SED_WRITES = re.compile(
    r"""
      (?:^|[;{}\n\d$/gpI|\#,!]) [ \t]*+ [wW] [ \t]++ \S      # w file, s/a/b/w file
    | (?:^|[;{}\n\d$/!]) [ \t]*+ e (?:\s|;|$)               # e command
    | [/|\#,][gpIm\d]*+ e [gpIm\d]*+ [ \t]*+ (?:;|$)         # s/a/b/e
    """,
    re.VERBOSE,
)


def _git(words: list[str]) -> bool:
    rest = iter(words)
    for word in rest:
        if word in _GIT_VALUES:
            next(rest, "")
        elif not word.startswith("-"):
            return word in _GIT and not any(word.startswith(("--output", "--ext-diff")) for word in rest)
    return False


def _find(words: list[str]) -> bool:
    return _FIND_ACTIONS.isdisjoint(words)


def _awk(words: list[str]) -> bool:
    return not any(word.startswith(("-f", "-i", "--file", "--include")) or _awk_acts(word) for word in words)


def _awk_acts(program: str) -> bool:
    """Whether an awk program runs a command or prints into a file; a comparison does neither."""
    if _AWK_ACTIONS.search(program):
        return True
    if ">" not in program:
        return False
    statements = _AWK_STATEMENT_END.split(program)
    return any(">" in statement[statement.find("print") :] for statement in statements if "print" in statement)


def _sed(words: list[str]) -> bool:
    scripts: list[str] = []
    operands: list[str] = []
    rest = iter(words)
    for word in rest:
        if word.startswith("--"):
            if word.startswith(("--in-place", "--file")):
                return False
            scripts.append(word.partition("=")[2])
        elif word[:1] != "-" or word == "-":
            operands.append(word)
        elif "i" in word or "f" in word:
            return False
        elif word[-1] == "e":
            scripts.append(next(rest, ""))
    return not any(map(_SED_WRITES.search, scripts or operands[:1]))


def _sort(words: list[str]) -> bool:
    return not any(word.startswith("--output") or re.match(r"-[a-zA-Z]*o", word) for word in words)


def _uniq(words: list[str]) -> bool:
    return sum(not word.startswith("-") for word in words) < 2


def _yq(words: list[str]) -> bool:
    return not any(word.startswith("--inplace") or re.match(r"-[a-zA-Z]*i", word) for word in words)


_CHECKS: dict[str, Callable[[list[str]], bool]] = {
    "git": _git,
    "find": _find,
    "fd": lambda words: not any(word in {"-x", "-X", "--exec", "--exec-batch"} for word in words),
    "awk": _awk,
    "gawk": _awk,
    "mawk": _awk,
    "nawk": _awk,
    "sed": _sed,
    "sort": _sort,
    "uniq": _uniq,
    "yq": _yq,
}


CHECKED = _CHECKS.keys() | _LOG_READERS.keys()
"""Programs that only read with some arguments."""


def only_reads(verb: str, words: list[str]) -> bool:
    """Whether a command with these arguments is a pure reader, redirects aside. ``READERS`` always are one."""
    if verb in _LOG_READERS:
        return bool(words) and words[0] in _LOG_READERS[verb]
    check = _CHECKS.get(verb)
    return check is not None and check(words)
