"""A call's fingerprints: what it is, once its disguise is stripped.

Every kind of fingerprint is built here, from arguments without decoys, and masked as it is built: no fingerprint
holds a decoy's value or a secret. It is bounded too: what is longer than ``FINGERPRINT_CHARS`` keeps a readable
head and ends in a digest of the whole.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from typing import Any

from engine.arguments import command_of, request_of, urls_of
from engine.calls import Identity, Marks, Measure, Tool, kind_of
from engine.canonical import plainly, spelled_out
from engine.command_line import RequestUrl
from engine.commands import read_command
from engine.config import Config
from engine.masking import mask, mask_head
from engine.urls import fold_aliases, identify_url

SHELL_TOOLS = frozenset(
    {
        *("bash", "pwsh", "shell", "powershell", "local_shell"),
        *("run_shell_command", "exec_command", "execute_command", "run_terminal_cmd"),
    }
)
"""Tools that run a command line, in lower case; ``shellTools`` adds to them."""
URL_TOOL = re.compile("fetch|search|browse|web_", re.IGNORECASE)
"""The names of tools that take a URL."""
FINGERPRINT_CHARS = 512
URLS_KEPT = 256
"""URLs of one call that get fingerprints; no command that a person could read has more."""
SINKS_KEPT = 256

CALLS_REMEMBERED = 512
CALL_CHARS_REMEMBERED = 1024
"""Agents repeat themselves, that is what all this is for: about a third of their calls are known from here."""
TARGETS_REMEMBERED = 2048
TARGET_CHARS_REMEMBERED = 1024
VERBS_REMEMBERED = 256
VERB_CHARS_REMEMBERED = 64
TOOLS_REMEMBERED = 1024
TOOL_CHARS_REMEMBERED = 256

_DIGEST_CHARS = 32
_HEAD_CHARS = FINGERPRINT_CHARS - _DIGEST_CHARS - 1


KINDS = ("exact", "cmd", "net", "host", "site", "sink", "family", "verb")


def cap_of(fingerprint: str, limits: Mapping[str, float | None]) -> float | None:
    """The cap of a fingerprint: its own entry in ``limits`` if there is one, else its kind's. None: uncapped."""
    if fingerprint in limits:
        return limits[fingerprint]
    return limits.get(kind_of(fingerprint))


_NO_MARKS = Marks()
_FAMILY = "family:http-fetch"


