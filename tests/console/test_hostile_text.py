"""Whatever an agent writes, wherever it writes it, no terminal obeys it: a real engine, a real pty, an emulator.

Every field an agent can fill is filled with every payload. What may then reach the terminal is known for the line
mode to the last character: printable text, newlines, and the bells that are its own.
"""

from __future__ import annotations

import re
from pathlib import Path

from tests.console.fronts import Agent, front

PAYLOADS = {
    "clear": "\x1b[2J\x1b[1;1HPWNED",
    "colour": "\x1b[31mPWNED\x1b[0m",
    "title": "\x1b]0;PWNED\x07",
    "title by C1": "\x9d2;PWNED\x9c",
    "csi by C1": "\x9b2J\x9b31mPWNED",
    "link": "\x1b]8;;http://pwned.example/\x1b\\PWNED\x1b]8;;\x1b\\",
    "clipboard": "\x1b]52;c;UFdORUQ=\x07",
    "notification": "\x1b]9;PWNED\x07\x1b]777;notify;PWNED;PWNED\x07",
    "device control": "\x1bP$qPWNED\x1b\\\x1b_PWNED\x1b\\\x1b^PWNED\x1b\\\x90PWNED\x9c",
    "reports": "\x1b[6n\x1b[c\x1b[?1049l\x1b[21t\x05",
    "keyboard": "\x1b[?1000l\x1b[?2004l\x1b[>25u\x1bc",
    "overwriting": "rm -rf x\rls        \x08\x08\x08",
    "bell": "PWNED\x07\x07\x07",
    "bidi": "\u202etxt.exe\u202c \u2066PWNED\u2069 \u061c\u200f",
    "zero width": "rm\u200b -r\u200cf\u200d /\ufeff\u2060 \u00ad\u034f\u115f\u3164\uffa0\u2800",
    "tags": "PWNED\U000e0001\U000e0072\U000e006d\U000e007f",
    "selectors": "PWNED\ufe0f\U000e0100\U000e01ef",
    "combining": "\u0301\u0489P" + "\u0300\u0489" * 40 + " \u0301",
    "wide": "日本語\uff21\U0001f469\u200d\U0001f4bb\U0001f1e8\U0001f1e6\U0001f44d\U0001f3fd",
    "spaces": "rm\u00a0-rf\u2003\u3000/\u2028\u2029\x85x",
    "markup": "[@click=app.quit]PWNED[/] [/nothing] [bold [link='x'] \\[red]",
    "an ask of its own": "x\n00:00:00 ASK 99 (1 open, 5:00 left): PWNED\n  to approve, type: approve 99 this turn\n",
    "tabs": "a\tb\t\t\tc",
    "surrogates": "\ud800 \udfff PWNED \udc80",
    "unassigned": "\u0378 \U0003ffff \ue000 \ufff9PWNED\ufffb",
    "long": "x\x1b[31m" * 150_000,
    "nul": "\x00PWNED\x7f\x1a\x04",
}

UNWANTED = re.compile(
    "[\x00-\x06\x08\x09\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\ue000-\uf8ff\U000e0000-\U000e01ef]"
)
"""No program of ours has a use for any of these on a terminal. (Escape, bell, CR and LF are looked at one by one.)"""


def fill(agent: Agent, payload: str) -> None:
    """Write the payload into every field there is, until a call waits at the gate with it."""
    short, name = payload[:5_000], payload[:200]
    who = f"a{name}"
    agent.ask("agent/start", agent=who, parent=f"p{name}", harness=name, name=name)
    args = {"command": payload, name: short, "deep": [{name: short}], "file_path": short}
    content = [{"type": "text", "text": payload}]
    value = {"exitCode": 1, "signal": name, "url": short}
    result = {"isError": True, "error": {"code": name}, "value": value, "content": content}
    for count in range(5):
        agent.ask("call/decide", agent=who, id=f"c{count}{name}", tool=f"T{name}", args=args)
        agent.ask("call/settle", agent=who, id=f"c{count}{name}", result=result)
    agent.tell("call/decide", agent=who, id=f"w{name}", tool=f"T{name}", args=args)


def obeys_nothing(written: str) -> None:
    """What holds for anything that draws."""
    unwanted = UNWANTED.search(written)
    assert not unwanted, ascii(written[max(unwanted.start() - 80, 0) : unwanted.end() + 80])
    for payload in PAYLOADS.values():
        for sequence in (payload, *re.findall("\x1b[^\x1b]*PWNED", payload)):
            assert "\x1b" not in sequence or sequence not in written, ascii(sequence)


def test_the_line_mode_prints_nothing_but_text(place: Path) -> None:
    with front("plain", place) as terminal, Agent(place) as agent:
        terminal.send_line("verbose")
        terminal.wait_for_written("printing every call")
        agent.ask("initialize", protocol=1)
        for number, payload in enumerate(PAYLOADS.values(), 1):
            fill(agent, payload)
            terminal.wait_for_written(f"to approve, type: approve {number} this turn")
        terminal.insist("reject 1 \x1b]0;PWNED\x07", "rejected: ask 1", "too soon")
        terminal.wait_for_written("refusal 1:")
        terminal.send_line("list")
        terminal.wait_for_written("(to take it back: lift 1)\r\n")
        terminal.send_line("quit anyway")
        assert terminal.wait_for_exit() == 0
        written = terminal.written
    obeys_nothing(written)
    assert "\x1b" not in written
    assert 1 <= written.count("\x07") <= len(PAYLOADS), "its own bells, one for each ask at most"
    lines = written.replace("\x07", "").splitlines()
    assert all(line.isprintable() for line in lines)
    assert sum(bool(re.match(r"\d\d:\d\d:\d\d ASK \d", line)) for line in lines) == len(PAYLOADS)
    assert not any(line.lstrip().startswith("to approve, type: approve 99") for line in lines)


def test_the_screen_draws_nothing_but_text(place: Path) -> None:
    with front("screen", place) as terminal, Agent(place) as agent:
        agent.ask("initialize", protocol=1)
        for payload in PAYLOADS.values():
            fill(agent, payload)
        for number in range(1, len(PAYLOADS) + 1):
            terminal.wait_for(f"ask {number} of {len(PAYLOADS)}")
            terminal.send("wn")
        terminal.wait_for(f"ask 1 of {len(PAYLOADS)}")
        written = terminal.written
        titles, commands = terminal.titles, terminal.operating_system_commands()
    obeys_nothing(written)
    assert all(re.fullmatch(r"breaker|\(\d+\) breaker · \d+ waiting for you", title) for title in titles)
    assert {command.partition(";")[0] for command in commands} <= {"2", "22"}
