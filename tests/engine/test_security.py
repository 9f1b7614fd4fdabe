"""The engine as an attacker of the same user finds it, who reads every file, listens, replays, guesses and squats."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.host import Host
from engine.operator_client import AttachError, RemoteOperator, connect
from engine.paths import operator_socket_path
from engine.protocol import ErrorCode
from engine.service.connection import AgentConnection
from engine.service.operator_connection import STRANGERS_KEPT, OperatorConnection
from engine.service.proof import ALPHABET, SealBrokenError, Seals, new_nonce, new_token, prove, typed_token
from tests.console.terminal import Terminal
from tests.engine.sockets import (
    BREAKER,
    DEADLINE,
    ROOT,
    Wire,
    frame,
    gate_open,
    hosted,
    printed,
    served,
    short_directory,
    until,
)

only_linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows whether a process is closed")
TOKEN = re.compile(r"\b(?:[a-z0-9]{4}-){5}[a-z0-9]{4}\b")


class Attacked:
    """An engine with an operators' socket and an open ask that nobody but its operator may answer."""

    def __init__(self, host: Host, path: Path, tokens: list[str], wire: Wire) -> None:
        self.host, self.path, self.tokens, self.wire = host, path, tokens, wire
        self.operators = operator_socket_path(path)
        gate_open(wire)

    def attach(self) -> RemoteOperator:
        return connect(self.operators, self.tokens[-1])

    def ask(self) -> str:
        """Make a call that asks; the ask's id. Needs an operator."""
        self.wire.send("call/decide", id="asks", tool="bash", args={"command": "make"})
        until(self.asks)
        return self.asks()[0]

    def asks(self) -> list[str]:
        return [ask.id for ask in self.host.call(lambda desk: desk.breaker.asks())]


@pytest.fixture
def attacked() -> Iterator[Attacked]:
    tokens: list[str] = []
    with hosted(announce=tokens.append) as (host, path), Wire(path, "a") as wire:
        yield Attacked(host, path, tokens, wire)


# -- the agents' socket ---------------------------------------------------------------------------------------


def test_nothing_on_the_agents_socket_answers_revokes_lifts_or_resets(attacked: Attacked) -> None:
    operator = attacked.attach()
    ask = attacked.ask()
    assert set(AgentConnection.methods).isdisjoint(OperatorConnection.methods)
    attempts = [*OperatorConnection.methods, "ask/answer", "answer", "approve", "turn/reset", "exemption/revoke"]
    with Wire(attacked.path, "a") as wire:
        for method in attempts:
            for params in ({}, {"ask": ask, "answer": "approved"}, {"agent": "a", "fp": "cmd:make:make"}):
                assert wire.ask(method, **params)["error"]["code"] == ErrorCode.UNKNOWN_METHOD
        for answer in ("approved", {"decision": "allow"}):
            wire.write(json.dumps({"jsonrpc": "2.0", "id": 12, "result": answer}).encode() + b"\n")
            assert "error" in wire.read()
    assert attacked.asks() == [ask]
    operator.close()


# -- the operators' socket without the token ------------------------------------------------------------------


def test_nothing_is_served_to_who_proved_nothing(attacked: Attacked) -> None:
    operator = attacked.host.operator()
    ask = attacked.ask()
    with Wire(attacked.operators) as wire:
        for method in OperatorConnection.methods:
            params = {"ask": ask, "answer": "approved"} if method == "operator/answer" else {}
            assert "error" in wire.ask(method, **params)
        assert wire.ask("operator/answer", ask=ask, answer="approved")["error"]["code"] == ErrorCode.NOT_ATTACHED
        assert wire.ask("call/decide", id="c", tool="t")["error"]["code"] == ErrorCode.UNKNOWN_METHOD
        assert wire.ask("operator/hello", protocol=9, nonce="0" * 32)["error"]["code"] == ErrorCode.UNSUPPORTED_PROTOCOL
    assert attacked.asks() == [ask]
    operator.close()


def test_a_wrong_guess_is_answered_late_and_uses_nothing_up(attacked: Attacked) -> None:
    with Wire(attacked.operators) as wire:
        nonce = new_nonce()
        hello = wire.ask("operator/hello", protocol=1, nonce=nonce)["result"]
        guessed = time.monotonic()
        wire.send("operator/attach", proof=prove(new_token(), "operator", nonce, hello["nonce"]))
        wire.write(frame("operator/subscribe", 9) * 1000)  # nothing more is heard
        assert wire.read()["error"]["code"] == ErrorCode.PROOF_REFUSED
        assert time.monotonic() - guessed > 0.5
        assert wire.hung_up()
    attacked.attach().close()