class Fingerprinter:
    """Says what calls are, under one configuration."""

    def __init__(self, config: Config) -> None:
        self._caps = {kind: config.limits.get(kind) for kind in KINDS}
        self._own_caps = {
            one: cap for one, cap in config.limits.items() if ":" in one and cap != self._caps.get(kind_of(one))
        }
        self._include_local = config.include_local
        self._allow_local = config.local_hosts == "allow"
        self._include = _matcher(config.include)
        self._exclude = _matcher(config.exclude)
        self._shell_tools = SHELL_TOOLS | {name.lower() for name in config.shell_tools}
        self._aliases = fold_aliases(config.host_aliases)
        self._decoys = _folded(config.ignore_args)
        self._remembered_tool = lru_cache(TOOLS_REMEMBERED)(self._read_tool)
        self._latest: dict[str, Identity] = {}
        self._before: dict[str, Identity] = {}
        self._remembered_verb = lru_cache(VERBS_REMEMBERED)(_verb_forms)
        self._remembered_target = lru_cache(TARGETS_REMEMBERED)(self._read_target)

    def tracks(self, tool: str) -> bool:
        """Whether calls of this tool are counted at all."""
        return self.tool(tool).tracked

    def decoys_of(self, tool: str) -> frozenset[str]:
        """The names of the arguments of this tool that reach no fingerprint."""
        return self.tool(tool).decoys

    def identify(self, tool: str, args: Mapping[str, Any]) -> Identity:
        """What a call of this tool with these arguments is. Never raises; changes nothing."""
        return self.identify_as(self.tool(tool), args)

    def identify_as(self, about: Tool, args: Mapping[str, Any]) -> Identity:
        """``identify`` for one who has looked up the tool."""
        decoys = about.decoys
        kept = {key: value for key, value in args.items() if key not in decoys}
        text = plainly(kept)
        if text is None:
            return self._identity(about, kept, spelled_out(kept))
        if len(text) > CALL_CHARS_REMEMBERED:
            return self._identity(about, kept, text)
        whole = about.prefix + text
        identity = self._latest.get(whole) or self._before.get(whole)
        if identity is None:
            identity = self._identity(about, kept, text)
            if len(self._latest) >= CALLS_REMEMBERED:
                self._before, self._latest = self._latest, {}
            self._latest[whole] = identity
        return identity

    def _identity(self, about: Tool, kept: Mapping[str, Any], text: str) -> Identity:
        """``kept``: the arguments without decoys, and their canonical ``text``."""
        exact = _fingerprint(about.prefix, text)
        if about.shell:
            command = command_of(kept)
            # A text that was looked through for secrets and has none needs no second look.
            marks = self._command(command, clean=exact.endswith(text)) if command else _NO_MARKS
        elif about.takes_url:
            marks = self._request(kept)
        else:
            marks = _NO_MARKS
        caps = {exact: self._cap("exact", exact)} | marks.caps
        return Identity(
            tuple(caps),
            tuple([Measure(fingerprint, cap) for fingerprint, cap in caps.items() if cap is not None]),
            marks.local,
            about.shell,
            marks.reads_only,
            marks.asks_http_code,
        )

    def _cap(self, kind: str, fingerprint: str) -> float | None:
        """``cap_of``, for one who knows the kind: few configurations have a cap for a single fingerprint."""
        if self._own_caps and fingerprint in self._own_caps:
            return self._own_caps[fingerprint]
        return self._caps[kind]

    # -- tools --------------------------------------------------------------------------------------------------

    def tool(self, name: str) -> Tool:
        """What there is to know of a tool before its arguments."""
        return self._remembered_tool(name) if len(name) <= TOOL_CHARS_REMEMBERED else self._read_tool(name)

    def _read_tool(self, name: str) -> Tool:
        lower = name.lower()
        included = not self._include or any(matches(name) for matches in self._include)
        return Tool(
            tracked=bool(name) and included and not any(matches(name) for matches in self._exclude),
            decoys=self._decoys.get("*", frozenset()) | self._decoys.get(lower, frozenset()),
            prefix=f"exact:{name}:",
            shell=lower in self._shell_tools,
            takes_url=bool(URL_TOOL.search(name)),
        )

    # -- command lines ------------------------------------------------------------------------------------------

    def _command(self, command: str, *, clean: bool) -> Marks:
        """``clean``: the command was looked through for secrets and has none."""
        line = read_command(command)
        targets = self._targets(line.urls) if line.urls else []
        local = _all_local(targets)
        relaxed = local and self._allow_local
        caps: dict[str, float | None] = {}
        if line.verb:
            small = len(line.verb) <= VERB_CHARS_REMEMBERED
            cmd_prefix, verb = self._remembered_verb(line.verb) if small else _verb_forms(line.verb)
            if line.text:
                cmd = _fingerprint(cmd_prefix, line.text, clean=clean)
                caps[cmd] = self._cap("cmd", cmd)
            if not relaxed:
                caps[verb] = self._cap("verb", verb)
        if not relaxed:
            for path in line.sinks[:SINKS_KEPT]:
                sink = _fingerprint("sink:", path, clean=clean)
                caps[sink] = self._cap("sink", sink)
            if line.fetches:
                caps[_FAMILY] = self._cap("family", _FAMILY)
            for target in targets:
                caps |= target.caps
        return Marks(caps, local, line.reads_only, line.asks_http_code)

    # -- URLs ---------------------------------------------------------------------------------------------------

    def _request(self, args: Mapping[str, Any]) -> Marks:
        """The marks of a call that takes a URL."""
        request = request_of(args)
        targets = self._targets([RequestUrl(url, request) for url in urls_of(args)])
        if not targets:
            return _NO_MARKS
        local = _all_local(targets)
        if local and self._allow_local:
            return Marks(local=True)
        caps = {_FAMILY: self._cap("family", _FAMILY)}
        for target in targets:
            caps |= target.caps
        return Marks(caps, local)

    def _targets(self, urls: Sequence[RequestUrl]) -> list[Marks]:
        targets: list[Marks] = []
        for found in urls:
            url, request = found.url, found.request
            small = len(url) + len(request) <= TARGET_CHARS_REMEMBERED
            target = self._remembered_target(url, request) if small else self._read_target(url, request)
            if target is not None:
                targets.append(target)
                if len(targets) == URLS_KEPT:
                    break
        return targets

    def _read_target(self, raw: str, request: str) -> Marks | None:
        url = identify_url(raw, self._aliases)
        if url is None:
            return None
        net = _fingerprint("net:", f"{url.resource} {request}" if request else url.resource)
        caps = {net: self._cap("net", net)}
        if self._include_local or not url.local:
            host = _fingerprint("host:", url.host, clean=True)
            caps[host] = self._cap("host", host)
        site = _fingerprint("site:", url.site, clean=True)
        caps[site] = self._cap("site", site)
        return Marks(caps, url.local)


