"""``breaker report`` as a person and a script run it; what an agent wrote is never markup, nor an escape sequence."""

from __future__ import annotations

import html.parser
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.html import Markup, tag
from console.report_html import html_of
from console.report_text import text_of
from console.text import cells
from engine.breaker import Breaker
from engine.calls import Call, result_of
from engine.configuration.file import from_mapping
from engine.events import Event
from engine.journal_lines import line_of
from engine.journal_parts import first_part
from engine.report import report_of, supposed_report
from tests.console.commands import Ran
from tests.engine.sessions_data import lines, session
from tests.engine.transcripts.recordings import recording

LOOP = recording("claude-code/loop.jsonl")


def journal_of(*, note: str = "use the cache") -> bytes:
    """What a breaker wrote down of an agent that loops, is asked about once and then refused."""
    events: list[Event] = []
    now = 1_767_225_600.0
    config = from_mapping({"limits": {"exact": 3, "cmd": 3}, "warnAt": 2})
    breaker = Breaker(config, attended=True, clock=lambda: now, listener=events.append)
    breaker.start_agent("a1", harness="codex")
    for number in range(5):
        call = Call(f"c{number}", "a1", "bash", {"command": "make all"})
        breaker.decide(call)
        now += 2.0
        if breaker.asks():
            breaker.answer(breaker.asks()[0].id, "rejected", note)
        breaker.settle("a1", call.id, result_of({"value": {"exitCode": 0}}))
    return b"".join(line_of(event) for event in events)


# -- as text ------------------------------------------------------------------------------------------------------


def test_what_a_breaker_would_have_done_to_a_transcript(tmp_path: Path):
    run = Ran("report", LOOP, home=tmp_path)
    assert run.code == 0
    assert "this is what one would have done" in run.out
    assert "9 calls by 1 agent in 1 turn: 5 failed; 4 would have been refused, 1 asked about." in run.out
    assert re.search(r"loop 1 +GATE +net:127\.0\.0\.1:9/items\?offset=100", run.out)
    assert "9 of 12 in the window, 5 failures in a row, 4 refused" in run.out
    assert "9 calls, from call 1 to call 9;" in run.out
    assert re.search(r"advice +FAIL-WARN +at call 3", run.out)
    assert "then the agent did it again, 6 more calls with it" in run.out
    assert "nobody was there to answer" in run.out


def test_what_happened_by_a_journal(tmp_path: Path):
    (tmp_path / "journal.jsonl").write_bytes(journal_of())
    run = Ran("report", "journal.jsonl", home=tmp_path)
    assert run.code == 0
    assert "what happened" in run.out
    assert "5 calls by 1 agent in 1 turn: 0 failed; 3 refused, 1 asked about." in run.out
    assert 'rejected after 2.0 s, note "use the cache"' in run.out
    assert "Asks waited 2.0 s for the operator." in run.out


def test_the_newest_journal(tmp_path: Path):
    directory = tmp_path / "state" / "repeat-tool-breaker" / "journal"
    directory.mkdir(parents=True, mode=0o700)
    for parent in (directory.parent, directory.parent.parent):
        parent.chmod(0o700)
    older, newer = first_part(directory, 1_767_225_600.0), first_part(directory, 1_767_312_000.0)
    for part in (older, newer, newer.following):
        part.events.write_bytes(journal_of())
    run = Ran("report", "--last", "--json", home=tmp_path)
    assert run.code == 0, run.err
    assert run.json()["sums"]["calls"] == 10, "all parts of one run, and no other's"


def test_no_journal_yet(tmp_path: Path):
    run = Ran("report", "--last", home=tmp_path)
    assert run.code == 2
    assert "there is no journal in" in run.err


@pytest.mark.parametrize("arguments", [[], ["a.jsonl", "--last"]])
def test_either_a_file_or_the_last(arguments: list[str], tmp_path: Path):
    run = Ran("report", *arguments, home=tmp_path)
    assert run.code == 2
    assert "--last" in run.err


def test_a_wrong_file_and_no_file(tmp_path: Path):
    (tmp_path / "notes.md").write_text("# Notes\n\nwords\n")
    run = Ran("report", "notes.md", home=tmp_path)
    assert run.code == 2
    assert "it looks like a Markdown document" in run.err
    run = Ran("report", "gone.jsonl", home=tmp_path)
    assert run.code == 2
    assert "cannot read gone.jsonl: No such file or directory" in run.err
    run = Ran("report", LOOP, "--html", "nowhere/x.html", home=tmp_path)
    assert run.code == 2
    assert "there is no directory" in run.err


def test_damaged_lines_are_told(tmp_path: Path):
    content = session([{"type": "call", "tool": "t", "args": {}}]) + b"half a li"
    run = Ran("report", "-", given=content, home=tmp_path)
    assert run.code == 0
    assert "standard input, line 2: passed over" in run.err
    (tmp_path / "journal.jsonl").write_bytes(journal_of() + b'{"type":"call"')
    assert "journal.jsonl:" in Ran("report", "journal.jsonl", home=tmp_path).err


