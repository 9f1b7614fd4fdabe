"""The clients for Python agents: what they answer with an engine, without one, and while one comes and goes."""

from __future__ import annotations

import asyncio
import gc
import os
import socket
import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from engine.client import AsyncClient, BreakerUnreachableWarning, CallRefusedError, Client, UnreachableError
from engine.config import DEFAULTS
from engine.host import Host
from engine.results import TEXT_SENT, result_from, result_raised
from engine.verdicts import Ask
from tests.engine.sockets import DEADLINE, ROOT, hosted, short_directory, until

MAKE = {"command": "make"}


@pytest.fixture
def engine() -> Iterator[tuple[Host, Path]]:
    with hosted() as made:
        yield made


@pytest.fixture
def nowhere() -> Iterator[Path]:
    with short_directory() as directory:
        yield directory / "none.sock"


def ask_of(host: Host) -> Ask:
    found: tuple[Ask, ...] = until(lambda: host.call(lambda desk: desk.breaker.asks()))
    return found[0]


# -- with an engine -------------------------------------------------------------------------------------------


def test_it_decides_settles_and_starts_turns(engine: tuple[Host, Path]) -> None:
    with Client("a", socket=engine[1], harness="mine", name="worker") as client:
        for number in range(11):
            assert client.decide(str(number), "bash", MAKE).decision == "allow"
        assert client.settle("3", {"value": {"exitCode": 1}}).failure is not None
        assert client.settle("unheard of", {}).known is False
        refused = client.decide("12", "bash", MAKE)
        assert (refused.decision, refused.outcome) == ("deny", "unattended")
        assert refused.reason.startswith("REPEAT_TOOL_BLOCKED")
        client.start_turn()
        assert client.decide("13", "bash", MAKE).decision == "allow"
        (agent,) = client.status().agents
        assert (agent.agent, agent.harness, agent.name, agent.turn) == ("a", "mine", "worker", 2)
        client.end()
        assert client.status().agents == ()


async def test_the_asyncio_client_does_the_same_with_many_under_way(engine: tuple[Host, Path]) -> None:
    async with AsyncClient("a", socket=engine[1]) as client:
        verdicts = await asyncio.gather(*(client.decide(str(n), "t", {"n": n}) for n in range(300)))
        assert {one.decision for one in verdicts} == {"allow"}
        settled = await asyncio.gather(*(client.settle(str(n), {"isError": False}) for n in range(300)))
        assert all(one.known for one in settled)
        await client.start_turn()
        assert (await client.status()).agents[0].turn == 2
        await client.end()
        assert (await client.status()).agents == ()


def test_threads_wait_beside_each_other(engine: tuple[Host, Path]) -> None:
    host, path = engine
    operator = host.operator()
    with Client("a", socket=path) as client:
        for number in range(11):
            client.decide(str(number), "bash", MAKE)
        verdicts: list[str] = []
        waiting = [
            threading.Thread(target=lambda n=n: verdicts.append(client.decide(f"w{n}", "bash", MAKE).decision))
            for n in range(4)
        ]
        for thread in waiting:
            thread.start()
        until(lambda: len(host.call(lambda desk: desk.snapshot().waiting)) == 4)
        assert client.decide("other", "bash", {"command": "ls"}).decision == "allow"
        client.cancel("w0")
        until(lambda: verdicts == ["deny"])
        operator.answer(ask_of(host).id, "approved")
        for thread in waiting:
            thread.join()
        assert sorted(verdicts) == ["allow", "allow", "allow", "deny"]


async def test_a_cancelled_task_withdraws_its_call(engine: tuple[Host, Path]) -> None:
    host, path = engine
    host.operator()
    async with AsyncClient("a", socket=path) as client:
        for number in range(11):
            await client.decide(str(number), "bash", MAKE)
        waiting = asyncio.create_task(client.decide("waits", "bash", MAKE))
        await asyncio.to_thread(ask_of, host)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await asyncio.to_thread(until, lambda: not host.call(lambda desk: desk.breaker.asks()))
        assert (await client.decide("other", "bash", {"command": "ls"})).decision == "allow"


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_a_caller_without_patience_is_refused_and_leaves_no_ask(engine: tuple[Host, Path], kind: Any) -> None:
    host, path = engine
    host.operator()
    with Client("a", socket=path) as client:
        for number in range(11):
            client.decide(str(number), "bash", MAKE)
    hasty = kind("a", socket=path, timeout=0.1)
    given = hasty.decide("waits", "bash", MAKE)
    verdict = asyncio.run(given) if kind is AsyncClient else given
    assert (verdict.decision, verdict.outcome) == ("deny", "timed_out")
    until(lambda: not host.call(lambda desk: desk.breaker.asks()))