def _all_local(targets: Sequence[Marks]) -> bool:
    """Whether there are URLs and all are local. Of so many that some were not looked at, nobody can say so."""
    return 0 < len(targets) < URLS_KEPT and all(target.local for target in targets)


# -- text -----------------------------------------------------------------------------------------------------


def _fingerprint(prefix: str, text: str, *, clean: bool = False) -> str:
    """``prefix`` and ``text``, masked (unless it is known to be ``clean``), bounded, and fit for any encoding."""
    if len(prefix) + len(text) <= FINGERPRINT_CHARS:
        whole = prefix + (text if clean else mask(text))
        if not whole.isascii():
            whole = _encodable(whole)
        if len(whole) <= FINGERPRINT_CHARS:
            return whole
    head = (prefix + mask_head(text, _HEAD_CHARS))[:_HEAD_CHARS]
    if not head.isascii():
        head = _encodable(head)[:_HEAD_CHARS]
    digest = sha256((prefix + text).encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST_CHARS]
    return f"{head}…{digest}"


def _verb_forms(verb: str) -> tuple[str, str]:
    """How ``cmd:`` begins with this verb, and its ``verb:``. What agents type for a verb may be anything."""
    named = _fingerprint("verb:", verb)
    return f"cmd:{named.removeprefix('verb:')}:", named


def _encodable(text: str) -> str:
    """The text with its lone surrogates spelled out, which no JSON on the wire could hold: it may be longer then."""
    return text.encode("utf-8", "backslashreplace").decode()


# -- configuration --------------------------------------------------------------------------------------------


def _folded(ignore_args: Mapping[str, tuple[str, ...]]) -> dict[str, frozenset[str]]:
    """Decoys by tool in lower case: ``Bash`` and ``bash`` are one tool."""
    folded: dict[str, frozenset[str]] = {}
    for tool, names in ignore_args.items():
        folded[tool.lower()] = folded.get(tool.lower(), frozenset()).union(names)
    return folded


def _matcher(patterns: Iterable[str]) -> list[Callable[[str], bool]]:
    return [_one_matcher(pattern) for pattern in patterns]


def _one_matcher(pattern: str) -> Callable[[str], bool]:
    """Whether a name is of this pattern, where ``*`` stands for anything. Linear in the name, unlike a regex."""
    first, *rest = pattern.split("*")
    if not rest:
        return pattern.__eq__
    *middle, last = rest

    def matches(name: str) -> bool:
        if not name.startswith(first) or not name.endswith(last):
            return False
        at = len(first)
        for part in middle:
            found = name.find(part, at)
            if found < 0:
                return False
            at = found + len(part)
        return at + len(last) <= len(name)

    return matches
