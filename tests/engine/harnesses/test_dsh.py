"""The bridge in DSH: asked before, refused in the guard, settled after; and an engine that comes and goes."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.events import AgentEnded, AgentStarted, AskClosed, AskOpened, CallSettled, TurnStarted
from engine.host import Host
from tests.engine.harnesses.bridging import (
    HANG_UP,
    IMPATIENT,
    WELCOME,
    PretendEngine,
    Stage,
    needs_node,
    replies,
    stage,
)
from tests.engine.sockets import hosted, short_directory, until

pytestmark = needs_node

MAIN = {"id": "session-1"}
CHILD = {"id": "session-2", "origin": "subagent", "parentSession": "session-1", "agentPreset": "explorer"}
HUMAN = {"kind": "user"}
EXIT_3 = {"value": {"kind": "foreground", "exitCode": 3}, "content": [{"type": "text", "text": "no\n[exit code: 3]"}]}
ALLOW = {"decision": "allow"}
NO_ADVICE: dict[str, Any] = {"advisories": []}


class Dsh(Stage):
    """DSH, with an agent that calls tools."""

    script = "dsh_stage.mjs"

    _calls = 0

    def begin(self, command: str = "make", **more: Any) -> int:
        """Begin a call, and do not wait for it."""
        Dsh._calls += 1
        call = {"id": f"c{Dsh._calls}", "agent": MAIN, "tool": "bash", "args": {"command": command}} | more
        return self.start("call", **call)

    def call(self, command: str = "make", **more: Any) -> Any:
        return self.result(self.begin(command, **more))


@contextlib.contextmanager
def dsh(socket: Path, on_unreachable: str = "allow", **variables: str) -> Iterator[Dsh]:
    settings = {"socket": str(socket), "onUnreachable": on_unreachable}
    with stage(Dsh, settings, **variables) as one:
        yield one


@contextlib.contextmanager
def guarded() -> Iterator[tuple[Dsh, Host, list[Any]]]:
    """DSH beside an engine, and what the engine reports."""
    events: list[Any] = []
    with hosted(listeners=[events.append]) as (host, path), dsh(path) as one:
        yield one, host, events


@pytest.fixture
def socket() -> Iterator[Path]:
    with short_directory() as directory:
        yield directory / "e.sock"


def of(events: list[Any], kind: type[Any]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


# -- a call, and what becomes of it ---------------------------------------------------------------------------


def test_the_model_is_advised_and_then_refused() -> None:
    with guarded() as (one, _, _):
        calls = [one.call() for _ in range(14)]
    assert [call["ran"] for call in calls] == [True] * 11 + [False] * 3
    assert [n for n, call in enumerate(calls, 1) if call["told"].startswith("CONVERGENCE_CHECK")] == [7, 11]
    assert all(call["told"].startswith("Error: REPEAT_TOOL_BLOCKED") for call in calls[11:])


def test_advice_is_a_notice_from_a_plugin() -> None:
    """To DSH, a text without a source is a human's."""
    with guarded() as (one, _, _):
        *_, seventh = [one.call() for _ in range(7)]
    (source,) = seventh["sources"]
    assert source["kind"] == "plugin"
    assert source["form"] == "notice"
    assert seventh["told"].startswith(source["summary"])


def test_a_failing_command_is_refused_until_a_human_writes() -> None:
    with guarded() as (one, _, _):
        calls = [one.call(result=EXIT_3) for _ in range(7)]
        assert [call["ran"] for call in calls] == [True] * 5 + [False] * 2
        assert "failed 3 times" in calls[2]["told"]
        one.do("message", agent=MAIN, sources=[{"kind": "plugin", "plugin": "other"}, {"kind": "goal"}])
        assert not one.call(result=EXIT_3)["ran"]
        one.do("message", agent=MAIN, sources=[{"kind": "plugin"}, HUMAN])
        assert one.call(result=EXIT_3)["ran"]


