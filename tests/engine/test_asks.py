"""Asks from end to end: who waits, on what, until when; and what is told to one who answers late."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from engine.breaker import Breaker
from engine.config import DEFAULTS
from engine.events import AskClosed, Event, Notice
from engine.host import Host
from engine.operator import AskNotOpenError, Operator
from engine.service.asks import AskTimes
from engine.verdicts import Ask
from tests.engine.sockets import ROOT, Wire, gate_open, hosted, until

MAKE: dict[str, Any] = {"tool": "bash", "args": {"command": "make"}}
CURL: dict[str, Any] = {"tool": "bash", "args": {"command": "curl https://example.org/a"}}


class Scene:
    """An engine with an operator, and an agent whose next ``make`` meets the gate."""

    def __init__(self, host: Host, path: Path, wire: Wire) -> None:
        self.host, self.path, self.wire = host, path, wire
        self.operator: Operator = host.operator()
        gate_open(wire)

    def asks(self) -> tuple[Ask, ...]:
        return self.host.call(lambda desk: desk.breaker.asks())

    def open_ask(self, call: str = "waits") -> tuple[int, Ask]:
        """Make a call that asks; the id of its request, and the ask."""
        number = self.wire.send("call/decide", id=call, **MAKE)
        (ask,) = until(self.asks, "an ask is open")
        return number, ask

    def verdict(self) -> tuple[str, str]:
        answer = self.wire.read()["result"]
        return answer["decision"], answer["outcome"]


@pytest.fixture
def scene() -> Iterator[Scene]:
    with hosted() as (host, path), Wire(path, "a") as wire:
        yield Scene(host, path, wire)


def test_an_approved_call_runs_and_so_does_the_rest_of_the_turn(scene: Scene) -> None:
    _, ask = scene.open_ask()
    scene.operator.answer(ask.id, "approved")
    assert scene.verdict() == ("allow", "approved")
    assert [scene.wire.decide(f"more-{n}", command="make") for n in range(20)] == [{"decision": "allow"}] * 20


def test_a_rejected_call_is_refused_with_the_note_and_so_is_the_rest_of_the_turn(scene: Scene) -> None:
    _, ask = scene.open_ask()
    scene.operator.answer(ask.id, "rejected", "use the cache instead")
    answer = scene.wire.read()["result"]
    assert (answer["decision"], answer["outcome"], answer["asked"]) == ("deny", "rejected", True)
    assert answer["reason"].startswith("REPEAT_TOOL_BLOCKED")
    assert "use the cache instead" in answer["reason"]
    assert scene.wire.decide("again", command="make")["decision"] == "deny"
    assert scene.asks() == ()
    assert scene.wire.decide("other", command="ls") == {"decision": "allow"}


def test_parallel_calls_that_hit_the_same_measures_wait_on_one_ask(scene: Scene) -> None:
    numbers = [scene.wire.send("call/decide", id=f"batch-{n}", **MAKE) for n in range(20)]
    until(lambda: len(scene.host.call(lambda desk: desk.snapshot().waiting)) == 20)
    (ask,) = scene.asks()
    scene.operator.answer(ask.id, "approved")
    answers = [scene.wire.read() for _ in numbers]
    assert [answer["id"] for answer in answers] == numbers
    assert {answer["result"]["decision"] for answer in answers} == {"allow"}


def test_other_requests_are_served_while_a_call_waits(scene: Scene) -> None:
    number, ask = scene.open_ask()
    assert scene.wire.decide("other", command="ls") == {"decision": "allow"}
    scene.operator.answer(ask.id, "approved")
    assert scene.wire.read()["id"] == number


@pytest.mark.parametrize(
    ("method", "outcome"), [("call/cancel", "cancelled"), ("agent/end", "cancelled"), ("turn/start", "cancelled")]
)
def test_a_call_is_withdrawn_by_its_agent(scene: Scene, method: str, outcome: str) -> None:
    scene.open_ask()
    with Wire(scene.path) as other:
        other.ask("initialize", protocol=1)
        other.ask(method, agent="a", **({"id": "waits"} if method == "call/cancel" else {}))
    assert scene.verdict() == ("deny", outcome)
    assert scene.asks() == ()


def test_a_cancelled_call_leaves_the_others_waiting(scene: Scene) -> None:
    _, ask = scene.open_ask("first")
    scene.wire.send("call/decide", id="second", **MAKE)
    scene.wire.send("call/cancel", id="first")
    answers = [scene.wire.read(), scene.wire.read()]
    assert {"decision": "deny", "outcome": "cancelled"}.items() <= answers[0]["result"].items()
    scene.operator.answer(ask.id, "approved")
    assert scene.verdict() == ("allow", "approved")


def test_a_connection_that_closes_withdraws_its_calls(scene: Scene) -> None:
    scene.open_ask()
    scene.wire.close()
    until(lambda: not scene.asks(), "the ask is closed")


def test_a_connection_that_only_stops_writing_withdraws_its_calls(scene: Scene) -> None:
    scene.open_ask()
    scene.wire.socket.shutdown(1)
    until(lambda: not scene.asks(), "the ask is closed")


def test_an_agent_killed_while_it_waits_leaves_no_ask(scene: Scene) -> None:
    script = (
        "import sys; from pathlib import Path; from engine.client import Client\n"
        "client = Client('killed', socket=Path(sys.argv[1]))\n"
        "for n in range(12): client.decide(str(n), 'bash', {'command': 'make'})"
    )
    with subprocess.Popen([sys.executable, "-c", script, str(scene.path)], cwd=ROOT) as agent:
        until(scene.asks, "its call asks")
        agent.kill()
        until(lambda: not scene.asks(), "its ask is closed")


def test_nobody_there_refuses_at_once_and_somebody_who_comes_is_asked() -> None:
    with hosted() as (host, path), Wire(path, "a") as wire:
        gate_open(wire)
        answer = wire.decide("alone", command="make")
        assert (answer["decision"], answer["outcome"]) == ("deny", "unattended")
        operator = host.operator()
        wire.send("call/decide", id="attended", **MAKE)
        (ask,) = until(lambda: host.call(lambda desk: desk.breaker.asks()))
        operator.answer(ask.id, "approved")
        assert wire.read()["result"]["outcome"] == "approved"


def test_the_last_operator_who_leaves_refuses_what_waits(scene: Scene) -> None:
    second = scene.host.operator()
    scene.open_ask()
    scene.operator.close()
    scene.operator.close()
    assert len(scene.asks()) == 1
    second.close()
    assert scene.verdict() == ("deny", "unattended")


def test_an_ask_times_out() -> None:
    config = structs.replace(DEFAULTS, ask_timeout=0.05)
    with hosted(config) as (host, path), Wire(path, "a") as wire:
        scene = Scene(host, path, wire)
        feed = scene.operator.subscribe()
        scene.wire.send("call/decide", id="waits", **MAKE)
        assert scene.verdict() == ("deny", "timed_out")
        closed = [event for event in feed.drain() if type(event).__name__ == "AskClosed"]
        assert [event.outcome for event in closed] == ["timed_out"]
        with pytest.raises(AskNotOpenError, match="nobody answered in time"):
            scene.operator.answer(closed[0].id, "approved")


class Wall:
    """A clock that is set by hand, and asks that are timed by it."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.timed_out = asyncio.Event()
        self.times = AskTimes(lambda: self.now, lambda _: self.timed_out.set())

    def open_ask(self, seconds: float) -> None:
        self.times.opened(Ask("ask-1", "a", "c", "bash", (), (), self.now, self.now + seconds))


