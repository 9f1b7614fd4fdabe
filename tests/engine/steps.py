"""What may happen to a breaker, step by step: every door is used, loops are common, each step can go over a wire."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import msgspec

from engine.breaker import Breaker
from engine.calls import Call, result_of
from engine.checkpoint import Checkpoint
from engine.config import DEFAULTS, Config
from engine.journal_lines import decode_checkpoint

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

KINDS = "l" * 14 + "a" * 6 + "o" * 4 + "t"
"""Loops, answers, other acts, new turns: so that exemptions and refusals live long enough to be worth something."""


def steps_at_random(random: Random) -> Iterator[Step]:
    """Steps without end: what agents do, and what people do about it."""
    while True:
        agent = random.choice(AGENTS)
        match random.choice(KINDS):
            case "l":
                tool, command = random.choice(("bash", "bash", *TOOLS)), random.choice(COMMANDS)
                result = random.choice((None, *RESULTS))
                for _ in range(random.randint(1, 6)):
                    call_id = random.choice(IDS)
                    yield ["decide", agent, call_id, tool, command]
                    if result is not None:
                        yield ["settle", agent, call_id, result]
            case "a":
                yield ["answer", random.randrange(6), *random.choice((["approved", ""], ["rejected", "no"]))]
            case "t":
                yield [random.choice(("turn", "end", "reset")), agent]
            case _:
                yield random.choice(
                    (
                        ["start", agent, random.choice(("", *AGENTS))],
                        ["cancel", agent, random.choice(IDS)],
                        [random.choice(("revoke", "lift")), agent, random.randrange(6)],
                        ["settle", agent, random.choice(IDS), random.choice(RESULTS)],
                    )
                )


def named(breaker: Breaker, step: Step) -> Step | None:
    """The step with the name of what it gives by number; None when there is nothing of the kind."""
    match step:
        case ["answer", int(number), *rest]:
            held = [ask.id for ask in breaker.asks()]
            return ["answer", held[number % len(held)], *rest] if held else None
        case ["revoke" | "lift" as name, agent, int(number)]:
            for state in breaker.snapshot().agents:
                held = list(state.exemptions) if name == "revoke" else [one.fingerprint for one in state.refusals]
                if state.agent == agent and held:
                    return [name, agent, held[number % len(held)]]
            return None
    return step


def take(breaker: Breaker, step: Step) -> None:
    """Take one step, if there is what it takes."""
    if found := named(breaker, step):
        name, *given = found
        _ACTS[name](breaker, *given)


def _decide(breaker: Breaker, agent: str, call_id: str, tool: str, command: str) -> None:
    breaker.decide(Call(call_id, agent, tool, {"command": command}))


def _settle(breaker: Breaker, agent: str, call_id: str, result: Any) -> None:
    breaker.settle(agent, call_id, result_of(result))


def _start(breaker: Breaker, agent: str, parent: str) -> None:
    breaker.start_agent(agent, parent=parent, harness="test", name=agent.upper())


def _configure(breaker: Breaker, window: int) -> None:
    breaker.reconfigure(with_window(breaker.config, window), "test.yaml")


_ACTS: dict[str, Callable[..., object]] = {
    "decide": _decide,
    "settle": _settle,
    "start": _start,
    "config": _configure,
    "answer": Breaker.answer,
    "revoke": Breaker.revoke,
    "lift": Breaker.lift,
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
    states = msgspec.to_builtins(decode_checkpoint(msgspec.json.encode(checkpoint)))["agents"]
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
