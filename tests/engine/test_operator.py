"""Operators, in the engine's process and on the other end of a socket: the same doors, the same events."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from msgspec import structs

from engine.config import DEFAULTS
from engine.events import AskOpened, CallSeen, ConfigChanged, Event, Exempted, Notice, OperatorChanged, Snapshot
from engine.host import Host
from engine.operator import AskNotOpenError, Feed, Operator
from engine.operator_client import connect
from engine.paths import operator_socket_path
from engine.service.feed import SNAPSHOTS_KEPT, BoundedFeed, Hub
from tests.engine.sockets import Wire, gate_open, hosted, short_directory, until

Scene = tuple[Host, Path, Callable[[], Operator]]


@contextmanager
def local() -> Iterator[Scene]:
    with hosted() as (host, path):
        yield host, path, host.operator


@contextmanager
def remote() -> Iterator[Scene]:
    tokens: list[str] = []
    with hosted(announce=tokens.append) as (host, path):
        yield host, path, lambda: connect(operator_socket_path(path), tokens[-1])


@pytest.fixture(params=[local, remote], ids=["in-process", "over a socket"])
def scene(request: pytest.FixtureRequest) -> Iterator[Scene]:
    with request.param() as made:
        yield made


class Watching:
    """Everything that came through a feed so far."""

    def __init__(self, feed: Feed) -> None:
        self.feed = feed
        self.seen: list[Event | Snapshot] = []

    def until(self, kind: type, count: int = 1) -> list[object]:
        def enough() -> list[object] | None:
            self.seen += self.feed.drain()
            found = [event for event in self.seen if isinstance(event, kind)]
            return found if len(found) >= count else None

        found: list[object] = until(enough, f"{count} {kind.__name__}")
        return found


def test_a_subscriber_sees_the_present_and_then_every_event_in_order(scene: Scene) -> None:
    _, path, attach = scene
    with Wire(path, "a") as wire:
        gate_open(wire)
        operator = attach()
        watching = Watching(operator.subscribe())
        snapshot = watching.until(Snapshot)[0]
        assert watching.seen[0] is snapshot
        assert snapshot.attended
        assert snapshot.agents[0].calls == 11
        wire.send("call/decide", id="waits", tool="bash", args={"command": "make"})
        (opened,) = watching.until(AskOpened)
        operator.answer(opened.ask.id, "approved")
        assert wire.read()["result"]["decision"] == "allow"
        watching.until(Exempted)
        kinds = [type(event).__name__ for event in watching.seen[1:]]
        assert kinds[:4] == ["CallSeen", "AskOpened", "AskClosed", "Exempted"]
        later = Watching(operator.subscribe()).until(Snapshot)[0]
        assert later.agents[0].exemptions == opened.ask.fingerprints


def test_one_who_subscribes_while_a_call_waits_sees_the_ask(scene: Scene) -> None:
    _, path, attach = scene
    with Wire(path, "a") as wire:
        gate_open(wire)
        operator = attach()
        wire.send("call/decide", id="waits", tool="bash", args={"command": "make"})
        snapshot = until(lambda: one if (one := Watching(operator.subscribe()).until(Snapshot)[0]).asks else None)
        assert [call.id for call in snapshot.waiting] == ["waits"]
        with pytest.raises(AskNotOpenError, match="no such ask"):
            operator.answer("ask-77", "approved")
        operator.answer(snapshot.asks[0].id, "rejected", "no")
        assert "no" in wire.read()["result"]["reason"]
        with pytest.raises(AskNotOpenError, match="already rejected"):
            operator.answer(snapshot.asks[0].id, "approved")


def test_a_refusal_is_lifted_and_a_turn_reset(scene: Scene) -> None:
    _, path, attach = scene
    with Wire(path, "a") as wire:
        gate_open(wire)
        refused = wire.decide("alone", command="make")
        assert refused["outcome"] == "unattended"
        operator = attach()
        (agent,) = Watching(operator.subscribe()).until(Snapshot)[0].agents
        assert agent.refusals == ()
        assert not operator.lift("a", "exact:x")
        assert not operator.revoke("a", "exact:x")
        operator.reset_turn("a")
        assert wire.decide("fresh", command="make") == {"decision": "allow"}


def test_an_operator_who_leaves_is_missed(scene: Scene) -> None:
    host, _, attach = scene
    watching = Watching(host.subscribe())
    operator = attach()
    assert watching.until(OperatorChanged)[-1].attended
    operator.close()
    assert not watching.until(OperatorChanged, 2)[-1].attended
    with pytest.raises(ConnectionError):
        operator.answer("ask-1", "approved")


def test_a_subscriber_that_falls_behind_starts_afresh_and_is_told_what_it_lost(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BoundedFeed.__init__, "__kwdefaults__", {**BoundedFeed.__init__.__kwdefaults__, "events": 50})
    _, path, attach = scene
    with Wire(path, "a") as wire:
        watching = Watching(attach().subscribe())
        watching.until(Snapshot)
        for number in range(500):
            wire.decide(str(number), tool="t", n=number)
        snapshot = watching.until(Snapshot, 2)[-1]
        wire.decide("last", tool="t")
        watching.until(CallSeen)
        assert snapshot.agents[0].calls <= 500
        calls = sum(isinstance(event, CallSeen) for event in watching.seen[: watching.seen.index(snapshot)])
        assert snapshot.missed + calls <= 501


def test_a_configuration_that_changes_brings_a_fresh_snapshot(scene: Scene) -> None:
    host, _, attach = scene
    watching = Watching(attach().subscribe())
    watching.until(Snapshot)
    host.call(lambda desk: desk.reconfigure(structs.replace(DEFAULTS, window=32), "elsewhere"))
    assert watching.until(Snapshot, 2)[-1].config["window"] == 32
    assert [type(event) for event in watching.seen][-2:] == [ConfigChanged, Snapshot]
    host.call(lambda desk: desk.refuse_config("elsewhere", "line 3: no"))
    assert watching.until(ConfigChanged, 2)[-1].error == "line 3: no"


def test_one_who_comes_later_is_told_what_is_wrong(scene: Scene) -> None:
    host, _, attach = scene
    host.call(lambda desk: desk.report("warning", "the journal cannot be written"))
    host.call(lambda desk: desk.refuse_config("elsewhere", "line 3: no"))
    host.call(lambda desk: desk.refuse_config("elsewhere", "line 4: no"))
    watching = Watching(attach().subscribe())
    watching.until(ConfigChanged)
    assert [type(event) for event in watching.seen] == [Snapshot, Notice, ConfigChanged]
    assert watching.seen[-1].error == "line 4: no"
    host.call(lambda desk: desk.reconfigure(DEFAULTS, "elsewhere"))
    later = Watching(host.subscribe())
    later.until(Notice)
    assert [type(event) for event in later.seen] == [Snapshot, Notice]


def test_an_engine_that_stops_is_gone_for_its_operators(scene: Scene) -> None:
    host, _, attach = scene
    operator = attach()
    watching = Watching(operator.subscribe())
    watching.until(Snapshot)
    host.stop()

    with pytest.raises(ConnectionError, match="engine"):
        watching.until(type(None))
    with pytest.raises(ConnectionError):
        operator.reset_turn("a")
    with pytest.raises(ConnectionError):
        operator.subscribe()
    operator.close()


def test_a_feed_that_is_closed_is_served_no_more(scene: Scene) -> None:
    host, path, attach = scene
    operator = attach()
    closed, kept = operator.subscribe(), Watching(operator.subscribe())
    Watching(closed).until(Snapshot)
    kept.until(Snapshot)
    closed.close()
    with Wire(path, "a") as wire:
        wire.decide("c", command="ls")
    kept.until(CallSeen)
    assert closed.drain() == []
    until(lambda: len(host.call(lambda desk: desk._hub._feeds)) == 1)


def test_events_cost_a_bounded_amount_however_few_they_are() -> None:
    feed = BoundedFeed(lambda _: None, closed=lambda _: None, size=1000)
    hub = Hub([], lambda: 0.0)
    snapshot = Snapshot(0.0, (), (), (), attended=False, config={}, config_source="")
    hub.add(feed, snapshot)
    event = OperatorChanged(1.0, attended=True)
    for _ in range(30):
        hub.publish(event, 100)
    assert len(feed._kept) <= 10
    assert feed.drain() == []
    hub.publish(event, 100)
    hub.restart(feed, lambda: snapshot)
    (fresh,) = feed.drain()
    assert isinstance(fresh, Snapshot)
    assert fresh.missed == 31
    hub.publish(event, 100)
    assert feed.drain() == [event]


def test_a_subscriber_that_sleeps_through_many_snapshots_keeps_few() -> None:
    feed = BoundedFeed(lambda _: None, closed=lambda _: None)
    hub = Hub([], lambda: 0.0)
    snapshot = Snapshot(0.0, (), (), (), attended=False, config={}, config_source="")
    hub.add(feed, snapshot)
    event = OperatorChanged(1.0, attended=True)
    for _ in range(50):
        hub.publish(event)
        hub.restart_all(lambda: snapshot)
    kept = feed.drain()
    snapshots = [one for one in kept if isinstance(one, Snapshot)]
    assert isinstance(kept[0], Snapshot)
    assert len(snapshots) <= SNAPSHOTS_KEPT
    assert sum(one.missed for one in snapshots) + kept.count(event) == 50


def test_many_threads_may_use_one_operator(scene: Scene) -> None:
    _, _, attach = scene
    operator = attach()
    answers: list[bool] = []
    threads = [
        threading.Thread(target=lambda: answers.extend(operator.lift("a", "exact:x") for _ in range(50)))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [False] * 400


def test_no_engine_is_a_connection_error() -> None:
    with short_directory() as directory, pytest.raises(ConnectionError, match="No engine"):
        connect(directory / "none.sock", "abcd")