async def test_the_time_a_machine_was_suspended_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.service.asks.LOOK_SECONDS", 0.01)
    wall = Wall()
    wall.open_ask(300)
    wall.now += 301
    async with asyncio.timeout(10):
        await wall.timed_out.wait()


async def test_a_clock_that_is_set_back_keeps_no_agent_waiting() -> None:
    wall = Wall()
    wall.open_ask(0.05)
    wall.now -= 3600
    async with asyncio.timeout(10):
        await wall.timed_out.wait()


async def test_no_ask_ends_before_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.service.asks.LOOK_SECONDS", 0.001)
    wall = Wall()
    wall.open_ask(300)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1):
            await wall.timed_out.wait()
    wall.times.closed(AskClosed(wall.now, "ask-1", "a", "approved", 0))


@pytest.mark.parametrize(
    ("first", "said"),
    [("approved", "already approved"), ("rejected", "already rejected")],
    ids=["approved", "rejected"],
)
def test_a_late_answer_is_told_what_happened(scene: Scene, first: str, said: str) -> None:
    _, ask = scene.open_ask()
    scene.operator.answer(ask.id, first)  # type: ignore[arg-type] - one of the two answers there are
    with pytest.raises(AskNotOpenError, match=said):
        scene.operator.answer(ask.id, "approved")
    with pytest.raises(AskNotOpenError, match="no such ask"):
        scene.operator.answer("ask-999", "approved")