@pytest.mark.parametrize("args", [{"x": "y" * (17 << 20)}, {"loop": []}], ids=["too long", "endless"])
async def test_what_no_engine_could_read_is_refused(engine: tuple[Host, Path], args: dict[str, Any]) -> None:
    if "loop" in args:
        args["loop"].append(args["loop"])
    with Client("a", socket=engine[1]) as client:
        verdict = client.decide("c", "t", args)
        assert verdict.decision == "deny"
        assert "could not read this call" in verdict.reason
        assert client.decide("c", "t", {}).decision == "allow"
    async with AsyncClient("a", socket=engine[1]) as same:
        assert (await same.decide("c", "t", args)).decision == "deny"


def test_odd_arguments_are_judged(engine: tuple[Host, Path]) -> None:
    with Client("a", socket=engine[1]) as client:
        odd = {"path": Path("/x"), "half": "\ud800", "bytes": b"\xff", "set": {1}, "nan": float("nan"), "big": 10**30}
        assert client.decide("c", "t", odd).decision == "allow"


def test_a_forked_process_makes_connections_of_its_own(engine: tuple[Host, Path]) -> None:
    with Client("a", socket=engine[1]) as client:
        client.decide("before", "t", {})
        child = os.fork()
        if child == 0:
            allowed = client.decide("child", "t", {"n": 1}).decision == "allow"
            os._exit(0 if allowed else 1)
        assert client.decide("parent", "t", {"n": 2}).decision == "allow"
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


# -- without one ----------------------------------------------------------------------------------------------


def test_without_an_engine_a_call_is_allowed_with_a_warning_at_once(nowhere: Path) -> None:
    client = Client("a", socket=nowhere)
    with pytest.warns(BreakerUnreachableWarning, match="no breaker guards this call") as warned:
        verdict = client.decide("c", "t", {})
    assert verdict.decision == "allow"
    assert warned[0].filename == __file__
    assert client.settle("c", {}).known is False
    client.start_turn()
    client.end()
    with pytest.raises(UnreachableError, match="No such file"):
        client.status()


async def test_without_an_engine_the_caller_may_prefer_refusal(nowhere: Path) -> None:
    assert Client("a", socket=nowhere, on_unreachable="deny").decide("c", "t", {}).decision == "deny"
    client = AsyncClient("a", socket=nowhere, on_unreachable="deny")
    assert (await client.decide("c", "t", {})).reason.startswith("REPEAT_TOOL_BLOCKED: no breaker")
    assert (await client.settle("c", {})).known is False
    with pytest.raises(UnreachableError):
        await client.status()


@pytest.mark.parametrize(
    "answer", [b"", b"junk\n", b'{"jsonrpc":"2.0","id":0,"error":{"code":-32003,"message":"old"}}\n']
)
async def test_what_is_no_engine_guards_nothing(nowhere: Path, answer: bytes) -> None:
    def stand_in(listener: socket.socket) -> None:
        while True:
            try:
                connected, _ = listener.accept()
            except OSError:
                return
            with connected:
                connected.recv(4096)
                connected.sendall(answer)

    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(nowhere))
        listener.listen()
        threading.Thread(target=stand_in, args=(listener,), daemon=True).start()
        assert Client("a", socket=nowhere, on_unreachable="deny").decide("c", "t", {}).decision == "deny"
        client = AsyncClient("a", socket=nowhere, on_unreachable="deny")
        assert (await client.decide("c", "t", {})).decision == "deny"
        listener.shutdown(socket.SHUT_RDWR)


async def test_nobody_need_be_left_to_hear_that_a_connection_failed(nowhere: Path) -> None:
    complaints: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
    connected = asyncio.Event()
    server = await asyncio.start_unix_server(lambda *_: connected.set(), str(nowhere))
    client = AsyncClient("a", socket=nowhere)
    deciding = asyncio.create_task(client.decide("1", "bash", MAKE))
    await connected.wait()
    connecting = client._connecting
    assert connecting is not None
    deciding.cancel()
    await asyncio.wait([deciding])
    server.close()
    await asyncio.wait([connecting], timeout=DEADLINE)
    del connecting
    client._connecting = None
    gc.collect()
    assert complaints == []


def test_an_engine_that_comes_and_goes_is_found_again(nowhere: Path) -> None:
    client = Client("a", socket=nowhere, on_unreachable="deny")
    same = AsyncClient("a", socket=nowhere, on_unreachable="deny")
    for _ in range(2):
        assert client.decide("c", "t", {}).decision == "deny"
        with Host(socket=nowhere):
            assert client.decide("c", "t", {}).decision == "allow"
            assert asyncio.run(same.decide("c", "t", {})).decision == "allow"
    client.close()


