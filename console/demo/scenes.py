"""What the demo's agents do, call by call. A scene yields acts and is sent, for each, whether it was allowed.

Each scene is one way in which agents loop, or do not: pages of one host, a failing endpoint under new descriptions,
two names of one host by turns, and an edit-and-test cycle, which repeats itself and must stay free.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from random import Random
from typing import Any

from msgspec import Struct

MADE_UP = "(demo: made up, nothing was run)"
PAGES = 26
PROBES = 9
MIRRORED = 18


class Act(Struct, frozen=True):
    """One call: how long the agent thinks before it, how long the tool would take, and what it would give back."""

    tool: str
    args: dict[str, Any]
    result: dict[str, Any]
    thinks: float = 0.5
    takes: float = 0.2


Scene = Generator[Act, bool, bool]
"""Returns whether it came to its end without being refused."""


def report(random: Random) -> Iterator[Scene]:
    """The main agent's day, after it has sent its sub-agent off."""
    yield edit_and_test(random, rounds=3)
    yield pages_of_one_host(random)
    yield edit_and_test(random, rounds=2)
    yield two_names_of_one_host(random)


def scout(random: Random) -> Iterator[Scene]:
    """The sub-agent's."""
    yield look_around(random)
    yield failing_endpoint(random)
    yield look_around(random)


def delegate(task: str) -> Act:
    """The call with which the main agent starts the sub-agent."""
    return Act("Agent", {"subagent_type": "scout", "prompt": task}, printed("started"), thinks=0.3)


def edit_and_test(random: Random, rounds: int) -> Scene:
    """Work, red and green by turns: each edit is another, the test command is the same. It gets somewhere."""
    for turn in range(1, rounds + 1):
        line = random.randrange(10, 400)
        edit = {"file_path": "climate/report.py", "old_string": f"row[{line}]", "new_string": f"row.get({line})"}
        yield Act("Edit", edit, printed("The file was updated."), thinks=0.5)
        failed = turn % 2 if turn < rounds else 0
        outcome = printed(f"{41 - failed} passed, {failed} failed in 0.{line}s", exit_code=failed)
        yield Act("Bash", {"command": "python -m pytest -q tests/test_report.py"}, outcome, thinks=0.4, takes=0.4)
    return True


def pages_of_one_host(random: Random) -> Scene:
    """Every page is another address, every file another name; the host is one."""
    for page in range(PAGES):
        offset = page * 100
        address = f"https://api.weather.gc.ca/collections/climate-daily/items?STATION=5023227&limit=100&offset={offset}"
        args = {
            "command": f'curl -s "{address}" -o /tmp/climate/p{page:02}.json',
            "description": random.choice(["Fetch the next page", "Get more daily records", "Continue the download"]),
        }
        if not (yield Act("Bash", args, printed(f"HTTP 200, {random.randrange(44, 52)} kB"), thinks=0.45)):
            yield from insist(args)
            return (yield from work_with_what_is_there())
    return True


def failing_endpoint(random: Random) -> Scene:
    """One command that fails, under new descriptions and timeouts each time."""
    excuses = ["Check again", "Maybe it was a hiccup", "Retry with patience", "Verify the service", "One more attempt"]
    for probe in range(PROBES):
        command = f"curl -sf -m {random.choice([5, 10, 20, 30])} https://stations.example.org/v1/health"
        args = {"command": command, "description": f"{excuses[probe % len(excuses)]} ({probe + 1})"}
        failed = printed("curl: (22) The requested URL returned error: 503", exit_code=22)
        if not (yield Act("Bash", args, failed, thinks=0.8, takes=0.3)):
            yield Act("Read", {"file_path": "docs/stations.md"}, printed("# Stations\nMoved on 1 March."), thinks=1.5)
            return False
    return True


def two_names_of_one_host(random: Random) -> Scene:
    """Back and forth between two names that the configuration knows to be one host."""
    for turn in range(MIRRORED):
        host = "open.canada.ca" if turn % 2 else "www.open-data.canada.ca"
        address = f"https://{host}/data/en/dataset/{random.randrange(16**8):08x}"
        result = printed(f"{random.randrange(10, 90)} kB of HTML", statusCode=200)
        if not (yield Act("WebFetch", {"url": address, "prompt": "List the CSV files"}, result, thinks=0.7)):
            return (yield from work_with_what_is_there())
    return True


def look_around(random: Random) -> Scene:
    """Reads and searches that never repeat."""
    for name in random.sample(["stations.csv", "README.md", "units.md", "ranges.json", "notes.txt", "codes.csv"], 3):
        lines = random.randrange(20, 900)
        yield Act("Read", {"file_path": f"data/{name}"}, printed(f"{lines} lines"), thinks=0.5, takes=0.05)
    yield Act("Grep", {"pattern": f"station_{random.randrange(100)}", "path": "climate"}, printed("3 matches"))
    return True


def insist(args: dict[str, Any]) -> Generator[Act, bool, None]:
    """What a model does first with a refusal: the same again, in other words."""
    for excuse in ("Try once more", "Fetch with a longer timeout"):
        yield Act("Bash", args | {"description": excuse}, printed("HTTP 200"), thinks=1.0)


def work_with_what_is_there() -> Scene:
    """What it does once it has understood."""
    yield Act("Bash", {"command": "ls -l /tmp/climate"}, printed("15 files, 702 kB"), thinks=1.5)
    command = "jq -s 'map(.features[])' /tmp/climate/p*.json > /tmp/climate/all.json"
    yield Act("Bash", {"command": command}, printed(""), thinks=1.0)
    return False


def printed(text: str, exit_code: int = 0, **value: Any) -> dict[str, Any]:
    """A shell tool's result in the session format."""
    content = [{"type": "text", "text": f"{text}\n{MADE_UP}" if text else MADE_UP}]
    return {"isError": False, "value": {"exitCode": exit_code, **value}, "content": content}
