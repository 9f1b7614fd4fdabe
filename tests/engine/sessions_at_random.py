"""Sessions made by chance: every door of a breaker is used, loops are common, and each step can go over a wire."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from hypothesis import strategies as st

from engine.breaker import Breaker
from engine.calls import Call, result_of
from engine.checkpoint import Checkpoint
from engine.config import DEFAULTS, Config
from engine.verdicts import Outcome

Step = list[Any]
"""The name of an act and what it takes, as JSON has it."""

TIGHT = msgspec.structs.replace(
    DEFAULTS,
    window=6,
    warn_at=2,
    summarize_at=3,
    fail_warn_at=2,
    fail_limit=3,
    limits={"exact": 4.0, "cmd": 4.0, "host": 5.0, "net": 4.0, "sink": 4.0, "site": None},
)
"""A configuration under which a short session meets every stage."""

AGENTS = ("a", "b", "a/sub")
TOOLS = ("bash", "read", "todo_write")
COMMANDS = (
    *("ls", "curl https://api.example.org/v1?token=hunter22", "curl -H 'Authorization: Bearer abc.def' http://x.test"),
    *("make > /tmp/out.log", "cat log", "curl https://api.example.org/v2"),
)
IDS = tuple(f"c{number}" for number in range(6))
RESULTS = (
    {"isError": False, "value": {"exitCode": 0}, "content": [{"type": "text", "text": "fine"}]},
    {"isError": False, "value": {"exitCode": 1}, "content": [{"type": "text", "text": "broken\nat last"}]},
    {"isError": True, "error": {"code": "EACCES"}, "content": [{"type": "text", "text": "no"}]},
    {"isError": True, "error": {"code": "ABORTED"}},
    {"value": {"statusCode": 503, "stdout": "try later"}},
    {"content": [{"type": "text", "text": "Traceback (most recent call last)\nValueError: x"}]},
)

agents = st.sampled_from(AGENTS)
numbers = st.integers(0, 5)


@st.composite
def loops(draw: st.DrawFn) -> list[Step]:
    """One call again and again, with or without its results."""
    agent, result = draw(agents), draw(st.sampled_from((None, *RESULTS)))
    tool = draw(st.sampled_from(("bash", "bash", "bash", *TOOLS)))
    command = draw(st.sampled_from(COMMANDS))
    made: list[Step] = []
    for call_id in draw(st.lists(st.sampled_from(IDS), min_size=1, max_size=6)):
        made.append(["decide", agent, call_id, tool, command])
        if result is not None:
            made.append(["settle", agent, call_id, result])
    return made


answers = st.tuples(
    st.just("answer"),
    numbers,
    st.sampled_from(["approved", "approved", "rejected", "timed_out", "unattended"]),
    st.sampled_from(["", "try the mirror"]),
)
turns = st.tuples(st.sampled_from(["turn", "end", "reset"]), agents)
others = st.one_of(
    st.tuples(st.just("settle"), agents, st.sampled_from(IDS), st.sampled_from(RESULTS)),
    st.tuples(st.just("start"), agents, st.sampled_from(("", *AGENTS))),
    st.tuples(st.just("cancel"), agents, st.sampled_from(IDS)),
    st.tuples(st.sampled_from(["attend", "leave", "attend"])),
    st.tuples(st.sampled_from(["revoke", "lift"]), agents, numbers),
    st.tuples(st.just("config"), st.sampled_from([4, 6, 9])),
)


@st.composite
def sessions(draw: st.DrawFn) -> list[Step]:
    """Loops for the most part, and what people do about them."""
    made: list[Step] = []
    for kind in draw(st.text("lllllllaaatoo", min_size=8, max_size=40)):
        if kind == "l":
            made.extend(draw(loops()))
        else:
            made.append(list(draw({"a": answers, "t": turns, "o": others}[kind])))
    return made


def take(breaker: Breaker, step: Step) -> None:
    """Take one step. What it names by number is taken from what there is; there may be nothing."""
    act, *given = step
    _ACTS[act](breaker, *given)


def _decide(breaker: Breaker, agent: str, call_id: str, tool: str, command: str) -> None:
    breaker.decide(Call(call_id, agent, tool, {"command": command}))


def _settle(breaker: Breaker, agent: str, call_id: str, result: Any) -> None:
    breaker.settle(agent, call_id, result_of(result))


def _answer(breaker: Breaker, number: int, outcome: Outcome, note: str) -> None:
    if asks := breaker.asks():
        breaker.answer(asks[number % len(asks)].id, outcome, note)


def _start(breaker: Breaker, agent: str, parent: str) -> None:
    breaker.start_agent(agent, parent=parent, harness="test", name=agent.upper())


def _revoke(breaker: Breaker, agent: str, number: int) -> None:
    for state in breaker.snapshot().agents:
        if state.agent == agent and state.exemptions:
            breaker.revoke(agent, state.exemptions[number % len(state.exemptions)])


def _lift(breaker: Breaker, agent: str, number: int) -> None:
    for state in breaker.snapshot().agents:
        if state.agent == agent and state.refusals:
            breaker.lift(agent, state.refusals[number % len(state.refusals)].fingerprint)


def _configure(breaker: Breaker, window: int) -> None:
    breaker.reconfigure(with_window(breaker.config, window), "test.yaml")


_ACTS: dict[str, Callable[..., object]] = {
    "decide": _decide,
    "settle": _settle,
    "answer": _answer,
    "start": _start,
    "revoke": _revoke,
    "lift": _lift,
    "config": _configure,
    "turn": Breaker.start_turn,
    "end": Breaker.end_agent,
    "cancel": Breaker.cancel,
    "attend": Breaker.attend,
    "leave": Breaker.leave,
    "reset": Breaker.reset_turn,
}


def with_window(config: Config, window: int) -> Config:
    return msgspec.structs.replace(config, window=window)


def comparable(checkpoint: Checkpoint, *, waiting: bool = True) -> Any:
    """A checkpoint without what events do not tell: when exactly an agent was last heard of."""
    states = msgspec.to_builtins(checkpoint)["agents"]
    for state in states:
        del state["last_seen"]
        if not waiting:
            state.pop("waiting", None)
        for flight in (*state.get("in_flight", ()), *state.get("waiting", ())):
            del flight["at"]
    return {
        "tickets": checkpoint.tickets,
        "asks": checkpoint.asks,
        # Encoded, so that the order in which things will be forgotten counts too.
        "agents": {state["agent"]: msgspec.json.encode(state) for state in states},
    }
