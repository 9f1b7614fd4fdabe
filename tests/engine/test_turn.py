"""The counters of one turn, rule by rule."""

from __future__ import annotations

from engine.calls import Failure, Measure
from engine.turn import REFUSALS_KEPT, RESULTS_KEPT, STREAKS_KEPT, Turn
from engine.verdicts import Refusal

NET = Measure("net:example.org/", 3)
HOST = Measure("host:example.org", 4)
EXACT = Measure("exact:web_fetch:{}", 3)
EXIT = Failure("exit", "1")


def test_the_cap_th_occurrence_hits_the_call_itself_counted():
    turn = Turn(16)
    for _ in range(2):
        assert turn.hits([NET], None) == ()
        turn.commit([NET.fingerprint])
    (hit,) = turn.hits([NET], None)
    assert (hit.track, hit.count, hit.cap) == ("repeat", 3, 3)


def test_a_call_leaves_the_window_with_all_its_fingerprints():
    turn = Turn(4)
    turn.commit(["a", "b"])
    for _ in range(3):
        turn.commit(["c"])
    assert turn.counts == {"a": 1, "b": 1, "c": 3}
    moved = turn.commit(["d"])
    assert set(moved) == {"a", "b", "d"}
    assert turn.counts == {"c": 3, "d": 1}


def test_a_smaller_window_lets_the_oldest_go():
    turn = Turn(8)
    for name in "abcdef":
        turn.commit([name])
    assert list(turn.resize(4)) == ["a", "b"]
    assert turn.counts == dict.fromkeys("cdef", 1)


def test_a_stage_speaks_on_equality_only_and_names_the_most_telling_measure():
    turn = Turn(16)
    for _ in range(6):
        turn.commit([EXACT.fingerprint, NET.fingerprint, HOST.fingerprint])
    assert turn.reached([EXACT, NET, HOST], {7: "warn"}) == ("warn", HOST)
    turn.commit([HOST.fingerprint])
    assert turn.reached([EXACT, NET, HOST], {7: "warn"}) == ("warn", NET)
    assert turn.reached([HOST], {7: "warn"}) is None


def test_the_stronger_stage_speaks_when_a_call_reaches_two():
    turn = Turn(16)
    for _ in range(4):
        turn.commit([NET.fingerprint, HOST.fingerprint])
    for _ in range(4):
        turn.commit([EXACT.fingerprint, NET.fingerprint])
    stages = {5: "warn", 9: "summarize"}
    assert turn.reached([HOST, EXACT], stages) == ("warn", HOST)
    assert turn.reached([HOST, NET, EXACT], stages) == ("summarize", NET)


def test_consecutive_failures_hit_a_later_call_and_only_its_own_success_clears_them():
    turn = Turn(16)
    for _ in range(5):
        assert turn.hits([NET], 5) == ()
        turn.failed([NET], EXIT)
    turn.succeeded([EXACT])
    (hit,) = turn.hits([NET], 5)
    assert (hit.track, hit.count, hit.cap, hit.failure) == ("failure", 5, 5, EXIT)
    assert turn.succeeded([NET]) == {NET.fingerprint: 0}
    assert turn.hits([NET], 5) == ()


def test_no_fail_limit_keeps_the_streak_and_drops_the_gate():
    turn = Turn(16)
    for _ in range(9):
        turn.failed([NET], EXIT)
    assert turn.hits([NET], None) == ()
    assert turn.streaks[NET.fingerprint].count == 9


def test_an_exempted_measure_is_on_neither_track_and_comes_back_as_it_was():
    turn = Turn(16)
    for _ in range(3):
        turn.commit([NET.fingerprint])
        turn.failed([NET], EXIT)
    turn.exempt([NET.fingerprint])
    assert turn.commit([NET.fingerprint]) == ()
    assert turn.failed([NET], EXIT) == {}
    assert turn.hits([NET], 3) == ()
    assert turn.reached([NET], {4: "warn"}) is None
    assert turn.revoke(NET.fingerprint)
    assert not turn.revoke(NET.fingerprint)
    assert {hit.track: hit.count for hit in turn.hits([NET], 3)} == {"failure": 3, "repeat": 4}


def test_a_refusal_is_found_by_any_of_its_measures_until_it_is_lifted():
    turn = Turn(16)
    turn.refuse([Refusal(NET.fingerprint, "rejected", "no")])
    for _ in range(4):
        turn.commit([NET.fingerprint, EXACT.fingerprint])
    assert turn.refusal(turn.hits([EXACT], None)) is None
    assert turn.refusal(turn.hits([EXACT, NET], None)) == Refusal(NET.fingerprint, "rejected", "no")
    assert turn.lift(NET.fingerprint)
    assert not turn.lift(NET.fingerprint)


def test_a_hit_quotes_the_last_result_of_its_own_measure():
    turn = Turn(16)
    for _ in range(2):
        turn.commit([NET.fingerprint])
        turn.remember([NET], "404")
    turn.remember([EXACT], "something else")
    (hit,) = turn.hits([NET], None)
    assert hit.previous == "404"


def test_what_is_remembered_is_bounded_and_keeps_the_latest():
    turn = Turn(16)
    for number in range(3 * STREAKS_KEPT):
        measure = Measure(f"net:example.org/{number}", 12)
        turn.commit([measure.fingerprint])
        turn.failed([measure], EXIT)
        turn.remember([measure], "x")
        turn.refuse([Refusal(measure.fingerprint, "rejected")])
    assert len(turn.streaks) == STREAKS_KEPT
    assert len(turn.refusals) == REFUSALS_KEPT
    assert len(turn.counts) == 16
    assert len(turn.results) == RESULTS_KEPT
    assert f"net:example.org/{3 * STREAKS_KEPT - 1}" in turn.streaks
