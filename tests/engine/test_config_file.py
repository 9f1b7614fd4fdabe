"""Configuration files: where they are looked for, which are heard, and what is said of them."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from engine.config import DEFAULTS
from engine.configuration.file import ConfigError, Sources, find, load, load_data
from engine.configuration.yaml import FILE_BYTES


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own: no file of whoever runs the tests is heard."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("BREAKER_CONFIG", raising=False)
    return tmp_path


@pytest.fixture
def user_file(home: Path) -> Path:
    return written(home / "config/repeat-tool-breaker/config.yaml", "")


@pytest.fixture
def project_file(home: Path) -> Path:
    (home / "projects/site/.git").mkdir(parents=True)
    return written(home / "projects/site/.breaker.yaml", "limits: {exact: 5}\n")


def written(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def complaint(path: Path) -> str:
    with pytest.raises(ConfigError) as raised:
        load(path)
    return str(raised.value)


def test_a_mistake_is_told_with_file_line_and_column(tmp_path: Path):
    path = written(tmp_path / "breaker.yaml", "window: 20\nlimits:\n  exact: 1\n  hots: 3\nexclude: [a,\n  7]\n")
    assert complaint(path).splitlines() == [
        f"{path}:3:10: limits.exact is 1; it must be a number of at least 2, or null to switch the limit off.",
        f"{path}:4:3: limits.hots is no limit; the kinds are exact, cmd, net, sink, host, site, family, verb, "
        "alone or before a colon. Did you mean host?",
        f"{path}:6:3: exclude[1] is 7; it must be text. Put it in quotes.",
    ]


def test_mistakes_are_told_in_the_order_of_the_file(tmp_path: Path):
    path = written(tmp_path / "c.yaml", "windw: 1\nwarnAt: 1.5\nlimits:\n  exact: 4\n  exact: 1\nwarnAt: 2\n")
    assert [line.removeprefix(f"{path}:").split(":")[0] for line in complaint(path).splitlines()] == [
        "1",
        "5",
        "5",
        "6",
    ]
    assert "limits.exact is there already, in line 4" in complaint(path)


def test_a_mistake_behind_an_alias_has_the_place_of_the_alias(tmp_path: Path):
    path = written(tmp_path / "c.yaml", "ignoreArgs:\n  a: [x]\n  b: &b [1]\n  c: *b\n")
    assert [line.split(": ")[0] for line in complaint(path).splitlines()] == [f"{path}:3:10", f"{path}:4:6"]


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n...\n", "null\n", "{}\n", "\ufeff"])
def test_a_file_that_says_nothing_changes_nothing(tmp_path: Path, text: str):
    assert load(written(tmp_path / "c.yaml", text)).config == DEFAULTS


@pytest.mark.parametrize("text", ["- window: 5\n", "window\n", "7\n"])
def test_a_file_of_another_shape_is_refused(tmp_path: Path, text: str):
    path = written(tmp_path / "c.yaml", text)
    assert complaint(path).startswith(f"{path}:1:1: A configuration is a mapping of settings; this is ")


def test_a_file_that_cannot_be_read(tmp_path: Path):
    assert complaint(tmp_path / "none.yaml").endswith("none.yaml: It cannot be read: No such file or directory.")
    assert complaint(tmp_path).endswith("It cannot be read: Is a directory.")
    huge = written(tmp_path / "huge.yaml", "#" * (FILE_BYTES + 1))
    assert "It has more than 256 kB" in complaint(huge)


def test_a_file_that_is_not_utf8(tmp_path: Path):
    path = tmp_path / "c.yaml"
    path.write_bytes("window: 5\nexclude: [caf\xe9]\n".encode("latin-1"))
    assert complaint(path) == f"{path}:2:14: It is not UTF-8: the byte 0xe9 cannot stand here."
    path.write_bytes("window: 5".encode("utf-16"))
    assert ":1:1: It is not UTF-8: the byte 0xff" in complaint(path)


def test_a_pipe_that_was_named_is_read(tmp_path: Path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    threading.Thread(target=path.write_text, args=("window: 5\n",), daemon=True).start()
    assert load(path).config.window == 5


def test_it_is_known_where_each_value_comes_from(tmp_path: Path):
    path = written(tmp_path / "c.yaml", "window: 20\n\nlimits:\n  exact: 5\n  host:example.org: 3\nexclude: []\n")
    assert load(path).origins == {
        "window": f"{path}:1",
        "limits.exact": f"{path}:4",
        "limits.host:example.org": f"{path}:5",
        "exclude": f"{path}:6",
    }


def test_what_is_heard_no_more_is_a_warning(tmp_path: Path):
    path = written(
        tmp_path / "c.yaml", "pathAliases: [a]\nlimits: {readpath: 3, writepath: x}\ntrustedProjects: [/a]\n"
    )
    loaded = load(path)
    assert loaded.config == DEFAULTS
    assert [warning.removeprefix(f"{path}:").split(" ")[:2] for warning in loaded.warnings] == [
        ["1:1:", "pathAliases"],
        ["2:10:", "limits.readpath"],
        ["2:23:", "limits.writepath"],
        ["3:1:", "trustedProjects"],
    ]


def test_text_that_is_in_no_file():
    assert load_data(b"window: 5", "standard input").config.window == 5
    with pytest.raises(ConfigError, match=r"^standard input:1:9: window is 3;"):
        load_data(b"window: 3", "standard input")


# -- where they are looked for ------------------------------------------------------------------------------------


def test_nothing_is_there(home: Path):
    sources = find(directory=home)
    assert sources == Sources(user=home / "config/repeat-tool-breaker/config.yaml")
    loaded = sources.load()
    assert (loaded.config, loaded.source, loaded.warnings, loaded.origins) == (DEFAULTS, "defaults", (), {})


def test_the_users_file_is_read(home: Path, user_file: Path):
    user_file.write_text("window: 20\n")
    loaded = find(directory=home).load()
    assert (loaded.config.window, loaded.source) == (20, str(user_file))


def test_the_other_spelling_of_yaml_is_found(home: Path):
    written(home / "config/repeat-tool-breaker/config.yml", "window: 20\n")
    assert find(directory=home).load().config.window == 20


@pytest.mark.usefixtures("user_file")
def test_a_named_file_takes_the_place_of_all_others(home: Path, project_file: Path, monkeypatch: pytest.MonkeyPatch):
    by_variable = written(home / "variable.yaml", "window: 30\n")
    by_option = written(home / "option.yaml", "window: 40\n")
    monkeypatch.setenv("BREAKER_CONFIG", str(by_variable))
    assert find(directory=project_file.parent).load().config.window == 30
    assert find(by_option, directory=project_file.parent).load().config.window == 40
    monkeypatch.setenv("BREAKER_CONFIG", "")
    assert find(directory=home).load().config == DEFAULTS


def test_a_named_file_must_be_there(home: Path):
    with pytest.raises(ConfigError, match=r"none\.yaml: It cannot be read"):
        find(home / "none.yaml").load()


def test_a_projects_file_is_found_up_to_the_root_of_its_repository(home: Path, project_file: Path):
    below = home / "projects/site/src/deep"
    below.mkdir(parents=True)
    assert find(directory=below).project == project_file
    written(home / "projects/.breaker.yaml", "")
    project_file.unlink()
    assert find(directory=below).project is None


def test_outside_of_a_repository_only_the_directory_itself_counts(home: Path):
    (home / "loose/below").mkdir(parents=True)
    file = written(home / "loose/.breaker.yaml", "")
    assert find(directory=home / "loose").project == file
    assert find(directory=home / "loose/below").project is None


def test_a_working_directory_that_is_gone(home: Path, monkeypatch: pytest.MonkeyPatch):
    (home / "gone").mkdir()
    monkeypatch.chdir(home / "gone")
    (home / "gone").rmdir()
    assert find().project is None


# -- whether a project's file is heard ----------------------------------------------------------------------------


def test_a_projects_file_is_not_heard_by_itself(project_file: Path, user_file: Path):
    loaded = find(directory=project_file.parent).load()
    assert loaded.config == DEFAULTS
    (warning,) = loaded.warnings
    assert f"{project_file} is not read" in warning
    assert f"trustedProjects: ['{project_file.parent}'] into {user_file}" in warning


def test_a_projects_file_cannot_make_itself_heard(project_file: Path):
    project_file.write_text(f"limits: {{exact: null}}\ntrustedProjects: ['{project_file.parent}']\n")
    assert find(directory=project_file.parent).load().config == DEFAULTS


@pytest.mark.parametrize("trusted", ["~/projects/site", "~/projects", "~/", "~"])
def test_the_users_file_can_trust_it(project_file: Path, user_file: Path, trusted: str):
    user_file.write_text(f"trustedProjects: ['{trusted}']\nlimits: {{cmd: 9, exact: 8}}\n")
    loaded = find(directory=project_file.parent).load()
    assert (loaded.config.limits["exact"], loaded.config.limits["cmd"], loaded.config.limits["net"]) == (5, 9, 12)
    assert loaded.source == f"{user_file}, {project_file}"
    assert loaded.origins == {"limits.cmd": f"{user_file}:2", "limits.exact": f"{project_file}:1"}
    assert loaded.warnings == ()


@pytest.mark.parametrize("trusted", ["~/projects/sit", "~/other", "/", "~/projects/site/src"])
def test_trust_is_by_whole_directories(project_file: Path, user_file: Path, trusted: str):
    user_file.write_text(f"trustedProjects: ['{trusted}']\n")
    heard = find(directory=project_file.parent).load().config != DEFAULTS
    assert heard == (trusted == "/")


def test_a_link_into_a_trusted_directory_earns_no_trust(home: Path, project_file: Path, user_file: Path):
    user_file.write_text("trustedProjects: [~/trusted]\n")
    (home / "trusted").symlink_to(project_file.parent)
    (home / "elsewhere").mkdir()
    (home / "elsewhere/.breaker.yaml").symlink_to(project_file)
    assert find(directory=home / "elsewhere").load().config == DEFAULTS
    assert find(directory=project_file.parent).load().config != DEFAULTS


@pytest.mark.parametrize("trusted", ["projects", "./projects", "~other/x", "", '"/\\0"'])
def test_trust_that_names_no_directory_trusts_nothing(project_file: Path, user_file: Path, trusted: str):
    user_file.write_text(f"trustedProjects: [{trusted or '~'}]\n")
    try:
        config = find(directory=project_file.parent).load().config
    except ConfigError as error:
        assert "trustedProjects" in str(error)  # noqa: PT017 - refused or without effect: both trust nothing
    else:
        assert config == DEFAULTS


def test_what_a_projects_file_loosens_is_told(project_file: Path, user_file: Path):
    user_file.write_text("trustedProjects: [~/projects]\nonLimit: deny\n")
    project_file.write_text("onLimit: ask\nlimits: {exact: null, host: 5}\n")
    assert find(directory=project_file.parent).load().warnings == (
        f"{project_file} loosens the guard: onLimit: no longer deny.",
        f"{project_file} loosens the guard: limits.exact: 12 to off.",
    )


def test_mistakes_in_all_files_are_told_at_once(project_file: Path, user_file: Path):
    user_file.write_text("trustedProjects: [~/projects]\nwindow: 3\n")
    with pytest.raises(ConfigError) as raised:
        find(directory=project_file.parent).load()
    assert len(raised.value.problems) == 1  # a user's file that is broken trusts nobody
    user_file.write_text("trustedProjects: [~/projects]\n")
    project_file.write_text("window: 3\nwarnAt: x\n")
    with pytest.raises(ConfigError) as raised:
        find(directory=project_file.parent).load()
    assert [problem.source for problem in raised.value.problems] == [str(project_file)] * 2


def test_a_projects_pipe_is_not_waited_for(project_file: Path, user_file: Path):
    user_file.write_text("trustedProjects: [~/projects]\n")
    project_file.unlink()
    os.mkfifo(project_file)
    with pytest.raises(ConfigError, match="it is no regular file"):
        find(directory=project_file.parent).load()
