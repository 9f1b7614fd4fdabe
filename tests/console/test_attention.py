"""Calling the operator: when it rings, what it names, and what can never be in what it writes."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.attention import (
    BELL,
    RESTORE_TITLE,
    SAVE_TITLE,
    Attention,
    Settings,
    Signals,
    Terminal,
    attend,
    closing,
    next_ring,
    opening,
    sequences,
    terminal_of,
    title,
)
from engine.verdicts import Ask

ALL = Settings()
XTERM = Terminal()


def ask(
    number: int = 1, *, opened: float = 0.0, deadline: float | None = 300.0, tool: str = "bash", fp: str = "host:a.org"
) -> Ask:
    return Ask(f"ask-{number}", "agent", "c1", tool, (fp,), (), opened, deadline)


def bells(*asks: Ask, until: float, settings: Settings = ALL) -> list[float]:
    """The seconds at which it rang, asked once a second as a console would."""
    attention, rang = Attention(), []
    for second in range(int(until)):
        here = [one for one in asks if one.opened <= second and second < (one.deadline or until)]
        attention, signals = attend(attention, here, float(second), focused=False, settings=settings)
        if signals.bell:
            rang.append(float(second))
    return rang


def test_an_ask_rings_once_again_as_it_ages_and_before_its_time_is_up() -> None:
    assert bells(ask(), until=400) == [0, 60, 120, 240, 270]


def test_without_a_deadline_it_gets_rarer() -> None:
    assert bells(ask(deadline=None), until=2000) == [0, 60, 120, 240, 480, 960, 1920]


def test_a_deadline_so_near_that_the_last_call_is_the_first() -> None:
    assert bells(ask(deadline=20), until=30) == [0]


def test_asks_that_come_together_ring_once() -> None:
    assert bells(*(ask(number) for number in range(10)), until=50) == [0]


def test_each_new_ask_rings() -> None:
    assert bells(ask(1), ask(2, opened=5), ask(2, opened=9), until=50) == [0, 5, 9]


def test_an_ask_found_open_rings_once_however_old() -> None:
    attention, first = attend(Attention(), [ask(opened=-200)], 0.0, focused=True, settings=ALL)
    _, second = attend(attention, [ask(opened=-200)], 1.0, focused=True, settings=ALL)
    assert first.bell
    assert not second.bell


def test_each_signal_can_be_switched_off() -> None:
    off = Settings(bell=False, title=False, notify=False)
    _, signals = attend(Attention(), [ask()], 0.0, focused=False, settings=off)
    assert sequences(signals, off, XTERM) == ""
    assert opening(off, XTERM) == closing(off, XTERM) == ""
    for only, part in (("bell", BELL), ("title", "\x1b]2;"), ("notify", "\x1b]9;")):
        settings = Settings(**{name: name == only for name in ("bell", "title", "notify")})
        _, signals = attend(Attention(), [ask()], 0.0, focused=False, settings=settings)
        assert sequences(signals, settings, XTERM).startswith(part)


def test_no_notification_for_one_who_is_looking() -> None:
    _, signals = attend(Attention(), [ask()], 0.0, focused=True, settings=ALL)
    assert signals == Signals(waiting=1, bell=True)


@pytest.mark.parametrize(
    ("fingerprint", "named"),
    [
        ("host:api.weather.gc.ca", "host:api.weather.gc.ca"),
        ("site:gc.ca", "site:gc.ca"),
        ("family:http-fetch", "family:http-fetch"),
        ("exact:bash:{secret}", "the gate of exact"),
        ("cmd:curl:curl -H token=secret", "the gate of cmd"),
        ("net:a.org/x?key=secret", "the gate of net"),
        ("sink:/home/me/secret", "the gate of sink"),
        ("secret", "the gate of secret"),
    ],
)
def test_a_notification_names_tool_and_measure_and_no_argument(fingerprint: str, named: str) -> None:
    _, signals = attend(Attention(), [ask(fp=fingerprint), ask(2)], 0.0, focused=False, settings=ALL)
    assert signals.notification == f"bash waits for you at {named}, and 1 more"


def test_the_title_says_how_many_wait_and_the_old_one_comes_back() -> None:
    assert title(0) == "breaker"
    assert title(3) == "(3) breaker · 3 waiting for you"
    assert sequences(Signals(3), ALL, XTERM) == f"\x1b]2;{title(3)}\x1b\\"
    assert (opening(ALL, XTERM), closing(ALL, XTERM)) == (SAVE_TITLE, RESTORE_TITLE)


@pytest.mark.parametrize(
    ("environment", "terminal"),
    [
        ({"TERM": "xterm-256color"}, Terminal()),
        ({"TERM": "dumb"}, Terminal(titles=False)),
        ({"TERM": "linux"}, Terminal(titles=False)),
        ({}, Terminal(titles=False)),
        ({"TERM": "foot"}, Terminal(notify_777=True)),
        ({"TERM": "xterm-256color", "VTE_VERSION": "7600"}, Terminal(notify_777=True)),
        ({"TERM": "tmux-256color", "TMUX": "/tmp/tmux-1000/default,1,0"}, Terminal(tmux=True)),
    ],
)
def test_what_a_terminal_understands(environment: dict[str, str], terminal: Terminal) -> None:
    assert terminal_of(environment) == terminal


def test_how_each_terminal_is_told() -> None:
    signals = Signals(1, notification="bash waits for you at host:a.org")
    only = Settings(title=False)
    words = "bash waits for you at host:a.org"
    assert sequences(signals, only, Terminal()) == f"\x1b]9;breaker: {words}\x1b\\"
    assert sequences(signals, only, Terminal(notify_777=True)) == f"\x1b]777;notify;breaker;{words}\x1b\\"
    assert sequences(signals, only, Terminal(tmux=True)) == (f"\x1bPtmux;\x1b\x1b]9;breaker: {words}\x1b\x1b\\\x1b\\")
    assert sequences(signals, only, Terminal(titles=False)) == ""


@given(st.text(st.characters(exclude_categories=())), st.text(st.characters(exclude_categories=())), st.booleans())
def test_nothing_an_agent_wrote_leaves_its_sequence(tool: str, fingerprint: str, notify_777: bool) -> None:
    _, signals = attend(Attention(), [ask(tool=tool, fp=fingerprint)], 0.0, focused=False, settings=ALL)
    told = sequences(signals, ALL, Terminal(notify_777=notify_777))
    assert re.fullmatch(r"(\x1b\][^\x00-\x1f\x7f-\x9f]*\x1b\\)\x07(\x1b\][^\x00-\x1f\x7f-\x9f]*\x1b\\)", told)
    assert told.count(";") == (4 if notify_777 else 2)


def test_when_the_next_ring_is_due() -> None:
    assert next_ring([ask()], 1.0) == 59.0
    assert next_ring([ask(), ask(2, opened=-100)], 1.0) == 19.0
    assert next_ring([ask()], 290.0) is None
    assert next_ring([], 0.0) is None