async def test_the_asyncio_client_survives_an_engine_that_restarts(nowhere: Path) -> None:
    client = AsyncClient("a", socket=nowhere, on_unreachable="deny")
    for _ in range(3):
        host = Host(socket=nowhere)
        await asyncio.to_thread(host.start)
        assert {one.decision for one in await asyncio.gather(*(client.decide(str(n), "t", {}) for n in range(5)))} == {
            "allow"
        }
        await asyncio.to_thread(host.stop)
        assert (await client.decide("c", "t", {})).decision == "deny"
    await client.close()


KILLED_WHEN_IT_ASKS = """
import os, signal, sys, time
from pathlib import Path
from engine.host import Host
host = Host(socket=Path(sys.argv[1]))
host.start()
operator = host.operator()
print("ready", flush=True)
while not host.call(lambda desk: desk.breaker.asks()):
    time.sleep(0.01)
os.kill(os.getpid(), signal.SIGKILL)
"""


@contextmanager
def killed_when_it_asks(path: Path) -> Iterator[None]:
    command = [sys.executable, "-c", KILLED_WHEN_IT_ASKS, str(path)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
        yield


def test_an_engine_killed_while_a_call_waits_lets_it_not_run(nowhere: Path) -> None:
    with killed_when_it_asks(nowhere):
        client = Client("a", socket=nowhere)
        for number in range(11):
            client.decide(str(number), "bash", MAKE)
        verdict = client.decide("waits", "bash", MAKE)
        assert verdict.decision == "deny"
        assert "ended before it answered" in verdict.reason
        with pytest.warns(BreakerUnreachableWarning):
            assert client.decide("later", "bash", MAKE).decision == "allow"


async def test_an_engine_killed_while_a_call_waits_lets_it_not_run_with_asyncio(nowhere: Path) -> None:
    with killed_when_it_asks(nowhere):
        client = AsyncClient("a", socket=nowhere)
        for number in range(11):
            await client.decide(str(number), "bash", MAKE)
        verdict = await client.decide("waits", "bash", MAKE)
        assert verdict.decision == "deny"
        assert "ended before it answered" in verdict.reason
        with pytest.warns(BreakerUnreachableWarning):
            assert (await client.decide("later", "bash", MAKE)).decision == "allow"


def test_every_connection_of_an_engine_that_restarted_is_made_anew(nowhere: Path) -> None:
    client = Client("a", socket=nowhere)
    with Host(socket=nowhere) as host:
        operator = host.operator()
        for number in range(11):
            client.decide(str(number), "bash", MAKE)
        waiting = [threading.Thread(target=client.decide, args=(f"w{number}", "bash", MAKE)) for number in range(6)]
        for thread in waiting:
            thread.start()
        until(lambda: host.call(lambda desk: len(desk.snapshot().waiting)) == 6)
        operator.answer(host.call(lambda desk: desk.breaker.asks())[0].id, "rejected")
        for thread in waiting:
            thread.join()
        operator.close()
    with Host(socket=nowhere):
        assert {client.decide(f"n{number}", "t", {"n": number}).decision for number in range(5)} == {"allow"}
        assert client.status().agents[0].calls == 5


def test_an_engine_that_takes_the_connection_and_says_nothing_lets_no_call_through(
    nowhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.client.HANDSHAKE_SECONDS", 0.2)
    monkeypatch.setattr("engine.async_client.HANDSHAKE_SECONDS", 0.2)
    with socket.socket(socket.AF_UNIX) as hung:
        hung.bind(str(nowhere))
        hung.listen(8)
        for verdict in (
            Client("a", socket=nowhere).decide("c", "t", {}),
            asyncio.run(AsyncClient("a", socket=nowhere).decide("c", "t", {})),
        ):
            assert verdict.decision == "deny"
            assert "does not answer" in verdict.reason


@pytest.mark.parametrize("seconds", [0.0, -1.0])
def test_no_time_to_wait_is_too_late_at_once(engine: tuple[Host, Path], seconds: float) -> None:
    verdict = Client("a", socket=engine[1], timeout=seconds).decide("c", "t", {})
    assert verdict.outcome == "timed_out"
    assert asyncio.run(AsyncClient("a", socket=engine[1], timeout=seconds).decide("c", "t", {})).outcome == "timed_out"


def test_the_blocking_client_costs_no_asyncio() -> None:
    script = "import sys, engine.client; sys.exit('asyncio' in sys.modules or 'platformdirs' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=False).returncode == 0


# -- guarded functions ----------------------------------------------------------------------------------------


def test_a_guarded_function_runs_until_it_repeats_itself(engine: tuple[Host, Path]) -> None:
    breaker = Client("a", socket=engine[1])
    ran: list[str] = []

    @breaker.guard
    def fetch(url: str, retries: int = 3, **headers: str) -> str:
        """Get a page."""
        ran.append(url)
        return "the page"

    assert (fetch.__name__, fetch.__doc__) == ("fetch", "Get a page.")
    returned = [fetch("https://example.org/a"), *(fetch(url="https://example.org/a", retries=3) for _ in range(10))]
    assert [text for text in returned if text != "the page"] == [returned[6], returned[10]]
    assert returned[6].startswith("the page\n\nCONVERGENCE_CHECK")
    with pytest.raises(CallRefusedError, match="REPEAT_TOOL_BLOCKED") as refused:
        fetch("https://example.org/a")
    assert refused.value.verdict.outcome == "unattended"
    assert len(ran) == 11
    with pytest.raises(TypeError):
        fetch()  # type: ignore[call-arg] - that is the point


async def test_a_guarded_coroutine_function_does_the_same(engine: tuple[Host, Path]) -> None:
    breaker = Client("a", socket=engine[1])

    @breaker.guard(tool="web", refused="return")
    async def fetch(url: str) -> str:
        return "the page"

    returned = [await fetch("https://example.org/a") for _ in range(12)]
    assert returned[0] == "the page"
    assert returned[11].startswith("REPEAT_TOOL_BLOCKED: this web call")
    with pytest.raises(TypeError, match="no coroutine function"):
        AsyncClient("a", socket=engine[1]).guard(lambda: None)
    await breaker.asynchronous().close()


def test_a_guarded_method_is_counted_without_its_object(engine: tuple[Host, Path]) -> None:
    breaker = Client("a", socket=engine[1])

    class Tools:
        @breaker.guard(refused="return")
        def read(self, path: str) -> str:
            return path

    assert [Tools().read("x") for _ in range(12)][11].startswith("REPEAT_TOOL_BLOCKED")


def test_what_a_tool_raises_is_a_failure_and_is_raised(engine: tuple[Host, Path]) -> None:
    breaker = Client("a", socket=engine[1])

    @breaker.guard
    def broken(n: int) -> None:
        raise ValueError(f"no {n}")

    for _ in range(5):
        with pytest.raises(ValueError, match="no 1"):
            broken(1)
    with pytest.raises(CallRefusedError, match="failed"):
        broken(1)


def test_a_call_is_guarded_as_a_block(engine: tuple[Host, Path]) -> None:
    breaker = Client("a", socket=engine[1])
    for _ in range(3):
        with breaker.call("bash", MAKE) as call:
            call.returned(subprocess.run(["false"], check=False))
    assert call.settlement.failure is not None
    assert call.advice.startswith("CONVERGENCE_CHECK")
    with warnings.catch_warnings(), pytest.raises(KeyboardInterrupt), breaker.call("bash", MAKE):
        raise KeyboardInterrupt


class Response:
    status_code = 503
    text = "unavailable"


class Unreadable:
    def __str__(self) -> str:
        raise RuntimeError("no")


@pytest.mark.parametrize(
    ("returned", "value", "text"),
    [
        ("text", {}, "text"),
        (None, {}, ""),
        (b"by\xfftes", {}, "by\ufffdtes"),
        (42, {}, "42"),
        ({"exitCode": 3, "log": ["x"]}, {"exitCode": 3}, "{'exitCode': 3, 'log': ['x']}"),
        (subprocess.CompletedProcess("x", 2, b"out", b"err"), {"exitCode": 2}, "out\nerr"),
        (Response(), {"statusCode": 503}, "unavailable"),
        (Unreadable(), {}, "<Unreadable that cannot be shown: RuntimeError>"),
    ],
    ids=lambda one: type(one).__name__,
)
def test_what_a_tool_returns_is_read(returned: object, value: object, text: str) -> None:
    result = result_from(returned)
    assert (result["isError"], result["value"]) == (False, value)
    assert [block["text"] for block in result["content"]] == ([text] if text else [])


def test_a_result_is_taken_as_it_is_and_a_long_text_keeps_its_ends() -> None:
    ready = {"isError": True, "content": "no"}
    assert result_from(ready) == ready
    (block,) = result_from("a" * TEXT_SENT + "exit code: 3")["content"]
    assert block["text"].endswith("exit code: 3")
    assert len(block["text"]) < TEXT_SENT + 100


def test_an_interrupt_is_no_failure() -> None:
    refused = CallRefusedError(
        structs.replace(Client("a", socket=Path("/x"), on_unreachable="deny").decide("c", "t", {}))
    )
    for raised in (KeyboardInterrupt(), asyncio.CancelledError(), refused):
        assert result_raised(raised)["error"]["code"] == "ABORTED"
    assert result_raised(subprocess.TimeoutExpired("x", 3))["value"] == {"timedOut": True}
    assert result_raised(subprocess.CalledProcessError(4, "x"))["value"] == {"exitCode": 4}
    assert DEFAULTS.fail_warn_at == 3
