"""The real clients, each with hooks that ``breaker install`` wrote, an engine, an operator, and a scripted model.

What really ran is what a command has written to a file; what the model was told is what the client has sent to it.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from engine.events import AgentStarted, AskClosed, AskOpened, CallSeen, CallSettled, TurnStarted
from engine.harnesses.endpoint import Endpoint
from engine.hook import NO_ANSWER
from engine.host import Host
from engine.operator import Answer, Operator
from tests.clients.bridged import BRIDGED
from tests.clients.clients import CLIENTS, ClaudeCode, Client, Home, Session, until
from tests.clients.model import Model, Step
from tests.engine.sockets import BREAKER, ROOT

pytestmark = pytest.mark.clients

SAME = "echo ran >> ran.txt"
FAILING = "echo ran >> ran.txt; exit 3"
REFUSED = "REPEAT_TOOL_BLOCKED"
ADVISED = "CONVERGENCE_CHECK"


class Scene:
    """One client in one home, guarded by one engine that reports to ``events``."""

    def __init__(self, client: Client, home: Home, model: Model, host: Host | None, events: list[Any]) -> None:
        self.client = client
        self.home = home
        self.model = model
        self.host = host
        self.events = events

    def of(self, kind: type[Any]) -> list[Any]:
        """The events of this kind."""
        return [event for event in tuple(self.events) if isinstance(event, kind)]

    def session(self) -> Session:
        return self.client.session(self.home, self.model)

    @property
    def ran(self) -> int:
        """How often the command has really run."""
        try:
            return len((self.home.project / "ran.txt").read_text().splitlines())
        except FileNotFoundError:
            return 0

    def told(self, text: str, word: str = "WORK") -> list[int]:
        """Before which of its turns the model was told this."""
        bodies = (json.dumps(body, ensure_ascii=False) for body in self.model.turns(word))
        return [turn for turn, body in enumerate(bodies) if text in body]


@pytest.fixture(params=(*CLIENTS, *BRIDGED), ids=lambda client: client.harness)
def client(request: pytest.FixtureRequest) -> Client:
    chosen: Client = request.param
    if not chosen.program.exists():
        pytest.fail(f"{chosen.harness} is not installed in {chosen.program}. Run: make test-clients")
    return chosen


@pytest.fixture
def root() -> Iterator[Path]:
    """A home with a short path, for the sockets in it."""
    directory = Path(tempfile.mkdtemp(prefix="rtb-", dir="/tmp"))
    yield directory
    shutil.rmtree(directory, ignore_errors=True)


@contextlib.contextmanager
def scene(
    client: Client, root: Path, scripts: dict[str, Sequence[Step]], *options: str, operator: Answer | None = None
) -> Iterator[Scene]:
    """A client whose hooks are installed, and an engine in this process. ``operator`` answers whatever is asked."""
    events: list[Any] = []
    home = Home(root)
    with Model(scripts) as model:
        client.prepare(home, model)
        breaker(home, "install", client.harness, "--socket", str(root / "e.sock"), *options)
        client.approve(home)
        engine = Host(socket=root / "e.sock", listeners=[events.append], http=endpoint_in(home))
        with engine as host, attended(host, operator):
            yield Scene(client, home, model, host, events)


@contextlib.contextmanager
def attended(host: Host, answer: Answer | None) -> Iterator[None]:
    if answer is None:
        yield
        return
    with contextlib.closing(host.operator()) as operator:
        gone = threading.Event()
        answering = threading.Thread(target=_answer, args=(operator, answer, gone))
        answering.start()
        yield
        gone.set()
        answering.join()


def _answer(operator: Operator, answer: Answer, gone: threading.Event) -> None:
    with contextlib.closing(operator.subscribe()) as feed:
        while not gone.wait(0.01):
            for event in feed.drain():
                if isinstance(event, AskOpened):
                    operator.answer(event.ask.id, answer, "a note from the operator")


def breaker(home: Home, *arguments: str) -> str:
    """Run ``breaker`` in this home's project; it must succeed."""
    done = subprocess.run(
        [*BREAKER, *arguments],
        cwd=home.project,
        env=home.environment(PYTHONPATH=str(ROOT)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def endpoint_in(home: Home) -> Endpoint | None:
    """Where hooks over HTTP were installed to."""
    for file in home.root.rglob("http-hook.json"):
        return Endpoint(**json.loads(file.read_text()))
    return None


def again(client: Client, command: str, times: int, first: int = 0) -> list[Step]:
    """A model that runs the same command over and over."""
    return [Step(client.shell(command, number)) for number in range(first, first + times)]


# -- the gate ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("answer", ["approved", "rejected", None])
def test_fourteen_times_the_same(client: Client, root: Path, answer: Answer | None) -> None:
    with scene(client, root, {"WORK": again(client, SAME, 14)}, operator=answer) as found:
        with found.session() as session:
            session.tell("WORK")
        check_fourteen(found, answer)


@pytest.mark.parametrize("client", [ClaudeCode()], indirect=True, ids=["claude-code"])
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


def test_a_sub_agent_has_its_own_count(client: Client, root: Path) -> None:
    delegation = client.delegate("PART")
    if delegation is None:
        pytest.skip(f"{client.harness} does not tell its sub-agents apart")
    scripts = {"WORK": [*again(client, SAME, 11), Step(delegation)], "PART": again(client, SAME, 11, 20)}
    with scene(client, root, scripts) as found, found.session() as session:
        session.write("WORK, please")
        until(lambda: found.model.ended("PART"), "the sub-agent comes to its end")
        assert found.ran == 22
        main, sub = (one for one in found.of(AgentStarted) if one.parent or one.agent)
        assert (sub.parent, sub.harness) == (main.agent, client.harness)
        assert found.told(ADVISED, "PART")[:1] == [7]


def test_an_interrupt_withdraws_the_ask(client: Client, root: Path) -> None:
    scripts = {"WORK": again(client, SAME, 13)}
    with scene(client, root, scripts) as found, found.session() as session:
        assert found.host
        with contextlib.closing(found.host.operator()):
            session.write("WORK, please")
            until(lambda: found.of(AskOpened), "the operator is asked")
            session.interrupt()
            (closed,) = until(lambda: found.of(AskClosed), "the ask is withdrawn")
            assert closed.outcome == "cancelled"
        assert found.ran == 11


ATTENDED = """
import sys, time
from pathlib import Path
from engine.events import AskOpened
from engine.host import Host

def tell(event):
    if isinstance(event, AskOpened):
        print("asked", flush=True)

with Host(socket=Path(sys.argv[1]), listeners=[tell]) as host:
    operator = host.operator()
    print("ready", flush=True)
    time.sleep(3600)
"""


def test_an_engine_killed_while_a_call_waits(client: Client, root: Path) -> None:
    home = Home(root)
    command = [sys.executable, "-c", ATTENDED, str(root / "e.sock")]
    with Model({"WORK": again(client, SAME, 12)}) as model:
        client.prepare(home, model)
        breaker(home, "install", client.harness, "--socket", str(root / "e.sock"))
        client.approve(home)
        found = Scene(client, home, model, None, [])
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as engine:
            try:
                assert engine.stdout
                assert engine.stdout.readline() == "ready\n"
                with found.session() as session:
                    session.write("WORK, please")
                    assert engine.stdout.readline() == "asked\n"
                    engine.kill()
                    until(lambda: model.ended("WORK"), "the model comes to its end")
            finally:
                engine.kill()
        assert found.ran == 11
        assert found.told(NO_ANSWER)[:1] == [12]


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
