"""Sweeps: what they count is what the live engine decides, whatever way it is judged, and by however many processes."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.transcripts import write_transcript
from engine import sweep as sweeping
from engine.breaker import Breaker
from engine.calls import Call
from engine.config import DEFAULTS, Config
from engine.configuration.file import from_mapping
from engine.replay import replay
from engine.session_items import AgentLine, CallLine, Line, ResultLine, TurnLine
from engine.sweep import SessionTallies, sweep, work_of
from engine.sweep_findings import Finding, LabelsError, findings_of, labels_for, read_labels
from engine.sweep_judging import Answer, Tally, judge
from engine.swept_thresholds import Combination, RangeError, combined, values_in
from engine.transcripts.files import read_session_file
from engine.verdicts import Verdict, Waiting
from tests.engine.sessions_data import lines, rows, session
from tests.engine.transcripts.recordings import ALL, NAMES, items

CONFIGS = [
    from_mapping(one)
    for one in (
        {},
        {"window": 6, "warnAt": 3, "summarizeAt": 4, "limits": {"exact": 5, "cmd": 5}},
        {"onLimit": "deny", "failLimit": 2, "failWarnAt": 1},
        {"failLimit": None, "limits": {"exact": 2, "cmd": 3, "net": 2, "host": 3, "sink": 2}},
        {"warnAt": None, "summarizeAt": None, "failWarnAt": None},
        {"warnAt": 1, "summarizeAt": 2},
        {"warnAt": 2, "summarizeAt": 2},
        {"warnAt": 5, "summarizeAt": 3},
        {"window": 6, "warnAt": 2, "summarizeAt": 5, "limits": {"exact": 5, "cmd": 5}},
    )
]
ANSWERS: tuple[Answer, ...] = ("as recorded", "approve", "reject", "unavailable")


def replayed(session_lines: Iterable[Line], config: Config, answers: Answer) -> Tally:
    tally = Tally()
    for call in replay(session_lines, config, answers):
        tally.decided(call.verdict, asked=call.asked, number=call.number)
        tally.advised += len(call.advisories)
    return tally


def live(session_lines: Iterable[Line], config: Config) -> Tally:
    """What an engine without an operator decides when the calls come one after the other."""
    clock = 0.0
    breaker = Breaker(config, attended=False, clock=lambda: clock)
    tally = Tally()
    for line in session_lines:
        clock = max(clock, getattr(line, "at", 0.0))
        match line:
            case CallLine():
                verdict = breaker.decide(Call(line.id, line.agent, line.tool, line.args))
                assert not isinstance(verdict, Waiting)
                tally.decided(verdict.decision, asked=verdict.asked, number=tally.calls + 1)
                tally.advised += len(verdict.advisories)
            case ResultLine():
                settled = breaker.settle(line.agent, line.id, line.result)
                tally.advised += sum(one.stage == "fail-warn" for one in settled.advisories)
            case TurnLine(human=True):
                breaker.start_turn(line.agent)
            case AgentLine():
                breaker.start_agent(line.agent, parent=line.parent)
    return tally


# -- as the live engine decides -----------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ALL, ids=NAMES)
def test_recordings_are_judged_as_the_live_engine_would(path: Path):
    found = items(path)
    by_live = [live(found, config) for config in CONFIGS]
    assert judge(found, CONFIGS, plain=True) == by_live
    assert judge(found, CONFIGS) == by_live
    assert [replayed(found, config, "as recorded") for config in CONFIGS] == by_live


def test_a_long_session_is_judged_as_the_live_engine_would(tmp_path: Path):
    write_transcript(tmp_path / "one.jsonl", 1_500_000, seed=3)
    found = items(tmp_path / "one.jsonl")
    by_live = [live(found, config) for config in CONFIGS]
    assert judge(found, CONFIGS, plain=True) == by_live
    assert by_live[0].refused > 0
    assert by_live[0].advised > 0


@pytest.mark.parametrize("answers", ANSWERS)
@pytest.mark.parametrize("trace", rows("traces.jsonl")[:40], ids=lambda trace: trace["name"])
def test_sessions_are_judged_as_a_replay_does(trace: dict[str, Any], answers: Answer):
    found = list(lines(trace["events"]))
    expected = [replayed(found, config, answers) for config in CONFIGS]
    assert judge(found, CONFIGS, answers) == expected
    assert judge(found, CONFIGS, answers, plain=True) == expected


commands = st.sampled_from(
    ["ls", "make", "curl -s https://example.org/a", "curl -s https://example.org/b", "cat x > y"]
)
results = st.sampled_from(
    [{}, {"value": {"exitCode": 1}}, {"isError": True}, {"error": {"code": "ABORTED"}, "isError": True}]
)


@st.composite
def recorded(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Lines as people write them: few kinds of calls by two agents, with results, answers, messages, excluded tools."""
    made: list[dict[str, Any]] = []
    for number in range(draw(st.integers(1, 60))):
        agent = draw(st.sampled_from(["a1", "a2"]))
        if draw(st.integers(0, 15)) == 0:
            made.append({"type": "turn", "agent": agent, "source": draw(st.sampled_from(["user", "agent"]))})
        tool = draw(st.sampled_from(["bash", "bash", "bash", "read", "todo_write"]))
        call = {"type": "call", "id": f"c{number}", "agent": agent, "tool": tool, "args": {"command": draw(commands)}}
        if answer := draw(st.sampled_from([None, None, "approve", "reject"])):
            call["answer"] = answer
        made.append(call)
        if draw(st.booleans()):
            made.append({"type": "result", "id": f"c{number}", "agent": agent, "result": draw(results)})
    return made


