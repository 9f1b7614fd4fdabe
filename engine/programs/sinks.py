"""Where commands write their bytes: the options and operands that name a file, and which names name no place."""

from __future__ import annotations

import re

from engine.nesting import MARK

_OUTPUT = r"(?:-o|--output(?:=|\Z))(.*)"
_OUTPUT_PATTERNS = {
    r"-o=?(.*)": (
        "cc c++ gcc g++ clang clang++ c99 tcc nvcc gfortran rustc go ghc ocamlc ocamlopt swiftc gdc ldc2 as ld lld "
        "gold nasm yasm flex dot neato circo fdp sfdp iconv strace ltrace asciidoctor"
    ),
    _OUTPUT: (
        "pandoc gpg gpg2 shuf bison xmllint xsltproc rsvg-convert terser uglifyjs rollup minify yt-dlp youtube-dl perf "
        "pip-compile psql age sops mmdc d2 cwebp protoc"
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
OUTPUT_PROGRAMS = (
    OUTPUT_OPTIONS.keys() | WRITES_OPERANDS.keys() | {verb for verb, _ in SUBCOMMAND_OUTPUT_OPTIONS} | {"dd"}
)


def sinks_of(verb: str, arguments: list[str]) -> list[str]:
    """The files that a program's arguments have it write, as they are spelled."""
    if verb not in OUTPUT_PROGRAMS:
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


_GENERIC = re.compile(r"/dev/(?:null|std\w+|zero|full|tty|fd/.*)|/proc/self/fd/.*|-|(?i:nul:?|\$null)|", re.DOTALL)
_HERE = re.compile(r"\A(?>\.[/\\]++)++")
_STEPS = re.compile(r"/(?>\.?/)++")


def is_generic(path: str) -> bool:
    """Whether the path says nothing about what was written: everybody writes there."""
    return _GENERIC.fullmatch(path) is not None


def named_sink(path: str) -> str:
    """The one spelling of a path, or nothing where it names no place: ``/dev/null``, ``log-$(date).txt``."""
    if MARK in path or "$(" in path:
        return ""
    if "./" in path or "//" in path or path[:1] == ".":
        path = _STEPS.sub("/", _HERE.sub("", path, count=1))
    return "" if is_generic(path) else path
