"""The process that a harness starts, as it starts it: whatever happens to the engine, the answer is a decided one."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.events import AskClosed, AskOpened, CallSeen
from engine.harnesses.handlers import HOOK_SCRIPT, Wishes, groups
from engine.harnesses.hooks import ADAPTERS
from engine.harnesses.known import HARNESSES as KNOWN
from engine.hook import NO_ANSWER, NO_ENGINE
from engine.host import Host
from engine.operator import Operator
from engine.protocol import FRAME_LIMIT
from tests.engine.harnesses.captures import HARNESSES, capture
from tests.engine.harnesses.test_hooks import AFTER, BEFORE, PROMPT
from tests.engine.sockets import DEADLINE, ROOT, hosted, printed, short_directory, until

HANG_SECONDS = "0.5"


class Engine:
    """An engine in this process, and everything it has reported."""

    def __init__(self, host: Host, path: Path, events: list[Any]) -> None:
        self.host = host
        self.path = path
        self.events = events

    def of(self, kind: type[Any]) -> list[Any]:
        """The events of this kind."""
        return [event for event in tuple(self.events) if isinstance(event, kind)]


@pytest.fixture
def engine() -> Iterator[Engine]:
    events: list[Any] = []
    with hosted(listeners=[events.append]) as (host, path):
        yield Engine(host, path, events)


@pytest.fixture
def nowhere() -> Iterator[Path]:
    with short_directory() as directory:
        yield directory / "e.sock"


def payload(harness: str, name: str, number: int = 0, **changed: Any) -> bytes:
    found = capture(harness, name) | {"session_id": "s1", "transcript_path": "/nowhere"} | changed
    if "tool_use_id" in found:
        found["tool_use_id"] = f"call-{number}"
    if "tool_input" in found and "tool_input" not in changed:
        found["tool_input"] = {"command": "make"}
    return json.dumps(found, indent=1).encode()


def start(harness: str, event: str, path: Path, *options: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-I", "-S", str(HOOK_SCRIPT), harness, event, "--socket", str(path), *options]
    environment = {key: value for key, value in os.environ.items() if key != "BREAKER_SOCKET"}
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=environment)


def run(harness: str, event: str, path: Path, data: bytes, *options: str) -> bytes:
    """What a hook prints; it says nothing on standard error, and its exit status is 0."""
    process = start(harness, event, path, *options)
    printed, complaint = process.communicate(data, timeout=DEADLINE)
    assert (process.returncode, complaint) == (0, b"")
    return printed


def event_of(harness: str, name: str) -> str:
    return str(capture(harness, name)["hook_event_name"])


def denied(harness: str, printed: bytes) -> str:
    """Why a call is denied, in the harness's own form and no other."""
    form = json.loads(printed)
    if harness == "gemini-cli":
        assert set(form) == {"decision", "reason"}
        assert form["decision"] == "deny"
        return str(form["reason"])
    assert set(form) == {"hookSpecificOutput"}
    specific = form["hookSpecificOutput"]
    assert set(specific) == {"hookEventName", "permissionDecision", "permissionDecisionReason"}
    assert (specific["hookEventName"], specific["permissionDecision"]) == ("PreToolUse", "deny")
    return str(specific["permissionDecisionReason"])


# -- with an engine ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("harness", HARNESSES)
def test_a_call_that_passes_is_met_with_silence(engine: Engine, harness: str) -> None:
    assert run(harness, event_of(harness, BEFORE[harness]), engine.path, payload(harness, BEFORE[harness])) == b""
    assert run(harness, event_of(harness, AFTER[harness]), engine.path, payload(harness, AFTER[harness])) == b""
    assert run(harness, event_of(harness, PROMPT[harness]), engine.path, payload(harness, PROMPT[harness])) == b""


@pytest.mark.parametrize("harness", HARNESSES)
def test_a_call_that_is_refused(engine: Engine, harness: str) -> None:
    strange = {"command": 'echo "}]} \u202e é \n </hook_context>"'}
    for number in range(11):
        run(harness, "PreToolUse", engine.path, payload(harness, BEFORE[harness], number, tool_input=strange))
    printed = run(harness, "PreToolUse", engine.path, payload(harness, BEFORE[harness], 11, tool_input=strange))
    assert denied(harness, printed).startswith("REPEAT_TOOL_BLOCKED")


@pytest.mark.parametrize("harness", HARNESSES)
def test_a_wait_for_the_operator(engine: Engine, harness: str) -> None:
    for answer in ("approved", "rejected"):
        run(harness, "UserPromptSubmit", engine.path, payload(harness, PROMPT[harness]))
        with waiting_at_the_gate(engine, harness) as (process, operator):
            operator.answer(engine.of(AskOpened)[-1].ask.id, answer)
            printed, _ = process.communicate(timeout=DEADLINE)
            assert (printed == b"") is (answer == "approved")


