"""The agents' socket as its clients and its attackers find it: real sockets, real processes."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import resource
import select
import signal
import socket
import stat
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import structs

from engine.calls import Call
from engine.config import DEFAULTS
from engine.host import Host
from engine.paths import PathError
from engine.protocol import FRAME_LIMIT, WAITING_LIMIT, ErrorCode, HookAnswer
from engine.service.connection import AgentConnection
from engine.service.desk import HookDesk
from engine.service.listening import EngineRunningError, SocketError
from tests.engine.sockets import DEADLINE, ROOT, Wire, frame, gate_open, hosted, served, short_directory, until


@pytest.fixture
def engine() -> Iterator[Path]:
    with hosted() as (_, path):
        yield path


# -- requests -------------------------------------------------------------------------------------------------


def test_nothing_but_status_is_served_before_the_handshake(engine: Path) -> None:
    with Wire(engine) as wire:
        for method in AgentConnection.methods:
            code = wire.ask(method).get("error", {}).get("code")
            assert code == {"initialize": ErrorCode.INVALID_PARAMS, "status": None}.get(
                method, ErrorCode.NOT_INITIALIZED
            )
        welcome = wire.ask("initialize", protocol=1)["result"]
        assert welcome["protocol"] == 1
        assert welcome["server"]["pid"] == os.getpid()
        assert welcome["limits"] == {"frame": FRAME_LIMIT, "waiting": WAITING_LIMIT, "askTimeout": 300}


def test_another_protocol_is_refused_with_the_one_that_is_spoken(engine: Path) -> None:
    with Wire(engine) as wire:
        error = wire.ask("initialize", protocol=2)["error"]
        assert error["code"] == ErrorCode.UNSUPPORTED_PROTOCOL
        assert "version 1" in error["message"]
        assert wire.ask("turn/start", agent="a")["error"]["code"] == ErrorCode.NOT_INITIALIZED


@pytest.mark.parametrize(
    "line",
    [
        b"nonsense\n",
        b"\x00\xff\xfe\n",
        b"[]\n",
        b'[{"jsonrpc":"2.0","id":1,"method":"status"}]\n',
        b'{"jsonrpc":"2.0","id":1}\n',
        b'{"jsonrpc":"2.0","id":1,"result":{}}\n',
        frame("no/such/method", 1),
        frame("operator/answer", 1, ask="ask-1", answer="approved"),
        frame("call/decide", 1, id=3, tool="t"),
        frame("call/settle", 1),
        frame("harness/hook", 1, harness="no-such-harness", payload={}),
        b'{"jsonrpc":"2.0","id":1,"method":"call/decide","params":' + b"[" * 100_000 + b"\n",
        b"x" * (FRAME_LIMIT + 1) + b"\n",
    ],
    ids=lambda line: repr(line[:40]),
)
def test_a_bad_message_gets_an_error_and_the_connection_goes_on(engine: Path, line: bytes) -> None:
    with Wire(engine, "a") as wire:
        wire.write(line)
        assert wire.read()["error"]["message"]
        assert wire.decide("c1", command="ls") == {"decision": "allow"}


def test_a_request_without_an_agent_names_the_field(engine: Path) -> None:
    with Wire(engine) as wire:
        wire.ask("initialize", protocol=1)
        error = wire.ask("call/decide", id="c", tool="t")["error"]
        assert error["data"] == {"field": "agent"}
        assert wire.ask("call/decide", id="c", tool="t", agent="b")["result"] == {"decision": "allow"}


def test_a_notification_gets_no_answer_but_has_its_effect(engine: Path) -> None:
    with Wire(engine, "a") as wire:
        for number in range(11):
            wire.write(frame("call/decide", id=str(number), tool="bash", args={"command": "make"}))
        wire.write(frame("call/decide", id=5, tool="bash") + frame("no/such/method") + b"\n\n")
        assert wire.decide("last", command="make")["decision"] == "deny"


def test_advice_comes_with_the_result(engine: Path) -> None:
    with Wire(engine, "a") as wire:
        settled = []
        for number in range(7):
            wire.decide(str(number), command="make")
            result = {"value": {"exitCode": 2}, "content": [{"type": "text", "text": "no rule"}]}
            settled.append(wire.ask("call/settle", id=str(number), result=result)["result"])
        assert [[one["stage"] for one in answer["advisories"]] for answer in settled[:3]] == [[], [], ["fail-warn"]]
        assert settled[0]["failure"]["reason"] == "exit"
        assert wire.ask("call/settle", id="unheard of")["result"] == {"advisories": [], "known": False}


def test_requests_of_one_burst_are_all_answered_in_order(engine: Path) -> None:
    with Wire(engine, "a") as wire:
        wire.write(b"".join(frame("call/decide", n, id=str(n), tool="t", args={"n": n}) for n in range(2000)))
        assert [wire.read()["id"] for _ in range(2000)] == list(range(2000))


def test_a_piped_client_that_ends_its_input_still_gets_its_answers(engine: Path) -> None:
    with Wire(engine, "a") as wire:
        wire.write(b"".join(frame("call/decide", n, id=str(n), tool="t", args={"n": n}) for n in range(500)))
        wire.socket.shutdown(socket.SHUT_WR)
        assert [wire.read()["id"] for _ in range(500)] == list(range(500))
        assert wire.hung_up()


def test_a_large_call_is_judged_by_all_of_it_and_kept_in_part() -> None:
    with hosted() as (host, path), Wire(path, "a") as wire:
        feed = host.subscribe()
        for number in range(12):
            verdict = wire.decide(str(number), tool="write", text="x" * 1_000_000 + str(number % 2), deep=[[[[]]]] * 50)
        assert verdict["decision"] == "allow"
        seen = [event for event in feed.drain() if type(event).__name__ == "CallSeen"]
        assert len({event.fingerprints for event in seen}) == 2
        assert all(len(json.dumps(event.args)) < 100_000 for event in seen)


def test_a_large_call_that_repeats_meets_the_gate(engine: Path) -> None:
    with Wire(engine, "a") as wire:
        verdicts = [wire.decide(str(n), tool="write", text="x" * 300_000)["decision"] for n in range(12)]
        assert verdicts == ["allow"] * 11 + ["deny"]


def test_a_call_that_takes_long_to_read_holds_up_nobody_else(engine: Path) -> None:
    with Wire(engine, "slow") as slow, Wire(engine, "other") as other:
        slow.write(frame("call/decide", "big", id="c", tool="bash", args={"command": "a;" * 300_000}))
        slow.write(frame("call/decide", "next", id="d", tool="t"))
        for number in range(20):
            assert other.decide(str(number), tool="t", n=number) == {"decision": "allow"}
        assert select.select([slow.socket], [], [], 0)[0] == [], "the others waited for the slow one"
        assert [slow.read()["id"], slow.read()["id"]] == ["big", "next"]


def test_a_large_call_of_a_client_that_ended_its_input_or_left_does_no_harm(engine: Path) -> None:
    large = frame("call/decide", "big", id="c", tool="bash", args={"command": "make;" * 100_000})
    with Wire(engine, "a") as gone:
        gone.write(large * 2)
    with Wire(engine, "b") as wire:
        wire.write(large * 2)
        wire.socket.shutdown(socket.SHUT_WR)
        assert [wire.read()["result"]["decision"] for _ in range(2)] == ["allow", "allow"]
        assert wire.hung_up()


def test_the_status_tells_agents_measures_and_asks() -> None:
    with hosted() as (host, path), Wire(path, "a") as wire:
        host.operator()
        wire.ask("agent/start", parent="root", harness="codex", name="explorer")
        gate_open(wire)
        wire.send("call/decide", id="asks", tool="bash", args={"command": "make"})
        with Wire(path) as looking:
            status = until(lambda: found if (found := looking.ask("status")["result"])["asks"] else None)
        (agent,) = status["agents"]
        assert (agent["agent"], agent["parent"], agent["harness"], agent["name"]) == ("a", "root", "codex", "explorer")
        assert (agent["state"], agent["waiting"], agent["turn"], agent["calls"]) == ("waiting", 1, 1, 12)
        assert (agent["hottest"][0]["count"], agent["hottest"][0]["cap"]) == (11, 12)
        assert status["asks"][0]["agent"] == "a"
        assert set(status["asks"][0]["fingerprints"]) == {
            heat["fp"] for heat in agent["hottest"] if heat["count"] == 11
        }
        assert status["attended"] is True


# -- hooks ----------------------------------------------------------------------------------------------------


async def hook(harness: str, payload: bytes, desk: HookDesk) -> HookAnswer:
    """A harness whose payload is a call, and whose hook prints the decision."""
    if harness == "broken":
        raise ValueError("no such event")
    asked = json.loads(payload)
    verdict = await desk.decide(Call(asked["id"], "hooked", "bash", {"command": asked["command"]}))
    return HookAnswer(stdout=f"{verdict.decision} é", exit=0 if verdict.decision == "allow" else 2)


def test_a_hook_gets_what_it_must_print() -> None:
    with hosted(hook=hook) as (_, path), Wire(path) as wire:
        wire.ask("initialize", protocol=1)
        payload = {"id": "c1", "command": "ls"}
        assert wire.ask("harness/hook", harness="h", payload=payload)["result"] == {"stdout": "allow é", "exit": 0}
        answer = wire.ask("harness/hook", harness="h", encoding="hex", payload=payload)["result"]
        assert bytes.fromhex(answer["stdout"]).decode() == "allow é"
        assert wire.ask("harness/hook", harness="broken", payload=payload)["error"]["code"] == ErrorCode.INTERNAL


def test_a_hook_that_is_killed_while_it_waits_leaves_no_ask() -> None:
    with hosted(hook=hook) as (host, path):
        host.operator()
        with Wire(path) as wire:
            wire.ask("initialize", protocol=1)
            for number in range(11):
                wire.ask("harness/hook", harness="h", payload={"id": str(number), "command": "make"})
            wire.send("harness/hook", harness="h", payload={"id": "waits", "command": "make"})
            until(lambda: host.call(lambda desk: desk.breaker.asks()))
        until(lambda: not host.call(lambda desk: desk.breaker.asks()))


def test_a_hook_that_waits_when_the_engine_stops_gets_its_answer() -> None:
    with hosted(hook=hook) as (host, path), Wire(path) as wire:
        host.operator()
        wire.ask("initialize", protocol=1)
        for number in range(11):
            wire.ask("harness/hook", harness="h", payload={"id": str(number), "command": "make"})
        wire.send("harness/hook", harness="h", payload={"id": "waits", "command": "make"})
        until(lambda: host.call(lambda desk: desk.breaker.asks()))
        host.stop()
        assert wire.read()["result"] == {"stdout": "deny é", "exit": 2}


# -- peers that misbehave -------------------------------------------------------------------------------------


def test_a_peer_that_does_not_read_is_not_read_from_and_costs_nobody_else(engine: Path) -> None:
    with Wire(engine, "deaf") as deaf, Wire(engine, "other") as other:
        deaf.socket.setblocking(False)
        request = frame("status", 1)
        sent = 0
        with contextlib.suppress(BlockingIOError):
            while sent < 200_000:
                deaf.socket.sendall(request)
                sent += 1
        assert sent < 200_000, "the server read everything, whatever became of its answers"
        assert other.decide("c", command="ls") == {"decision": "allow"}
        deaf.socket.settimeout(DEADLINE)
        for _ in range(sent):
            assert deaf.read()["id"] == 1


def test_a_long_line_of_junk_costs_no_memory_and_no_other_client(engine: Path) -> None:
    with Wire(engine, "a") as wire, Wire(engine, "b") as other:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for _ in range(100):
            wire.write(b"x" * (1 << 20))
            assert other.ask("turn/start")["result"] == {}
        wire.write(b"\n")
        assert wire.read()["error"]["code"] == ErrorCode.FRAME_TOO_LARGE
        kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        assert kilobytes < 64 * 1024


def test_too_many_waiting_calls_are_denied_and_not_piled_up() -> None:
    with hosted() as (host, path), Wire(path, "a") as wire:
        operator = host.operator()
        gate_open(wire)
        for number in range(WAITING_LIMIT):
            wire.write(frame("call/decide", number, id=str(number), tool="bash", args={"command": "make"}))
        assert wire.ask("call/decide", id="more", tool="bash", args={"command": "make"})["result"]["decision"] == "deny"
        operator.answer("ask-1", "approved")
        answers = [wire.read() for _ in range(WAITING_LIMIT)]
        assert {answer["result"]["decision"] for answer in answers} == {"allow"}


fuzz = st.binary(max_size=200) | st.lists(
    st.sampled_from([*AgentConnection.methods, "operator/answer", "x"]).flatmap(
        lambda method: st.fixed_dictionaries(
            {"method": st.just(method), "jsonrpc": st.just("2.0")},
            optional={
                "id": st.integers(0, 5) | st.text(max_size=3),
                "params": st.dictionaries(
                    st.sampled_from(["id", "agent", "tool", "args", "result", "protocol", "harness", "payload"]),
                    st.sampled_from(
                        ["a", "b", "", 1, None, {}, {"command": "make"}, [], {"exitCode": 1}, "\ud800", "é\x00"]
                    ),
                ),
            },
        )
    ),
    max_size=8,
).map(lambda messages: b"".join(json.dumps(one).encode() + b"\n" for one in messages))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.lists(fuzz, max_size=5))
def test_whatever_is_sent_the_server_goes_on(engine: Path, data: list[bytes]) -> None:
    with Wire(engine) as wire:
        with contextlib.suppress(BrokenPipeError):
            for one in data:
                wire.write(one)
        wire.write(b"\n" + frame("status", "last"))
        while wire.read()["id"] != "last":
            pass


# -- the socket itself ----------------------------------------------------------------------------------------


def test_the_socket_is_its_owners_alone_and_goes_with_the_engine() -> None:
    with short_directory() as directory:
        path = directory / "made" / "e.sock"
        with Host(socket=path):
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
            assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        assert list(path.parent.iterdir()) == []


def test_a_live_engine_is_not_pushed_aside_and_named(engine: Path) -> None:
    with pytest.raises(EngineRunningError, match=str(os.getpid())):
        Host(socket=engine).start()
    with Wire(engine, "a") as wire:
        assert wire.decide("c", command="ls") == {"decision": "allow"}


def test_a_listener_that_holds_no_lock_is_not_pushed_aside() -> None:
    with short_directory() as directory, socket.socket(socket.AF_UNIX) as squatter:
        path = directory / "e.sock"
        squatter.bind(str(path))
        squatter.listen()
        with pytest.raises(EngineRunningError):
            Host(socket=path).start()


def test_the_socket_of_a_killed_engine_is_taken_over() -> None:
    with short_directory() as directory, served("--no-journal", directory=directory) as (process, path):
        process.kill()
        process.wait()
        assert path.exists()
        with Host(socket=path), Wire(path, "a") as wire:
            assert wire.decide("c", command="ls") == {"decision": "allow"}


def test_of_many_engines_that_start_at_once_one_serves() -> None:
    with short_directory() as directory:
        path = directory / "e.sock"
        path.touch()
        path.unlink()
        hosts = [Host(socket=path) for _ in range(8)]
        refused: list[BaseException] = []

        def start(host: Host) -> None:
            try:
                host.start()
            except EngineRunningError as error:
                refused.append(error)

        threads = [threading.Thread(target=start, args=(host,)) for host in hosts]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        serving = [host for host in hosts if host.alive]
        assert (len(serving), len(refused)) == (1, 7)
        with Wire(path, "a") as wire:
            assert wire.decide("c", command="ls") == {"decision": "allow"}
        serving[0].stop()
        assert list(directory.iterdir()) == []


def test_what_cannot_be_listened_on_is_said_in_words() -> None:
    with short_directory() as directory:
        (directory / "file").write_text("precious")
        with pytest.raises(SocketError, match="no socket"):
            Host(socket=directory / "file").start()
        assert (directory / "file").read_text() == "precious"
        with pytest.raises(PathError, match="bytes"):
            Host(socket=directory / ("x" * 120)).start()
        (directory / "b.sock.lock").mkdir()
        with pytest.raises(SocketError, match="lock cannot be made: Is a directory"):
            Host(socket=directory / "b.sock").start()
        (directory / "open").mkdir()
        (directory / "open").chmod(0o755)
        with pytest.raises(PathError, match="open to others"):
            Host(socket=directory / "open" / "e.sock").start()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else, as .ci/run is")
def test_another_users_process_is_turned_away(engine: Path) -> None:
    """Even where the file's and the directory's modes would let it in."""
    engine.parent.chmod(0o711)
    engine.chmod(0o666)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
            with Wire(engine) as wire:
                os.write(writing, b"connected ")
                wire.write(frame("status", 1))
                os.write(writing, wire.read_line())
        os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    with os.fdopen(reading, "rb") as told:
        assert told.read() == b"connected "


# -- many at once ---------------------------------------------------------------------------------------------


async def _opened(path: Path) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    connecting = socket.socket(socket.AF_UNIX)
    connecting.setblocking(False)
    for _ in range(10_000):
        with contextlib.suppress(BlockingIOError):  # more at once than the queue of connections holds
            connecting.connect(str(path))
            break
        await asyncio.sleep(0.005)
    return await asyncio.open_unix_connection(sock=connecting)


async def _talk(path: Path, agent: str, asked: asyncio.Event, waiting: list[str]) -> Counter[str]:
    reader, writer = await _opened(path)
    writer.write(frame("initialize", 0, protocol=1, agent={"id": agent}))
    assert b"result" in await reader.readline()
    decisions: Counter[str] = Counter()
    for number in range(12):
        writer.write(frame("call/decide", number, id=str(number), tool="bash", args={"command": "make"}))
        if number == 11:
            waiting.append(agent)
            asked.set()
        decisions[json.loads(await reader.readline())["result"]["decision"]] += 1
    writer.close()
    return decisions


async def test_a_thousand_agents_and_two_hundred_waiting_calls() -> None:
    """A thousand connections to an engine in its own process; then, with an operator, two hundred that wait at once."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(8192, hard), hard))
    script = """
import sys
from pathlib import Path
from engine.host import Host
from engine.service.hardening import allow_many_connections
allow_many_connections()
with Host(socket=Path(sys.argv[1])) as host:
    sys.stdin.readline()
    operator = host.operator()
    print("attended", flush=True)
    sys.stdin.readline()
    asks = host.call(lambda desk: desk.breaker.asks())
    for ask in asks:
        operator.answer(ask.id, "approved")
    print(len(asks), flush=True)
    sys.stdin.readline()
    print(len(host.call(lambda desk: desk.breaker.asks())), flush=True)
"""
    with short_directory() as directory:
        path = directory / "e.sock"
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            script,
            str(path),
            cwd=ROOT,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        assert process.stdin
        assert process.stdout
        try:
            await asyncio.to_thread(until, path.exists)
            asked, waiting = asyncio.Event(), []
            found = await asyncio.gather(*(_talk(path, f"a{number}", asked, waiting) for number in range(1000)))
            assert sum(found, Counter()) == {"allow": 11_000, "deny": 1000}
            process.stdin.write(b"attend\n")
            assert await process.stdout.readline() == b"attended\n"
            talks = [asyncio.create_task(_talk(path, f"b{number}", asked, waiting)) for number in range(200)]
            waiting.clear()
            while len(waiting) < 200:
                asked.clear()
                await asyncio.wait_for(asked.wait(), DEADLINE)
            with Wire(path) as looking:
                await asyncio.to_thread(until, lambda: len(looking.ask("status")["result"]["asks"]) == 200)
            process.stdin.write(b"answer\n")
            assert await process.stdout.readline() == b"200\n"
            assert sum(await asyncio.gather(*talks), Counter()) == {"allow": 2400}
            process.stdin.write(b"count\n")
            assert await process.stdout.readline() == b"0\n"
            process.stdin.close()
            assert await process.wait() == 0
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_an_engine_that_stops_refuses_those_who_wait_before_it_hangs_up() -> None:
    with short_directory() as directory:
        path = directory / "e.sock"
        host = Host(structs.replace(DEFAULTS, ask_timeout=None), socket=path)
        host.start()
        host.operator()
        with Wire(path, "a") as wire:
            gate_open(wire)
            wire.send("call/decide", id="waits", tool="bash", args={"command": "make"})
            until(lambda: host.call(lambda desk: desk.breaker.asks()))
            host.stop()
            answer = wire.read()["result"]
            assert (answer["decision"], answer["outcome"]) == ("deny", "unattended")
            assert wire.hung_up()
        assert signal.getsignal(signal.SIGINT) is not signal.SIG_IGN


def test_a_status_that_takes_long_is_not_worked_out_for_everybody_who_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.server.STATUS_SHARE", 1e-9)
    with hosted() as (_, path), Wire(path, "a") as wire:
        wire.decide("c1", command="ls")
        assert wire.ask("status")["result"]["agents"][0]["calls"] == 1
        wire.decide("c2", command="ls")
        assert wire.ask("status")["result"]["agents"][0]["calls"] == 2
        monkeypatch.setattr("engine.server.STATUS_SECONDS", 0.0)
        wire.ask("status")
        wire.decide("c3", command="ls")
        assert wire.ask("status")["result"]["agents"][0]["calls"] == 2
