"""Valid inputs to begin from: what the tests know of commands, URLs, results, configurations and sessions."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

DATA = Path(__file__).resolve().parent.parent / "tests" / "data"

COMMANDS = (
    "curl -sSL -m 60 'https://api.example.com/v1/items?page=2&utm_source=x' -o /tmp/out.json",
    "cat <<'EOF' | tee -a notes.txt > /dev/null\n$(not run) https://example.org/a\nEOF\nls -la",
    'for i in $(seq 1 9); do curl -G -d page=$i "$BASE/items" >> all.json 2>&1; done; BASE=https://e.com',
    "sudo -E -u bob timeout -k 5 30 env -i A=1 nice -n 10 /usr/bin/time -p bash -lc 'git commit -m \"a b\" && make'",
    "python3 - <<PY\nimport requests\nprint(requests.get('https://e.com/a', params={'page': 2}).status_code)\nPY",
    "if [[ $x < 3 && -f y ]]; then (cd /tmp; { echo a; echo b; } &>> log) | grep -v '^#' || true; fi # done",
    "xargs -n1 -P4 wget -qO out --post-data='a=1' -U 'Mozilla' http://127.1:8080/x?b=%31 <<< \"$(cat urls)\"",
    "A=$((1 + (2 << 3))) B=${A:-${C}} arr=(1 2 3); diff <(sort a) <(curl -s http://[::1]/b) >| d; echo $'a\\n\\x41'",
    "curl -H 'Authorization: Bearer abc.def.ghi' --user joe:hunter22 -X POST --json '{\"q\":1}' https://e.com/graphql",
    "pwsh -Command \"Invoke-WebRequest -Uri https://e.com -OutFile o.txt; $x = 'y'\"",
    "http POST e.com/api name=joe 'X-Token: s3cr3t' | jq '.items[] | {id}' > >(tee log)",
    "grep -rn 'TODO' . | awk '{print $1 > \"out\"}' ; sed -i 's/a/b/w f' x ; find . -exec rm {} \\; ; git log -p",
    "export TOKEN=ghp_0123456789abcdefghijklmnopqrstuvwxyz; psql postgres://u:p4ss@db/x -c 'select 1'",
)
SHELL_PIECES = tuple(
    one.encode()
    for one in (
        *(
            "curl ",
            "wget ",
            "http ",
            "bash -c ",
            "sh -lc '",
            "sudo -u x ",
            "xargs ",
            "env A=b ",
            "timeout 5 ",
            "tee ",
            "cat ",
        ),
        *(
            "<<EOF\n",
            "\nEOF\n",
            "<<-'E'\n",
            "<<<",
            "$(",
            "`",
            "${",
            "$((",
            "))",
            "((",
            "<(",
            ">(",
            "{ ",
            " }",
            "a=(",
            ")",
            "]]",
        ),
        *(
            "[[ ",
            " > ",
            ">>",
            ">|",
            "&>",
            "2>&1",
            ">&2",
            " | ",
            "|&",
            "&&",
            "||",
            ";",
            ";;",
            "&",
            "#",
            "$'",
            '$"',
            "'",
            '"',
            "\\",
        ),
        *(
            "-o ",
            "-d @",
            "-G ",
            "-X POST ",
            "-H 'Cookie: a=b' ",
            "--data-urlencode ",
            "-w '%{http_code}' ",
            "--url ",
            "-K- ",
        ),
        *(
            "https://",
            "http://",
            "e.com/a?b=c",
            "://u:p@",
            "[::1]",
            "127.1",
            "%2e",
            "&amp;",
            "$X",
            "${X}",
            "X=",
            "\0",
            "\x000\x00",
        ),
        *("export ", "for x in ", "; do ", "; done", "case x in ", "esac", "function f { ", "!", "eval ", "$x = "),
        *("--password ", "API_KEY=", '"token": "', "-----BEGIN PRIVATE KEY-----", "ghp_0123456789abcdef", "Bearer "),
    )
)
URL_PIECES = tuple(
    one.encode()
    for one in (
        *(
            "http://",
            "HTTPS://",
            "www.",
            ":443",
            ":80",
            ":8080",
            "/../",
            "//",
            "/./",
            "%2e%2E",
            "%41",
            "%",
            "?",
            "#",
            "&",
            "=",
        ),
        *(
            "utm_source=x",
            "fbclid",
            "user:pass@",
            "@",
            "[::ffff:7f00:1]",
            "[fe80::1%25eth0]",
            "0x7f.1",
            "2130706433",
            "localhost.",
        ),
        *(
            "xn--",
            "ü.com",
            "。",
            "．",
            "\u00ad",
            "\\.",
            "\\/",
            "\\",
            ")",
            "(",
            "]",
            "」",
            "...",
            "…",
            "a" * 64,
            "." * 9,
            "\t",
        ),
    )
)
JSON_PIECES = tuple(
    one.encode()
    for one in (
        *(
            '{"',
            '":"',
            '","',
            '":',
            '"}',
            "},{",
            "[",
            "]",
            "{",
            "}",
            ":",
            ",",
            '"id":',
            '"agent":',
            '"tool":',
            '"args":',
        ),
        *(
            '"type":"call"',
            '"type":"result"',
            '"type":"turn"',
            '"result":',
            '"answer":"approve"',
            '"ticket":1',
            '"verdict":"wait"',
        ),
        *('"command":"ls"', '"url":"http://e.com"', '"exitCode":1', '"isError":true', '"statusCode":503', '"content":'),
        *(
            '"text":"[exit code: 1]"',
            '"at":',
            '"fingerprints":["',
            '"measures":',
            '"hits":',
            '"counts":{',
            '"asks":["ask-1"]',
        ),
    )
)
TEXT_PIECES = tuple(
    one.encode()
    for one in (
        *(
            "[exit code: 1]",
            "[exit code: ",
            "[timed out after 5ms]",
            "(HTTP 503)",
            "curl: (7)",
            "ValueError: ",
            "HTTP Error 404",
        ),
        *(
            "Traceback (most recent call last)",
            "[sandbox: file access denied",
            "[killed by signal: ",
            "\n500",
            "200",
            "http_code: 500",
        ),
        *(
            "<function_calls>",
            "</invoke>",
            "[TOOL_CALLS]",
            "<|im_start|>",
            "```json\n",
            "~~~",
            "REPEAT_TOOL_BLOCKED",
            "convergence_check",
        ),
        *("＜tool＞", "\u2028", "[", "[ /", "[INST]", "`", "``", "~~", "| ", "\n| "),
    )
)
YAML_PIECES = tuple(
    one.encode()
    for one in (
        *(
            "window: ",
            "onLimit: ",
            "limits:\n  ",
            "exact: ",
            "ignoreArgs: {",
            "hostAliases:\n  a: b\n",
            "exclude: [",
            "askTimeout: ",
        ),
        *(
            "&a ",
            "*a",
            "<<: ",
            "!!str ",
            "!x ",
            "- ",
            "? ",
            ": ",
            "|\n  ",
            ">-\n  ",
            "{",
            "}",
            "[",
            "]",
            ",",
            "#",
            "---\n",
            "...\n",
        ),
        *(
            "%YAML 1.2\n",
            "%TAG ! x\n",
            '"\\u',
            '"\\x4',
            "'",
            "null",
            "~",
            ".inf",
            ".nan",
            "1e3",
            "0o7",
            "010",
            "yes",
            "\t",
            "\r",
            "\x85",
        ),
    )
)

SESSION = b"""\
{"type":"call","id":"c1","agent":"a1","tool":"bash","args":{"command":"curl https://e.com"},"answer":"approve"}
{"type":"result","id":"c1","agent":"a1","result":{"isError":false,"value":{"exitCode":1},"content":[{"type":"text","text":"x"}]}}
{"type":"turn","agent":"a1","source":"user"}
{"type":"call","tool":"read","args":{"path":"a"},"result":{"content":"b"}}
{"type":"call","tool":"bash","args":["ls"]}
{"type":"result","result":"text"}
"""
CONFIGURATION = b"""\
# strict
window: 20
onLimit: ask
warnAt: 4
summarizeAt: 0
failLimit: null
limits: {exact: 6, cmd: 6, 'host:e.com': 3, "verb:curl": ~}
ignoreArgs:
  '*': [nonce, &seen seen]
  bash:
    - *seen