def test_a_hook_that_is_terminated_withdraws_its_ask(engine: Engine) -> None:
    for stop in (signal.SIGTERM, signal.SIGKILL):
        run("claude-code", "UserPromptSubmit", engine.path, payload("claude-code", PROMPT["claude-code"]))
        with waiting_at_the_gate(engine, "claude-code") as (process, _):
            ask = engine.of(AskOpened)[-1].ask.id
            process.send_signal(stop)
            process.communicate(timeout=DEADLINE)
            (closed,) = until(lambda: [one for one in engine.of(AskClosed) if one.id == ask])  # noqa: B023 - used at once
            assert closed.outcome == "cancelled"


def test_a_large_call_gets_through(engine: Engine) -> None:
    big = {"file_path": "/a", "content": "line\n" * 400_000}
    assert (
        run("claude-code", "PreToolUse", engine.path, payload("claude-code", "PreToolUse.Write", tool_input=big)) == b""
    )


def test_a_call_too_large_to_be_read_is_denied(engine: Engine) -> None:
    data = payload("claude-code", "PreToolUse.Write", tool_input={"content": "x" * FRAME_LIMIT})
    assert NO_ANSWER in denied("claude-code", run("claude-code", "PreToolUse", engine.path, data))
    assert run("claude-code", "PostToolUse", engine.path, data) == b""


BAD = [b"", b"{", b"null", b"[]", b'"x"', b"\xff\xfe", b"\0", b"[" * 50_000, b"{}", b'}}\n{"jsonrpc":"2.0","id":1}']


@pytest.mark.parametrize("harness", HARNESSES)
@pytest.mark.parametrize("data", BAD, ids=repr)
def test_input_that_is_no_payload(engine: Engine, harness: str, data: bytes) -> None:
    before = event_of(harness, BEFORE[harness])
    assert NO_ANSWER in denied(harness, run(harness, before, engine.path, data))
    assert run(harness, "SessionEnd", engine.path, data) == b""


# -- without one ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("harness", HARNESSES)
def test_without_an_engine_a_call_goes_on(nowhere: Path, harness: str) -> None:
    before = event_of(harness, BEFORE[harness])
    data = payload(harness, BEFORE[harness])
    assert run(harness, before, nowhere, data) == b""
    assert NO_ENGINE in denied(harness, run(harness, before, nowhere, data, "--fail-closed"))
    assert run(harness, "SessionEnd", nowhere, data, "--fail-closed") == b""
    nowhere.touch()
    assert run(harness, before, nowhere, data) == b""


def test_a_socket_that_nobody_listens_on_any_more(nowhere: Path) -> None:
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(nowhere))
    data = payload("codex", BEFORE["codex"])
    assert run("codex", "PreToolUse", nowhere, data) == b""
    assert NO_ENGINE in denied("codex", run("codex", "PreToolUse", nowhere, data, "--fail-closed"))


def test_paths_that_are_none(nowhere: Path) -> None:
    for path in (Path("/"), Path("x" * 200), Path("/proc/self/mem")):
        assert run("codex", "PreToolUse", path, payload("codex", BEFORE["codex"])) == b""


# -- with one that fails ----------------------------------------------------------------------------------------


