"""The bridge in opencode, on payloads as the real one sent them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.events import AgentEnded, AgentStarted, AskClosed, AskOpened, CallSeen, CallSettled, TurnStarted
from engine.host import Host
from tests.engine.harnesses.bridging import HANG_UP, PretendEngine, Stage, Thrown, needs_node, replies, stage
from tests.engine.harnesses.captures import capture
from tests.engine.sockets import hosted, short_directory, until

pytestmark = needs_node

SESSION = "ses_main"
CHILD = "ses_child"


class Opencode(Stage):
    """opencode, with sessions whose model calls tools."""

    script = "opencode_stage.mjs"
    _calls = 0

    def ask(self, tool: str = "bash", session: str = SESSION, call: str = "", **args: Any) -> tuple[str, int]:
        """The call's id, and the number of what is under way before it."""
        Opencode._calls += 1
        call = call or f"call_{Opencode._calls}"
        about = {"tool": tool, "sessionID": session, "callID": call}
        return call, self.start("before", input=about, output={"args": args or {"command": "make"}})

    def run(self, output: Any, tool: str = "bash", session: str = SESSION, **args: Any) -> Any:
        """Run a call to its end: what the model is given. Raises Thrown for a refusal."""
        call, number = self.ask(tool, session, **args)
        self.result(number)
        about = {"tool": tool, "sessionID": session, "callID": call, "args": args}
        return self.do("after", input=about, output=output)

    def throw(self, error: str, session: str = SESSION, **args: Any) -> str:
        """Run a call that throws; its id."""
        call, number = self.ask("read", session, **args)
        self.result(number)
        self.tell_error(call, error, session)
        return call

    def tell_error(self, call: str, error: str, session: str = SESSION) -> None:
        part = {"type": "tool", "sessionID": session, "callID": call, "state": {"status": "error", "error": error}}
        self.event("message.part.updated", part=part)

    def event(self, kind: str, **properties: Any) -> None:
        self.do("event", event={"type": kind, "properties": properties})

    def created(self, session: str = SESSION, parent: str | None = None) -> None:
        self.event("session.created", info={"id": session} | ({"parentID": parent} if parent else {}))

    def write(self, session: str = SESSION, agent: str = "build", **part: Any) -> None:
        """Somebody writes to the session."""
        output = {"message": {"role": "user", "agent": agent}, "parts": [{"type": "text", "text": "do it"} | part]}
        self.do("message", input={"sessionID": session}, output=output)


@contextlib.contextmanager
def opencode(socket: Path, on_unreachable: str = "allow", older: Any = None) -> Iterator[Opencode]:
    with stage(Opencode, {"socket": str(socket), "onUnreachable": on_unreachable}, older or {}) as one:
        yield one


@contextlib.contextmanager
def guarded(older: Any = None) -> Iterator[tuple[Opencode, Host, list[Any]]]:
    """opencode beside an engine, and what the engine reports."""
    events: list[Any] = []
    with hosted(listeners=[events.append]) as (host, path), opencode(path, older=older) as one:
        yield one, host, events


