"""The engine inside another program."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec import structs

from engine.config import DEFAULTS, Config
from engine.configuration.file import load
from engine.events import ConfigChanged, Notice, OperatorChanged, Snapshot
from engine.host import Host, fast_loop
from engine.operator_client import connect
from engine.paths import PathError, operator_socket_path
from engine.service.desk import Desk
from engine.service.listening import EngineRunningError
from tests.engine.sockets import Wire, gate_open, hosted, short_directory, until


def threads() -> set[str]:
    return {thread.name for thread in threading.enumerate()}


def test_it_serves_in_a_thread_of_its_own_and_leaves_nothing_behind() -> None:
    with short_directory() as directory:
        host = Host(socket=directory / "e.sock")
        assert not host.alive
        with host, Wire(host.socket, "a") as wire:
            assert host.alive
            assert "breaker-engine" in threads()
            assert wire.decide("c", command="ls") == {"decision": "allow"}
        assert not host.alive
        assert "breaker-engine" not in threads()
        assert list(directory.iterdir()) == []
        host.stop()
        with pytest.raises(RuntimeError):
            host.start()


def test_what_keeps_it_from_starting_is_raised_where_it_was_started() -> None:
    with hosted() as (_, path):
        second = Host(socket=path)
        with pytest.raises(EngineRunningError):
            second.start()
        assert not second.alive
        second.stop()
    with pytest.raises(PathError):
        Host(socket=Path("/tmp/rtb-never-made/" + "x" * 200)).start()


def test_one_who_subscribes_before_the_start_sees_all_of_it() -> None:
    with short_directory() as directory:
        host = Host(socket=directory / "e.sock")
        feed = host.subscribe()
        assert feed.drain() == []
        with host, Wire(host.socket, "a") as wire:
            wire.decide("c", command="ls")
            kinds = [type(event).__name__ for event in feed.drain()]
        assert kinds[0] == "Snapshot"
        assert kinds[-2:] == ["AgentStarted", "CallSeen"]


def test_a_stopped_engine_is_gone_for_whoever_asks() -> None:
    with hosted() as (host, _):
        feed = host.subscribe()
        host.stop()
        for attempt in (host.operator, host.subscribe, lambda: host.call(Desk.snapshot)):
            with pytest.raises(ConnectionError, match="stopped"):
                attempt()
        assert isinstance(feed.drain()[0], Snapshot)
        with pytest.raises(ConnectionError, match="stopped"):
            feed.drain()


def test_its_own_thread_may_not_wait_for_itself() -> None:
    with hosted() as (host, _), pytest.raises(RuntimeError, match="own thread"):
        host.call(lambda _: host.call(Desk.snapshot))


def test_what_is_done_in_its_thread_may_fail() -> None:
    with hosted() as (host, path):
        with pytest.raises(ZeroDivisionError):
            host.call(lambda _: 1 // 0)
        with Wire(path, "a") as wire:
            assert wire.decide("c", command="ls") == {"decision": "allow"}


def test_many_threads_that_stop_it_at_once_all_return() -> None:
    with short_directory() as directory:
        host = Host(socket=directory / "e.sock")
        host.start()
        busy = [threading.Thread(target=_call_until_gone, args=(host,)) for _ in range(4)]
        stopping = [threading.Thread(target=host.stop) for _ in range(4)]
        for thread in (*busy, *stopping):
            thread.start()
        for thread in (*busy, *stopping):
            thread.join(30)
            assert not thread.is_alive()


def _call_until_gone(host: Host) -> None:
    try:
        while True:
            host.call(Desk.snapshot)
    except ConnectionError:
        return


def test_a_changed_configuration_comes_into_force_and_a_broken_one_does_not() -> None:
    with short_directory() as directory:
        file = directory / "breaker.yaml"
        file.write_text("window: 20\n")
        with Host(load(file), socket=directory / "e.sock") as host:
            feed = host.subscribe()
            seen = feed.drain()
            assert seen[0].config["window"] == 20
            for text, holds in (("window: 30\n", 30), ("window: 3\n", 30), ("window: 40\n", 40)):
                file.write_text(text)
                changes = until(lambda: [one for one in feed.drain() if isinstance(one, ConfigChanged)])
                assert host.call(lambda desk: desk.breaker.config.window) == holds
                assert bool(changes[-1].error) is (text == "window: 3\n")


def test_an_operator_who_is_there_before_the_start_is_asked_about_the_first_call() -> None:
    with short_directory() as directory:
        host = Host(structs.replace(DEFAULTS, limits={"cmd": 1.0}), socket=directory / "e.sock")
        operator = host.operator()
        host.operator().close()
        feed = operator.subscribe()
        with host, Wire(host.socket, "a") as wire:
            number = wire.send("call/decide", id="c1", tool="bash", args={"command": "make"})
            (ask,) = until(lambda: host.call(lambda desk: desk.breaker.asks()))
            operator.answer(ask.id, "approved")
            assert wire.read()["id"] == number
            assert any(isinstance(event, OperatorChanged) and event.attended for event in feed.drain())
            operator.close()
            assert not host.call(lambda desk: desk.breaker.attended)


def test_an_operator_who_leaves_while_the_engine_starts_has_left() -> None:
    starting, leave = threading.Event(), threading.Event()

    def slowly(config: Config) -> Config:
        starting.set()
        leave.wait(10)
        return config

    with short_directory() as directory:
        host = Host(socket=directory / "e.sock", adjust=slowly)
        operator, other = host.operator(), host.operator()
        starter = threading.Thread(target=host.start)
        starter.start()
        starting.wait(10)
        operator.close()
        leave.set()
        starter.join()
        assert host.call(lambda desk: desk.breaker.attended)
        other.close()
        assert not host.call(lambda desk: desk.breaker.attended)
        host.stop()


def test_an_engine_that_stops_makes_no_token_for_the_next_operator() -> None:
    tokens: list[str] = []
    with short_directory() as directory:
        with Host(socket=directory / "e.sock", announce=tokens.append) as host:
            operator = connect(operator_socket_path(host.socket), tokens[0])
        assert len(tokens) == 1
        operator.close()


@pytest.mark.parametrize("loop", [asyncio.new_event_loop, fast_loop()])
def test_whose_connection_cannot_be_told_is_turned_away(
    monkeypatch: pytest.MonkeyPatch, loop: Callable[[], asyncio.AbstractEventLoop]
) -> None:
    def full(_: int) -> int:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr("engine.host.fast_loop", lambda: loop)
    notices: list[str] = []
    with hosted() as (host, path):
        host.call(lambda desk: desk.listen(lambda event: notices.append(getattr(event, "text", ""))))
        with monkeypatch.context() as patched:
            patched.setattr("engine.server.os.dup", full)
            with socket.socket(socket.AF_UNIX) as turned_away:
                turned_away.connect(str(path))
                turned_away.settimeout(10)
                with contextlib.suppress(ConnectionError):
                    assert turned_away.recv(1) == b""
        assert any("cannot be told (Too many open files)" in text for text in notices)
        with Wire(path, "a") as wire:
            assert wire.decide("c", command="ls") == {"decision": "allow"}


def test_a_journal_is_written_and_the_next_engine_goes_on_where_this_one_stopped() -> None:
    with short_directory() as directory:
        where = {"socket": directory / "e.sock", "journal": directory / "journal"}
        with Host(**where) as host, Wire(host.socket, "a") as wire:
            gate_open(wire)
            assert wire.decide("refused", command="make")["outcome"] == "unattended"
        with Host(**where) as host, Wire(host.socket, "a") as wire:
            (agent,) = host.call(Desk.snapshot).agents
            told = [event for event in host.subscribe().drain() if isinstance(event, Notice)]
            assert (agent.agent, agent.calls, agent.counts["cmd:make:make"]) == ("a", 12, 12), told
            assert {refusal.outcome for refusal in agent.refusals} == {"unattended"}
            host.operator()
            assert host.call(Desk.snapshot).agents[0].refusals == ()
            wire.send("call/decide", id="asks", tool="bash", args={"command": "make"})
            until(lambda: host.call(lambda desk: desk.breaker.asks()))


def test_a_journal_that_cannot_be_written_is_told_and_changes_no_verdict() -> None:
    with short_directory() as directory:
        (directory / "journal").write_text("in the way")
        with Host(socket=directory / "e.sock", journal=directory / "journal") as host, Wire(host.socket, "a") as wire:
            assert wire.decide("c", command="ls") == {"decision": "allow"}
            told = [event for event in host.subscribe().drain() if isinstance(event, Notice)]
            assert any("journal" in event.text for event in told)


def test_a_fault_in_the_loop_is_told_and_not_printed(capfd: pytest.CaptureFixture[str]) -> None:
    with hosted() as (host, _):
        feed = host.subscribe()
        host.call(lambda _: asyncio.get_running_loop().call_soon(lambda: 1 // 0))
        told = until(lambda: [event for event in feed.drain() if isinstance(event, Notice)])
        assert "ZeroDivisionError" in told[0].text
    assert capfd.readouterr().err == ""


def test_a_fault_that_comes_over_and_over_is_told_now_and_then() -> None:
    def fail() -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    with hosted() as (host, _):
        feed = host.subscribe()
        for _ in range(100):
            host.call(lambda _: asyncio.get_running_loop().call_soon(fail))
        host.call(lambda _: asyncio.get_running_loop().call_soon(lambda: 1 // 0))
        told: list[str] = []

        def over() -> bool:
            told.extend(event.text for event in feed.drain() if isinstance(event, Notice))
            return any("ZeroDivisionError" in text for text in told)

        until(over)
        assert sum("Too many open files" in text for text in told) == 1


def test_the_loop_is_the_fast_one_where_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    uvloop = pytest.importorskip("uvloop")
    assert fast_loop() is uvloop.new_event_loop
    monkeypatch.setattr("engine.host.fast_loop", lambda: asyncio.new_event_loop)
    with hosted() as (_, path), Wire(path, "a") as wire:
        assert wire.decide("c", command="ls") == {"decision": "allow"}


def test_settings_of_the_hosts_own_stand_above_the_files() -> None:
    with hosted(adjust=lambda config: structs.replace(config, ask_timeout=7)) as (_, path), Wire(path) as wire:
        assert wire.ask("initialize", protocol=1)["result"]["limits"]["askTimeout"] == 7
    assert DEFAULTS.ask_timeout == 300


def test_of_two_engines_with_one_journal_each_goes_on_where_it_stopped_itself() -> None:
    with short_directory() as directory:
        first, second, journal = directory / "1.sock", directory / "2.sock", directory / "journal"
        with Host(socket=first, journal=journal), Wire(first, "a") as wire:
            for number in range(8):
                wire.decide(str(number), command="make")
        with Host(socket=second, journal=journal), Wire(second, "b") as wire:
            wire.decide("1", command="ls")
        with Host(socket=first, journal=journal) as host:
            assert [(agent.agent, agent.calls) for agent in host.call(lambda desk: desk.snapshot().agents)] == [
                ("a", 8)
            ]
        with Host(socket=second, journal=journal) as host:
            assert [(agent.agent, agent.calls) for agent in host.call(lambda desk: desk.snapshot().agents)] == [
                ("b", 1)
            ]
