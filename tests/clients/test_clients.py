"""The real clients, guarded: what every one of them must do, and what only one of them can."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.events import AgentStarted, AskClosed, AskOpened, CallSeen, CallSettled, TurnStarted
from engine.hook import NO_ANSWER
from engine.operator import Answer
from tests.clients.hooked import ClaudeCode
from tests.clients.model import Model, Step
from tests.clients.scenes import ADVISED, FAILING, REFUSED, SAME, Scene, again, breaker, scene, without_engine
from tests.clients.sessions import Client, Home, until
from tests.engine.sockets import ROOT

pytestmark = pytest.mark.clients

only_claude_code = pytest.mark.parametrize("client", [ClaudeCode()], indirect=True, ids=["claude-code"])

# -- the gate ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("answer", ["approved", "rejected", None])
def test_fourteen_times_the_same(client: Client, root: Path, answer: Answer | None) -> None:
    with scene(client, root, {"WORK": again(client, SAME, 14)}, operator=answer) as found:
        with found.session() as session:
            session.tell("WORK")
        check_fourteen(found, answer)


@only_claude_code
def test_fourteen_times_the_same_over_http(client: Client, root: Path) -> None:
    with scene(client, root, {"WORK": again(client, SAME, 14)}, "--http", operator="rejected") as found:
        with found.session() as session:
            session.tell("WORK")
        check_fourteen(found, "rejected")
        assert "hook.py" not in (found.home.project / ".claude" / "settings.local.json").read_text()


def check_fourteen(found: Scene, answer: Answer | None) -> None:
    """Eleven ran, advice came after the seventh and the eleventh, and the twelfth was asked about."""
    calls = found.of(CallSeen)
    assert len(calls) == 14
    assert {call.agent for call in calls} == {calls[0].agent}
    assert found.ran == (14 if answer == "approved" else 11)
    asks = found.of(AskOpened)
    assert [ask.ask.call for ask in asks] == ([calls[11].id] if answer else [])
    assert found.told(ADVISED)[:1] == [7]
    assert found.told("write a short summary")[:1] == [11]
    advised = [len(event.advisories) for event in found.of(CallSettled)]
    assert advised[:11] == [0] * 6 + [1] + [0] * 3 + [1]
    assert found.told(REFUSED)[:1] == ([] if answer == "approved" else [12])
    assert bool(found.told("a note from the operator")) is (answer == "rejected")


# -- the rest ---------------------------------------------------------------------------------------------------


def test_a_failing_command_is_refused_from_its_sixth_call(client: Client, root: Path) -> None:
    with scene(client, root, {"WORK": again(client, FAILING, 8)}) as found:
        with found.session() as session:
            session.tell("WORK")
        assert found.ran == 5
        assert {event.failure.detail for event in found.of(CallSettled)} == {"3"}
        assert found.told(ADVISED)[:1] == [3]
        assert found.told(REFUSED)[:1] == [6]


def test_a_new_human_message_clears_it(client: Client, root: Path) -> None:
    scripts = {"WORK": again(client, SAME, 13), "MORE": again(client, SAME, 3)}
    with scene(client, root, scripts) as found, found.session() as session:
        session.tell("WORK")
        assert found.ran == 11
        session.tell("MORE")
        assert found.ran == 14
        assert len(found.of(TurnStarted)) == 2
        assert len({call.agent for call in found.of(CallSeen)}) == 1


def test_a_sub_agent_is_counted_as_the_readme_says(client: Client, root: Path) -> None:
    scripts = {"WORK": [*again(client, SAME, 11), Step(client.delegate("PART"))], "PART": again(client, SAME, 11, 20)}
    with scene(client, root, scripts) as found, found.session() as session:
        session.write("WORK, please")
        session.until(lambda: found.model.ended("PART"), "the sub-agent comes to its end")
        if not client.apart:  # its hooks tell nothing by which the two could be told apart: one count for both
            assert found.ran == 11
            assert len({call.agent for call in found.of(CallSeen)}) == 1
            return
        assert found.ran == 22
        main, sub = (one for one in found.of(AgentStarted) if one.parent or one.agent)
        assert (sub.parent, sub.harness) == (main.agent, client.harness)
        assert found.told(ADVISED, "PART")[:1] == [7]


def test_an_interrupt_withdraws_the_ask(client: Client, root: Path) -> None:
    check_interrupt(client, root)


def check_interrupt(client: Client, root: Path, *options: str) -> None:
    """The ask is withdrawn, its call never runs, and the session goes on where an interrupt does not end it."""
    scripts = {"WORK": again(client, SAME, 13), "MORE": again(client, SAME, 1)}
    with scene(client, root, scripts, *options) as found, found.session() as session:
        assert found.host
        with contextlib.closing(found.host.operator()):
            session.write("WORK, please")
            session.until(lambda: found.of(AskOpened), "the operator is asked")
            session.interrupt()
            (closed,) = until(lambda: found.of(AskClosed), "the ask is withdrawn")
            assert closed.outcome == "cancelled"
            assert found.ran == 11
            if not session.interrupt_ends_it:
                session.tell("MORE")
                assert found.ran == 12


ATTENDED = """
import sys, time
from pathlib import Path
from engine.events import AskOpened
from engine.host import Host
from tests.clients.scenes import endpoint_in