def of(events: list[Any], kind: type[Any]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


def printed(text: str, **metadata: Any) -> dict[str, Any]:
    return {"title": "", "output": text, "metadata": {"output": text} | metadata}


OK = printed("done\n", exit=0)
EXIT_3 = capture("opencode", "tool.execute.after.bash.exit3")["output"]


def test_the_model_is_advised_and_then_refused() -> None:
    with guarded() as (one, _, _):
        told = [one.run(OK)["output"] for _ in range(11)]
        assert [n for n, text in enumerate(told, 1) if "\n\nCONVERGENCE_CHECK" in text] == [7, 11]
        assert all(text.startswith("done\n") for text in told)
        for _ in range(3):
            with pytest.raises(Thrown, match=r"^REPEAT_TOOL_BLOCKED"):
                one.run(OK)


@pytest.mark.parametrize("name", ["bash", "bash.exit3", "read", "task"])
def test_payloads_as_they_came(name: str) -> None:
    before, after = (
        capture("opencode", f"tool.execute.before.{name}"),
        capture("opencode", f"tool.execute.after.{name}"),
    )
    with guarded() as (one, _, events):
        one.do("before", input=before["input"], output=before["output"])
        after["input"] |= {key: before["input"][key] for key in ("sessionID", "callID")}
        assert one.do("after", **after) == after["output"]
        (seen,), (settled,) = of(events, CallSeen), of(events, CallSettled)
        assert (seen.tool, seen.args) == (before["input"]["tool"], before["output"]["args"])
        assert bool(settled.failure) is name.endswith("exit3")


def test_a_failing_command_is_refused_until_a_human_writes() -> None:
    with guarded() as (one, _, _):
        for _ in range(5):
            one.run(EXIT_3)
        with pytest.raises(Thrown):
            one.run(EXIT_3)
        one.write(synthetic=True)
        with pytest.raises(Thrown):
            one.run(EXIT_3)
        one.do("message", **capture("opencode", "chat.message"))
        one.write()
        assert one.run(EXIT_3)


REMARK = "\n<shell_metadata>\nshell tool terminated command after exceeding timeout 300 ms. If so\n</shell_metadata>"
GIVEN_UP = "\n<shell_metadata>\nUser aborted the command\n</shell_metadata>"


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        (printed(f"a{REMARK}", exit=None), "timeout"),
        (printed(f"a{REMARK}", exit=0), None),
        (printed(f"a{GIVEN_UP}", exit=3), "exit"),
        (printed("Error", exit=0), None),
        ({"content": [{"type": "text", "text": "x"}], "isError": True}, "error"),
        ({"content": [{"type": "text", "text": "x"}, {"type": "image", "data": "…"}]}, None),
        (None, "error"),
    ],
    ids=["timed out", "timed out, it says", "given up, it says", "an exit", "MCP failed", "MCP", "nothing"],
)
def test_how_a_call_went(output: Any, reason: str | None) -> None:
    with guarded() as (one, _, events):
        one.run(output)
        (settled,) = of(events, CallSettled)
        assert (settled.failure.reason if settled.failure else None) == reason
        assert not settled.aborted


def test_a_command_that_its_user_stopped_is_no_failure() -> None:
    with guarded() as (one, _, events):
        one.run(printed(f"a{GIVEN_UP}", exit=None))
        assert of(events, CallSettled)[0].aborted


def test_advice_on_what_an_mcp_server_gave() -> None:
    with guarded() as (one, _, _):
        *_, seventh = [one.run({"content": [{"type": "text", "text": "x"}]}, "mcp_look") for _ in range(7)]
        assert [block["text"][:17] for block in seventh["content"]] == ["x", "CONVERGENCE_CHECK"]


def test_a_tool_that_throws_is_a_failure_and_the_model_is_advised() -> None:
    with guarded() as (one, _, _):
        calls = [one.throw("File not found: /nope", filePath="/nope") for _ in range(5)]
        with pytest.raises(Thrown, match="failed 5 times"):
            one.throw("File not found: /nope", filePath="/nope")

        def part(call: str) -> dict[str, Any]:
            state = {"status": "error", "error": "File not found: /nope"}
            return {"type": "tool", "sessionID": SESSION, "callID": call, "state": state}

        messages = [{"parts": [{"type": "text", "text": "go"}]}, {"parts": [part(call) for call in calls]}]
        for _ in range(2):
            messages = one.do("transform", messages=messages)
        errors = [one["state"]["error"] for one in messages[1]["parts"]]
        assert [error.count("CONVERGENCE_CHECK") for error in errors] == [0, 0, 1, 0, 0]
        assert errors[2].startswith("File not found: /nope\n\nCONVERGENCE_CHECK")


@pytest.mark.parametrize(
    "error",
    [
        "Tool execution aborted",
        "The user rejected permission to use this specific tool call.",
        "The user has specified a rule which prevents you from using this specific tool call. Here are some",
        "The user dismissed this question",
    ],
)
def test_a_call_that_never_had_its_chance_is_no_failure(error: str) -> None:
    with guarded() as (one, _, events):
        for _ in range(6):
            one.throw(error, filePath="/x")
        until(lambda: len(of(events, CallSettled)) == 6, "they are settled")
        assert all(event.aborted for event in of(events, CallSettled))


def test_what_still_runs_when_its_session_rests_is_given_up() -> None:
    with guarded() as (one, _, events):
        _, number = one.ask()
        one.result(number)
        one.event("session.idle", sessionID=SESSION)
        assert until(lambda: of(events, CallSettled), "it is settled")[0].aborted


# -- the operator ---------------------------------------------------------------------------------------------


def test_the_operator_approves_for_the_turn() -> None:
    with guarded() as (one, host, events):
        operator = host.operator()
        for _ in range(11):
            one.run(OK)
        _, waiting = one.ask()
        opened = until(lambda: of(events, AskOpened), "the operator is asked")
        operator.answer(opened[0].ask.id, "approved")
        one.result(waiting)
        one.run(OK)
        assert len(of(events, AskOpened)) == 1


