"""What the programs on a command line do with their words: tables, and no more code than it takes to read them."""

from __future__ import annotations

import re

from msgspec import Struct


def words_of(text: str) -> frozenset[str]:
    """A set of words, as a table writes them."""
    return frozenset(text.split())


# -- words in front of the command --------------------------------------------------------------------------------


class Wrapper(Struct, frozen=True):
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
    "watch": _wrapper("-n --interval"),
}

KEYWORDS = frozenset({"if", "then", "elif", "else", "while", "until", "do", "!", "{", "coproc"})
"""Words of the shell's grammar behind which a command stands."""
CLOSING_KEYWORDS = frozenset({"fi", "done", "esac", "}"})
HEADERS = frozenset({"for", "case", "select", "function", "foreach"})
"""Words of the shell's grammar that begin something which is no command."""
DECLARATIONS = frozenset({"export", "declare", "typeset", "local", "readonly"})

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


# -- where programs write --------------------------------------------------------------------------------------------

_OUTPUT = r"(?:-o|--output(?:=|\Z))(.*)"
_OUTPUT_PATTERNS = {
    r"-o=?(.*)": (
        "cc c++ gcc g++ clang clang++ c99 tcc nvcc gfortran rustc go ghc ocamlc ocamlopt swiftc gdc ldc2 as ld lld "
        "gold nasm yasm flex dot neato circo fdp sfdp iconv strace ltrace asciidoctor"
    ),
    _OUTPUT: (
        "pandoc gpg gpg2 shuf bison xmllint xsltproc rsvg-convert terser uglifyjs rollup minify yt-dlp youtube-dl perf "
        "pip-compile age sops mmdc d2 cwebp protoc"
    ),
    r"(?:-[bcCdfghiMmnRrsuVz]*o|--output(?:=|\Z))(.*)": "sort",
    r"(?:-[a-zA-Z]*o|--out(?:=|\Z))(.*)": "aria2c",
    r"--?out(?:=|\Z)(.*)": "openssl terraform tofu",
    r"--outfile(?:=|\Z)(.*)": "esbuild",
    r"(?i:-outfile(?::|\Z))(.*)": "invoke-webrequest invoke-restmethod iwr irm",
    r"(?i:-(?:file|literal)?path(?::|\Z))(.*)": "out-file set-content add-content tee-object",
}
OUTPUT_OPTIONS = {
    program: re.compile(pattern, re.DOTALL)
    for pattern, programs in _OUTPUT_PATTERNS.items()
    for program in programs.split()
}
"""How a program's option for its output file looks. An empty group 1 says that the file is the next word."""
SUBCOMMAND_OUTPUT_OPTIONS = {
    ("git", "archive"): re.compile(_OUTPUT),
    ("git", "diff"): re.compile(r"--output(?:=|\Z)(.*)"),
    ("git", "log"): re.compile(r"--output(?:=|\Z)(.*)"),
    ("docker", "save"): re.compile(_OUTPUT),
    ("docker", "export"): re.compile(_OUTPUT),
    ("podman", "save"): re.compile(_OUTPUT),
    ("podman", "export"): re.compile(_OUTPUT),
    ("uv", "export"): re.compile(r"(?:-o|--output-file(?:=|\Z))(.*)"),
    ("uv", "pip"): re.compile(r"(?:-o|--output-file(?:=|\Z))(.*)"),
    ("poetry", "export"): re.compile(_OUTPUT),
}
WRITES_OPERANDS = {"tee": None, "sponge": None, "tee-object": 1, "out-file": 1, "set-content": 1, "add-content": 1}
"""Programs whose operands are the files they write, and how many of them are (None: all)."""
_OUTPUT_PROGRAMS = (
    OUTPUT_OPTIONS.keys() | WRITES_OPERANDS.keys() | {verb for verb, _ in SUBCOMMAND_OUTPUT_OPTIONS} | {"dd"}
)


def sinks_of(verb: str, arguments: list[str]) -> list[str]:
    """The files that a program's arguments have it write, as they are spelled."""
    if verb not in _OUTPUT_PROGRAMS:
        return []
    if verb == "dd":
        return [argument[3:] for argument in arguments if argument.startswith("of=")]
    sinks: list[str] = []
    operands: list[str] = []
    pattern = OUTPUT_OPTIONS.get(verb) or SUBCOMMAND_OUTPUT_OPTIONS.get((verb, arguments[0] if arguments else ""))
    rest = iter(arguments)
    for argument in rest:
        option = pattern.fullmatch(argument) if pattern else None
        if option:
            sinks.append(option[1] or next(rest, ""))
        elif not argument.startswith("-"):
            operands.append(argument)
    return sinks or operands[: WRITES_OPERANDS.get(verb, 0)]


# -- reading the words in front, and the text behind ---------------------------------------------------------------

ASSIGNMENT = re.compile(r"([A-Za-z_]\w*+)(?:\[[^\]]*+\])?\+?=")
PREFIXES = WRAPPERS.keys() | KEYWORDS


def program_name(word: str) -> str:
    """What a program is called, wherever it lies."""
    name = word.replace("\\", "/").rstrip("/").rpartition("/")[2].lower()
    return (name.removesuffix(".exe") or word) if name else word


class Prefix(Struct, frozen=True):
    """What stands in front of a command. ``start`` is the command's place among the words."""

    start: int
    keywords: list[str]
    fed: bool = False
    """Its arguments come out of a pipe: xargs runs it."""


def unwrap(words: list[str]) -> Prefix:
    """Step over keywords, assignments and wrappers. A wrapper that wraps nothing is a command itself."""
    keywords: list[str] = []
    alone: int | None = None
    fed = False
    place, count = 0, len(words)
    while place < count:
        word = words[place]
        wrapper = WRAPPERS.get(word) or WRAPPERS.get(program_name(word))
        if wrapper is not None:
            behind = _behind(wrapper, words, place + 1)
            if behind is None:
                break
            alone = place if alone is None else alone
            fed = fed or program_name(word) == "xargs"
            place = behind
        elif word in KEYWORDS:
            keywords.append(word)
            place += 1
        elif ASSIGNMENT.match(word):
            place += 1
        elif word[:1] == "$" and words[place + 1 : place + 2] == ["="]:
            place += 2  # PowerShell's assignment
        else:
            break
    return Prefix(alone if place >= count and alone is not None else min(place, count), keywords, fed)


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


RUNNERS = SHELLS | POWERSHELLS | {"eval", "su", "cmd"}
"""Programs that run one of their arguments as a command line."""
_POWERSHELL_VALUES = words_of(
    "-executionpolicy -ep -ex -version -workingdirectory -wd -windowstyle -inputformat -outputformat"
)


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