home = Path(sys.argv[1])

def tell(event):
    if isinstance(event, AskOpened):
        (home / "asked").touch()

with Host(socket=home / "e.sock", listeners=[tell], http=endpoint_in(home)) as host:
    operator = host.operator()
    (home / "ready").touch()
    time.sleep(3600)
"""


@contextlib.contextmanager
def engine_of_its_own(root: Path) -> Iterator[subprocess.Popen[bytes]]:
    """An attended engine that can be killed. Who is asked something there finds ``asked`` in the home."""
    with subprocess.Popen([sys.executable, "-c", ATTENDED, str(root)], cwd=ROOT) as engine:
        try:
            until((root / "ready").exists, "the engine is there")
            yield engine
        finally:
            engine.kill()


@pytest.mark.parametrize("options", [(), ("--fail-closed",)], ids=["open", "closed"])
def test_an_engine_killed_while_a_call_waits(client: Client, root: Path, options: tuple[str, ...]) -> None:
    with without_engine(client, root, 12, *options) as found, engine_of_its_own(root) as engine:
        with found.session() as session:
            session.write("WORK, please")
            session.until((root / "asked").exists, "the operator is asked")
            engine.kill()
            session.until(lambda: found.model.ended("WORK"), "the model comes to its end")
        assert found.ran == 11
        assert found.told(NO_ANSWER)[:1] == [12]


@only_claude_code
def test_an_engine_killed_while_a_call_waits_over_http(client: Client, root: Path) -> None:
    with without_engine(client, root, 13, "--http") as found, engine_of_its_own(root) as engine:
        with found.session() as session:
            session.write("WORK, please")
            session.until((root / "asked").exists, "the operator is asked")
            engine.kill()
            session.until(lambda: found.model.ended("WORK"), "the model comes to its end")
        assert found.ran == 11
        assert found.told("blocking because onFailure is")[:1] == [12]


@only_claude_code
def test_an_interrupt_withdraws_the_ask_over_http(client: Client, root: Path) -> None:
    check_interrupt(client, root, "--http")


@pytest.mark.parametrize(("options", "ran"), [((), 2), (("--fail-closed",), 0)], ids=["open", "closed"])
def test_no_engine(client: Client, root: Path, options: tuple[str, ...], ran: int) -> None:
    with without_engine(client, root, 2, *options) as found, found.session() as session:
        session.tell("WORK")
        assert found.ran == ran
        assert found.told(REFUSED) == ([] if ran else [1, 2])


def test_the_doctor_finds_it_well(client: Client, root: Path) -> None:
    with scene(client, root, {}) as found:
        report = json.loads(breaker(found.home, "doctor", "--json", "--socket", str(root / "e.sock")))
        (one,) = [one for one in report["harnesses"] if one["installed"]]
        assert one["harness"] == client.harness
        assert one["milliseconds"] > 0


def test_uninstalling_leaves_nothing(client: Client, root: Path) -> None:
    home = Home(root)
    with Model({"WORK": again(client, SAME, 14)}) as model:
        client.prepare(home, model)
        before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
        breaker(home, "install", client.harness, "--socket", str(root / "e.sock"))
        breaker(home, "uninstall", client.harness)
        assert {path: path.read_bytes() for path in root.rglob("*") if path.is_file()} == before
        found = Scene(client, home, model, None, [])
        with found.session() as session:
            session.tell("WORK")
        assert found.ran == 14