@pytest.mark.parametrize(
    "result",
    [
        {"value": {"kind": "foreground", "exitCode": 0}},
        {"value": {"kind": "background", "jobId": "j1"}},
        {"value": {"kind": "foreground", "exitCode": 143, "aborted": True}},
        {"value": {"url": "x", "statusCode": 200, "body": "HTTP Error 500"}},
    ],
    ids=["a success", "a job in the background", "an aborted command", "a page"],
)
def test_what_is_no_failure(result: dict[str, Any]) -> None:
    with guarded() as (one, _, events):
        assert all(one.call(result=result)["ran"] for _ in range(6))
        assert not any(event.failure for event in of(events, CallSettled))


@pytest.mark.parametrize(
    ("tool", "result", "reason"),
    [
        ("bash", EXIT_3, "exit"),
        ("bash", {"value": {"kind": "foreground", "exitCode": None, "timedOut": True, "timeoutMs": 50}}, "timeout"),
        ("bash", {"value": {"kind": "foreground", "exitCode": None, "signal": "SIGKILL"}}, "signal"),
        ("bash", {"value": {"exitCode": 0, "sandbox": {"mode": "read-only", "denied": True}}}, "sandbox"),
        ("bash", {"value": {"exitCode": 0, "stdout": "curl: (6) no such host"}}, "curl"),
        ("web_fetch", {"value": {"url": "x", "statusCode": 404, "body": "", "truncated": False}}, "http"),
        ("read", {"thrown": "no such file"}, "error"),
    ],
)
def test_what_is_a_failure(tool: str, result: dict[str, Any], reason: str) -> None:
    with guarded() as (one, _, events):
        one.call(tool=tool, result=result)
        (settled,) = of(events, CallSettled)
        assert settled.failure.reason == reason


def test_what_another_plugin_refuses_is_no_failure() -> None:
    with guarded() as (one, _, events):
        assert not any(one.call(turned="deny")["ran"] for _ in range(6))
        assert [event.aborted for event in of(events, CallSettled)] == [True] * 6


def test_no_other_plugin_lets_a_refused_call_through() -> None:
    with guarded() as (one, _, _):
        calls = [one.call(waved=True, turned="allow") for _ in range(12)]
    assert [call["ran"] for call in calls] == [True] * 11 + [False]


def test_a_call_whose_own_pipeline_breaks_is_settled_all_the_same() -> None:
    with guarded() as (one, _, events):
        one.call(breaks=True, result={"thrown": "broken"})
        until(lambda: of(events, CallSettled), "it is settled")
        one.call()
        assert len(of(events, CallSettled)) == 2


def test_a_call_of_no_agent_is_none_of_our_business() -> None:
    with guarded() as (one, _, events):
        assert all(one.call(agent=None)["ran"] for _ in range(13))
        assert not of(events, AgentStarted)


# -- the operator ---------------------------------------------------------------------------------------------


def test_the_operator_is_asked_once_and_approves_for_the_turn() -> None:
    with guarded() as (one, host, events):
        operator = host.operator()
        assert all(one.call()["ran"] for _ in range(11))
        waiting = [one.begin(), one.begin()]
        opened = until(lambda: of(events, AskOpened), "the operator is asked")
        operator.answer(opened[0].ask.id, "approved")
        assert all(one.result(number)["ran"] for number in waiting)
        assert one.call()["ran"]
        assert len(of(events, AskOpened)) == 1


def test_a_call_that_is_given_up_while_it_waits_withdraws_its_ask() -> None:
    with guarded() as (one, host, events):
        host.operator()
        assert all(one.call()["ran"] for _ in range(11))
        waiting = one.begin(id="given-up")
        until(lambda: of(events, AskOpened), "the operator is asked")
        one.do("abort", id="given-up")
        outcome = one.result(waiting)
        assert (outcome["ran"], outcome["code"]) == (False, "ABORTED_BEFORE_DISPATCH")
        assert until(lambda: of(events, AskClosed), "the ask is withdrawn")[0].outcome == "cancelled"