def test_one_wrong_guess_ends_a_connections_chances(attacked: Attacked) -> None:
    with Wire(attacked.operators) as wire:
        nonce = new_nonce()
        hello = wire.ask("operator/hello", protocol=1, nonce=nonce)["result"]
        wire.send("operator/attach", proof="0" * 64)
        wire.send("operator/attach", proof=prove(attacked.tokens[-1], "operator", nonce, hello["nonce"]))
        assert wire.read()["error"]["code"] == ErrorCode.PROOF_REFUSED
        assert wire.hung_up()
    assert not attacked.host.call(lambda desk: desk.breaker.attended)


def test_the_engines_own_proof_sent_back_proves_nothing(attacked: Attacked) -> None:
    with Wire(attacked.operators) as wire:
        hello = wire.ask("operator/hello", protocol=1, nonce=new_nonce())["result"]
        answer = wire.ask("operator/attach", proof=hello["proof"])
        assert answer["error"]["code"] == ErrorCode.PROOF_REFUSED
    assert not attacked.host.call(lambda desk: desk.breaker.attended)


def test_strangers_are_few_and_keep_no_operator_out(attacked: Attacked) -> None:
    with contextlib.ExitStack() as strangers:
        silent = [strangers.enter_context(Wire(attacked.operators)) for _ in range(STRANGERS_KEPT)]
        for wire in silent:
            assert wire.ask("operator/hello", protocol=1, nonce=new_nonce())["result"]
        attacked.attach().close()
        assert silent[0].hung_up()
        assert silent[-1].ask("operator/hello", protocol=1, nonce=new_nonce())["error"]


def test_those_who_guess_are_few(attacked: Attacked) -> None:
    with contextlib.ExitStack() as strangers:
        for _ in range(STRANGERS_KEPT):
            wire = strangers.enter_context(Wire(attacked.operators))
            assert wire.ask("operator/hello", protocol=1, nonce=new_nonce())["result"]
            wire.send("operator/attach", proof="0" * 64)
        with Wire(attacked.operators) as one_more:
            assert one_more.hung_up()
    until(lambda: _attaches(attacked))


def _attaches(attacked: Attacked) -> bool:
    try:
        attacked.attach().close()
    except ConnectionError:
        return False
    return True


# -- the token ------------------------------------------------------------------------------------------------


def test_a_token_lets_one_operator_in_once(attacked: Attacked) -> None:
    (first,) = attacked.tokens
    operator = connect(attacked.operators, f"  {first.upper().replace('-', ' ')} ")
    with pytest.raises(AttachError, match="attached already"):
        connect(attacked.operators, first)
    operator.close()
    until(lambda: len(attacked.tokens) == 2)
    with pytest.raises(AttachError, match="used up"):
        connect(attacked.operators, first)
    connect(attacked.operators, attacked.tokens[1]).close()


def test_a_token_cannot_be_guessed() -> None:
    tokens = {new_token() for _ in range(1000)}
    assert len(tokens) == 1000
    assert all(TOKEN.fullmatch(token) and len(typed_token(token)) == 24 for token in tokens)
    assert len(ALPHABET) ** 24 == 2**120


# -- one who stands in between --------------------------------------------------------------------------------


class Squatter:
    """Takes the place of the operators' socket, and passes on what it hears, or answers by itself."""

    def __init__(self, place: Path) -> None:
        self.moved = place.with_name("moved.sock")
        place.rename(self.moved)
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(place))
        self.listener.listen()
        self.from_operator = b""
        self.from_engine = b""
        self.operator = socket.socket()
        self.engine = socket.socket()
        self._threads: list[threading.Thread] = []

    def relay(self) -> None:
        """Pass on one connection, and keep what was said."""

        def run() -> None:
            self.operator, _ = self.listener.accept()
            self.engine = socket.socket(socket.AF_UNIX)
            self.engine.connect(str(self.moved))
            back = threading.Thread(target=self._pass, args=(self.engine, self.operator, "from_engine"), daemon=True)
            back.start()
            self._pass(self.operator, self.engine, "from_operator")

        self._start(run)

    def answer(self, *lines: bytes) -> None:
        """Answer each line of one connection with the next of these."""

        def run() -> None:
            self.operator, _ = self.listener.accept()
            for line in lines:
                while not self.from_operator.endswith(b"\n"):
                    self.from_operator += self.operator.recv(1 << 16)
                self.operator.sendall(line)
            with contextlib.suppress(OSError):
                while data := self.operator.recv(1 << 16):
                    self.from_operator += data

        self._start(run)

    def close(self) -> None:
        for one in (self.listener, self.operator, self.engine):
            one.close()

    def _start(self, run: object) -> None:
        self._threads.append(threading.Thread(target=run, daemon=True))  # type: ignore[arg-type] - a function
        self._threads[-1].start()

    def _pass(self, source: socket.socket, target: socket.socket, kept: str) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                setattr(self, kept, getattr(self, kept) + data)
                target.sendall(data)
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def squatter(attacked: Attacked) -> Iterator[Squatter]:
    squatting = Squatter(attacked.operators)
    yield squatting
    squatting.close()


