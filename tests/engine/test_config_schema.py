"""The schema accepts what the validation accepts, for every row of data and for whatever else comes to mind."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from engine.config import DEFAULTS, Config
from engine.configuration.file import ConfigError, from_mapping
from engine.configuration.rules import IGNORED, KINDS, REMOVED, SETTINGS
from engine.configuration.schema import schema

ROWS = [json.loads(line) for line in (Path(__file__).parents[1] / "data/configs.jsonl").read_text().splitlines()]
VALIDATOR = Draft202012Validator(schema())


def accepted(mapping: object) -> bool:
    try:
        from_mapping(mapping)
    except ConfigError:
        return False
    return True


def test_it_is_a_schema():
    Draft202012Validator.check_schema(schema())
    assert json.loads(json.dumps(schema())) == schema()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: json.dumps(row["config"]))
def test_it_accepts_and_rejects_as_the_data_says(row: dict[str, Any]):
    assert VALIDATOR.is_valid(row["config"]) == (row["expected"] == "accepted")


def test_it_tells_an_editor_about_every_setting():
    properties = schema()["properties"]
    assert set(SETTINGS) == set(Config.__struct_encode_fields__)
    assert set(properties) == {*SETTINGS, *REMOVED, *IGNORED, "trustedProjects"}
    assert all(one["description"] for one in properties.values())
    assert {key: properties[key]["default"] for key in SETTINGS} == json.loads(msgspec.json.encode(DEFAULTS))


names = st.sampled_from(
    ["a.example", "b c", "", "https://x/", "*", "bash", "é", *KINDS, "family:x", "verb:", "readpath:a"]
)
numbers = (
    st.integers(-3, 20) | st.floats(-3, 20) | st.sampled_from([1_000_000, 1_000_001, 10**9, 10**9 + 1, 2.0, 1e300])
)
scalars = st.none() | st.booleans() | numbers | names | st.sampled_from(["ask", "deny", "allow", "~/a", "/a", "a"])
values = (
    scalars
    | st.lists(scalars, max_size=3)
    | st.dictionaries(names, scalars | st.lists(scalars, max_size=2), max_size=3)
)
keys = st.sampled_from([*SETTINGS, *REMOVED, *IGNORED, "trustedProjects", "windw"])


@given(st.dictionaries(keys, values, max_size=2) | values)
def test_it_accepts_what_the_validation_accepts(mapping: object):
    assert VALIDATOR.is_valid(mapping) == accepted(mapping)