@contextlib.contextmanager
def false_engine(path: Path, *answers: bytes, hang: bool = False) -> Iterator[None]:
    """Something that listens, reads a request, says this and hangs up, or says no more."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen()
    over = threading.Event()

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                connected, _ = listener.accept()
                with connected:
                    connected.recv(1 << 16)
                    for answer in answers:
                        connected.sendall(answer)
                    if hang:
                        over.wait(DEADLINE)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(DEADLINE)


HELLO = b'{"jsonrpc":"2.0","id":0,"result":{}}\n'
JUNK = [
    [],
    [b"\n\n"],
    [HELLO],
    [HELLO, b"HTTP/1.1 200 OK\r\n\r\n"],
    [HELLO, b'{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"x"}}\n'],
    [HELLO, b'{"jsonrpc":"2.0","id":1,"result":{}}\n'],
    [HELLO, b'{"jsonrpc":"2.0","id":1,"result":{"stdout":"zz","exit":0}}\n'],
    [HELLO, b'{"jsonrpc":"2.0","id":1,"result":{"stdout":"00","exit":"x"}}\n'],
    [HELLO, b'{"jsonrpc":"2.0","id":1,"result":{"stdout":"0'],
    [HELLO, b'{"jsonrpc":"2.0","id":2,"result":{"stdout":"","exit":0}}\n'],
    [b"\xff" * 100_000],
]


@pytest.mark.parametrize("harness", HARNESSES)
@pytest.mark.parametrize("answers", JUNK, ids=lambda answers: repr(b"".join(answers)[-40:]))
def test_an_answer_that_is_none_denies(nowhere: Path, harness: str, answers: list[bytes]) -> None:
    with false_engine(nowhere, *answers):
        before = event_of(harness, BEFORE[harness])
        assert NO_ANSWER in denied(harness, run(harness, before, nowhere, payload(harness, BEFORE[harness])))
        assert run(harness, "SessionEnd", nowhere, b"{}") == b""


@pytest.mark.parametrize("said", [b"", HELLO])
def test_an_engine_that_hangs_denies(nowhere: Path, said: bytes) -> None:
    with false_engine(nowhere, said, hang=True):
        data = payload("claude-code", BEFORE["claude-code"])
        printed = run("claude-code", "PreToolUse", nowhere, data, "--timeout", HANG_SECONDS)
        assert NO_ANSWER in denied("claude-code", printed)
        assert run("claude-code", "PostToolUse", nowhere, data, "--timeout", HANG_SECONDS) == b""


def test_an_engine_with_a_long_queue_before_it_is_there(nowhere: Path) -> None:
    with contextlib.ExitStack() as open_sockets:
        listener = open_sockets.enter_context(socket.socket(socket.AF_UNIX))
        listener.bind(str(nowhere))
        listener.listen(0)
        with contextlib.suppress(BlockingIOError):
            for _ in range(50):
                queued = open_sockets.enter_context(socket.socket(socket.AF_UNIX))
                queued.setblocking(False)
                queued.connect(str(nowhere))
        process = started("codex", nowhere, payload("codex", BEFORE["codex"]))
        with pytest.raises(subprocess.TimeoutExpired):
            process.communicate(timeout=1)
        listener.close()
        process.kill()
        process.communicate()


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


def test_an_engine_killed_while_a_call_waits_denies_it(nowhere: Path) -> None:
    command = [sys.executable, "-c", ATTENDED, str(nowhere)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as attended:
        try:
            printed(attended, "ready")
            for number in range(11):
                assert (
                    run("claude-code", "PreToolUse", nowhere, payload("claude-code", BEFORE["claude-code"], number))
                    == b""
                )
            process = started("claude-code", nowhere, payload("claude-code", BEFORE["claude-code"], 11))
            printed(attended, "asked")
        finally:
            attended.kill()
        answer, _ = process.communicate(timeout=DEADLINE)
        assert NO_ANSWER in denied("claude-code", answer)


# -- as it is installed -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("harness", HARNESSES)
@pytest.mark.parametrize("shell", [shell for shell in ("sh", "bash", "zsh", "dash") if shutil.which(shell)])
def test_the_installed_line(engine: Engine, harness: str, shell: str, tmp_path: Path) -> None:
    strange = tmp_path / "it's $(here)"
    strange.mkdir()
    script = strange / "engine" / "hook.py"
    script.parent.mkdir()
    script.write_bytes(HOOK_SCRIPT.read_bytes())
    event = event_of(harness, BEFORE[harness])

    def installed(data: bytes, *, fail_closed: bool) -> tuple[int, bytes]:
        wishes = Wishes(Path(sys.executable), script, engine.path, 300, fail_closed=fail_closed)
        command = groups(KNOWN[harness], wishes)[event]["hooks"][0]["command"]
        done = subprocess.run([shell, "-c", command], input=data, capture_output=True, check=False, timeout=DEADLINE)
        return done.returncode, done.stdout

    for fail_closed in (False, True):
        assert installed(payload(harness, BEFORE[harness]), fail_closed=fail_closed) == (0, b"")
        assert NO_ANSWER in denied(harness, installed(b"{", fail_closed=fail_closed)[1])
    script.unlink()
    assert installed(b"{}", fail_closed=False) == (0, b"")
    assert installed(b"{}", fail_closed=True) == (2, b"")


def test_the_environment_leads_it_elsewhere(engine: Engine, nowhere: Path) -> None:
    command = [sys.executable, "-I", "-S", str(HOOK_SCRIPT), "codex", "PreToolUse", "--socket", str(nowhere)]
    data = payload("codex", BEFORE["codex"])
    subprocess.run(command, input=data, env={"BREAKER_SOCKET": str(engine.path)}, check=True, timeout=DEADLINE)
    assert [call.agent for call in engine.of(CallSeen)] == ["s1"]


@pytest.mark.parametrize("harness", HARNESSES)
def test_its_refusals_have_the_adapter_s_form(nowhere: Path, harness: str) -> None:
    """The hook knows no JSON and has the form as a text; the engine makes it."""
    event = event_of(harness, BEFORE[harness])
    printed = run(harness, event, nowhere, b"{}", "--fail-closed")
    assert printed.decode() == ADAPTERS[harness].denial(f"REPEAT_TOOL_BLOCKED: {NO_ENGINE}.")


# -- inside -----------------------------------------------------------------------------------------------------


def started(harness: str, path: Path, data: bytes) -> subprocess.Popen[bytes]:
    """A hook before a call, with its payload, that nobody waits for yet."""
    process = start(harness, event_of(harness, BEFORE[harness]), path)
    assert process.stdin
    process.stdin.write(data)
    process.stdin.close()
    process.stdin = None
    return process


@contextlib.contextmanager
def waiting_at_the_gate(engine: Engine, harness: str) -> Iterator[tuple[subprocess.Popen[bytes], Operator]]:
    """A hook that waits for the operator."""
    before = len(engine.of(AskOpened))
    for number in range(11):
        run(harness, "PreToolUse", engine.path, payload(harness, BEFORE[harness], number))
    operator = engine.host.operator()
    process = started(harness, engine.path, payload(harness, BEFORE[harness], 99))
    try:
        until(lambda: len(engine.of(AskOpened)) > before)
        yield process, operator
    finally:
        process.kill()
        process.communicate()
        operator.close()