def test_an_impostor_learns_nothing_and_is_found_out(attacked: Attacked, squatter: Squatter) -> None:
    token = attacked.tokens[-1]
    hello = {"protocol": 1, "server": {"name": "x", "version": "1", "pid": 1}, "nonce": new_nonce(), "proof": "0" * 64}
    squatter.answer(json.dumps({"jsonrpc": "2.0", "id": 0, "result": hello}).encode() + b"\n")
    with pytest.raises(AttachError, match="Nothing was sent that could be misused"):
        connect(attacked.operators, token)
    assert squatter.from_operator.count(b"\n") == 1
    assert b"operator/attach" not in squatter.from_operator
    assert typed_token(token).encode() not in squatter.from_operator.replace(b"-", b"")


@pytest.mark.parametrize("answer", [b"junk\n", b"{}\n", b'{"id":0,"result":{}}\n', b"\xff\n", b"[" * 9999 + b"\n"])
def test_an_impostor_that_talks_nonsense_is_refused(attacked: Attacked, squatter: Squatter, answer: bytes) -> None:
    squatter.answer(answer)
    with pytest.raises(AttachError):
        connect(attacked.operators, attacked.tokens[-1])


def test_one_who_passes_messages_on_can_add_none(attacked: Attacked, squatter: Squatter) -> None:
    squatter.relay()
    operator = attacked.attach()
    ask = attacked.ask()
    squatter.engine.sendall(frame("operator/answer", 9, ask=ask, answer="approved"))
    answer = attacked.wire.read()["result"]
    assert (answer["decision"], answer["outcome"]) == ("deny", "unattended")
    with pytest.raises(ConnectionError):
        operator.answer(ask, "approved")


def test_one_who_passes_messages_on_can_repeat_none(attacked: Attacked, squatter: Squatter) -> None:
    squatter.relay()
    operator = attacked.attach()
    operator.answer(attacked.ask(), "approved")
    assert attacked.wire.read()["result"]["decision"] == "allow"
    answered = squatter.from_operator.splitlines(keepends=True)[-1]
    squatter.engine.sendall(answered)
    until(lambda: not attacked.host.call(lambda desk: desk.breaker.attended))


def test_one_who_passes_messages_on_can_change_none(attacked: Attacked, squatter: Squatter) -> None:
    squatter.relay()
    operator = attacked.attach()
    squatter.operator.sendall(b"0" * 32 + b' {"jsonrpc":"2.0","id":2,"result":{}}\n')
    with pytest.raises(ConnectionError, match="tampered"):
        until(lambda: operator.lift("a", "x") or None)


def test_after_a_message_that_is_not_the_operators_none_of_its_own_is_heard(attacked: Attacked) -> None:
    """As one does who passes messages on, and puts another in the place of the first."""
    token, nonce = attacked.tokens[-1], new_nonce()
    with Wire(attacked.operators) as wire:
        engine_nonce = wire.ask("operator/hello", protocol=1, nonce=nonce)["result"]["nonce"]
        wire.send("operator/attach", proof=prove(token, "operator", nonce, engine_nonce))
        assert wire.read_line()
        seals = Seals(token, "operator", nonce, engine_nonce)
        ask = attacked.ask()
        replaced = seals.seal(frame("operator/subscribe", 8))
        second = seals.seal(frame("operator/answer", 9, ask=ask, answer="approved"))
        wire.write(b"0" * len(replaced.strip()) + b"\n" + second)
        answer = attacked.wire.read()["result"]
        assert (answer["decision"], answer["outcome"]) == ("deny", "unattended")


def test_what_was_overheard_opens_nothing(attacked: Attacked, squatter: Squatter) -> None:
    squatter.relay()
    operator = attacked.attach()
    operator.answer(attacked.ask(), "rejected")
    attacked.wire.read()
    operator.close()
    until(lambda: len(attacked.tokens) == 2)
    overheard = squatter.from_operator
    with Wire(squatter.moved) as wire:
        wire.write(overheard)
        answers = []
        while line := wire.read_line():
            answers.append(json.loads(line))
        assert all("error" in answer or "proof" in answer["result"] for answer in answers)
    assert not attacked.host.call(lambda desk: desk.breaker.attended)


