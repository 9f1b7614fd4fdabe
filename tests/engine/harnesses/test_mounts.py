"""``breaker install dsh`` and ``opencode``: the plugin put where its harness looks for it, and taken out again."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from engine.harnesses import dsh, opencode
from engine.harnesses.known import HARNESSES, Scope
from engine.harnesses.mounts import Mount
from engine.harnesses.settings import SettingsError
from tests.engine.harnesses.bridging import NODE, needs_node
from tests.engine.harnesses.homes import Home, home
from tests.engine.sockets import hosted

__all__ = ["home"]

MOUNT = Mount("/opt/bréaker 😀/\"x'.mjs", {"socket": "/run/e.sock", "onUnreachable": "allow"})
PATCHES = {
    "rows": "- id: hmr\n  disabled: true\n- insert:\n    - id: mine\n      name: 'x'\n",
    "comments": "# top\n- id: hmr # here\n  config: {}\n# end\n",
    "an expression": "- id: sandbox\n  config:\n    root: !!js process.cwd()\n",
    "a text of many lines": "- id: a\n  config:\n    section: |\n      one\n\n      two\n",
    "indented": "  - id: a\n  - id: b\n",
    "windows": "- id: a\r\n- id: b\r\n",
    "a byte order mark": "\ufeff- id: a\n",
    "a document's beginning": "---\n- id: a\n",
    "an empty list": "[]\n",
    "an empty list, explained": "# Your patch layer:\n# a list\n[]\n",
    "on one line": "[{id: a}, {id: b}]\n",
    "on several lines": "[\n  {id: a}, # one, two\n  {id: b} # three\n]\n",
    "a trailing comma": "[{id: a},]",
    "nothing": "",
}
BROKEN = {
    "a table": "plugins: []\n",
    "a word": "none\n",
    "no YAML": "- [\n",
    "tabs": "-\tid: a\n\t- b\n",
    "two documents": "- id: a\n---\n- id: b\n",
    "a document's end": "- id: a\n...\n",
    "too deep": "[" * 5000,
    "an unknown anchor": "- *a\n",
    "a control character": "- \x00\n",
}


def rows(text: str) -> list[Any]:
    """The patches as DSH reads them, an expression as its text."""

    class Loader(yaml.SafeLoader):
        pass

    Loader.add_constructor("tag:yaml.org,2002:js", lambda loader, node: node.value)
    return yaml.load(text.removeprefix("\ufeff"), Loader) or []


@pytest.mark.parametrize("text", PATCHES.values(), ids=PATCHES.keys())
def test_patches_are_added_to_and_nothing_else(text: str) -> None:
    changed = dsh.mounted(text, MOUNT)
    row = {"id": dsh.ROW, "name": MOUNT.plugin, "config": dict(MOUNT.settings)}
    assert rows(changed) == [*rows(text), {"insert": [row]}]
    assert dsh.mounts(changed) == (MOUNT,)
    assert dsh.unmounted(changed) == text
    assert ("\r\n" in changed) is ("\r\n" in text)
    assert "\n" not in changed.replace("\r\n", "") or "\r\n" not in text


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN.keys())
def test_patches_that_dsh_cannot_read_are_left_as_they_are(home: Home, text: str) -> None:
    home.write(home.settings("dsh"), text)
    before = home.tree()
    home.breaker("install", "dsh", code=2)
    assert home.tree() == before


def test_the_row_is_taken_out_from_among_others() -> None:
    text = dsh.mounted("- id: a\n", MOUNT) + "# mine\n- id: b\n"
    assert dsh.unmounted(text) == "- id: a\n# mine\n- id: b\n"
    flow = dsh.mounted("[{id: a}]", MOUNT).removesuffix("]") + ", {id: b}]"
    assert dsh.unmounted(flow) == "[{id: a}, {id: b}]"
    first = dsh.mounted("[]", MOUNT).removesuffix("]") + ", {id: b}]"
    assert dsh.unmounted(first) == "[{id: b}]"


def test_a_list_stays_a_list() -> None:
    """With a file of comments alone DSH would not start."""
    assert rows(dsh.unmounted(dsh.mounted("", MOUNT) + "# mine\n")) == []
    assert dsh.unmounted(dsh.mounted("", MOUNT) + "# mine\n") == "# mine\n[]\n"


def test_a_row_that_others_have_built_on_is_not_taken_out() -> None:
    changed = dsh.mounted("", MOUNT) + "    - id: mine\n"
    with pytest.raises(SettingsError, match=dsh.ROW):
        dsh.unmounted(changed)


def test_a_row_that_is_disabled_is_seen() -> None:
    changed = dsh.mounted("", MOUNT)
    assert not dsh.mounts(changed)[0].off
    assert dsh.mounts(changed + f"- id: {dsh.ROW}\n  disabled: true\n")[0].off
    assert dsh.mounts(changed.rstrip("\n") + "\n      disabled: true\n")[0].off


@given(
    st.lists(
        st.dictionaries(st.sampled_from(["id", "name", "config"]), st.text() | st.integers() | st.none(), min_size=1),
        max_size=4,
    ),
    st.booleans(),
    st.integers(1, 8),
)
def test_any_patches_there_and_back(patches: list[Any], flow: bool, indent: int) -> None:
    text = yaml.safe_dump(patches, default_flow_style=flow, indent=indent, allow_unicode=True)
    changed = dsh.mounted(text, MOUNT)
    assert rows(changed)[:-1] == (yaml.safe_load(text) or [])  # PyYAML does not read U+0085 as it wrote it
    assert dsh.unmounted(changed) == text


# -- the file among opencode's plugins ------------------------------------------------------------------------


def test_the_file_is_read_back() -> None:
    text = opencode.mounted("", MOUNT)
    assert opencode.mounts(text) == (MOUNT,)
    assert opencode.mounted(text, MOUNT) == text
    assert opencode.unmounted(text) == ""


@pytest.mark.parametrize("text", ["export const X = async () => ({})\n", "// mine\n"])
def test_somebody_elses_file_is_left_alone(text: str) -> None:
    assert opencode.mounts(text) == ()
    assert opencode.unmounted(text) == text
    with pytest.raises(SettingsError, match="not the breaker's"):
        opencode.mounted(text, MOUNT)


def test_our_file_is_ours_whatever_was_made_of_it() -> None:
    text = opencode.mounted("", MOUNT)
    assert opencode.mounts(text.replace('"socket"', "socket"))[0].settings == {}
    assert opencode.mounts(text.partition("\n")[0] + "\n")[0].plugin == ""


@needs_node
@pytest.mark.parametrize(
    ("on_unreachable", "outcome"),
    [("allow", "Cannot find module"), ("deny", "REPEAT_TOOL_BLOCKED: repeat-tool-breaker is not where it was")],
)
def test_a_breaker_that_is_gone(tmp_path: Path, on_unreachable: str, outcome: str) -> None:
    file = tmp_path / "plugin.mjs"
    file.write_text(opencode.mounted("", Mount("/gone/opencode.mjs", {"onUnreachable": on_unreachable})))
    script = f"""
        import {{ RepeatToolBreaker }} from {json.dumps(str(file))}
        const guarded = async () => (await RepeatToolBreaker({{}}))["tool.execute.before"]()
        await guarded().catch((error) => console.log(String(error)))
    """
    assert NODE
    done = subprocess.run([NODE, "--input-type=module", "-e", script], capture_output=True, text=True, check=True)
    assert outcome in done.stdout


# -- the commands ---------------------------------------------------------------------------------------------

EVERY: list[tuple[str, Scope]] = [("dsh", "user"), ("opencode", "user"), ("opencode", "project")]


@pytest.mark.parametrize(("harness", "scope"), EVERY)
def test_where_nothing_was_before(home: Home, harness: str, scope: Scope) -> None:
    before = home.tree()
    home.breaker("install", harness, f"--{scope}", "--fail-closed")
    bridge = HARNESSES[harness].bridge
    assert bridge
    (mount,) = bridge.mounts(home.settings(harness, scope).read_text())
    assert mount.plugin == str(bridge.plugin)
    assert Path(mount.plugin).is_file()
    assert mount.settings == {"socket": str(home.root.parent / "engine.sock"), "onUnreachable": "deny"}
    once = home.tree()
    home.breaker("install", harness, f"--{scope}", "--fail-closed")
    assert home.tree() == once
    home.breaker("uninstall", harness, f"--{scope}")
    assert home.tree() == before


@pytest.mark.parametrize("text", PATCHES.values(), ids=PATCHES.keys())
def test_install_then_uninstall_leaves_every_byte(home: Home, text: str) -> None:
    home.write(home.settings("dsh"), text.removesuffix("\n"))
    before = home.tree()
    home.breaker("install", "dsh")
    home.breaker("install", "dsh", "--fail-closed")
    assert len(dsh.mounts(home.settings("dsh").read_bytes().decode())) == 1
    home.breaker("uninstall", "dsh")
    assert home.tree() == before


def test_what_was_edited_in_between_stays(home: Home) -> None:
    path = home.settings("dsh")
    home.write(path, "- id: a\n")
    home.breaker("install", "dsh")
    home.write(path, path.read_text() + "- id: b\n")
    home.breaker("uninstall", "dsh")
    assert path.read_text() == "- id: a\n- id: b\n"


@pytest.mark.parametrize(("harness", "scope"), EVERY)
def test_it_goes_even_where_all_that_was_known_of_it_is_lost(home: Home, harness: str, scope: Scope) -> None:
    home.breaker("install", harness, f"--{scope}")
    for record in home.root.rglob("installed/*"):
        record.unlink()
    home.breaker("uninstall", harness, f"--{scope}")
    assert not home.settings(harness, scope).exists()


def test_dsh_has_no_settings_of_a_project(home: Home) -> None:
    for command in ("install", "uninstall"):
        assert "no settings of a project" in home.breaker(command, "dsh", "--project", code=2).output


def test_no_call_is_counted_twice(home: Home) -> None:
    home.breaker("install", "opencode", "--user")
    assert "counted twice" in home.breaker("install", "opencode", code=2).output


def test_the_plugin_is_a_file_of_its_own_user(home: Home) -> None:
    home.breaker("install", "opencode")
    assert home.settings("opencode", "project").stat().st_mode & 0o077 == 0


def doctor(home: Home, code: int) -> dict[str, Any]:
    """What the doctor says of what is installed, by harness."""
    report = json.loads(home.breaker("doctor", "--json", code=code).output)
    return {one["harness"]: one for one in report["harnesses"] if one["installed"]}


def test_the_doctor_asks_where_the_plugins_would(home: Home) -> None:
    home.breaker("install", "opencode")
    home.breaker("install", "dsh", "--fail-closed")
    assert all("no engine at" in one["problems"][0] for one in doctor(home, 1).values())
    with hosted() as (_, path):
        for harness in ("opencode", "dsh"):
            home.breaker("install", harness, "--socket", str(path))
        found = doctor(home, 1)  # the engine that hooks would ask is another, and is not there
        assert not any(one.get("problems") for one in found.values())
        assert all(one["milliseconds"] > 0 for one in found.values())


def test_the_doctor_sees_what_is_wrong(home: Home) -> None:
    with hosted() as (_, path):
        home.breaker("install", "dsh", "--socket", str(path))
        file = home.settings("dsh")
        moved = file.read_text().replace("/engine/", "/gone/")
        home.write(file, moved + f"- id: {dsh.ROW}\n  disabled: true\n")
        problems = " ".join(doctor(home, 1)["dsh"]["problems"])
        assert "disabled" in problems
        assert "dsh.mjs, which is not there" in problems
