"""What a call is: every recorded row, and what holds for any call."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.calls import Identity, Measure
from engine.config import DEFAULTS, Config
from engine.configuration.file import from_mapping
from engine.fingerprints import FINGERPRINT_CHARS, SHELL_TOOLS, URLS_KEPT, Fingerprinter, cap_of
from engine.masking import token_of
from tests.engine.test_canonical import values

DATA = Path(__file__).parent.parent / "data"
ROWS = [json.loads(line) for line in (DATA / "fingerprints.jsonl").read_text("utf-8").splitlines()]

METHOD_IS_IDENTITY = (29, 80, 140, 147, 155, 182, 309, 315, 346, 440, 471, 492)
BODY_IS_IDENTITY = (22, 39, 54, 62, 71, 74, 177, 500)
"""Rows that contradict the design: in them ``net:`` leaves out a method other than GET (``-X POST``, ``-I``) or a
request body (``--data-raw``), which the design has in it. Everything else in these rows holds, and is tested."""
CONTRADICTING = frozenset(METHOD_IS_IDENTITY + BODY_IS_IDENTITY)

DEFAULT = Fingerprinter(DEFAULTS)


def identify(tool: str, args: dict[str, Any], **config: Any) -> Identity:
    return (Fingerprinter(from_mapping(config)) if config else DEFAULT).identify(tool, args)


def bash(command: Any, **config: Any) -> Identity:
    return identify("bash", {"command": command}, **config)


def kinds(identity: Identity) -> dict[str, list[str]]:
    """The fingerprints by kind, without it."""
    found: dict[str, list[str]] = {}
    for fingerprint in identity.fingerprints:
        kind, _, rest = fingerprint.partition(":")
        found.setdefault(kind, []).append(rest)
    return found


def shared(one: Identity, other: Identity) -> set[str]:
    return {fingerprint.partition(":")[0] for fingerprint in set(one.fingerprints).intersection(other.fingerprints)}


# -- recorded rows --------------------------------------------------------------------------------------------


def with_any_command(fingerprint: str) -> str:
    kind, verb, *_ = f"{fingerprint}::".split(":")
    return f"cmd:{verb}:*" if kind == "cmd" else fingerprint


@pytest.mark.parametrize(("number", "row"), enumerate(ROWS, 1), ids=range(1, len(ROWS) + 1))
def test_every_recorded_call(number: int, row: dict[str, Any]):
    identity = identify(row["tool"], row["args"], **row.get("config", {}))
    got = [with_any_command(fingerprint) for fingerprint in identity.fingerprints]
    if number in CONTRADICTING:
        assert set(got) != set(row["expected"])
        got = [one.partition(" ")[0] if one.startswith("net:") else one for one in got]
    assert sorted(got) == sorted(row["expected"])


# -- tools ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tool", [*sorted(SHELL_TOOLS), "Bash", "BASH", "PowerShell", "mine", "Mine"])
def test_shell_tools_by_any_spelling(tool: str):
    identity = identify(tool, {"command": "ls -la", "description": "look"}, shellTools=["MINE"])
    assert identity.shell
    assert identity.fingerprints[1:] == bash("ls -la").fingerprints[1:]
    assert kinds(identity)["cmd"] == ["ls:ls -la"]
    assert not identify(tool, {"command": "ls -la", "description": "look"}).fingerprints[0].count("look")


@pytest.mark.parametrize(
    "args",
    [
        {"command": ["ls", "-la"]},
        {"command": ["bash", "-lc", "ls -la"]},
        {"command": ["ls -la"]},
        {"cmd": "ls -la", "workdir": "/srv", "yield_time_ms": 1000},
        {"script": "ls -la"},
        {"action": {"type": "exec", "command": ["sh", "-c", "ls -la"]}},
    ],
)
def test_a_command_however_a_harness_passes_it(args: dict[str, Any]):
    assert shared(identify("shell", args), bash("ls -la")) == {"cmd", "verb"}


@pytest.mark.parametrize("command", ["", "   ", None, 3, [], [1], {"a": 1}])
def test_a_shell_call_without_a_command_is_exact_only(command: Any):
    assert list(kinds(bash(command))) == ["exact"]
    assert bash(command).shell


@pytest.mark.parametrize("path", sorted((DATA / "captures").glob("*/*Tool*.json")), ids=lambda path: path.name)
def test_calls_as_harnesses_send_them(path: Path):
    payload = json.loads(path.read_text("utf-8"))
    tool, args = payload.get("tool_name"), payload.get("tool_input")
    if tool is None:
        return
    identity = identify(tool, args)
    assert identity.shell == ("command" in args)
    assert ("cmd" in kinds(identity)) == ("command" in args)


def test_file_tools_are_exact_only():
    args = {"file_path": "https://a.example/x", "offset": 1, "content": "curl https://a.example -o /x"}
    for tool in ("read", "Write", "edit", "glob", "mcp__fs__write_file"):
        assert list(kinds(identify(tool, args))) == ["exact"]


def test_which_tools_are_counted():
    assert DEFAULT.tracks("bash")
    assert not DEFAULT.tracks("todo_write")
    assert not DEFAULT.tracks("")
    only = Fingerprinter(Config(include=("mcp__*__query", "ba*h", "*"[1:]), exclude=("*__secret__*",)))
    assert [tool for tool in ("bash", "bath", "ba", "mcp__db__query", "mcp__secret__query") if only.tracks(tool)] == [
        "bash",
        "bath",
        "mcp__db__query",
    ]
    assert not Fingerprinter(Config(exclude=("a*a",))).tracks("aba")
    assert Fingerprinter(Config(exclude=("a*a",))).tracks("a")
    assert not Fingerprinter(Config(exclude=("*a" * 50 + "*",))).tracks("a" * 100_000)


# -- URL tools ------------------------------------------------------------------------------------------------


def test_a_url_tool_names_its_resource():
    identity = identify("WebFetch", {"url": "HTTPS://www.Api.example.com:443/a/?b=2&a=1#x", "prompt": "sum it up"})
    assert kinds(identity) | {"exact": []} == {
        "exact": [],
        "family": ["http-fetch"],
        "net": ["api.example.com/a?a=1&b=2"],
        "host": ["api.example.com"],
        "site": ["example.com"],
    }


@pytest.mark.parametrize(
    "args",
    [
        {"method": "POST"},
        {"body": {"after": "c1"}},
        {"params": {"page": 2}},
        {"start_index": 5000},
        {"method": "PUT", "json": [1]},
    ],
)
def test_another_request_is_another_resource(args: dict[str, Any]):
    url = {"url": "https://api.example.com/graphql"}
    assert shared(identify("web_fetch", url | args), identify("web_fetch", url)) == {"family", "host", "site"}


def test_a_request_that_asks_for_nothing_more_is_the_same_resource():
    url = {"url": "https://api.example.com/x"}
    plain = identify("web_fetch", url)
    for args in ({"method": "get"}, {"body": None}, {"params": {}}, {"data": ""}, {"prompt": "again"}, {"method": 1}):
        assert "net" in shared(identify("web_fetch", url | args), plain)


def test_what_a_url_tool_takes_for_a_url():
    assert "net" in kinds(identify("fetch", {"url": "example.com/a"}))
    assert "net" in kinds(identify("fetch", {"uri": "http://intranet/a"}))
    assert "net" not in kinds(identify("fetch", {"url": "intranet/a.html"}))
    assert "net" not in kinds(identify("fetch", {"url": "two words.com"}))
    assert "net" not in kinds(identify("fetch", {"url": ["https://a.example/"]}))
    assert "net" not in kinds(identify("lookup", {"url": "https://a.example/"}))
    prompt = "Compare https://a.example/x and (https://b.example/y)."
    assert kinds(identify("web_fetch", {"prompt": prompt}))["net"] == ["a.example/x", "b.example/y"]


# -- local hosts ----------------------------------------------------------------------------------------------

LOCAL = "curl http://127.0.0.1:3000/x -o /srv/out"
MIXED = f"{LOCAL} && curl https://a.example/"


def test_a_local_call():
    assert bash(LOCAL).local
    assert not bash(MIXED).local
    assert not bash("ls").local
    assert "host" not in kinds(bash(LOCAL))
    assert kinds(bash(LOCAL, includeLocal=True))["host"] == ["127.0.0.1"]
    assert kinds(bash(MIXED))["host"] == ["a.example"]


def test_local_calls_allowed_keep_exact_and_cmd():
    assert list(kinds(bash(LOCAL, localHosts="allow"))) == ["exact", "cmd"]
    assert bash(LOCAL, localHosts="allow").local
    assert set(kinds(bash(MIXED, localHosts="allow"))) == set(kinds(bash(MIXED)))
    fetched = identify("web_fetch", {"url": "http://[::1]:3000/"}, localHosts="allow")
    assert list(kinds(fetched)) == ["exact"]
    assert fetched.local


def test_a_pattern_that_names_a_local_address_is_local():
    assert bash(r"grep -c 'http://127\.0\.0\.1:3080/' access.log").local


# -- caps -----------------------------------------------------------------------------------------------------


def test_measures_are_the_fingerprints_with_a_cap_in_their_order():
    identity = bash(
        "git status; curl https://a.example/ > /srv/x", limits={"verb:git": 5, "host:a.example": 3, "net": None}
    )
    assert [(one.fingerprint.partition(":")[0], one.cap) for one in identity.measures] == [
        (fingerprint.partition(":")[0], cap)
        for fingerprint in identity.fingerprints
        if (cap := {"exact": 12, "cmd": 12, "sink": 12, "host": 3, "verb": 5}.get(fingerprint.partition(":")[0]))
    ]
    assert Measure("verb:git", 5) in identity.measures


def test_a_limit_of_a_fingerprint_comes_before_its_kinds():
    limits = {"host": 16, "host:a.example": None, "verb:git": 4}
    assert cap_of("host:a.example", limits) is None
    assert cap_of("host:b.example", limits) == 16
    assert cap_of("verb:git", limits) == 4
    assert cap_of("verb:ls", limits) is None


# -- bounds ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [300, 500, 520, 5_000, 200_000])
def test_a_long_fingerprint_keeps_its_head_and_ends_in_a_digest(length: int):
    one = identify("write", {"content": "x" * length + "1", "path": "/srv/a"}).fingerprints[0]
    other = identify("write", {"content": "x" * length + "2", "path": "/srv/a"}).fingerprints[0]
    assert one.startswith('exact:write:{"content":"xxx')
    assert len(one) <= FINGERPRINT_CHARS
    assert one != other


def test_the_name_of_a_tool_may_be_of_any_length():
    one, other = (identify("t" * 100_000 + end, {}).fingerprints[0] for end in "ab")
    assert len(one) <= FINGERPRINT_CHARS
    assert one != other


def test_a_call_with_any_number_of_urls_is_bounded():
    command = " ".join(f"https://h{number}.example/{number}" for number in range(5_000))
    assert len(kinds(bash(f"curl {command}"))["net"]) == URLS_KEPT


def test_a_public_url_is_not_hidden_behind_any_number_of_local_ones():
    command = "curl " + " ".join(f"http://localhost:{port}/" for port in range(1000, 3000)) + " https://a.example/"
    identity = bash(command, localHosts="allow")
    assert not identity.local
    assert "net" in kinds(identity)


@pytest.mark.parametrize(
    "command",
    [
        "a" * 1_000_000,
        "'" * 1_000_000,
        "curl " * 200_000,
        "curl http://a.example/" + ")" * 60_000,
        "\\" * 100_001,
        *("\ud800" * many for many in (5, 60, 90, 400, 600, 100_000)),
        "curl https://a.example/?" + "a=\udc00&" * 90,
    ],
    ids=lambda command: command[:8].encode("ascii", "replace").decode(),
)
def test_commands_of_any_size(command: str):
    for fingerprint in bash(command).fingerprints:
        fingerprint.encode()
        assert len(fingerprint) <= FINGERPRINT_CHARS


# -- for any call ---------------------------------------------------------------------------------------------

MARKER = "Zq7decoyZq7"
tools = st.sampled_from(["bash", "Bash", "web_fetch", "read", "exec_command", "lookup"]) | st.text(max_size=8)
commands = st.sampled_from(
    [
        "curl -s https://a.example/x?page=1 -o /srv/out",
        "sudo -u bob git commit -m 'it is done'",
        "wget -q https://b.example/y; python3 run.py | tee /srv/log",
        "cat a.log | grep -c 'http://127\\.0\\.0\\.1/'",
        "pytest -q",
    ]
)
arguments = st.dictionaries(st.sampled_from(["command", "cmd", "url", "body", "path", "a", "é"]), values | commands)


@given(tools, arguments)
def test_any_call_has_an_identity(tool: str, args: dict[str, Any]):
    identity = DEFAULT.identify(tool, args)
    assert identity == Fingerprinter(DEFAULTS).identify(tool, dict(reversed(args.items())))
    assert len(set(identity.fingerprints)) == len(identity.fingerprints)
    assert [one.fingerprint for one in identity.measures] == [
        one for one in identity.fingerprints if cap_of(one, DEFAULTS.limits) is not None
    ]
    for fingerprint in identity.fingerprints:
        fingerprint.encode()
        assert len(fingerprint) <= FINGERPRINT_CHARS
    if not identity.shell:
        assert not {"cmd", "verb", "sink"} & set(kinds(identity))


@given(tools, arguments, st.sampled_from([*DEFAULTS.ignore_args["*"], "mine", "command", "url"]), st.booleans())
def test_no_decoy_reaches_a_fingerprint(tool: str, args: dict[str, Any], decoy: str, everywhere: bool):
    config = Config(
        ignore_args={**DEFAULTS.ignore_args, "*" if everywhere else tool: (decoy, *DEFAULTS.ignore_args["*"])}
    )
    fingerprinter = Fingerprinter(config)
    value = f"curl https://{MARKER}.example/{MARKER} -o {MARKER}"
    identity = fingerprinter.identify(tool, {**args, decoy: value})
    assert not any(MARKER.lower() in fingerprint.lower() for fingerprint in identity.fingerprints)
    without = {key: item for key, item in args.items() if key != decoy}
    assert identity == fingerprinter.identify(tool, without)


@given(tools, arguments, st.text("abcdefghijklmnopqrstuvwxyz0123456789", min_size=10, max_size=30), st.data())
def test_no_secret_reaches_a_fingerprint(tool: str, args: dict[str, Any], secret: str, data: st.DataObject):
    place = data.draw(
        st.sampled_from(
            [
                "curl -u bob:{} https://a.example",
                "curl -H 'Authorization: Bearer {}' https://a.example/x",
                "curl https://a.example/?token={}",
                "curl -d 'password={}' https://a.example/login",
                "git clone https://bob:{}@a.example/r",
                "TOKEN={} make",
                "login --password {} > out-$(date)",
            ]
        )
    )
    key = data.draw(st.sampled_from(["command", "cmd", "url", "api_key", "note"]))
    filler = data.draw(st.sampled_from(["", "x " * 150, "x " * 240, "x" * 505, "x" * 2000]))
    args = {**args, key: f"{filler} {place.format(secret)}" if key != "api_key" else secret}
    if secret not in json.dumps({name: value for name, value in args.items() if name != key}):
        assert not any(secret in one for one in DEFAULT.identify(tool, args).fingerprints)


def test_the_same_secret_collides_and_another_does_not():
    command = "curl -s -u bob:{} https://a.example/x"
    assert bash(command.format("hunter2")) == bash(command.format("hunter2"))
    assert token_of("hunter2") in bash(command.format("hunter2")).fingerprints[0]
    assert shared(bash(command.format("hunter2")), bash(command.format("hunter3"))) >= {"net", "host"}
    assert "exact" not in shared(bash(command.format("hunter2")), bash(command.format("hunter3")))


flags = st.sampled_from(["", "-s ", "--max-time 9 ", "-m 60 ", "-sSL ", "--retry=3 ", "-A agent/2 ", "-k "])
prefixes = st.sampled_from(["", "sudo ", "timeout 30 ", "A=1 ", "env B=2 ", "nice -n 5 ", "/usr/bin/"])
spellings = st.sampled_from(
    [
        "https://open.canada.ca/x?a=1",
        "HTTPS://www.open.canada.ca/x/?a=1",
        "https://open-data.canada.ca:443/%78?a=1&utm_source=me",
        "http://www.open-data.canada.ca:80/x?fbclid=9&a=1#top",
    ]
)


@given(prefixes, flags, spellings, st.text(max_size=9))
def test_a_disguised_request_collides(prefix: str, flag: str, url: str, note: str):
    plain = bash("curl 'https://open.canada.ca/x?a=1' -o /srv/x")
    disguised = identify("Bash", {"description": note, "command": f'{prefix}curl {flag}"{url}" -o /srv/x'})
    assert shared(disguised, plain) >= {"net", "host", "site", "sink", "verb", "family"}


@given(prefixes, flags)
def test_a_disguised_command_collides(prefix: str, flag: str):
    plain = bash("curl https://a.example/x -o /srv/x")
    assert "cmd" in shared(bash(f"{prefix}curl {flag}'https://a.example/x'   -o /srv/x"), plain)
