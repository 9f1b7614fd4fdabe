"""What must hold of files: configurations, sessions, journals."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterable
from functools import cache
from io import BytesIO
from pathlib import Path
from random import Random

import msgspec

from engine.breaker import Breaker
from engine.calls import Call, Result
from engine.config import Config
from engine.configuration.file import ConfigError, from_mapping, load_data
from engine.configuration.thresholds import loosened, unreachable
from engine.events import AgentSnapshot, Event
from engine.journal import Journal, Limits
from engine.journal_lines import decode_checkpoint, encode_checkpoint
from engine.journal_reader import Damaged, read, recover
from engine.replay import Answers, replay
from engine.replayed import as_json
from engine.session_items import CallLine, Line
from engine.sessions import NotASessionError, read_session
from engine.transcripts.recognise import read as read_any
from engine.verdicts import Verdict
from tests.engine.steps import TIGHT, steps_at_random, take


def configuration(data: bytes) -> None:
    """A configuration is accepted and works, or is refused with printable words and places that are in the file."""
    try:
        loaded = load_data(data, "fuzz.yaml")
    except ConfigError as error:
        assert error.problems, "refused without a reason"
        lines = data.count(b"\n") + data.count(b"\r") + 1
        for problem in error.problems:
            assert str(problem).isprintable(), f"not printable: {problem!s:.200}"
            assert len(str(problem)) < 5000, "a problem too long to read"
            assert problem.line is None or 1 <= problem.line <= lines, f"line {problem.line} of {lines}"
        return
    assert all(one.isprintable() for one in loaded.warnings), "a warning that is not printable"
    config = loaded.config
    assert from_mapping(_plain(config)) == config, "written out and read again it is another"
    assert not loosened(config, config), "looser than itself"
    unreachable(config)
    breaker = Breaker(config)
    for number in range(6):
        answer = breaker.decide(Call(str(number), "a", "bash", {"command": "curl https://www.a.com"}))
        if isinstance(answer, Verdict) and answer.decision == "allow":
            breaker.settle("a", str(number), Result(value={"exitCode": 1}))
    breaker.snapshot()


def _plain(config: Config) -> object:
    return msgspec.json.decode(msgspec.json.encode(config))


def session(data: bytes) -> None:
    """A session is none, or each of its calls is replayed once, in order, and can be written down."""
    for answers in ("as recorded", "approve", "reject"):
        _replay(data, answers)


def transcript(data: bytes) -> None:
    """So is whatever a harness wrote."""
    _replay(data, "as recorded", read_any)


def _replay(data: bytes, answers: Answers, reader: Callable[[BytesIO], Iterable[Line]] = read_session) -> None:
    try:
        lines = list(reader(BytesIO(data)))
    except NotASessionError as error:
        assert len(str(error)) < 2000, "words without end"
        return
    told = list(replay(lines, TIGHT, answers))
    calls = [line for line in lines if isinstance(line, CallLine)]
    assert [(one.agent, one.id) for one in told] == [(line.agent, line.id) for line in calls], "calls lost or doubled"
    assert [one.number for one in told] == list(range(1, len(told) + 1)), "calls out of order"
    for one in told:
        json.dumps(as_json(one))
        assert one.verdict == "allow" or one.outcome or one.reason, "refused without a reason"
        assert one.outcome != "approved" or one.verdict == "allow", "approved and refused"


def journal(data: bytes) -> None:
    """A journal is recovered from whatever is left of it, and the engine that does so works."""
    with tempfile.TemporaryDirectory(prefix="rtb-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as name:
        directory = Path(name)
        part = directory / "20260101T000000Z-1.jsonl"
        checkpoint, _, events = data.partition(b"\n")
        part.with_suffix(".checkpoint").write_bytes(checkpoint)
        part.write_bytes(events)
        lines = list(read(part))
        assert all(str(one) for one in lines if isinstance(one, Damaged))
        past = recover(directory, TIGHT)
    breaker = Breaker(TIGHT, attended=True, clock=lambda: past.checkpoint.at)
    breaker.restore(past.checkpoint)
    stood = breaker.checkpoint()
    assert decode_checkpoint(encode_checkpoint(stood)).tickets == stood.tickets, "a checkpoint that cannot be kept"
    agents = breaker.snapshot().agents
    _is_sound(agents)
    for agent in agents[:4]:
        breaker.decide(Call("one more", agent.agent, "bash", {"command": "ls"}))
        breaker.settle(agent.agent, "one more", Result())
        breaker.reset_turn(agent.agent)
        breaker.end_agent(agent.agent)
    for ask in breaker.asks():
        breaker.answer(ask.id, "approved")


def _is_sound(agents: tuple[AgentSnapshot, ...]) -> None:
    for agent in agents:
        assert all(0 < count <= TIGHT.window * 1000 for count in agent.counts.values()), "a count that is none"


def journals() -> list[bytes]:
    """Journals as they are written: a checkpoint on a line, then events."""
    return list(_journals())


@cache
def _journals() -> tuple[bytes, ...]:
    return tuple(_journal(seed) for seed in range(8))


def _journal(seed: int) -> bytes:
    with tempfile.TemporaryDirectory(prefix="rtb-") as name:
        directory = Path(name)

        def heard(event: Event) -> None:
            written(event)

        breaker = Breaker(TIGHT, attended=True, listener=heard)
        written = Journal(directory, checkpoint=breaker.checkpoint, on_fault=_raise, limits=Limits(part_bytes=9000))
        steps = steps_at_random(Random(seed))
        while len(list(directory.glob("*.checkpoint"))) < 3:
            take(breaker, next(steps))
        written.close()
        second = next(directory.glob("*.1.jsonl"))
        return second.with_suffix(".checkpoint").read_bytes() + b"\n" + second.read_bytes()[:3500]


def _raise(text: str) -> None:
    raise AssertionError(text)
