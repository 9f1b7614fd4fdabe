"""A program's lines to the engine, one for each of its agents."""

from __future__ import annotations

import pytest

from engine.client import Client
from engine.integrations import clients
from engine.integrations.clients import Clients
from tests.engine.sockets import hosted


def test_an_agent_keeps_its_line() -> None:
    every = Clients("test")
    assert every.client("a") is every.client("a", name="x")
    assert every.client("a") is not every.client("b")


async def test_lines_that_nobody_used_lately_are_hung_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clients, "CLIENTS_KEPT", 3)
    with hosted() as (_, path):
        every = Clients("test", socket=path)
        for number in range(10):
            assert (await every.asynchronous(f"a{number}").decide("c", "t", {})).decision == "allow"
            assert every.client(f"b{number}").decide("c", "t", {}).decision == "allow"
            assert (await every.asynchronous("a0").decide(str(number), "t", {"n": number})).decision == "allow"
        with Client("", socket=path) as looking:
            assert len(looking.status().agents) == 20
        every.close()
        assert every.client("a0").decide("last", "t", {}).decision == "allow"
        every.close()


def test_every_agent_is_introduced_with_its_parent() -> None:
    with hosted() as (_, path):
        every = Clients("test", socket=path)
        every.client("a", parent="main", name="researcher").start_turn()
        with Client("", socket=path) as looking:
            (one,) = looking.status().agents
        assert (one.agent, one.parent, one.harness, one.name) == ("a", "main", "test", "researcher")
        every.close()