hostAliases: {www.a.com: a.com}
exclude: [todo_*]
shellTools: [run]
askTimeout: 30.5
"""

HOOKED = ("claude-code", "codex", "gemini-cli")


def commands() -> list[bytes]:
    """Command lines."""
    return [one.encode() for one in dict.fromkeys((*COMMANDS, *_command_lines()))]


def urls() -> list[bytes]:
    """URLs, alone and in a sentence."""
    known = [case["url"] for case in _lines("urls.jsonl")]
    return [
        one.encode()
        for one in (*known, "See https://e.com/a_(b), http://[::1]:3080/x?y=1#z. And http://127\\.0\\.0\\.1/")
    ]


def calls() -> list[bytes]:
    """A tool's name on a line, then its arguments."""
    return [f"{tool}\n{json.dumps(args, ensure_ascii=False)}".encode() for tool, args in _calls()]


def results() -> list[bytes]:
    """Results in the session format."""
    known = [json.dumps(case["result"], ensure_ascii=False) for case in _lines("failures.jsonl")]
    return [one.encode() for one in dict.fromkeys(known)]


def configurations() -> list[bytes]:
    """Configurations, as YAML and as JSON, which is YAML too."""
    return [CONFIGURATION, *(json.dumps(case["config"]).encode() for case in _lines("configs.jsonl"))]


