"""``breaker config``: what a person is told, and what a script can rely on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from console.cli import main
from console.commands.config import as_yaml
from engine.config import DEFAULTS, Config
from engine.configuration.file import Loaded, from_mapping, load_data
from engine.configuration.schema import schema


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own, and a working directory without a configuration."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("BREAKER_CONFIG", raising=False)
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path


def breaker(*arguments: str, stdin: bytes | None = None) -> Result:
    return CliRunner().invoke(main, ["config", *arguments], input=stdin)


def written(path: Path, text: str) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return str(path)


# -- check --------------------------------------------------------------------------------------------------------


def test_a_good_file_is_fine(home: Path):
    file = written(home / "c.yaml", "window: 20\nlimits: {exact: 5}\n")
    result = breaker("check", file)
    assert (result.exit_code, result.stdout) == (0, f"{file}: fine, 2 settings over the defaults.\n")


def test_everything_wrong_is_told_and_the_exit_code_is_2(home: Path):
    file = written(home / "c.yaml", "windw: 20\nlimits: {exact: 1}\n")
    result = breaker("check", file)
    assert result.exit_code == 2
    assert result.stdout.splitlines() == [
        f"{file}:1:1: windw is no setting. Did you mean window?",
        f"{file}:2:17: limits.exact is 1; it must be a number of at least 2, or null to switch the limit off.",
        "2 problems.",
    ]


def test_a_file_that_is_not_there_is_told_and_the_exit_code_is_2(home: Path):
    result = breaker("check", str(home / "none.yaml"))
    assert result.exit_code == 2
    assert "No such file or directory" in result.stdout


def test_standard_input_is_checked():
    assert breaker("check", "-", stdin=b"window: 20").stdout == "standard input: fine, 1 setting over the defaults.\n"
    result = breaker("check", "-", stdin=b"window: \xff")
    assert (result.exit_code, result.stdout.splitlines()[0]) == (
        2,
        "standard input:1:9: It is not UTF-8: the byte 0xff cannot stand here.",
    )


def test_warnings_and_notes_are_no_errors(home: Path):
    file = written(home / "c.yaml", "pathAliases: [a]\nlimits: {host: 18}\n")
    result = breaker("check", file)
    assert result.exit_code == 0
    assert result.stdout.splitlines()[1:] == [
        f"warning: {file}:1:1: pathAliases is ignored: file tools are identified by exact: alone.",
        "note: limits.host (18) is never reached: at most 17 calls are counted together, the window's 16 and the "
        "present one.",
    ]


def test_without_a_file_what_is_in_force_is_checked(home: Path):
    assert breaker("check").stdout == "defaults: fine, it changes no default.\n"
    written(home / "work/.breaker.yaml", "limits: {exact: null}\n")
    assert "is not read: the agent can write it" in breaker("check").stdout
    written(home / "config/repeat-tool-breaker/config.yaml", "window: 3\n")
    assert breaker("check").exit_code == 2


# -- show ---------------------------------------------------------------------------------------------------------


def test_what_is_in_force_is_shown_with_its_origin(home: Path):
    file = written(home / "config/repeat-tool-breaker/config.yaml", "window: 20\n\nlimits:\n  exact: 5\n")
    lines = [line.split() for line in breaker("show").stdout.splitlines()]
    assert ["window:", "20", "#", f"{file}:1"] in lines
    assert ["exact:", "5", "#", f"{file}:4"] in lines
    assert ["cmd:", "12", "#", "default"] in lines
    assert f"# In force: {file}." in breaker("show").stdout


def test_what_is_shown_can_be_a_configuration(home: Path):
    shown = breaker("show").stdout
    assert load_data(shown.encode(), "shown").config == DEFAULTS
    again = written(home / "again.yaml", shown)
    assert breaker("check", again).exit_code == 0


def test_a_named_file_is_shown(home: Path, monkeypatch: pytest.MonkeyPatch):
    file = written(home / "c.yaml", "window: 30\n")
    assert "window: 30 " in breaker("show", "--config", file).stdout
    monkeypatch.setenv("BREAKER_CONFIG", file)
    assert "window: 30 " in breaker("show").stdout


def test_it_is_shown_as_json(home: Path):
    file = written(home / "c.yaml", "limits: {host: 18, readpath: 2}\n")
    shown = json.loads(breaker("show", "--json", "--config", file).stdout)
    assert from_mapping(shown["config"]).limits["host"] == 18
    assert shown["origins"] == {"limits.host": f"{file}:1"}
    assert shown["files"] == [file]
    assert len(shown["warnings"]) == len(shown["notes"]) == 1


def test_a_broken_configuration_is_not_shown(home: Path):
    file = written(home / "c.yaml", "window: 3\n")
    result = breaker("show", "--config", file)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "window is 3" in result.stderr


# What a file can bring into a configuration: any text there is, but for lone surrogates, which UTF-8 has not.
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.sampled_from(
    ["no", "y", "1e3", "12:30", "~", "*", "- a", "a: b", "a #b", "\x1b[2J", "\u202e", "\u2028", "0x1f", "=", "<<", "."]
)
numbers = st.none() | st.integers(2, 40) | st.floats(2, 40)
configs = st.fixed_dictionaries(
    {},
    optional={
        "exclude": st.lists(texts, max_size=3),
        "ignoreArgs": st.dictionaries(texts, st.lists(texts, max_size=2), max_size=2),
        "limits": st.dictionaries(
            st.builds("{}:{}".format, st.sampled_from(["host", "exact"]), texts), numbers, max_size=2
        ),
        "askTimeout": st.none() | st.floats(1e-9, 1e9, exclude_min=True),
        "failLimit": numbers,
    },
)


@given(configs)
def test_what_is_shown_reads_back_as_the_same_by_any_reader(mapping: dict[str, Any]):
    mapping["limits"] = {key: cap for key, cap in mapping.get("limits", {}).items() if not key.endswith(":")}
    config = from_mapping(mapping)
    shown = "\n".join(as_yaml(Loaded(config)))
    assert all(line.isprintable() for line in shown.splitlines())
    assert load_data(shown.encode(), "shown").config == config
    assert from_mapping(yaml.safe_load(shown)) == config


def test_hostile_text_reaches_no_terminal(home: Path):
    hostile = r'"\e]0;pwned\a\u202e\u200b\U000e0041"'
    file = written(home / "c.yaml", f"exclude: [{hostile}]\nignoreArgs: {{{hostile}: [{hostile}]}}\n")
    assert breaker("check", file).exit_code == 0
    broken = written(home / "broken.yaml", f"{hostile}: 1\nlimits: {{{hostile}: {hostile}}}\nonLimit: {hostile}\n")
    outputs = [
        breaker("show", "--config", file).output,
        breaker("show", "--config", file, "--json").output,
        breaker("check", broken).output,
        breaker("check", written(home / "\x1b]0;x\x07.yaml", "window: 3")).output,
    ]
    assert all(line.isprintable() for output in outputs for line in output.splitlines())
    assert all(output.strip() for output in outputs)


# -- the rest -----------------------------------------------------------------------------------------------------


def test_the_schema_is_printed():
    result = breaker("schema")
    assert result.exit_code == 0
    assert json.loads(result.stdout) == schema()


@pytest.mark.parametrize("command", ["check", "show", "schema"])
def test_the_help_has_examples(command: str):
    assert f"  breaker config {command}" in breaker(command, "--help").stdout


def test_every_setting_is_shown():
    keys = [line.split(":")[0] for line in as_yaml(Loaded(Config())) if not line.startswith(" ")]
    assert keys == list(Config.__struct_encode_fields__)


def test_the_command_draws_nothing_and_imports_nothing_that_does():
    code = (
        "import sys; sys.argv = ['breaker', 'config', 'show']\n"
        "from console.cli import main\n"
        "try: main()\n"
        "finally: assert not {'textual', 'rich', 'asyncio'} & set(sys.modules), sys.modules.keys()"
    )
    root = str(Path(__file__).parents[2])
    found = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": root},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (found.returncode, found.stderr) == (0, "")