def test_a_harness_that_ends_while_a_call_waits_withdraws_its_ask() -> None:
    with guarded() as (one, host, events):
        host.operator()
        assert all(one.call()["ran"] for _ in range(11))
        one.begin()
        until(lambda: of(events, AskOpened), "the operator is asked")
        one.process.kill()
        assert until(lambda: of(events, AskClosed), "the ask is withdrawn")[0].outcome == "cancelled"
        one.process.wait()
        one.process.returncode = 0


# -- who is who -----------------------------------------------------------------------------------------------


def test_a_sub_agent_has_its_own_count_under_its_parent() -> None:
    with guarded() as (one, _, events):
        assert all(one.call(result=EXIT_3)["ran"] for _ in range(5))
        assert not one.call()["ran"]
        assert one.call(agent=CHILD)["ran"]
        started = [(event.agent, event.parent, event.harness, event.name) for event in of(events, AgentStarted)]
        assert started == [("session-1", "", "dsh", ""), ("session-2", "session-1", "dsh", "explorer")]
        one.do("disposed", agent=CHILD)
        assert until(lambda: of(events, AgentEnded), "it is gone")[0].agent == "session-2"


def test_what_a_parent_writes_to_its_sub_agent_is_no_human_message() -> None:
    with guarded() as (one, _, events):
        one.do("message", agent=CHILD, sources=[HUMAN])
        one.call(agent=CHILD)
        assert not of(events, TurnStarted)
        one.do("message", agent=CHILD, sources=[HUMAN | {"rpcId": 7}])
        one.call(agent=CHILD)
        assert [event.agent for event in of(events, TurnStarted)] == ["session-2"]


def test_a_session_that_a_human_forked_is_no_sub_agent() -> None:
    with guarded() as (one, _, events):
        forked = {"id": "session-3", "parentSession": "session-1"}
        one.do("message", agent=forked, sources=[HUMAN])
        one.call(agent=forked)
        assert [event.parent for event in of(events, AgentStarted)] == [""]
        assert of(events, TurnStarted)


def test_the_agents_are_gone_when_the_harness_is() -> None:
    with guarded() as (one, _, events):
        one.call()
        one.do("unmount")
        assert until(lambda: of(events, AgentEnded), "it is gone")[0].agent == "session-1"
        assert one.leave() == 0


def test_an_open_line_does_not_keep_the_harness_alive() -> None:
    with guarded() as (one, _, _):
        one.call()
        assert one.leave() == 0


def test_a_waiting_call_keeps_the_harness_alive() -> None:
    """Node ends when nothing is left to wait for, and would take the turn with it."""
    with guarded() as (one, host, events):
        operator = host.operator()
        assert all(one.call()["ran"] for _ in range(11))
        waiting = one.begin()
        opened = until(lambda: of(events, AskOpened), "the operator is asked")
        assert one.process.stdin
        one.process.stdin.close()
        operator.answer(opened[0].ask.id, "approved")
        assert one.result(waiting)["ran"]


# -- what is too large or too odd -----------------------------------------------------------------------------


def test_arguments_of_any_size_are_counted() -> None:
    with guarded() as (one, _, _):
        huge = {"repeated": ["a bc", 1_200_000]}
        calls = [one.call(tool="write", args={"file": "x", "content": huge})["ran"] for _ in range(12)]
        assert calls == [True] * 11 + [False]
        other = {"repeated": ["a bd", 1_200_000]}
        assert one.call(tool="write", args={"file": "x", "content": other})["ran"]