@settings(max_examples=400)
@given(recorded(), st.sampled_from(ANSWERS))
def test_any_session_is_judged_as_a_replay_does(made: list[dict[str, Any]], answers: Answer):
    found = list(lines(made))
    expected = [replayed(found, config, answers) for config in CONFIGS]
    assert judge(found, CONFIGS, answers) == expected
    assert judge(found, CONFIGS, answers, plain=True) == expected


# -- files and processes ------------------------------------------------------------------------------------------


@pytest.fixture
def some(tmp_path: Path) -> list[Path]:
    """Three transcripts, one of them larger than the others together; a session; a file of something else; no file."""
    paths = [tmp_path / f"{name}.jsonl" for name in ("a", "b", "c", "d")]
    for number, size in enumerate((900_000, 100_000, 200_000)):
        write_transcript(paths[number], size, seed=number)
    paths[3].write_bytes(session([{"type": "call", "tool": "lookup", "args": {}}] * 14) + b"half a li")
    (tmp_path / "notes.txt").write_text("words\n" * 50)
    return [*paths, tmp_path / "notes.txt", tmp_path / "gone.jsonl"]


def summed(found: Sequence[SessionTallies]) -> list[tuple[str, list[Tally], int, int, bool]]:
    return [(one.path.name, one.tallies, one.damaged, one.unknown, bool(one.problem)) for one in found]


def test_processes_find_what_one_finds(some: list[Path], monkeypatch: pytest.MonkeyPatch):
    here = sweep(some, CONFIGS, jobs=1)
    monkeypatch.setattr(sweeping, "SMALL_BYTES", 50_000)
    assert summed(sweep(some, CONFIGS, jobs=2)) == summed(here)
    assert [one.path for one in here] == some
    assert here[3].damaged == 1
    assert here[3].tallies[0].first_gate == 12
    assert "plain text" in here[4].problem
    assert here[5].problem == "cannot be read: No such file or directory"


def test_progress_comes_to_what_was_announced(some: list[Path], monkeypatch: pytest.MonkeyPatch):
    for small, jobs in ((10**9, 1), (50_000, 2)):
        monkeypatch.setattr(sweeping, "SMALL_BYTES", small)
        told: list[int] = []
        sweep(some, CONFIGS, jobs=jobs, progress=told.append)
        assert sum(told) == work_of(some, CONFIGS, jobs)
        assert all(step > 0 for step in told)