def test_a_seal_fits_one_place_on_one_connection_in_one_direction() -> None:
    token, nonces = new_token(), (new_nonce(), new_nonce())
    operator, engine = Seals(token, "operator", *nonces), Seals(token, "engine", *nonces)
    first, second = operator.seal(b"one\n").strip(), operator.seal(b"two\n").strip()
    assert engine.open(first) == b"one"
    for wrong in (first, second[:-1] + b"x", b"", b"x", engine.seal(b"two\n").strip()):
        with pytest.raises(SealBrokenError):
            Seals(token, "engine", *nonces).open(second if wrong is first else wrong)
    with pytest.raises(SealBrokenError):
        Seals(new_token(), "engine", *nonces).open(first)


# -- the process ----------------------------------------------------------------------------------------------


def test_the_token_stands_on_the_terminal_and_nowhere_else() -> None:
    """Not in a file, an environment, an argument, the journal or an event, whoever looks."""
    with short_directory() as directory:
        path, journal = directory / "e.sock", directory / "journal"
        environment = {"XDG_CONFIG_HOME": str(directory), "XDG_STATE_HOME": str(directory), "PYTHONPATH": str(ROOT)}
        command = [*BREAKER, "serve", "--socket", str(path), "--journal", str(journal)]
        with Terminal(command, environment=environment) as terminal:
            terminal.wait_for("Token for one operator")
            (token,) = TOKEN.findall(terminal.screen())
            with Wire(path, "a") as wire:
                gate_open(wire)
                wire.decide("refused", command="make")
                status = json.dumps(wire.ask("status"))
            operator = connect(operator_socket_path(path), token)
            feed = operator.subscribe()
            events = repr(until(feed.drain))
            pid = json.loads(status)["result"]["server"]["pid"]
            secrets = [token.encode(), typed_token(token).encode()]
            for place in [status.encode(), events.encode(), *_everything_readable(directory, pid)]:
                assert not any(secret in place for secret in secrets)
            operator.close()
            terminal.wait_until(lambda: len(TOKEN.findall(terminal.screen())) == 2, "another token")
            terminal.send("\x03")
            terminal.wait_for("Stopped")
        assert any(journal.iterdir())
        assert not any(token.encode() in content for content in _everything_readable(directory, None))


def _everything_readable(directory: Path, pid: int | None) -> Iterator[bytes]:
    files = [one for one in directory.rglob("*") if one.is_file()]
    if pid and sys.platform == "linux":
        files += [Path(f"/proc/{pid}/{name}") for name in ("cmdline", "environ", "status", "maps", "comm", "limits")]
    for file in files:
        with contextlib.suppress(OSError):
            yield file.read_bytes()


def test_without_a_terminal_no_token_is_made() -> None:
    """A token in a redirected output would be in a file."""
    with short_directory() as directory:
        with served("--no-journal", directory=directory) as (process, path), Wire(path, "a") as wire:
            assert wire.decide("c", command="ls") == {"decision": "allow"}
            assert not operator_socket_path(path).exists()
            out = printed(process, "nobody can attach")
            process.send_signal(signal.SIGTERM)
            out += process.communicate(timeout=DEADLINE)[0]
        assert not TOKEN.search(out)


@only_linux
def test_the_engines_memory_is_closed_to_its_own_user() -> None:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        with contextlib.suppress(BaseException):
            _look_into_a_closed_process(writing)
        os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    with os.fdopen(reading, "rb") as told:
        assert told.read() == b"before:open after:closed"


def _look_into_a_closed_process(told: int) -> None:
    """As somebody who is not root, with a child that closes itself: look into it before and after."""
    from engine.service.hardening import keep_out  # noqa: PLC0415 - in the forked child

    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
        ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)  # a change of user closes it, too: open it again
    own, theirs = socket.socketpair()
    engine = os.fork()
    if engine == 0:
        theirs.recv(1)
        theirs.send(b"1" if keep_out() else b"0")
        theirs.recv(1)
        os._exit(0)
    os.write(told, f"before:{_memory(engine)} ".encode())
    own.send(b"x")
    assert own.recv(1) == b"1"
    os.write(told, f"after:{_memory(engine)}".encode())
    own.send(b"x")
    os.waitpid(engine, 0)


def _memory(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/mem", "rb"):  # noqa: PTH123 - as an attacker would
            return "open"
    except PermissionError:
        return "closed"


@only_linux
def test_serving_closes_the_process() -> None:
    script = (
        "import ctypes\nfrom engine.service.hardening import keep_out\nassert keep_out()\n"
        "print(ctypes.CDLL(None).prctl(3, 0, 0, 0, 0))"
    )
    found = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "0"