def test_a_frame_stays_bounded_whatever_is_in_it(socket: Path) -> None:
    with (
        PretendEngine(socket, replies(call_decide=ALLOW, call_settle=NO_ADVICE)) as engine,
        dsh(socket) as one,
    ):
        many = {"repeated": ["é", 1_200_000]}
        printed = [{"type": "text", "text": {"repeated": ["begin", 10]}}, {"type": "text", "text": many}]
        one.call(tool="write", args={"lines": [many] * 4}, result={"content": printed})
        one.call(tool="write", args={"words": {"deep": 1000}, "more": [{"repeated": ["x", 999]}] * 5_000})
        sizes = [len(json.dumps(message)) for message in engine.heard]
        assert max(sizes) < 4_500_000
        (settled, _) = [message for message in engine.heard if message["method"] == "call/settle"]
        (block,) = settled["params"]["result"]["content"]
        assert block["text"].startswith("beginbegin")
        assert block["text"].endswith("é")
        assert len(block["text"]) < 300_000


def test_arguments_that_no_json_can_hold_are_refused() -> None:
    with guarded() as (one, _, _):
        outcome = one.call(args={"nested": {"deep": 20_000}})
        assert not outcome["ran"]
        assert "could not read this call" in outcome["told"]


def test_half_a_character_is_no_way_around() -> None:
    with guarded() as (one, _, _):
        assert [one.call("echo \ud800")["ran"] for _ in range(12)] == [True] * 11 + [False]


# -- engines that are not there, or none ----------------------------------------------------------------------


def test_without_an_engine_calls_go_on_with_one_warning(socket: Path) -> None:
    with dsh(socket) as one:
        assert all(one.call()["ran"] for _ in range(13))
        one.do("message", agent=MAIN, sources=[HUMAN])
        (warning,) = one.warned
        assert "no engine at" in warning
        assert "unguarded" in warning


def test_without_an_engine_calls_are_refused_where_that_is_wanted(socket: Path) -> None:
    with dsh(socket, "deny") as one:
        outcome = one.call()
        assert not outcome["ran"]
        assert "REPEAT_TOOL_BLOCKED: no breaker guards this call" in outcome["told"]


def test_a_call_that_nobody_was_asked_about_is_refused_where_that_is_wanted() -> None:
    """A plugin that is mounted while a call waits elsewhere sees it for the first time in the guard."""
    with hosted() as (_, path), dsh(path, "deny") as one:
        assert one.call()["ran"]
        assert not one.call(skipped=True)["ran"]
    with hosted() as (_, path), dsh(path) as one:
        assert one.call(skipped=True)["ran"]


def test_an_engine_that_comes_and_goes_and_comes(socket: Path) -> None:
    answers = replies(call_decide=ALLOW, call_settle=NO_ADVICE)
    with dsh(socket) as one:
        assert one.call()["ran"]
        for _ in range(2):
            with PretendEngine(socket, answers) as engine:
                assert one.call()["ran"]
                assert engine.methods() == ["initialize", "agent/start", "call/decide", "call/settle"]
            until(lambda: one.call()["ran"] and len(one.warned) > 1, "it notices that the engine has gone")
        assert len(one.warned) == 3


def test_a_call_under_way_when_the_engine_dies_is_refused(socket: Path) -> None:
    def die(_: dict[str, Any]) -> Any:
        engine.stop()
        return HANG_UP

    with PretendEngine(socket, replies(call_decide=die)) as engine, dsh(socket) as one:
        outcome = one.call()
        assert not outcome["ran"]
        assert "gave no answer about this call" in outcome["told"]
        assert one.call()["ran"]


def test_a_call_under_way_is_asked_of_the_next_engine(socket: Path) -> None:
    denied = {"decision": "deny", "reason": "REPEAT_TOOL_BLOCKED by the second"}
    verdicts = iter([HANG_UP, denied])
    with PretendEngine(socket, replies(call_decide=lambda _: next(verdicts))) as engine, dsh(socket) as one:
        assert one.call()["told"] == "Error: REPEAT_TOOL_BLOCKED by the second"
        assert engine.methods().count("initialize") == 2


