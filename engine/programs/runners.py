"""Programs that run a text as a program."""

from __future__ import annotations

import re

from engine.programs.words import words_of

PLAIN_PROGRAMS = words_of(
    "python python3 node npm npx yarn pnpm pip pip3 make cargo rm cp mv mkdir touch chmod gh pytest ruff mypy"
)
"""Programs about which there is nothing to know but that they do something: no more than a short cut."""

# -- programs that run a text ----------------------------------------------------------------------------------------

SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ksh", "mksh", "ash", "fish"})
POWERSHELLS = frozenset({"pwsh", "powershell"})
_INTERPRETER = re.compile(
    r"(?:python|pypy|perl|ruby|php|node|lua|tclsh|ipython)[\d.]*"
    r"|nodejs|deno|bun|tsx|ts-node|rscript|julia|osascript|awk|gawk|mawk|nawk|groovy|scala|elixir|erl|ghci|guile"
    r"|psql|mysql|mariadb|sqlite3|duckdb|mongosh|redis-cli|ssh|uv|poetry|pipenv|docker|podman|kubectl"
)
"""Interpreters, and programs that hand what they read on to one."""


def interprets(verb: str) -> bool:
    """Whether the program runs what stands in a here-document or a quoted word as a program."""
    return verb in SHELLS or verb in POWERSHELLS or _INTERPRETER.fullmatch(verb) is not None


_COMPOSED = re.compile(
    r"""
      [,({]\s*+(?:params|data|json|body|method|form|query)\s*+[=:]  # get(url, params={...}), fetch(url, {method: ...})
    | \.(?:post|put|patch|delete|format)\(
    | urlencode | %[sd(] | \$\{ | ["'`]\s*+[+%]                         # "https://…?page=" + str(page)
    """,
    re.VERBOSE,
)


def composes(program: str) -> bool:
    """Whether a program puts more into its requests than the URL that is written in it."""
    return _COMPOSED.search(program) is not None


RUNNERS = SHELLS | POWERSHELLS | {"eval", "su", "cmd"}
"""Programs that run one of their arguments as a command line."""


def script_in(verb: str, arguments: list[str], document: str | None) -> tuple[str, list[str]] | None:
    """The command line that one of ``RUNNERS`` is given, and the arguments behind it."""
    if verb in SHELLS:
        return _shell_script(arguments, document)
    if verb == "eval":
        return " ".join(arguments), []
    flags = {"su": {"-c", "--command"}, "cmd": {"/c", "/k"}}.get(verb, {"-command", "-c"})
    for place, argument in enumerate(arguments, 1):
        if argument.lower() in flags:
            behind = arguments[place:]
            return (behind[0], behind[1:]) if verb == "su" and behind else (" ".join(behind), [])
    return None


def _shell_script(arguments: list[str], document: str | None) -> tuple[str, list[str]] | None:
    runs = reads = False
    rest = iter(arguments)
    for argument in rest:
        if argument[:1] not in {"-", "+"}:
            if runs:
                return argument, list(rest)
            return (document, [argument, *rest]) if reads and document is not None else None
        if argument.startswith("--"):
            if argument in {"--rcfile", "--init-file"}:
                next(rest, "")
            continue
        runs = runs or "c" in argument
        reads = reads or "s" in argument
        if argument[-1] in "oO":
            next(rest, "")  # -o pipefail
    return None if document is None else (document, [])