def sessions() -> list[bytes]:
    """Short sessions."""
    traces = ("\n".join(json.dumps(event) for event in case["events"][:8]) for case in _lines("traces.jsonl"))
    return [SESSION, *(trace.encode() for trace in dict.fromkeys(traces))][:200]


def _hook(payload: bytes) -> dict[str, Any]:
    harness, _, told = payload.partition(b"\n")
    return {"harness": harness.decode(), "encoding": "hex", "payload": json.loads(told)}


def _calls() -> list[tuple[str, Any]]:
    known = [(case["tool"], case["args"]) for case in _lines("fingerprints.jsonl")]
    return [*known, *(("bash", {"command": one, "description": "x"}) for one in COMMANDS)]


def _command_lines() -> Iterator[str]:
    for case in _lines("fingerprints.jsonl"):
        command = case["args"].get("command") if isinstance(case["args"], dict) else None
        if isinstance(command, str):
            yield command


@cache
def _lines(name: str) -> list[Any]:
    return [json.loads(line) for line in (DATA / name).read_text().splitlines()]


def frames() -> list[bytes]:
    """Requests of every kind, a line each."""
    head = {"jsonrpc": "2.0", "id": 7}
    hostile = {"id": "c", "agent": "a", "tool": "bash", "args": {"command": "ls \ud83d\ude00 é"}}
    requests: list[tuple[str, Any]] = [
        ("initialize", {"protocol": 1, "client": {"name": "c", "version": "1"}, "agent": {"id": "a", "parent": "p"}}),
        ("call/decide", hostile),
        *(("call/decide", {"id": "c", "agent": "a", "tool": tool, "args": args}) for tool, args in _calls()[::9]),
        *(
            ("call/settle", {"id": "c", "agent": "a", "result": case["result"]})
            for case in _lines("failures.jsonl")[::40]
        ),
        (
            "call/settle",
            {"id": "c", "agent": "a", "result": {"isError": False, "value": {"exitCode": 1}, "content": []}},
        ),
        ("call/cancel", {"id": "c", "agent": "a"}),
        ("turn/start", {"agent": "a"}),
        ("agent/start", {"agent": "a", "parent": "b", "harness": "h", "name": "n"}),
        ("agent/end", {"agent": "a"}),
        ("status", {}),
        *(("harness/hook", _hook(one)) for one in payloads()[::5]),
    ]
    lines = [json.dumps({**head, "method": name, "params": params}, separators=(",", ":")) for name, params in requests]
    lines.append(json.dumps({"jsonrpc": "2.0", "method": "turn/start", "params": {"agent": "a"}}))
    return [line.encode() for line in lines]


def payloads() -> list[bytes]:
    """A harness's name on a line, then what it gives its hook."""
    found = sorted((DATA / "captures").glob("*/*.json"))
    return [b"%b\n%b" % (file.parent.name.encode(), _payload(file)) for file in found if file.parent.name in HOOKED]


def _payload(file: Path) -> bytes:
    payload = json.loads(file.read_text())
    if isinstance(payload, dict):
        payload.pop("transcript_path", None)  # no fuzzer has any business in somebody's files
    return json.dumps(payload, separators=(",", ":")).encode()


def transcripts() -> list[bytes]:
    """The beginnings of what harnesses write of their sessions, and sessions."""
    heads: list[bytes] = []
    for file in sorted((DATA / "transcripts").rglob("*.jsonl*")):
        lines = file.read_bytes()[:20_000].split(b"\n")
        heads += [b"\n".join(lines[start : start + 4]) + b"\n" for start in range(0, len(lines), 4)]
    return [head for head in heads if len(head) < 4000] + sessions()[:20]
