"""The reducer: what a real breaker reports becomes what the screen shows, without a terminal."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from console.state import State, reduce
from console.state.agents import Agent
from console.state.measures import Thresholds
from console.state.records import ARGUMENTS_KEPT, CHARACTERS_KEPT, RECORDS_KEPT, Records, as_session_line, size_of
from console.state.subjects import subject
from engine.calls import Measure as Capped
from engine.calls import result_of
from engine.events import AgentStarted, AskOpened, CallSeen, ConfigChanged, Notice, Snapshot
from engine.operator import Answer
from engine.verdicts import Ask, Hit
from tests.console import scenes
from tests.console.scenes import OK, Scene, failed, page

AGENT = "0192-4c1e-7f3a"
HOSTILE = "a\x1b[31m\x1b]0;pwned\x07\u202eb\u200b\U000e0041[/x][@click=app.quit]y[/]\x00\x9b\ud800"


def state_of(scene: Scene) -> State:
    return reduce(State(), scene.drain())


def agent_of(state: State, agent_id: str = AGENT) -> Agent:
    agent = state.agents.get(agent_id)
    assert agent is not None
    return agent


# -- what stands, told by events and by a snapshot --------------------------------------------------------------------

COMMANDS = [
    "ls",
    "python -m pytest -q",
    *(f"curl -s 'https://api.example.org/items?page={number}' -o /tmp/{number}.json" for number in range(4)),
    "curl -sf https://down.example.org/health",
]
STEPS = st.one_of(
    st.tuples(st.just("call"), st.sampled_from(["a1", "a2"]), st.sampled_from(COMMANDS), st.booleans()),
    st.tuples(st.just("answer"), st.sampled_from(["approved", "rejected"])),
    st.tuples(st.just("turn"), st.sampled_from(["a1", "a2"])),
    st.tuples(st.just("undo"), st.sampled_from(["a1", "a2"])),
)


def play(scene: Scene, steps: list[tuple[Any, ...]]) -> None:
    for what, *details in steps:
        PLAYED[what](scene, *details)


def thrice(scene: Scene, agent: str, command: str, succeeds: bool) -> None:
    for _ in range(3):
        scene.call(agent, command, OK if succeeds else failed(1, "no"))


def answer_oldest(scene: Scene, answer: Answer) -> None:
    for ask in scene.breaker.asks()[:1]:
        scene.answer(ask.id, answer)


def undo(scene: Scene, agent: str) -> None:
    for snapshot in scene.breaker.snapshot().agents:
        if snapshot.agent == agent:
            for fingerprint in snapshot.exemptions[:1]:
                scene.revoke(agent, fingerprint)
            for refusal in snapshot.refusals[:1]:
                scene.lift(agent, refusal.fingerprint)


PLAYED: dict[str, Callable[..., object]] = {
    "call": thrice,
    "answer": answer_oldest,
    "turn": lambda scene, agent: scene.breaker.start_turn(agent),
    "undo": undo,
}


def standing(state: State) -> dict[str, Any]:
    """Everything about the present that both a snapshot and the events must agree on."""
    return {
        agent.id: {
            "turn": agent.turn,
            "calls": agent.calls,
            "counts": {m.fingerprint: (m.count, m.cap) for m in agent.measures.values() if m.count},
            "streaks": {m.fingerprint: m.streak for m in agent.measures.values() if m.streak},
            "asking": {m.fingerprint: m.asking for m in agent.measures.values() if m.asking},
            "exempt": {m.fingerprint for m in agent.measures.values() if m.exempt},
            "refused": {m.fingerprint for m in agent.measures.values() if m.refused},
            "rules": (list(agent.exemptions), list(agent.refusals)),
            "asks": agent.asks,
        }
        for agent in state.agents
    }


@settings(max_examples=60, deadline=None)
@given(st.lists(STEPS, max_size=25))
def test_events_lead_where_a_snapshot_stands(steps: list[tuple[Any, ...]]):
    scene = Scene()
    play(scene, steps)
    told, seen = state_of(scene), reduce(State(), [scene.breaker.snapshot()])
    exempt_counts = {
        agent.id: {m.fingerprint for m in agent.measures.values() if m.exempt or m.asking or m.refused}
        for agent in told.agents
    }
    for state in (told, seen):  # a cap is told with a count: what stands without one may have none
        for agent in state.agents:
            for fingerprint in exempt_counts[agent.id]:
                agent.measure(fingerprint).cap = 0
    assert standing(told) == standing(seen)
    assert list(told.asks) == list(seen.asks)
    assert set(told.waiting) == set(seen.waiting)


@settings(max_examples=20, deadline=None)
@given(st.lists(STEPS, max_size=15), st.integers(0, 200))
def test_the_same_events_make_the_same_state_in_any_batches(steps: list[tuple[Any, ...]], cut: int):
    scene = Scene()
    play(scene, steps)
    events = scene.drain()
    once, twice = reduce(State(), events), State()
    reduce(twice, events[:cut])
    reduce(twice, events[cut:])
    assert standing(once) == standing(twice)
    assert [once.stream.get(n) for n in range(once.stream.end)] == [twice.stream.get(n) for n in range(once.stream.end)]


# -- measures ---------------------------------------------------------------------------------------------------------


def test_a_measure_climbs_through_its_stages():
    scene = Scene()
    scene.agent(AGENT)
    state = state_of(scene)
    stages = []
    for number in range(16):
        scene.call(AGENT, page(number))
        reduce(state, scene.drain())
        stages.append(agent_of(state).measures["host:api.weather.gc.ca"].stage(state.thresholds))
    assert stages == [""] * 6 + ["WARN"] * 4 + ["SUMMARIZE"] * 4 + ["SUMMARIZE", "GATE"]
    measure = agent_of(state).measures["host:api.weather.gc.ca"]
    assert (measure.count, measure.asking, measure.shown_count, measure.cap) == (15, 16, 16, 16)
    assert len(measure.calls) == 15
    assert measure.history[-1].what.startswith("at the gate")


def test_the_hottest_measure_comes_first_and_an_exempted_one_cools():
    scene = scenes.asking()
    state = state_of(scene)
    agent = agent_of(state)
    hottest = max(agent.measures.values(), key=lambda measure: measure.heat(state.thresholds))
    assert hottest.fingerprint == "host:api.weather.gc.ca"
    scene.answer("ask-1", "approved")
    reduce(state, scene.drain())
    assert agent.measures["host:api.weather.gc.ca"].stage(state.thresholds) == "EXEMPT"
    warned = agent_of(state, "0192-4c1e-a67e").measures["host:stations.example.org"]
    assert hottest.heat(state.thresholds) < warned.heat(state.thresholds)


def test_a_failure_streak_stands_beside_the_count():
    state = state_of(scenes.climbing())
    measure = agent_of(state, "0192-4c1e-a67e").measures["host:stations.example.org"]
    assert (measure.streak, measure.stage(state.thresholds)) == (3, "WARN")
    assert "22" in measure.failure


def test_a_stage_that_is_switched_off_is_never_reached():
    scene = scenes.asking()
    agent = agent_of(state_of(scene))
    measure = agent.measures["net:api.weather.gc.ca/collections/climate-daily/items?limit=100&offset=1400"]
    assert measure.stage(Thresholds()) == ""
    assert measure.stage(Thresholds(warn_at=0, fail_limit=0)) == ""


def test_what_has_left_the_window_is_forgotten():
    scene = Scene()
    for number in range(200):
        scene.call("a1", f"echo {number}")
    agent = agent_of(state_of(scene), "a1")
    assert {measure.count for measure in agent.measures.values()} == {1}
    assert len(agent.measures) <= 2 * 16


# -- agents -----------------------------------------------------------------------------------------------------------


def test_sub_agents_stand_under_their_parents_and_rings_end():
    state = State()
    for agent, parent in (("root", ""), ("other", ""), ("leaf", "child"), ("child", "root"), ("x", "y"), ("y", "x")):
        reduce(state, [AgentStarted(1.0, agent, parent, "claude-code")])
    assert [(agent.id, depth) for agent, depth in state.agents.tree()] == [
        ("root", 0),
        ("child", 1),
        ("leaf", 2),
        ("other", 0),
        ("x", 0),
        ("y", 1),
    ]


def test_what_an_agent_is_doing():
    scene = scenes.asking()
    state = state_of(scene)
    agent = agent_of(state)
    assert agent.doing(scene.at) == "waiting for you"
    scene.answer("ask-1", "rejected")
    reduce(state, scene.drain())
    assert agent.doing(scene.at) == "blocked"
    scene.call(AGENT, "ls", result=None)
    reduce(state, scene.drain())
    assert [agent.doing(scene.at + later) for later in (1, 100, 10_000)] == ["working", "working", "idle"]
    scene.breaker.end_agent(AGENT)
    reduce(state, scene.drain())
    assert agent.doing(scene.at) == "ended"
    state.agents.prune(scene.at + 3600)
    assert state.agents.get(AGENT) is None


# -- rows -------------------------------------------------------------------------------------------------------------


def rows(state: State) -> list[str]:
    return [f"{row.mark}|{row.kind}|{row.text}|{row.status}" for row in state.stream.since(0, 100_000)]


def test_a_call_is_one_row_from_first_to_last():
    scene = Scene()
    scene.call("a1", "make", result=None)
    state = state_of(scene)
    assert rows(state)[-1] == "|call|make|running"
    scene.breaker.settle("a1", "c1", result_of(failed(2, "no rule")))
    reduce(state, scene.drain())
    assert rows(state)[-1] == "|call|make|failed · exit 2"
    assert len(rows(state)) == 2


@pytest.mark.parametrize(
    ("outcome", "row", "answer"),
    [
        ("approved", "running · approved", "∅|answer|approved: host:api.weather.gc.ca · 1 call|"),
        ("rejected", "refused · rejected by you", "⊘|answer|rejected by you: host:api.weather.gc.ca · 1 call|"),
        (
            "timed_out",
            "refused · not answered in time",
            "⊘|answer|not answered in time: host:api.weather.gc.ca · 1 call|",
        ),
    ],
)
def test_an_answer_is_told_and_its_call_goes_on_in_its_row(outcome: str, row: str, answer: str):
    scene = scenes.asking()
    state = state_of(scene)
    (waiting,) = state.waiting.values()
    assert waiting.row.status == "waiting for you"
    scene.breaker.answer("ask-1", outcome)
    reduce(state, scene.drain())
    assert waiting.row.status == row
    assert answer in rows(state)
    assert not state.asks
    assert not state.waiting


def test_an_ask_knows_its_call_however_many_calls_came_since():
    scene = scenes.asking()
    state = state_of(scene)
    for number in range(RECORDS_KEPT + 10):
        reduce(state, [seen(f"later-{number}", {"command": "ls"})])
    waiting = state.call_of(state.asks["ask-1"])
    assert waiting is not None
    assert "offset=1500" in waiting.record.seen.args["command"]
    assert state.records.get(waiting.row.number) is None


def test_after_a_gap_what_is_not_known_says_so():
    scene = scenes.asking()
    scene.call("0192-4c1e-a67e", "sleep 100", result=None)
    state = state_of(scene)
    snapshot = scene.breaker.snapshot()
    reduce(state, [Snapshot(**{name: getattr(snapshot, name) for name in Snapshot.__struct_fields__} | {"missed": 7})])
    assert any(row.endswith("sleep 100|unknown") for row in rows(state))
    assert any("missed 7 events" in row for row in rows(state))
    assert state.missed == 7
    assert [waiting.row.phase for waiting in state.waiting.values()] == ["waiting"]


def test_notices_and_configurations_are_told():
    state = reduce(
        State(),
        [
            ConfigChanged(1.0, "a.yaml", {"warnAt": 3, "summarizeAt": None}, warnings=("limits.readpath is ignored",)),
            ConfigChanged(2.0, "a.yaml", error="window: 2 is too small"),
            Notice(3.0, "error", "the journal cannot be written"),
        ],
    )
    assert state.config.values == {"warnAt": 3, "summarizeAt": None}
    assert state.config.error == "window: 2 is too small"
    assert state.thresholds == Thresholds(warn_at=3)
    assert [note.level for note in state.notes] == ["info", "warning", "error", "error"]


# -- hostile text -----------------------------------------------------------------------------------------------------


def seen(call_id: str, args: Any, tool: str = "Bash", agent: str = "a1") -> CallSeen:
    return CallSeen(5.0, call_id, agent, tool, args, hash(call_id), 1, "allow", measures=(Capped("host:x", 5),))


def test_nothing_hostile_reaches_a_text_that_is_drawn():
    fingerprint = f"host:{HOSTILE}"
    call = CallSeen(
        5.0,
        HOSTILE,
        HOSTILE,
        HOSTILE,
        {HOSTILE: HOSTILE, "command": HOSTILE},
        1,
        1,
        "wait",
        (fingerprint,),
        (Capped(fingerprint, 2),),
        asks=("ask-1",),
        reason=HOSTILE,
    )
    hit = Hit("repeat", fingerprint, 2, 2, previous=HOSTILE)
    ask = Ask("ask-1", HOSTILE, HOSTILE, HOSTILE, (fingerprint,), (hit,), 5.0, None)
    state = reduce(
        State(),
        [
            AgentStarted(1.0, HOSTILE, "", HOSTILE, HOSTILE),
            call,
            AskOpened(5.0, ask),
            Notice(6.0, "error", HOSTILE),
            ConfigChanged(7.0, HOSTILE, {}, HOSTILE, (HOSTILE,)),
        ],
    )
    drawn = [row.text + row.who + row.tool + row.status for row in state.stream.since(0, 100)]
    drawn += [agent.label + agent.short for agent in state.agents]
    drawn += [measure.label for agent in state.agents for measure in agent.measures.values()]
    drawn += [note.text for note in state.notes] + [state.config.error]
    assert len(drawn) > 8
    for text in drawn:
        assert text.isprintable(), ascii(text)
        assert "\u202e" not in text


@settings(max_examples=100, deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_any_arguments_have_a_subject(value: Any):
    for args in ({"command": value}, {"some": value}, value if isinstance(value, dict) else {}):
        line = subject(args)
        assert line.isprintable() or not line
        assert len(line) < 2000


def test_large_arguments_cost_no_more_than_they_may():
    records = Records()
    large: list[Any] = [{"command": "x" * 3_000_000}, {"items": [{"a": "b" * 90}] * 200_000}]
    deep: Any = "core"
    for _ in range(100_000):
        deep = [deep]
    for number, args in enumerate([*large, {"nested": deep}]):
        record = records.add(number, seen(str(number), args))
        kept = json.dumps(record.seen.args, ensure_ascii=False)
        assert len(kept) <= ARGUMENTS_KEPT * 2
        assert "…‹" in kept
        assert size_of(record.seen.args) <= record.size


def test_records_are_bounded_in_number_and_size():
    records = Records()
    for number in range(RECORDS_KEPT * 2):
        records.add(number, seen(str(number), {"command": "x" * 10_000}))
    kept = [number for number in range(RECORDS_KEPT * 2) if records.get(number)]
    assert kept[-1] == RECORDS_KEPT * 2 - 1
    assert len(kept) * 10_000 <= CHARACTERS_KEPT
    assert len(kept) > 100


def test_a_call_is_copied_as_a_line_that_can_be_replayed():
    scene = Scene()
    scene.call("a1", f"echo {HOSTILE}", tool="Bash")
    state = state_of(scene)
    number = state.stream.end - 1
    record = state.records.get(number)
    assert record is not None
    line = as_session_line(record)
    assert line.isascii()
    assert line.isprintable()
    back = json.loads(line)
    assert back["type"] == "call"
    assert back["args"] == {"command": f"echo {HOSTILE}"}
    assert back["result"]["value"] == {"exitCode": 0}