def test_an_engine_that_dies_under_a_result_costs_no_more_than_the_advice(socket: Path) -> None:
    with (
        PretendEngine(socket, replies(call_decide=ALLOW, call_settle=lambda _: HANG_UP)),
        dsh(socket) as one,
    ):
        assert [one.call() | {"sources": None} for _ in range(2)] == [
            {"ran": True, "code": None, "told": "", "sources": None}
        ] * 2


JUNK = {
    "no JSON": b"HTTP/1.1 400 Bad Request\r\n\r\n",
    "no object": b"[]\n",
    "no id": b'{"jsonrpc":"2.0","result":{}}\n',
    "another id": b'{"jsonrpc":"2.0","id":99,"result":{"decision":"allow"}}\nx\n',
    "no result": b'{"jsonrpc":"2.0","id":2}\n',
    "half a character": b'{"jsonrpc":"2.0","id":2,"result":"\xff"}\n',
    "an id of another kind": b'{"jsonrpc":"2.0","id":"2","result":{"decision":"allow"}}\n',
}


@pytest.mark.parametrize("junk", JUNK.values(), ids=JUNK.keys())
def test_what_talks_junk_from_the_start_is_no_engine(socket: Path, junk: bytes) -> None:
    with PretendEngine(socket, lambda _: junk), dsh(socket) as one:
        assert one.call()["ran"]
        assert len(one.warned) == 1
    with PretendEngine(socket, lambda _: junk), dsh(socket, "deny") as one:
        assert not one.call()["ran"]


@pytest.mark.parametrize("junk", JUNK.values(), ids=JUNK.keys())
def test_junk_in_place_of_a_verdict_is_a_refusal(socket: Path, junk: bytes) -> None:
    with PretendEngine(socket, replies(call_decide=lambda _: junk)), dsh(socket) as one:
        outcome = one.call()
        assert not outcome["ran"]
        assert "REPEAT_TOOL_BLOCKED" in outcome["told"]


@pytest.mark.parametrize(
    "verdict", [{}, {"decision": "maybe"}, {"decision": "deny"}, {"decision": "deny", "reason": 1}]
)
def test_a_verdict_that_is_none_is_a_refusal(socket: Path, verdict: dict[str, Any]) -> None:
    with PretendEngine(socket, replies(call_decide=verdict)), dsh(socket) as one:
        assert "cannot be read" in one.call()["told"]


@pytest.mark.parametrize("welcome", [{}, {"protocol": 2, "limits": {"askTimeout": 1}}, {"protocol": 1, "limits": 1}])
def test_another_protocol_is_no_engine_of_ours(socket: Path, welcome: dict[str, Any]) -> None:
    with PretendEngine(socket, replies(initialize=welcome)), dsh(socket) as one:
        assert one.call()["ran"]
        assert "is no engine" in one.warned[0]


def test_a_verdict_that_does_not_come_is_a_refusal(socket: Path) -> None:
    with PretendEngine(socket, replies(initialize=IMPATIENT)), dsh(socket) as one:
        assert "no answer in time" in one.call()["told"]


def test_an_engine_that_hangs_before_the_welcome_is_there_and_lets_nothing_through(socket: Path) -> None:
    with PretendEngine(socket, lambda _: None), dsh(socket) as one:
        assert "no answer in time" in one.call()["told"]


def test_an_engine_that_hangs_up_before_the_welcome_was_there_and_lets_nothing_through(socket: Path) -> None:
    with PretendEngine(socket, lambda _: HANG_UP), dsh(socket) as one:
        assert "gave no answer about this call" in one.call()["told"]


def test_an_engine_that_dies_while_asked_may_still_take_a_connection(socket: Path) -> None:
    """The kernel takes its socket away a moment later: what is told is what happened, not that it was late."""

    def welcome(_: dict[str, Any]) -> Any:
        return HANG_UP if engine.methods().count("initialize") > 1 else WELCOME

    with (
        PretendEngine(socket, replies(initialize=welcome, call_decide=lambda _: HANG_UP)) as engine,
        dsh(socket) as one,
    ):
        assert "gave no answer about this call" in one.call()["told"]
        assert engine.methods().count("initialize") == 2


