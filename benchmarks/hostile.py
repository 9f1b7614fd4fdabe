"""Input made to be slow, one family a row: what each would cost a reader that backtracks, re-reads or copies.

A family is an opening, a piece that is repeated until the size is reached, and an ending; each goes in by one door.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec import Struct

Door = str
"""``command``, ``argument``, ``arguments`` (JSON), ``result``, ``frame``, ``session``, ``config``, ``screen``."""


class Family(Struct, frozen=True):
    """``door``: where it goes in. What is made of it: ``head``, ``piece`` over and over, ``tail``."""

    door: Door
    name: str
    piece: str
    head: str = ""
    tail: str = ""
    mirror: str = ""
    """What closes each piece, in reverse, for what nests."""

    def made(self, size: int) -> str:
        """About ``size`` characters of it."""
        times = max(1, (size - len(self.head) - len(self.tail)) // (len(self.piece) + len(self.mirror)))
        return self.head + self.piece * times + self.mirror * times + self.tail


class Numbered(Family, frozen=True):
    """A family of pieces no two of which are alike: ``{n}`` in a piece is its number."""

    def made(self, size: int) -> str:
        width = len(self.piece) + 5
        times = max(1, size // width)
        pieces = (self.piece.replace("{n}", f"{number:08}") for number in range(times))
        return self.head + "".join(pieces) + self.tail


_LONE = "\ud800"

_COMMANDS: Iterable[tuple[str, ...]] = (
    ("words", "a "),
    ("one word", "a"),
    ("single quotes", "'a' "),
    ("an open single quote", "a ", "echo '"),
    ("quotes glued together", "'a'\"b\""),
    ("an open double quote with substitutions", "$(a ", 'echo "'),
    ("backslashes", "\\"),
    ("continued lines", "a \\\n"),
    ("pipes", "a | "),
    ("lists", "a && b; "),
    ("background", "a & "),
    ("redirects", "> /tmp/f "),
    ("redirects to and fro", "2>&1 >| a <<< b "),
    ("here-documents", "cat > a <<E\nx\nE\n"),
    ("here-documents on one line", "<<E "),
    ("here-documents, all open", "cat <<'E1'\nx\n"),
    ("a body without an end", "E \n", "cat <<E\n"),
    ("subshells", "( ", "", "", ") "),
    ("substitutions", "$(a ", "", "", ")"),
    ("open substitutions", "$("),
    ("backquotes", "`a "),
    ("escaped backquotes", "\\`"),
    ("braces", "{ a; "),
    ("brace expansions", "{a,"),
    ("parameters", "${a:-", "", "", "}"),
    ("arithmetic", "$((1+"),
    ("comments", "# a\n"),
    ("blank lines", "\n"),
    ("assignments", "A=1 "),
    ("wrappers", "sudo -E "),
    ("wrappers with options", "timeout -k 5 30 env -i A=1 "),
    ("xargs", "xargs -n 1 "),
    ("shells in shells", 'bash -c "'),
    ("loops", "for i in a; do "),
    ("cases", "case a in b) "),
    ("keywords", "if then else "),
    ("functions", "f() { a; }; "),
    ("redirect targets glued", ">a>b"),
    ("spaces", " "),
    ("tabs and carriage returns", "\t\r"),
    ("headers of curl", "-H 'a: b' ", "curl "),
    ("bodies of curl", "-d a=1 ", "curl -G http://a.example/ "),
    ("bundled flags of curl", "-sSL", "curl "),
    ("outputs of curl", "-o /tmp/f ", "curl "),
    ("bare hosts", "a.example ", "curl "),
    ("URLs", "http://a.example/b?c=d ", "curl "),
    ("URLs glued together", "http://a.example"),
    ("schemes", "http://"),
    ("pipelines of readers", "cat a | grep b | "),
    ("letters of other scripts", "é世 "),
    ("lone surrogates", _LONE),
    ("nul", "\0"),
    ("secrets named", "token=abcdefgh1234 "),
    ("secrets in headers", "Authorization: Bearer a1b2c3d4e5 "),
    ("secrets in URLs", "http://user:secret@a.example/ "),
    ("openings of keys", "-----BEGIN PRIVATE KEY-----\n"),
    ("heads of web tokens", "eyJhbGciOi."),
    ("half a secret", "api_key="),
    ("half a secret, quoted", '"password" : \''),
    ("base64", "QUJD", "echo "),
    ("python's words", "python -c 'import os' ", ""),
)

_URLS: Iterable[tuple[str, ...]] = (
    ("punctuation at the end", "."),
    ("closing brackets", ")"),
    ("square brackets", "]"),
    ("commas and quotes", ",'\""),
    ("slashes", "/"),
    ("dots between slashes", "/.."),
    ("percent signs", "%"),
    ("escapes", "%41%zz"),
    ("broken escapes", "%4"),
    ("queries", "?a=1"),
    ("pairs", "&a=1", "?"),
    ("tracking pairs", "&utm_source=a", "?"),
    ("empty pairs", "&", "?"),
    ("equals signs", "=", "?a"),
    ("fragments", "#"),
    ("at signs", "@"),
    ("colons", ":"),
    ("semicolons", ";a=1"),
    ("backslashes before dots", "\\."),
    ("letters of other scripts", "é"),
    ("spaces within", " x"),
)

_HOSTS: Iterable[tuple[str, ...]] = (
    ("labels", "a."),
    ("one label", "a"),
    ("dashes", "-"),
    ("digits", "1"),
    ("numbers", "1."),
    ("colons", ":"),
    ("brackets", "["),
    ("groups of six", "::1"),
    ("punycode", "xn--a."),
    ("letters of other scripts", "é."),
    ("escapes", "%41"),
    ("backslashes", "a\\."),
    ("user names", "a@"),
)

_RESULTS: Iterable[tuple[str, ...]] = (
    ("plain text", "line of output, as it comes\n"),
    ("one line", "word "),
    ("blank lines", "\n"),
    ("lines of spaces", "  \n"),
    ("spaces", " "),
    ("carriage returns", "\r"),
    ("exit codes", "[exit code: 1]\n"),
    ("exit codes without an end", "[exit code: "),
    ("signals without an end", "[killed by signal: "),
    ("time-outs without an end", "[timed out after "),
    ("denials", "\n[sandbox: file access denied"),
    ("codes in brackets", "(HTTP 500) "),
    ("codes at the end of lines", "x (HTTP 404)\n"),
    ("errors", "HTTP Error 5"),
    ("tracebacks", "Traceback (most recent call last):\n"),
    ("exceptions", "a.b.FooError: x\n"),
    ("names of exceptions", "FooError"),
    ("dotted names", "a."),
    ("curl's errors", "curl: (22"),
    ("digits", "5"),
    ("tags", "<function_calls>"),
    ("open tags", "<"),
    ("closing tags", "</invoke>"),
    ("fences", "```\n"),
    ("backquotes", "`"),
    ("brackets", "[TOOL_CALLS]"),
    ("special tokens", "<|im_start|>"),
    ("our own words", "REPEAT_TOOL_BLOCKED "),
    ("letters of other scripts", "é世"),
    ("lone surrogates", _LONE),
    ("nul", "\0"),
    ("secrets", "password: hunter2hunter2\n"),
)

_ARGUMENTS: Iterable[tuple[str, ...]] = (
    ("lists", "[", "", "1", "]"),
    ("mappings", '{"a":', "", "1", "}"),
    ("numbers", "1,", "[", "1]"),
    ("strings", '"a",', "[", '"a"]'),
    ("URLs", '"http://a.example/b",', "[", '""]'),
    ("escapes", "\\u0041", '"', '"'),
    ("floats", "1e308,", "[", "1]"),
    ("empty lists", "[],", "[", "[]]"),
)

_FRAMES: Iterable[tuple[str, ...]] = (
    ("brackets", "["),
    ("mappings", '{"a":'),
    ("spaces", " "),
    ("digits", "1"),
    ("half surrogates", "\\ud800", '{"jsonrpc":"2.0","id":1,"method":"call/decide","params":{"id":"c","tool":"', '"}}'),
    ("half surrogates, broken", "\\ud800", '{"id":"'),
    ("unknown members", '"a":1,', "{", '"b":1}'),
    ("a long name", "a", '{"jsonrpc":"2.0","id":1,"method":"', '"}'),
    ("a long id", "a", '{"jsonrpc":"2.0","id":"', '","method":"status"}'),
    ("no JSON", "}{"),
    ("bytes", "\\x", '{"'),
    ("lines", "\n"),
    ("lines of rubbish", "x\n"),
)

_SESSIONS: Iterable[tuple[str, ...]] = (
    ("calls", '{"type":"call","tool":"bash","args":{"command":"ls"}}\n'),
    ("damaged lines", '{"type":"call",\n'),
    ("unknown lines", '{"type":"other"}\n'),
    ("blank lines", "\n"),
    ("one line", "x"),
    ("brackets", "["),
    ("a number", "1", '{"type":"call","tool":"a","args":{"b":', "}}"),
    ("nesting", "[", '{"type":"call","tool":"a","args":{"b":', "}}\n", "]"),
)

_CONFIGS: Iterable[tuple[str, ...]] = (
    ("words", "- a\n", "exclude:\n"),
    ("brackets", "["),
    ("mappings", "{a: "),
    ("one key again", "window: 16\n"),
    ("anchors", "- &a [*a, *a]\n", "exclude:\n"),
    ("indents", " "),
    ("comments", "# a\n"),
    ("quotes", "'"),
    ("tags", "!!str "),
    ("documents", "---\n"),
    ("dashes", "- "),
    ("question marks", "? "),
    ("tabs", "\t"),
)

_SCREEN: Iterable[tuple[str, ...]] = (
    ("escape sequences", "\x1b[31m"),
    ("controls", "\x07\x08"),
    ("bidi overrides", "\u202e"),
    ("zero width", "\u200b\u200d"),
    ("combining marks", "\u0301", "a"),
    ("marks on letters", "a\u0301\u0302"),
    ("tag characters", "\U000e0041"),
    ("flags", "\U0001f1e6"),
    ("wide letters", "世界"),
    ("newlines", "\n"),
    ("C1 controls", "\x9b"),
    ("lone surrogates", _LONE),
)


def _of(door: Door, rows: Iterable[tuple[str, ...]], head: str = "", tail: str = "") -> list[Family]:
    made = []
    for name, piece, *rest in rows:
        own_head, own_tail, mirror = (*rest, "", "", "")[:3]
        made.append(Family(door, name, piece, head + own_head, own_tail + tail, mirror))
    return made


FAMILIES: tuple[Family, ...] = (
    *_of("command", _COMMANDS),
    *_of("command", ((f"URL: {name}", *rest) for name, *rest in _URLS), "curl http://a.example/b", "x"),
    *_of("command", ((f"host: {name}", *rest) for name, *rest in _HOSTS), "curl http://", "/x"),
    *_of("argument", ((f"URL: {name}", *rest) for name, *rest in _URLS), "http://a.example/b"),
    *_of("argument", ((f"host: {name}", *rest) for name, *rest in _HOSTS), "https://", "/x"),
    *_of("arguments", _ARGUMENTS),
    Numbered("arguments", "keys", '"k{n}":1{n}.5,', "{", '"z":0}'),
    Numbered("command", "URLs, no two alike", "http://h{n}.example/{n} ", "curl "),
    Numbered("command", "files, no two alike", "cat > /tmp/{n} <<E{n}\nx\nE{n}\n"),
    Numbered("command", "here-documents, no two alike", "<<E{n} "),
    Numbered("command", "secrets, no two alike", "key{n}=s3cret{n} "),
    Numbered("config", "keys, no two alike", "k{n}: 1\n"),
    Numbered("config", "aliases", "  h{n}: g{n}\n", "hostAliases:\n"),
    *_of("result", _RESULTS),
    *_of("frame", _FRAMES),
    *_of("session", _SESSIONS),
    *_of("config", _CONFIGS),
    *_of("screen", _SCREEN),
)

Reader = Callable[[str], Callable[[], object]]
"""Makes ready for an input outside of the measured time, and gives what is to be measured."""