def test_the_configuration_named_is_the_one_that_judges(tmp_path: Path):
    (tmp_path / "strict.yaml").write_text("onLimit: deny\nfailLimit: 2\n")
    assert Ran("report", LOOP, "--config", "strict.yaml", "--json", home=tmp_path).json()["sums"]["refused"] == 7


@pytest.mark.parametrize("width", [60, 80, 200])
def test_no_line_is_wider_than_the_terminal(width: int):
    report = supposed_report(lines([{"type": "call", "tool": "bash", "args": {"command": "x" * 3000}}] * 14), "s" * 400)
    for line in text_of(report, width):
        assert cells(line) <= width


# -- as JSON and HTML ---------------------------------------------------------------------------------------------


class Page(html.parser.HTMLParser):
    """What a browser would make of a page: its elements and its text. Fails on what is left open."""

    def __init__(self, content: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(content)
        self.close()
        assert not self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag != "meta":
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self._open or self._open[-1] != "style":
            self.text += data


ELEMENTS = {
    *("html", "head", "meta", "title", "style", "body", "section", "div", "p", "code"),
    *("h1", "h2", "h3", "h4", "table", "tr", "td", "svg", "rect", "line"),
}


def test_one_file_that_asks_no_network(tmp_path: Path):
    run = Ran("report", LOOP, "--html", "out.html", home=tmp_path)
    assert (run.code, run.out) == (0, "")
    content = (tmp_path / "out.html").read_text()
    page = Page(content)
    assert {name for name, _ in page.elements} <= ELEMENTS
    assert not [attributes for _, attributes in page.elements if {"src", "href", "onload", "style"} & set(attributes)]
    assert "url(" not in content
    assert "@import" not in content
    policy = next(one for _, one in page.elements if one.get("http-equiv"))["content"]
    assert policy == "default-src 'none'; style-src 'unsafe-inline'"
    for words in ("GATE", "net:127.0.0.1:9/items?offset=100", "5 failures in a row", "the agent did it again"):
        assert words in page.text


def test_html_and_json_at_once(tmp_path: Path):
    run = Ran("report", LOOP, "--html", "out.html", "--json", home=tmp_path)
    found: dict[str, Any] = run.json()
    assert found["supposed"] is True
    assert found["sums"]["refused"] == 4
    (turn,) = found["agents"][0]["turns"]
    assert turn["loops"][0]["fp"] == "net:127.0.0.1:9/items?offset=100"
    assert turn["asks"][0]["outcome"] == "unattended"
    assert (tmp_path / "out.html").exists()


EVIL = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</code></td></table><h1>all is well",
    "\x1b]0;owned\x07\x1b[2J\u202egnp.exe",
    "&lt;b&gt; &amp; ' \" `",
    "<!--",
    "]]>",
    "\ud800",
    "\x00",
    "{{7*7}}",
)


@pytest.mark.parametrize("evil", EVIL)
def test_hostile_text_is_text(evil: str):
    config = from_mapping({"limits": {"exact": 3}, "warnAt": 2, "failWarnAt": 1})
    events: list[Event] = []
    breaker = Breaker(config, attended=True, listener=events.append)
    breaker.start_agent(evil, harness=evil, name=evil, parent=evil + "p")
    for number in range(5):
        breaker.decide(Call(f"{evil}{number}", evil, evil, {"command": evil, evil: evil}))
        for ask in breaker.asks():
            breaker.answer(ask.id, "rejected", evil)
        breaker.settle(evil, f"{evil}{number}", result_of({"isError": True, "error": {"code": evil}}))
    report = report_of(events, evil)
    content = html_of(report)
    page = Page(content)
    assert {name for name, _ in page.elements} <= ELEMENTS
    assert all(not name.startswith("on") for _, attributes in page.elements for name in attributes)
    content.encode()
    for text in (content, *text_of(report, 120)):
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f\u202a-\u202e\ud800-\udfff]", text)
    if evil.isascii() and evil.isprintable():
        assert evil in page.text


@given(st.text())
def test_any_text_is_one_element_and_its_text(text: str):
    page = Page(f"<html>{tag('p', text, tag('code', text), title=text, data_x=text)}</html>")
    assert [name for name, _ in page.elements] == ["html", "p", "code"]
    assert list(page.elements[1][1]) == ["title", "data-x"]
    assert len(page.text) >= 2 * len(text.strip("\r"))  # nothing of it is lost, and what is hidden is spelled out


def test_only_our_own_is_markup():
    assert tag("p", "<b>", Markup("<i>x</i>"), [Markup("<b>y</b>")]) == "<p>&lt;b&gt;<i>x</i><b>y</b></p>"
    assert tag("p", ["<b>"]) == "<p>&lt;b&gt;</p>"  # type: ignore[list-item]


def test_json_talks_to_no_terminal(tmp_path: Path):
    made = [{"type": "call", "tool": "t\x1b[2J\x7f", "args": {"command": "\x1b]0;x\x07"}}] * 14
    run = Ran("report", "-", "--json", given=session(made), home=tmp_path)
    assert not re.search(rb"[\x00-\x09\x0b-\x1f\x7f-\xff]", run.raw)
    assert json.loads(run.out)["sums"]["calls"] == 14