def test_an_error_is_a_refusal(socket: Path) -> None:
    def refuse(message: dict[str, Any]) -> bytes:
        error = {"code": -32602, "message": "args: too odd"}
        return json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": error}).encode() + b"\n"

    with PretendEngine(socket, replies(call_decide=refuse)), dsh(socket) as one:
        assert "could not read this call, so it was not run: args: too odd." in one.call()["told"]


def test_a_call_is_given_up_beside_an_engine_that_hangs(socket: Path) -> None:
    with PretendEngine(socket, replies()) as engine, dsh(socket) as one:
        waiting = one.begin(id="given-up")
        until(lambda: "call/decide" in engine.methods(), "it is asked")
        one.do("abort", id="given-up")
        assert one.result(waiting)["code"] == "ABORTED_BEFORE_DISPATCH"
        until(lambda: "call/cancel" in engine.methods(), "it is withdrawn")


def test_a_call_is_given_up_before_there_is_a_line(socket: Path) -> None:
    with PretendEngine(socket, lambda _: None) as engine, dsh(socket) as one:
        waiting = one.begin(id="given-up")
        until(lambda: engine.heard, "it knocks")
        one.do("abort", id="given-up")
        assert one.result(waiting)["code"] == "ABORTED_BEFORE_DISPATCH"


def test_answers_come_in_any_order_and_in_any_pieces(socket: Path) -> None:
    held: list[int] = []

    def answer(message: dict[str, Any]) -> bytes | None:
        held.append(message["id"])
        if len(held) < 3:
            return None
        lines = [
            json.dumps({"jsonrpc": "2.0", "id": one, "result": {"decision": "deny", "reason": f"REPEAT {one} é"}})
            for one in reversed(held)
        ]
        return ("\n".join(lines) + "\n").encode()

    with PretendEngine(socket, replies(call_decide=answer)), dsh(socket) as one:
        told = [one.result(number)["told"] for number in [one.begin() for _ in range(3)]]
        assert told == [f"Error: REPEAT {number} é" for number in held]


def test_a_human_who_wrote_while_no_engine_was_there_is_heard_of(socket: Path) -> None:
    with dsh(socket) as one:
        one.do("message", agent=MAIN, sources=[HUMAN])
        with PretendEngine(socket, replies(call_decide=ALLOW, turn_start={}, call_settle=NO_ADVICE)) as engine:
            one.call()
            one.call()
            methods = engine.methods()
            assert methods.index("turn/start") < methods.index("call/decide")
            assert methods.count("turn/start") == 1


def test_a_human_message_is_told_once(socket: Path) -> None:
    """The answer to it may be late; what has been counted since must not be cleared by it."""
    with (
        PretendEngine(socket, replies(call_decide=ALLOW, call_settle=NO_ADVICE)) as engine,
        dsh(socket) as one,
    ):
        one.do("message", agent=MAIN, sources=[HUMAN])
        one.call()
        one.call()
        assert engine.methods().count("turn/start") == 1


# -- settings -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "settings",
    [{"socket": "e.sock"}, {}, {"socket": "/e", "onUnreachable": "ask"}, {"socket": "/e", "onunreachable": "deny"}],
)
def test_settings_that_cannot_be_meant_stop_the_harness(settings: dict[str, str]) -> None:
    one = Dsh(settings)
    _, said = one.process.communicate()
    assert one.process.returncode == 1
    assert "Error: repeat-tool-breaker: " in said


def test_the_environment_has_the_last_word(socket: Path) -> None:
    with (
        PretendEngine(socket, replies(call_decide=ALLOW, call_settle=NO_ADVICE)) as engine,
        dsh(Path("/x"), BREAKER_SOCKET=str(socket)) as one,
    ):
        assert one.call()["ran"]
        assert "call/decide" in engine.methods()
