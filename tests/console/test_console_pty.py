"""``breaker``, ``breaker attach`` and ``breaker tail`` in a real pty, with a real engine and an agent at its socket."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.events import encoder
from tests.console.fronts import ROOT, Agent
from tests.console.scenes import climbing
from tests.console.terminal import Terminal

BREAKER = [sys.executable, "-m", "console"]
ARMED = "approving takes two keys: a, then t"
COLOUR = re.compile("\x1b\\[[0-9;]*?(?<![0-9])(?:3[0-7]|4[0-7]|9[0-7]|10[0-7]|[34]8;[25])(?![0-9])[0-9;]*m")


@pytest.fixture(autouse=True)
def home(place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own: no configuration, journal or socket of whoever runs the tests."""
    directory = place.parent
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(directory))
    monkeypatch.setenv("BREAKER_SOCKET", str(place))
    for name in ("BREAKER_CONFIG", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    return directory


def breaker(*words: str, **options: Any) -> Terminal:
    environment = {"BREAKER_SOCKET": os.environ["BREAKER_SOCKET"]} | options.pop("environment", {})
    return Terminal(
        [*BREAKER, *words], directory=ROOT, environment=environment, **({"columns": 104, "rows": 32} | options)
    )


def page(number: int) -> dict[str, Any]:
    return {"command": f"curl -s 'https://api.example.org/items?page={number}' -o /tmp/{number}.json"}


def climb(agent: Agent, first: int = 0, to: int = 15, who: str = "agent-7f3a") -> None:
    """Call one host so often that the next call meets the gate."""
    agent.ask("initialize", protocol=1)
    agent.ask("agent/start", agent=who, harness="claude-code")
    for number in range(first, to):
        agent.ask("call/decide", agent=who, id=f"c{number}", tool="Bash", args=page(number))
        result = {"value": {"exitCode": 0}, "content": [{"type": "text", "text": "done"}]}
        agent.ask("call/settle", agent=who, id=f"c{number}", result=result)


def meet_the_gate(agent: Agent, who: str = "agent-7f3a", number: int = 15) -> int:
    """The number of the request that now waits."""
    return agent.tell("call/decide", agent=who, id=f"c{number}", tool="Bash", args=page(number))


def open_asks(agent: Agent) -> int:
    return len(agent.ask("status")["result"]["asks"])


# -- breaker ---------------------------------------------------------------------------------------------------------


def test_from_the_start_to_an_approval_and_the_end(place: Path) -> None:
    with breaker() as terminal, Agent(place) as agent:
        climb(agent)
        waiting = meet_the_gate(agent)
        terminal.wait_for("ask 1 of 1")
        terminal.wait_until(lambda: terminal.title == "(1) breaker · 1 waiting for you", "the title")
        terminal.wait_until(lambda: terminal.bells == 1, "the bell")
        terminal.wait_for(ARMED)
        terminal.send("a")
        terminal.wait_for("t approves; any other key cancels")
        terminal.send("t")
        assert agent.answer_to(waiting)["result"]["decision"] == "allow"
        terminal.wait_for("nothing waits for you")
        assert terminal.title == "breaker"
        terminal.send("q")
        terminal.wait_for("Quit? No ask is open.")
        terminal.send("\r")
        assert terminal.wait_for_exit() == 0
        assert terminal.bells == 1
    assert not place.exists()


def test_the_bell_the_title_and_notifications_can_be_switched_off(place: Path) -> None:
    with breaker("--no-bell", "--no-title", "--no-notify") as terminal, Agent(place) as agent:
        climb(agent)
        terminal.send("\x1b[O")
        meet_the_gate(agent)
        terminal.wait_for(ARMED)
        assert terminal.bells == 0
        assert not [said for number in (0, 2, 9, 777) for said in terminal.operating_system_commands(number)]


def test_a_notification_comes_when_the_terminal_is_not_looked_at(place: Path) -> None:
    with breaker() as terminal, Agent(place) as agent:
        climb(agent)
        terminal.send("\x1b[O")
        terminal.send("p")
        terminal.wait_for("view paused")
        meet_the_gate(agent)
        terminal.wait_until(lambda: terminal.operating_system_commands(9) != [], "a notification")
        assert terminal.operating_system_commands(9) == ["9;breaker: Bash waits for you at host:api.example.org"]


def test_keys_typed_before_the_prompt_and_while_it_arms_answer_nothing(place: Path) -> None:
    with breaker() as terminal, Agent(place) as agent:
        climb(agent)
        terminal.send("atatrrat" * 5)
        waiting = meet_the_gate(agent)
        terminal.send("atrat" * 5)
        terminal.wait_for("ask 1 of 1")
        held_until = time.monotonic() + 3
        while time.monotonic() < held_until:  # a key held down
            terminal.send("r")
            terminal.read(0.03)
            assert ARMED not in terminal.screen()
        assert open_asks(agent) == 1
        terminal.wait_for(ARMED)
        assert open_asks(agent) == 1
        terminal.paste("at r")
        terminal.wait_for_absence(ARMED)
        for keys in ("a\r", "a t", "rj", "\r", " ", "y", "1", "t"):
            terminal.wait_for(ARMED)
            terminal.send(keys)
            terminal.wait_for_absence(ARMED)
        terminal.wait_for(ARMED)
        assert open_asks(agent) == 1
        terminal.send("r")
        assert agent.answer_to(waiting)["result"]["outcome"] == "rejected"


def test_the_mouse_rejects(place: Path) -> None:
    with breaker() as terminal, Agent(place) as agent:
        climb(agent)
        waiting = meet_the_gate(agent)
        terminal.wait_for(ARMED)
        terminal.click("reject + note")
        terminal.wait_for("reject with this note")
        terminal.send("use the export\r")
        answer = agent.answer_to(waiting)["result"]
        assert answer["outcome"] == "rejected"
        assert "use the export" in answer["reason"]


def test_quitting_with_an_open_ask_refuses_it(place: Path) -> None:
    with breaker() as terminal, Agent(place) as agent:
        climb(agent)
        waiting = meet_the_gate(agent)
        terminal.wait_for(ARMED)
        terminal.send("q")
        terminal.wait_for("Quit? 1 ask is open.")
        terminal.send("\r")
        assert terminal.wait_for_exit() == 0
        assert agent.answer_to(waiting)["result"]["decision"] == "deny"


@pytest.mark.parametrize("term", ["xterm-256color", "tmux-256color", "linux"])
def test_without_colour_everything_is_still_said(place: Path, term: str) -> None:
    options: dict[str, Any] = {"environment": {"NO_COLOR": "1"}, "term": term, "columns": 80, "rows": 24}
    with breaker(**options) as terminal, Agent(place) as agent:
        climb(agent)
        meet_the_gate(agent)
        terminal.wait_for(ARMED)
        for part in ("◆ GATE", "16/16", "host:api.example.org", "? waiting for you", "ask 1 of 1", "a  approve…"):
            assert part in terminal.screen()
        assert not COLOUR.search(terminal.written), ascii(COLOUR.search(terminal.written))


def drawn_anew(terminal: Terminal, columns: int) -> bool:
    screen = terminal.screen()
    fills = len(screen.partition("\n")[0]) > columns - 4
    return fills and ARMED in screen and "api.example.org/items?page=15" in screen


def test_a_window_that_becomes_small_and_large_again(place: Path) -> None:
    with breaker() as terminal, Agent(place) as agent:
        climb(agent)
        waiting = meet_the_gate(agent)
        terminal.wait_for(ARMED)
        for columns, rows in ((60, 20), (200, 60), (80, 24)):
            terminal.resize(columns, rows)
            terminal.wait_until(lambda columns=columns: drawn_anew(terminal, columns), "the prompt, in the new size")
        terminal.resize(80, 8)
        terminal.wait_until(lambda: ARMED not in terminal.screen(), "no room for the prompt")
        held_until = time.monotonic() + 2
        while time.monotonic() < held_until:
            terminal.send("r")
            terminal.read(0.9)
        assert open_asks(agent) == 1
        terminal.resize(80, 24)
        settled = "nothing waits for you"
        terminal.wait_for(ARMED)
        while settled not in terminal.screen():  # the window may still have been settling when the key came
            terminal.send("r")
            terminal.wait_for_absence(ARMED)
            terminal.wait_until(lambda: settled in terminal.screen() or ARMED in terminal.screen(), "an end")
        assert agent.answer_to(waiting)["result"]["outcome"] == "rejected"


def test_a_call_is_copied_to_the_terminals_clipboard(place: Path) -> None:
    with breaker() as terminal, Agent(place) as agent:
        climb(agent, to=1)
        terminal.wait_for("✓ ran")
        terminal.send("c")
        terminal.wait_until(lambda: terminal.operating_system_commands(52) != [], "the clipboard")
        terminal.wait_for("Copied as JSON")


def test_a_second_engine_at_the_same_socket_says_so_and_ends(place: Path) -> None:
    with breaker() as terminal, Agent(place):
        terminal.wait_for("live")
        with breaker() as second:
            assert second.wait_for_exit() == 2
            assert "already serves" in second.screen()
        assert terminal.running


def test_a_broken_configuration_is_told_and_nothing_starts(home: Path) -> None:
    (home / "broken.yaml").write_text("window: 2\n")
    with breaker("--config", str(home / "broken.yaml")) as terminal:
        assert terminal.wait_for_exit() == 2
        assert "window" in terminal.screen()
        assert "broken.yaml" in terminal.screen()


def test_a_changed_configuration_is_taken_over_and_a_broken_one_shown(home: Path, place: Path) -> None:
    file = home / "mine.yaml"
    file.write_text("warnAt: 5\n")
    with breaker("--config", str(file)) as terminal, Agent(place):
        terminal.wait_for("live")
        terminal.send("o")
        terminal.wait_for("warnAt: 5")
        file.write_text("warnAt: 6\n")
        terminal.wait_for("warnAt: 6")
        file.write_text("warnAt: six\n")
        terminal.wait_for("the file was changed and is wrong")
        assert "warnAt: 6" in terminal.screen()


def test_without_a_terminal_it_prints_lines(place: Path) -> None:
    process = subprocess.Popen([*BREAKER], cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    try:
        with Agent(place) as agent:
            climb(agent, to=8)
        assert process.stdout is not None
        assert "line mode" in process.stdout.readline()
    finally:
        process.terminate()
        process.communicate()


def test_a_window_that_is_closed_takes_the_engine_with_it(place: Path) -> None:
    with breaker() as terminal, Agent(place) as agent:
        climb(agent)
        waiting = meet_the_gate(agent)
        terminal.wait_for(ARMED)
        terminal.vanish()
        assert agent.answer_to(waiting)["result"]["outcome"] == "unattended"


# -- breaker attach --------------------------------------------------------------------------------------------------


@pytest.fixture
def served(place: Path) -> Iterator[tuple[Terminal, str]]:
    """A ``breaker serve``, and the token it has printed."""
    with breaker("serve", columns=160) as terminal:
        terminal.wait_for("Token for one operator")
        token = re.search(r"attach\): (\S+)", terminal.screen())
        assert token is not None
        yield terminal, token[1]


def test_attaching_takes_the_token_and_answers(place: Path, served: tuple[Terminal, str]) -> None:
    _, token = served
    with breaker("attach") as terminal, Agent(place) as agent:
        terminal.wait_for("Token:")
        terminal.send_line(token)
        terminal.wait_for("live")
        assert token not in terminal.written
        climb(agent)
        waiting = meet_the_gate(agent)
        terminal.wait_for(ARMED)
        terminal.send("a")
        terminal.wait_for("t approves; any other key cancels")
        terminal.send("t")
        assert agent.answer_to(waiting)["result"]["decision"] == "allow"
        terminal.wait_for("nothing waits for you")
        terminal.send("q")
        terminal.wait_for("The engine goes on without this console.")
        terminal.send("\r")
        assert terminal.wait_for_exit() == 0
        assert open_asks(agent) == 0


def test_nobody_is_asked_for_a_token_that_nobody_takes() -> None:
    with breaker("attach") as terminal:
        assert terminal.wait_for_exit() == 2
        assert "No engine takes operators at" in terminal.screen()
        assert "Token" not in terminal.screen()


def test_a_wrong_token_is_not_let_in(served: tuple[Terminal, str]) -> None:
    with breaker("attach") as terminal:
        terminal.wait_for("Token:")
        terminal.send_line("not-the-token")
        assert terminal.wait_for_exit() == 2
        assert "token" in terminal.screen()


def test_an_engine_that_goes_leaves_a_screen_to_read(place: Path, served: tuple[Terminal, str]) -> None:
    server, token = served
    with breaker("attach") as terminal, Agent(place) as agent:
        terminal.wait_for("Token:")
        terminal.send_line(token)
        terminal.wait_for("live")
        climb(agent)
        meet_the_gate(agent)
        terminal.wait_for(ARMED)
        server.interrupt()
        assert server.wait_for_exit() == 0
        terminal.wait_for("disconnected")
        terminal.wait_for_absence("wants to run")
        assert "page=15" in terminal.screen() or "15.json" in terminal.screen()
        terminal.send("q")
        assert terminal.wait_for_exit() == 0


# -- breaker tail ----------------------------------------------------------------------------------------------------


def journal_lines() -> list[bytes]:
    """A journal, as an engine would have written it."""
    return [encoder.encode(event) + b"\n" for event in climbing().drain()[1:]]


def test_a_journal_is_watched_as_it_is_written(home: Path) -> None:
    lines = journal_lines()
    journal = home / "run.jsonl"
    journal.write_bytes(b"".join(lines[:20]))
    with breaker("tail", str(journal)) as terminal, journal.open("ab") as file:
        terminal.wait_for("watching only")
        terminal.wait_for("src/station.py")
        file.write(b"".join(lines[20:-1]) + lines[-1][:40])
        file.flush()
        terminal.wait_for("▲ SUMM")
        file.write(lines[-1][40:])
        file.flush()
        terminal.wait_until(
            lambda: terminal.screen().count("✗ exit 22") + terminal.screen().count("exit 22 ·") >= 3, "three"
        )
        terminal.send("atr")
        terminal.send("x")
        terminal.wait_for("watching only: nothing can be undone")


def test_a_journal_that_is_cut_or_not_there_yet_or_damaged(home: Path) -> None:
    lines = journal_lines()
    journal = home / "later.jsonl"
    with breaker("tail", str(journal)) as terminal:
        terminal.wait_for("watching only")
        journal.write_bytes(b"this is no event\n" + b"".join(lines[:10]))
        terminal.wait_for("skipped:")
        terminal.wait_for("sed -n")
        turn = {"type": "turn", "agent": "0192-4c1e-7f3a", "turn": 9, "source": "user", "at": 1.0}
        journal.write_bytes(json.dumps(turn).encode() + b"\n")
        terminal.wait_for("turn 9 begins")


# -- what it takes ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words", [["--help"], ["open", "--help"], ["attach", "--help"], ["tail", "--help"], ["status"]]
)
def test_what_draws_nothing_imports_no_toolkit(words: list[str]) -> None:
    script = (
        "import sys\nfrom console.cli import main\n"
        f"try: main({words!r}, prog_name='breaker')\n"
        "finally: sys.stderr.write(repr({'textual', 'rich'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stderr.endswith("set()")
