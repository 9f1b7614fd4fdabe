"""Calls without ids."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from engine.harnesses.pairing import ALIKE_KEPT, KINDS_KEPT, Pairs


def test_a_result_belongs_to_the_newest_call_that_is_alike() -> None:
    pairs = Pairs()
    for call in ("c1", "c2"):
        pairs.began(call, "a", "read", {"path": "x", "line": 1})
    pairs.began("c3", "a", "read", {"path": "y"})
    assert [pairs.ended("a", "read", {"line": 1, "path": "x"}) for _ in range(3)] == ["c2", "c1", ""]
    assert pairs.ended("b", "read", {"path": "y"}) == ""
    assert pairs.ended("a", "read", {"path": "y"}) == "c3"


def test_what_belongs_to_an_agent_is_forgotten_with_it() -> None:
    pairs = Pairs()
    pairs.began("c1", "a", "read", {})
    pairs.began("c2", "b", "read", {})
    pairs.forget("a")
    pairs.forget("nobody")
    assert pairs.ended("a", "read", {}) == ""
    assert pairs.ended("b", "read", {}) == "c2"


def test_how_much_is_kept_is_bounded() -> None:
    pairs = Pairs()
    for number in range(KINDS_KEPT + 10):
        pairs.began(str(number), f"a{number % 3}", "read", {"path": number})
    for number in range(ALIKE_KEPT + 10):
        pairs.began(f"same-{number}", "a", "read", {})
    assert len(pairs._open) == len(pairs._agents) == KINDS_KEPT
    assert sum(len(kinds) for kinds in pairs._of_agent.values()) == KINDS_KEPT
    assert max(len(alike) for alike in pairs._open.values()) == ALIKE_KEPT
    assert pairs.ended("a0", "read", {"path": 0}) == ""


@given(
    st.lists(
        st.tuples(st.sampled_from(["began", "ended", "forget"]), st.sampled_from("ab"), st.integers(0, 3)), max_size=60
    )
)
def test_no_call_is_paired_twice(steps: list[tuple[str, str, int]]) -> None:
    pairs, open_calls = Pairs(), set[str]()
    for number, (step, agent, argument) in enumerate(steps):
        if step == "began":
            open_calls.add(f"{agent}{number}")
            pairs.began(f"{agent}{number}", agent, "t", {"n": argument})
        elif step == "forget":
            pairs.forget(agent)
        elif call := pairs.ended(agent, "t", {"n": argument}):
            assert call.startswith(agent)
            open_calls.remove(call)
    assert set(pairs._agents) == set(pairs._open)