def test_what_a_killed_process_left_is_judged_here(some: list[Path], monkeypatch: pytest.MonkeyPatch):
    here = sweep(some, CONFIGS, jobs=1)
    monkeypatch.setattr(sweeping, "SMALL_BYTES", 50_000)
    monkeypatch.setattr(sweeping, "_judged_there", _killed)
    assert summed(sweep(some, CONFIGS, jobs=2)) == summed(here)


def _killed(*_: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_packed_sessions_progress_by_what_is_on_disk():
    path = next(one for one in ALL if one.suffix == ".zstd")
    told: list[int] = []
    sweep([path], CONFIGS, progress=told.append)
    assert sum(told) == path.stat().st_size


def test_sub_agents_count_for_their_session():
    path = next(one for one in ALL if one.name == "sub-agent.jsonl" and "claude-code" in str(one))
    assert sweep([path], [DEFAULTS])[0].tallies[0].calls == sum(
        isinstance(one, CallLine) for one in read_session_file(path)
    )


# -- ranges -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("3..6", (3, 4, 5, 6)),
        ("3..9:2", (3, 5, 7, 9)),
        ("4..9:2", (4, 6, 8)),
        ("6, 9,12", (6, 9, 12)),
        ("6,off", (6, None)),
        ("2.5", (2.5,)),
        ("3..4,3..5", (3, 4, 5)),
        ("null", (None,)),
    ],
)
def test_ranges(text: str, values: tuple[float | None, ...]):
    assert values_in(text) == values


@pytest.mark.parametrize("text", ["", "a", "9..3", "3..9:0", "3...9", "-1", "1..99999999", "3..", "1e3", "1,,2"])
def test_what_is_no_range_is_told(text: str):
    with pytest.raises(RangeError):
        values_in(text)


def test_combinations_are_all_of_them_over_the_base():
    base = from_mapping({"window": 20, "limits": {"host": 9}})
    made = combined(base, {"warnAt": (3, 4), "limits.exact": (6, None), "limits.verb:curl": (5,)})
    assert [tuple(one.values.values()) for one in made] == [(3, 6, 5), (3, None, 5), (4, 6, 5), (4, None, 5)]
    last = made[-1].config
    assert (last.window, last.warn_at, last.limits["exact"], last.limits["verb:curl"], last.limits["host"]) == (
        *(20, 4, None, 5, 9),
    )
    assert made[1].name == "warnAt 3, limits.exact off, limits.verb:curl 5"
    assert combined(base, {})[0].config == base


def test_a_stage_at_zero_is_off_as_in_a_configuration():
    assert combined(DEFAULTS, {"warnAt": (0,)})[0].config.warn_at is None


@pytest.mark.parametrize(
    ("ranges", "words"),
    [
        ({"onLimit": (1,)}, "onLimit"),
        ({"limits.": (3,)}, "limits."),
        ({"limits.exakt": (3,)}, "exakt"),
        ({"limits.exact": (1,)}, "limits.exact"),
        ({"window": (2,)}, "window"),
        ({"window": (None,)}, "window"),
        ({"warnAt": (2.5,)}, "warnAt"),
        ({"warnAt": tuple(range(1, 200)), "failLimit": tuple(range(2, 200))}, "combinations"),
    ],
)
def test_thresholds_that_cannot_be_are_told(ranges: dict[str, Sequence[float | None]], words: str):
    with pytest.raises(RangeError, match=words):
        combined(DEFAULTS, ranges)


# -- findings and labels ------------------------------------------------------------------------------------------


def combination(number: int) -> Combination:
    return Combination({"warnAt": number}, DEFAULTS)


def tallies(name: str, *gates: int | None) -> SessionTallies:
    made = [Tally(calls=20, asked=int(gate is not None), first_gate=gate) for gate in gates]
    return SessionTallies(Path(name), made)


def test_findings_count_sessions_and_name_the_earliest_gate():
    sessions = [tallies("a", 9, None), tallies("b", 4, 7), SessionTallies(Path("c"), problem="no")]
    first, second = findings_of([combination(3), combination(4)], sessions)
    assert (first.sessions, first.asked, first.calls, first.caught) == (2, 2, 40, None)
    assert first.earliest_gate
    assert (first.earliest_gate.session, first.earliest_gate.call) == ("b", 4)
    assert second.asked == 1