def test_a_refusal_tells_of_the_operators_note() -> None:
    with guarded() as (one, host, events):
        operator = host.operator()
        for _ in range(11):
            one.run(OK)
        _, waiting = one.ask()
        opened = until(lambda: of(events, AskOpened), "the operator is asked")
        operator.answer(opened[0].ask.id, "rejected", "look at the log")
        with pytest.raises(Thrown, match="look at the log"):
            one.result(waiting)


@pytest.mark.parametrize("how", ["the call is stopped", "the session rests", "the session is deleted"])
def test_a_call_that_is_given_up_while_it_waits_withdraws_its_ask(how: str) -> None:
    with guarded() as (one, host, events):
        host.operator()
        for _ in range(11):
            one.run(OK)
        call, waiting = one.ask()
        until(lambda: of(events, AskOpened), "the operator is asked")
        if how == "the call is stopped":
            one.tell_error(call, "Tool execution aborted")
        elif how == "the session rests":
            one.event("session.idle", sessionID=SESSION)
        else:
            one.event("session.deleted", info={"id": SESSION})
        assert until(lambda: of(events, AskClosed), "the ask is withdrawn")[0].outcome == "cancelled"
        with pytest.raises(Thrown, match="withdrawn"):
            one.result(waiting)


# -- who is who -----------------------------------------------------------------------------------------------


def test_a_sub_agent_has_its_own_count_under_its_parent() -> None:
    with guarded() as (one, _, events):
        one.created()
        one.created(CHILD, SESSION)
        one.write()
        one.write(CHILD, "explore")
        for _ in range(5):
            one.run(EXIT_3)
        one.run(EXIT_3, session=CHILD)
        started = {event.agent: (event.parent, event.name) for event in of(events, AgentStarted)}
        assert started == {SESSION: ("", ""), CHILD: (SESSION, "explore")}
        assert {event.agent for event in of(events, TurnStarted)} == {SESSION}
        one.event("session.idle", sessionID=CHILD)
        one.event("session.idle", sessionID=SESSION)
        assert [event.agent for event in until(lambda: of(events, AgentEnded), "it is gone")] == [CHILD]


def test_a_session_is_gone_when_it_is_deleted() -> None:
    with guarded() as (one, _, events):
        one.created()
        one.run(OK)
        one.event("session.deleted", info={"id": SESSION})
        assert until(lambda: of(events, AgentEnded), "it is gone")[0].agent == SESSION


def test_a_session_that_is_older_than_the_process_is_asked_about() -> None:
    with guarded({CHILD: {"parentID": "ses_older"}}) as (one, _, events):
        one.run(OK, session=CHILD)
        one.run(OK, session="ses_unknown")
        assert [(event.agent, event.parent) for event in of(events, AgentStarted)] == [
            (CHILD, "ses_older"),
            ("ses_unknown", ""),
        ]


@pytest.mark.parametrize("name", ["message.part.updated", "permission.asked", "session.created", "session.status"])
def test_events_as_they_came(name: str) -> None:
    with guarded() as (one, _, _):
        one.do("event", event=capture("opencode", f"event_{name}")["input"])
        assert not one.warned


@pytest.mark.parametrize(
    "event", [None, {"type": "session.created"}, {"type": "message.part.updated", "properties": {}}]
)
def test_an_event_that_cannot_be_read_is_told_of(event: Any) -> None:
    """opencode does not await it: a fault in it would end the process."""
    with guarded() as (one, _, _):
        one.do("event", event=event)
        assert until(lambda: one.warned, "a warning")
        one.run(OK)


# -- engines that are not there -------------------------------------------------------------------------------


def test_without_an_engine() -> None:
    with short_directory() as directory:
        with opencode(directory / "e.sock") as one:
            for _ in range(13):
                one.run(OK)
            until(lambda: one.warned, "a warning")
            assert len(one.warned) == 1
        with opencode(directory / "e.sock", "deny") as one, pytest.raises(Thrown, match="no breaker guards this call"):
            one.run(OK)


def test_a_call_under_way_when_the_engine_dies_is_refused() -> None:
    def die(_: dict[str, Any]) -> Any:
        engine.stop()
        return HANG_UP

    with short_directory() as directory:
        path = directory / "e.sock"
        with (
            PretendEngine(path, replies(call_decide=die)) as engine,
            opencode(path) as one,
            pytest.raises(Thrown, match="gave no answer about this call"),
        ):
            one.run(OK)


def test_the_process_ends_when_opencode_has_nothing_more_to_do() -> None:
    with guarded() as (one, _, _):
        one.run(OK)
        assert one.leave() == 0
