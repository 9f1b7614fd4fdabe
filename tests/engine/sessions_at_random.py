"""Sessions made by chance, for hypothesis: loops for the most part, and what people do about them."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.engine.steps import AGENTS, COMMANDS, IDS, RESULTS, TOOLS, Step

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