def test_with_labels_it_says_what_is_caught_and_what_is_a_false_alarm():
    sessions = [
        tallies("s1", 9, None, 5),
        tallies("s2", 9, 9, None),
        tallies("g1", None, None, 5),
        tallies("x", 1, 1, 1),
    ]
    labels = {Path("s1"): "stuck", Path("s2"): "stuck", Path("g1"): "good"}
    found = findings_of([combination(number) for number in range(3)], sessions, labels)  # type: ignore[arg-type]
    assert [(one.caught, one.stuck, one.false_alarms, one.good) for one in found] == [
        (2, 2, 0, 1),
        (1, 2, 0, 1),
        (1, 2, 1, 1),
    ]
    assert [one.best for one in found] == [True, False, False]


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=20))
def test_the_front_is_what_nothing_beats(scores: list[tuple[int, int]]):
    stuck = [
        SessionTallies(Path(f"s{n}"), [Tally(first_gate=1 if n < caught else None) for caught, _ in scores])
        for n in range(5)
    ]
    good = [
        SessionTallies(Path(f"g{n}"), [Tally(first_gate=1 if n < alarms else None) for _, alarms in scores])
        for n in range(5)
    ]
    labels = {one.path: "stuck" for one in stuck} | {one.path: "good" for one in good}
    found = findings_of([combination(number) for number in range(len(scores))], [*stuck, *good], labels)  # type: ignore[arg-type]

    def beaten(one: Finding) -> bool:
        mine = (one.caught or 0, -(one.false_alarms or 0))
        others = ((other.caught or 0, -(other.false_alarms or 0)) for other in found)
        return any(other != mine and other[0] >= mine[0] and other[1] >= mine[1] for other in others)

    assert [one.best for one in found] == [not beaten(one) for one in found]


@pytest.mark.parametrize(
    "content",
    [
        "a,stuck\nruns/b.jsonl,good\n",
        "session,label\n# a remark\n a , Stuck \n\nruns/b.jsonl,GOOD",
        json.dumps({"a": "stuck", "runs/b.jsonl": "good"}),
        "\ufeffa,stuck\r\nruns/b.jsonl,good\r\n",
    ],
)
def test_labels_as_lines_or_as_json(content: str, tmp_path: Path):
    path = tmp_path / "labels"
    path.write_text(content, encoding="utf-8")
    assert read_labels(path) == {"a": "stuck", "runs/b.jsonl": "good"}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"a,bad\n", "line 1 has the label 'bad'"),
        (b"a,stuck,more\n", "line 1 has 3 values"),
        (b'{"a":', "is not JSON"),
        (b"\xff\xfe", "is no UTF-8"),
        (b"x" * 200_000 + b",stuck\n" + b'"' + b"y" * 200_000, "comma-separated"),
        (None, "cannot be read"),
    ],
)
def test_labels_that_cannot_be_used_are_told(content: bytes | None, words: str, tmp_path: Path):
    path = tmp_path / "labels"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(LabelsError, match=words):
        read_labels(path)


def test_a_session_is_named_by_path_name_or_directory():
    paths = [Path("runs/a.jsonl"), Path("runs/b.jsonl.zstd"), Path("sessions/s1/session.jsonl.zstd")]
    labels = {"a": "stuck", "runs/b.jsonl.zstd": "good", "s1": "stuck", "nobody": "good"}
    assert labels_for(paths, labels) == (  # type: ignore[arg-type]
        {paths[0]: "stuck", paths[1]: "good", paths[2]: "stuck"},
        ["nobody"],
    )
    with pytest.raises(LabelsError, match="2 sessions"):
        labels_for([Path("x/a.jsonl"), Path("y/a.jsonl")], {"a": "stuck"})


def test_a_verdict_without_an_operator_never_waits():
    """What ``live`` takes for granted."""
    breaker = Breaker(from_mapping({"limits": {"exact": 2}}), attended=False)
    for number in range(4):
        assert isinstance(breaker.decide(Call(f"c{number}", "a", "t", {})), Verdict)