def test_of_answers_that_race_exactly_one_counts(scene: Scene) -> None:
    _, ask = scene.open_ask()
    operators = [scene.host.operator() for _ in range(8)]
    counted: list[str] = []
    ready = threading.Barrier(len(operators))

    def answer(operator: Operator, number: int) -> None:
        ready.wait()
        try:
            operator.answer(ask.id, "approved" if number % 2 else "rejected")
        except AskNotOpenError:
            return
        counted.append("approved" if number % 2 else "rejected")

    threads = [threading.Thread(target=answer, args=(one, number)) for number, one in enumerate(operators)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(counted) == 1
    assert scene.verdict()[1] == counted[0]


def test_an_exemption_is_revoked_and_counts_again(scene: Scene) -> None:
    _, ask = scene.open_ask()
    scene.operator.answer(ask.id, "approved")
    scene.verdict()
    (agent,) = scene.host.call(lambda desk: desk.snapshot().agents)
    assert set(agent.exemptions) == set(ask.fingerprints)
    assert all(scene.operator.revoke("a", one) for one in ask.fingerprints)
    assert not scene.operator.revoke("a", ask.fingerprints[0])
    scene.open_ask("asks again")


def test_a_refusal_is_lifted_and_asks_again(scene: Scene) -> None:
    _, ask = scene.open_ask()
    scene.operator.answer(ask.id, "rejected")
    scene.verdict()
    assert all(scene.operator.lift("a", one) for one in ask.fingerprints)
    assert not scene.operator.lift("a", ask.fingerprints[0])
    scene.open_ask("asks again")


def test_a_turn_reset_by_hand_clears_counts_and_withdraws_what_waits(scene: Scene) -> None:
    scene.open_ask()
    scene.operator.reset_turn("a")
    assert scene.verdict() == ("deny", "cancelled")
    assert scene.wire.decide("fresh", command="make") == {"decision": "allow"}


def test_each_measure_has_an_ask_of_its_own_and_an_answer_decides_only_what_it_is_about() -> None:
    with hosted(structs.replace(DEFAULTS, window=64)) as (host, path), Wire(path, "a") as wire:
        scene = Scene(host, path, wire)
        gate_open(wire, CURL["args"]["command"])
        scene.open_ask("make")
        number = wire.send("call/decide", id="curl", **CURL)
        both = until(lambda: asks if len(asks := scene.asks()) == 2 else None)
        about_curl = next(ask for ask in both if ask.call == "curl")
        scene.operator.answer(about_curl.id, "rejected")
        answer = wire.read()
        assert (answer["id"], answer["result"]["decision"]) == (number, "deny")
        assert [ask.call for ask in scene.asks()] == ["make"]


def test_a_fault_while_judging_denies_and_is_told() -> None:
    with hosted() as (host, path), Wire(path, "a") as wire:
        feed = host.subscribe()

        class Broken:
            def __init__(self, breaker: Breaker) -> None:
                self._breaker = breaker

            def decide(self, *_: object) -> None:
                raise ZeroDivisionError("deep inside")

            def __getattr__(self, name: str) -> object:
                return getattr(self._breaker, name)

        host.call(lambda desk: setattr(desk, "breaker", Broken(desk.breaker)))
        answer = wire.decide("c", command="ls")
        assert answer["decision"] == "deny"
        assert answer["reason"].startswith("REPEAT_TOOL_BLOCKED")
        notices = [event for event in feed.drain() if type(event).__name__ == "Notice"]
        assert "deep inside" in notices[0].text


def test_a_listener_that_fails_changes_no_verdict_and_is_blamed_once() -> None:
    def broken(event: object) -> None:
        raise OSError("no space left")

    seen: list[Event] = []
    with hosted(listeners=[broken, seen.append]) as (host, path), Wire(path, "a") as wire:
        operator = host.operator()
        gate_open(wire)
        wire.send("call/decide", id="waits", **MAKE)
        (ask,) = until(lambda: host.call(lambda desk: desk.breaker.asks()))
        operator.answer(ask.id, "approved")
        assert wire.read()["result"]["decision"] == "allow"
    notices = [event.text for event in seen if isinstance(event, Notice)]
    assert len(notices) == 1
    assert "no space left" in notices[0]
