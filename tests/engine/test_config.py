"""What a configuration may say, and what holds where it says nothing."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.config import DEFAULTS, Config
from engine.configuration.file import ConfigError, from_mapping

ROWS = [json.loads(line) for line in (Path(__file__).parents[1] / "data/configs.jsonl").read_text().splitlines()]

REFERENCE = {
    "window": 16,
    "on_limit": "ask",
    "local_hosts": "deny",
    "warn_at": 7,
    "summarize_at": 11,
    "fail_warn_at": 3,
    "fail_limit": 5,
    "include_local": False,
    "preview_chars": 400,
    "result_preview_chars": 800,
    "exclude": ("todo_write",),
    "include": (),
}


def complaint(mapping: object) -> str:
    with pytest.raises(ConfigError) as raised:
        from_mapping(mapping, "breaker.yaml")
    return str(raised.value)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: json.dumps(row["config"]))
def test_a_configuration_is_accepted_or_rejected(row: dict[str, Any]):
    if row["expected"] == "accepted":
        from_mapping(row["config"])
    else:
        for key in row["config"]:
            assert key in complaint(row["config"])


def test_the_defaults_are_the_documented_ones():
    assert {key: getattr(DEFAULTS, key) for key in REFERENCE} == REFERENCE
    capped = {key: cap for key, cap in DEFAULTS.limits.items() if cap is not None}
    assert capped == {"exact": 12, "cmd": 12, "net": 12, "sink": 12, "host": 16}
    assert from_mapping({}) == DEFAULTS == Config()


def test_the_defaults_cannot_be_changed_through_a_configuration():
    limits = Config().limits
    assert isinstance(limits, dict)
    limits["exact"] = 99
    assert Config().limits["exact"] == 12
    assert DEFAULTS.limits["exact"] == 12


@pytest.mark.parametrize("key", ["warnAt", "summarizeAt", "failWarnAt"])
@pytest.mark.parametrize("off", [0, -3, -2.5, None])
def test_a_stage_is_off_when_it_is_no_positive_number(key: str, off: float | None):
    field = {"warnAt": "warn_at", "summarizeAt": "summarize_at", "failWarnAt": "fail_warn_at"}[key]
    assert getattr(from_mapping({key: off}), field) is None


def test_null_switches_a_limit_off():
    config = from_mapping({"failLimit": None, "limits": {"exact": None}, "askTimeout": None})
    assert (config.fail_limit, config.limits["exact"], config.ask_timeout) == (None, None, None)
    assert config.limits["cmd"] == 12


def test_tables_merge_one_level_deep_and_lists_replace():
    config = from_mapping(
        {
            "limits": {"host": 20, "verb:git": 3},
            "hostAliases": {"a.example": "b.example"},
            "ignoreArgs": {"bash": ["nonce"], "read": ["limit"]},
            "exclude": ["todo_*"],
        }
    )
    assert config.limits == {**DEFAULTS.limits, "host": 20, "verb:git": 3}
    assert config.host_aliases == {**DEFAULTS.host_aliases, "a.example": "b.example"}
    assert config.ignore_args == {**DEFAULTS.ignore_args, "bash": ("nonce",), "read": ("limit",)}
    assert config.exclude == ("todo_*",)


@pytest.mark.parametrize(
    "limits",
    [{"verb:git": 3}, {"family:http-fetch": 8}, {"host:example.org": 5}, {"verb": 9}, {"net:a.example/x?y=1:2": 2.5}],
)
def test_a_limit_caps_a_kind_or_one_fingerprint(limits: dict[str, float]):
    assert from_mapping({"limits": limits}).limits.items() >= limits.items()


@pytest.mark.parametrize(
    ("mapping", "said"),
    [
        ({"windw": 9}, "windw is no setting. Did you mean window?"),
        ({"on_limit": "ask"}, "Did you mean onLimit?"),
        ({"Exclude": []}, "Did you mean exclude?"),
        ({"host": 12}, "Did you mean limits.host?"),
        ({"limits": {"hots": 12}}, "Did you mean host?"),
        ({"limits": {"Host": 12}}, "Did you mean host?"),
        ({"limits": {"window": 12}}, "window is a setting of its own: indent it less."),
        ({"limits": {"host:": 12}}, "Write host for all of that kind"),
        ({"limits": {"": 12}}, "limits."),
        ({"localHosts": "ask"}, "write onLimit: ask"),
        ({"onLimit": "aks"}, "Did you mean ask?"),
        ({"denyAfter": 2}, "limits.exact"),
        ({"warnAfter": 2}, "warnAt"),
        ({"registerAdvisory": True}, "warnAt"),
        ({"maxSamePath": 2}, "limits.exact"),
        ({"readTools": []}, "delete it"),
        ({"includeLocal": "yes"}, "Write true, without quotes."),
        ({"warnAt": False}, "Write null to switch it off."),
        ({"window": "016"}, "Write 16, without quotes or leading zeros."),
        ({"window": True}, "window is true; it must be a whole number"),
        ({"window": math.nan}, "not a number (NaN)"),
        ({"failLimit": math.inf}, "infinity"),
        ({"limits": {"exact": -math.inf}}, "-infinity"),
        ({"limits": {"exact": True}}, "limits.exact is true"),
        ({"window": 10**400}, "a very large number"),
        ({"askTimeout": 0}, "a number above 0, or null to wait for ever"),
        ({"askTimeout": -1}, "above 0"),
        ({"exclude": ["a", 7]}, "exclude[1] is 7; it must be text"),
        ({"shellTools": "fish"}, "Write [fish]."),
        ({"ignoreArgs": {"bash": "x"}}, "ignoreArgs.bash is the text 'x'; it must be a list"),
        ({"ignoreArgs": {"bash": [None]}}, "ignoreArgs.bash[0] is null"),
        ({"hostAliases": {"a": 1}}, "hostAliases.a is 1"),
        ({"hostAliases": {"a": "https://b/"}}, "without scheme and path"),
        ({"hostAliases": {"http://a": "b"}}, "without scheme and path"),
        ({"hostAliases": {"a": ""}}, "an empty text"),
        ({3: 4}, "There is the key 3; a key must be text."),
        ({"limits": {3: 4}}, "limits has the key 3; a key must be text."),
        ([], "A configuration is a mapping of settings; this is an empty list."),
        (None, "this is null"),
        ("x", "this is the text 'x'"),
    ],
)
def test_a_mistake_is_explained(mapping: object, said: str):
    assert said in complaint(mapping)


def test_all_mistakes_are_told_at_once():
    lines = complaint({"window": 3, "limits": {"exact": 1, "hots": 2}, "exclude": [1, 2]}).splitlines()
    assert [line.split()[1] for line in lines] == ["window", "limits.exact", "limits.hots", "exclude[0]", "exclude[1]"]
    assert all(line.startswith("breaker.yaml: ") for line in lines)


def test_a_hostile_name_is_shown_and_does_nothing():
    text = complaint({"\x1b]0;pwned\x07\u202e" + "a" * 100_000: 1, "onLimit": "\x1b[2J\ud800"})
    assert all(line.isprintable() for line in text.splitlines())
    assert "\\x1b]0;pwned\\x07\\u202e" in text
    assert len(text) < 2_000


def test_thousands_of_mistakes_end():
    assert len(complaint({f"unknown{number}": 1 for number in range(20_000)}).splitlines()) <= 60


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8) | st.integers(), inner, max_size=3),
    max_leaves=6,
)
keys = st.sampled_from([*Config.__struct_encode_fields__, "pathAliases", "trustedProjects", "denyAfter"]) | st.text(
    max_size=8
)


@given(st.dictionaries(keys, values, max_size=5) | values)
def test_nothing_but_a_configuration_or_a_configuration_error_comes_back(mapping: object):
    try:
        config = from_mapping(mapping)
    except ConfigError as error:
        assert error.problems  # noqa: PT017 - both ends are right; what matters is that there is no third
    else:
        assert isinstance(config, Config)
        assert all(cap is None or (math.isfinite(cap) and cap >= 2) for cap in config.limits.values())
        assert config.warn_at is None or config.warn_at > 0
