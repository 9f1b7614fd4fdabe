"""Where things are kept, and that a directory is the user's alone."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.paths import (
    SOCKET_PATH_BYTES,
    PathError,
    check_socket_path,
    config_directory,
    operator_socket_path,
    private_directory,
    socket_path,
    state_directory,
)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    for variable in ("BREAKER_SOCKET", "XDG_RUNTIME_DIR", "XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(variable, raising=False)
    return tmp_path


@pytest.fixture
def short() -> Iterator[Path]:
    """A directory whose path leaves room for a socket's name."""
    with tempfile.TemporaryDirectory(dir="/tmp") as directory:
        yield Path(directory)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_the_socket_that_was_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("BREAKER_SOCKET", "/somewhere/x.sock")
    assert socket_path() == Path("/somewhere/x.sock")
    assert operator_socket_path(socket_path()) == Path("/somewhere/x.operator.sock")


def test_a_socket_that_was_named_by_a_relative_path_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("BREAKER_SOCKET", "x.sock")
    with pytest.raises(PathError, match=r"\$BREAKER_SOCKET is 'x\.sock'; it must be an absolute path"):
        socket_path()


def test_the_socket_is_in_the_runtime_directory(home: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(home))
    assert socket_path() == home / "repeat-tool-breaker/engine.sock"


@pytest.mark.parametrize("runtime", ["", "relative", "/does/not/exist"])
def test_without_a_runtime_directory_the_socket_is_still_the_users_alone(
    home: Path, monkeypatch: pytest.MonkeyPatch, runtime: str
):
    monkeypatch.setenv("XDG_RUNTIME_DIR", runtime)
    directory = socket_path().parent
    assert directory.is_relative_to(home) or directory.is_relative_to(f"/run/user/{os.geteuid()}")
    assert not directory.is_relative_to(tempfile.gettempdir()) or home.is_relative_to(tempfile.gettempdir())


def test_the_socket_does_not_depend_on_where_temporary_files_go(monkeypatch: pytest.MonkeyPatch):
    before = socket_path()
    monkeypatch.setenv("TMPDIR", "/var/tmp")
    monkeypatch.setattr(tempfile, "tempdir", None)
    assert socket_path() == before


def test_the_longest_path_is_the_longest_that_can_be_bound(short: Path):
    stem = len(os.fsencode(short)) + 1
    longest = short / ("x" * (SOCKET_PATH_BYTES - stem))
    with socket.socket(socket.AF_UNIX) as listener:
        check_socket_path(longest)
        listener.bind(str(longest))
    longer = short / ("y" * (SOCKET_PATH_BYTES - stem + 1))
    with socket.socket(socket.AF_UNIX) as listener, pytest.raises(OSError, match="too long"):
        listener.bind(str(longer))
    with pytest.raises(PathError, match=rf"has {SOCKET_PATH_BYTES + 1} bytes .* allows {SOCKET_PATH_BYTES}"):
        check_socket_path(longer)


def test_the_length_of_a_path_is_in_bytes():
    with pytest.raises(PathError):
        check_socket_path(Path("/" + "é" * 60))


def test_a_directory_is_made_for_its_owner_alone(home: Path):
    old = os.umask(0)
    try:
        made = private_directory(home / "a/b")
    finally:
        os.umask(old)
    assert made == home / "a/b"
    assert mode(made) == 0o700
    assert private_directory(made) == made


def test_a_directory_that_others_may_look_into_is_refused(home: Path):
    (home / "open").mkdir(mode=0o750)
    with pytest.raises(PathError, match=r"is open to others \(mode 0750\)\. .* chmod 700"):
        private_directory(home / "open")


def test_nobody_is_told_to_close_a_directory_that_is_everybodys(home: Path):
    (home / "tmp").mkdir()
    (home / "tmp").chmod(0o1777)
    with pytest.raises(PathError, match=r"is everybody's \(mode 1777\)\. Choose a directory of your own") as caught:
        private_directory(home / "tmp")
    assert "chmod" not in str(caught.value)


def test_a_link_is_refused(home: Path):
    (home / "real").mkdir(mode=0o700)
    (home / "link").symlink_to(home / "real")
    with pytest.raises(PathError, match="is a symbolic link"):
        private_directory(home / "link")
    (home / "nowhere").symlink_to(home / "none")
    with pytest.raises(PathError, match="is a symbolic link"):
        private_directory(home / "nowhere")


def test_a_file_is_refused(home: Path):
    (home / "file").touch()
    with pytest.raises(PathError, match="cannot be made or used"):
        private_directory(home / "file")
    with pytest.raises(PathError, match="cannot be made or used"):
        private_directory(home / "file/below")


def test_another_users_directory_is_refused(home: Path):
    theirs = Path("/usr")
    if os.geteuid() == 0:  # it is ours, then; but only root can give a directory away
        theirs = home / "theirs"
        theirs.mkdir(mode=0o700)
        os.chown(theirs, 12345, 12345)
    with pytest.raises(PathError, match=rf"belongs to another user \(uid {theirs.stat().st_uid}\)"):
        private_directory(theirs)


def test_a_directory_that_everybody_may_replace_is_refused(home: Path):
    (home / "shared").mkdir()
    (home / "shared").chmod(0o777)
    with pytest.raises(PathError, match="Everybody may replace"):
        private_directory(home / "shared/mine")
    (home / "shared").chmod(0o1777)
    private_directory(home / "shared/mine")


def test_the_state_directory_is_private_and_not_the_configurations(home: Path):
    state = state_directory()
    assert state.is_relative_to(home)
    assert mode(state) == 0o700
    assert state != config_directory()


def test_the_platforms_variables_are_heard(home: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(home / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "config"))
    assert state_directory() == home / "state/repeat-tool-breaker"
    assert config_directory() == home / "config/repeat-tool-breaker"


def test_finding_the_socket_imports_next_to_nothing(tmp_path: Path):
    """A hook does it once per call of a tool."""
    code = "import sys; from engine.paths import socket_path; socket_path(); print('platformdirs' in sys.modules)"
    environment = {**os.environ, "BREAKER_SOCKET": str(tmp_path / "x.sock")}
    found = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "False"
