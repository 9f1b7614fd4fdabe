"""The work of a coding agent, made up from a seed: the same calls and results for every engine that is measured.

Shell commands of 20 to 2,000 characters, file tools with contents up to 20 KB, web fetches, results up to 50 KB,
eight agents, human turns, and loops (a phase in which an agent repeats itself with decoys changing). One text in
twenty is not ASCII.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.reference import CACHE

AGENTS = 8
SEED = 7
HOSTS = (
    "api.example.com",
    "docs.example.org",
    "registry.example.dev",
    "open.canada.ca",
    "api.weather.example",
    "localhost:8080",
)
WORDS = (
    *("build", "test", "parse", "render", "index", "cache", "queue", "token"),
    *("stream", "agent", "turn", "window", "limit", "event", "frame", "socket"),
)
FILES = tuple(f"src/{a}/{b}.py" for a in WORDS[:8] for b in WORDS[8:])
FOREIGN = "naïve café → “x” ✓ "

Made = tuple[str, dict[str, Any], dict[str, Any]]
"""A tool, its arguments, its result."""


def stream(calls: int, seed: int = SEED) -> Iterator[dict[str, Any]]:
    """Session-format lines of ``calls`` calls, each followed by its result; a ``turn`` about every 60 calls."""
    rng = random.Random(seed)
    agents = [_Agent(f"agent-{number}", rng) for number in range(AGENTS)]
    for number in range(calls):
        agent = rng.choice(agents)
        if rng.random() < 1 / 60:
            yield {"type": "turn", "agent": agent.name, "source": "user"}
        tool, args, result = agent.next_call()
        yield {"type": "call", "id": f"c{number}", "agent": agent.name, "tool": tool, "args": args}
        yield {"type": "result", "id": f"c{number}", "agent": agent.name, "result": result}


class _Agent:
    """One agent: mostly new work, now and then a loop of 5 to 30 calls that look new and are not."""

    def __init__(self, name: str, rng: random.Random) -> None:
        self.name = name
        self._rng = rng
        self._loop: Made | None = None
        self._left = 0

    def next_call(self) -> Made:
        rng = self._rng
        if self._loop and self._left:
            self._left -= 1
            tool, args, result = self._loop
            decoys = {"description": f"attempt {rng.randrange(1000)}", "timeoutMs": rng.randrange(1000)}
            return tool, {**args, **decoys}, result
        made = rng.choices((self._shell, self._file, self._fetch), (60, 30, 10))[0]()
        if rng.random() < 0.02:
            self._loop, self._left = made, rng.randrange(5, 30)
        return made

    def _shell(self) -> Made:
        rng = self._rng
        kind = rng.random()
        if kind < 0.3:
            command = self._curl()
        elif kind < 0.5:
            folder = rng.choice(FILES).rpartition("/")[0]
            command = f"cd {folder} && grep -rn '{rng.choice(WORDS)}' . | head -{rng.randrange(5, 50)}"
        elif kind < 0.7:
            tests = f"tests/{rng.choice(WORDS)} -k '{rng.choice(WORDS)} and not {rng.choice(WORDS)}'"
            command = f"python -m pytest {tests} -x -q 2>&1 | tail -20"
        else:
            command = self._script(rng.choice((60, 200, 200, 600, 2000)))
        args = {"command": command, "description": f"step {rng.randrange(10**6)}", "timeoutMs": rng.randrange(60000)}
        return "bash", args, self._result(failing=rng.random() < 0.12)

    def _curl(self) -> str:
        rng = self._rng
        flags = rng.choice(("-s", "-sSL -m 60", "--max-time 30 -sS", "-f --retry 3"))
        path = f"{rng.choice(HOSTS)}/v1/{rng.choice(WORDS)}/{rng.randrange(1000)}"
        url = f"https://{path}?page={rng.randrange(50)}&utm_source=x"
        tail = rng.choice(("", f" -o /tmp/{rng.choice(WORDS)}.json", " | jq '.items[] | .name'", " > out.txt"))
        return f"curl {flags} '{url}'{tail}"

    def _script(self, size: int) -> str:
        rng = self._rng
        lines = [f"cat > {rng.choice(FILES)} <<'EOF'"]
        while sum(map(len, lines)) < size:
            name = f"{rng.choice(WORDS)}_{rng.randrange(1000)}"
            lines.append(f"def {name}(x): return x + {rng.randrange(1000)}  # {rng.choice(WORDS)}")
        return "\n".join([*lines, "EOF", f"python {rng.choice(FILES)} && git diff --stat"])

    def _file(self) -> Made:
        rng = self._rng
        path = rng.choice(FILES)
        kind = rng.random()
        if kind < 0.5:
            return "read", {"file_path": path, "offset": rng.randrange(0, 2000, 50), "limit": 200}, self._result()
        if kind < 0.8:
            old, new = self._text(rng.randrange(40, 800)), self._text(rng.randrange(40, 800))
            edit = {"file_path": path, "old_string": old, "new_string": new}
            return "edit", edit, self._result(failing=rng.random() < 0.05)
        content = self._text(rng.choice((500, 3000, 20000)))
        return "write", {"file_path": path, "content": content}, self._result()

    def _fetch(self) -> Made:
        rng = self._rng
        status = rng.choices((200, 404, 503), (85, 10, 5))[0]
        url = f"https://{rng.choice(HOSTS[:5])}/{rng.choice(WORDS)}/{rng.randrange(100)}"
        content = [{"type": "text", "text": self._text(rng.choice((200, 2000, 10000, 50000)))}]
        return "web_fetch", {"url": url}, _result({"url": url, "statusCode": status}, content)

    def _result(self, *, failing: bool = False) -> dict[str, Any]:
        text = self._text(self._rng.choice((20, 200, 1000, 4000, 50000)) if self._rng.random() < 0.5 else 100)
        value = {"kind": "foreground", "exitCode": int(failing), "signal": None, "timedOut": False}
        return _result(value, [{"type": "text", "text": text}])

    def _text(self, size: int) -> str:
        rng = self._rng
        words, number = " ".join(rng.choices(WORDS, k=12)), rng.randrange(10**6)
        line = f"{FOREIGN if number % 20 == 0 else ''}{words} {number}\n"
        return (line * (size // len(line) + 1))[:size]


def _result(value: dict[str, Any], content: list[dict[str, Any]]) -> dict[str, Any]:
    return {"isError": False, "value": value, "content": content}


def write(path: Path, calls: int, seed: int = SEED) -> None:
    """Write the stream to a file, one JSON object a line."""
    with path.open("w") as file:
        for line in stream(calls, seed):
            file.write(json.dumps(line, ensure_ascii=False) + "\n")


def prepared(calls: int, seed: int = SEED) -> Path:
    """The stream as a file, from an earlier run when it was made by this very module."""
    maker = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:12]
    path = CACHE / "streams" / f"{calls}-{seed}-{maker}.jsonl"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        for old in path.parent.glob(f"{calls}-{seed}-*"):
            old.unlink()
        fresh = path.with_suffix(".part")
        write(fresh, calls, seed)
        fresh.replace(path)
    return path
