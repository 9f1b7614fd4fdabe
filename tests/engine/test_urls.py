"""URLs in text, and their identity."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.urls import TRACKING, Url, find_urls, fold_aliases, identify_url, is_local

DATA = Path(__file__).parent.parent / "data" / "urls.jsonl"
ROWS = [json.loads(line) for line in DATA.read_text("utf-8").splitlines()]


def resource(raw: str, aliases: dict[str, str] | None = None) -> str:
    url = identify_url(raw, aliases or {})
    assert url is not None, raw
    return url.resource


# -- finding --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("see https://a.example/x.", ["https://a.example/x"]),
        ("HTTPS://a.example Http://b.example", ["HTTPS://a.example", "Http://b.example"]),
        ('<a href="http://a.example/?q=1&amp;r">', ["http://a.example/?q=1&amp;r"]),
        ("(http://a.example/b)", ["http://a.example/b"]),
        ("[x](http://a.example/b), `http://a.example/c`", ["http://a.example/b", "http://a.example/c"]),
        ("https://en.example/wiki/A_(b)", ["https://en.example/wiki/A_(b)"]),
        ("(https://en.example/wiki/A_(b)).", ["https://en.example/wiki/A_(b)"]),
        ("http://[::1]/ http://[::1]", ["http://[::1]/", "http://[::1]"]),
        ("https://例え.example/パス。次", ["https://例え.example/パス。次"]),
        ("「https://a.example/」", ["https://a.example/"]),
        ("http://a.example/1 http://a.example/2 http://a.example/1", ["http://a.example/1", "http://a.example/2"]),
        ("git+https://a.example/r.git", ["https://a.example/r.git"]),
        ("http:// https://) ftp://a.example http:/a", []),
        (r"grep -v 'http://127\.0\.0\.1:3080/' log", [r"http://127\.0\.0\.1:3080/"]),
        (r"^http://a\.example/b\.$", [r"http://a\.example/b"]),
        (r'print("http://a.example/b\n")', ["http://a.example/b"]),
        ("http://a.example/\x1b[31m", ["http://a.example/"]),
    ],
)
def test_what_a_text_holds(text: str, found: list[str]):
    assert find_urls(text) == found


@pytest.mark.parametrize("tail", [")", ".", "]", ")]}", "\\", "\\.", "(", "http://", "😀", "..)"])
def test_a_very_long_tail_is_read_once(tail: str):
    find_urls("http://a.example/" + tail * 60_000)
    identify_url("http://a.example/" + tail * 60_000, {})


@given(st.text())
def test_any_text_has_urls_or_none(text: str):
    for url in find_urls(text):
        assert url in text
        identify_url(url, {})


# -- identity -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", ROWS, ids=range(1, len(ROWS) + 1))
def test_every_recorded_url(row: dict[str, Any]):
    url = identify_url(row["url"], {})
    got = {"host": url.host, "site": url.site, "net": url.resource, "local": url.local} if url else None
    assert got == row["expected"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("http://a.example/x", "https://www.a.example:443/x/#top"),
        ("https://a.example/", "https://a.example:80"),
        ("https://a.example/abc", "https://a.example/%61%62%63"),
        ("https://a.example/%c3%a9", "https://a.example/é"),
        ("https://a.example/?q=a+b", "https://a.example/?q=a%20b"),
        ("https://a.example/?a=1&b=2", "https://a.example/?b=2&utm_source=x&&a=1&%66bclid=9"),
        ("https://a.example/x", "https://user:pw@a.example/y/../x"),
        ("http://127.0.0.1:3080/", r"http://127\.0\.0\.1:3080/"),
        ("http://127.0.0.1/", "http://2130706433/"),
        ("https://A.EXAMPLE./x", "a.example/x"),
        ("https://a.example/\ud800", "https://a.example/\ufffd"),
    ],
)
def test_one_resource_however_it_is_spelled(one: str, other: str):
    assert resource(one) == resource(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("https://a.example/s?x=1&y=2", "https://a.example/s?x=1%26y=2"),
        ("https://a.example/?page=1", "https://a.example/?page=2"),
        ("https://a.example:8000/", "https://a.example:8001/"),
        ("https://a.example/A", "https://a.example/a"),
        ("https://a.example/a%2Fb", "https://a.example/a/b"),
        ("https://a.example/%2561", "https://a.example/%61"),
        ("https://a.example/", "https://b.a.example/"),
        ("https://a.example/?utm_=1", "https://a.example/"),
    ],
)
def test_two_resources(one: str, other: str):
    assert resource(one) != resource(other)


@pytest.mark.parametrize(
    "raw",
    [
        "",
        " ",
        "\\",
        "http://",
        "ftp://a.example/",
        "file:///etc/passwd",
        "https://a b/",
        "http://[::1",
        "http://1.2.3.4.5/",
    ],
)
def test_what_is_no_http_url(raw: str):
    assert identify_url(raw, {}) is None


def test_an_aliased_host_is_the_host_it_stands_for():
    aliases = fold_aliases({"WWW.Mirror.example": "Origin.example", "cdn.example": "mirror.example", "x.example": ""})
    assert identify_url("https://cdn.example:8443/a?b=1", aliases) == Url(
        host="origin.example", port="8443", path="/a", query="b=1", site="origin.example", local=False
    )
    assert resource("https://www.mirror.example/", aliases) == "origin.example/"
    assert resource("https://x.example/", aliases) == "x.example/"


def test_aliases_in_a_circle_end():
    aliases = fold_aliases({"a.example": "b.example", "b.example": "a.example"})
    assert resource("https://a.example/", aliases) in {"a.example/", "b.example/"}


def test_an_alias_of_this_machine_is_local():
    url = identify_url("https://dev.example/", fold_aliases({"dev.example": "127.0.0.1"}))
    assert url is not None
    assert url.local
    assert url.site == "127.0.0.1"


@pytest.mark.parametrize(
    ("host", "local"),
    [
        ("localhost", True),
        ("app.localhost", True),
        ("notlocalhost", False),
        ("localhost.example", False),
        ("127.0.0.1", True),
        ("127.255.255.254", True),
        ("10.0.0.1", True),
        ("10.minutes.org", False),
        ("172.15.0.1", False),
        ("172.16.0.1", True),
        ("192.168.0.1", True),
        ("192.168.example", False),
        ("169.254.169.254", True),
        ("0.0.0.0", True),
        ("100.64.0.1", False),
        ("[::1]", True),
        ("[::]", True),
        ("[fe80::1]", True),
        ("[fd12::1]", True),
        ("[fec0::1]", False),
        ("[2001:db8::1]", False),
        ("[::ffff:a00:1]", True),
        ("[::ffff:808:808]", False),
        ("fd12.example", False),
        ("", False),
    ],
)
def test_what_is_local(host: str, local: bool):
    assert is_local(host) is local


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("https://example.org./x", "https://example.org/x"),
        ("https://www.example.org..:8080/x?a=1", "https://example.org:8080/x?a=1"),
        ("https://172.31../", "https://172.31/"),
        ("https://127.0.0.../", "https://127.0.0/"),
    ],
)
def test_dots_behind_a_host_are_no_other_host(written: str, meant: str):
    found = identify_url(written, {})
    assert found == identify_url(meant, {})
    assert found is not None
    assert identify_url(f"http://{found.resource}", {}) == found


hosts = st.from_regex(r"[a-z][a-z0-9]{0,8}(\.[a-z][a-z0-9]{0,8}){1,3}", fullmatch=True).filter(
    lambda host: not host.startswith("www.") and "xn" not in host
)
words = st.text("abcdefghijklmnopqrstuvwxyz0123456789-_~", min_size=1, max_size=8)
paths = st.lists(words, max_size=4).map("/".join)
queries = st.lists(st.tuples(words.map("k{}".format), words), max_size=4)


@given(hosts, paths, queries, st.randoms(use_true_random=False), st.sampled_from(sorted(TRACKING)), words)
def test_disguises_change_nothing(
    host: str, path: str, query: list[tuple[str, str]], random: Any, name: str, value: str
):
    plain = f"http://{host}/{path}?{'&'.join('='.join(pair) for pair in query)}"
    disguised = [*query, (name, value), (f"UTM_{value}", value)]
    random.shuffle(disguised)
    scheme, port = random.choice([("https", ":443"), ("HTTP", ":80"), ("Https", "")])
    escaped = "".join(f"%{ord(letter):02x}" if random.random() < 0.3 and letter != "/" else letter for letter in path)
    pairs = "&".join("=".join(pair) for pair in disguised)
    other = f"{scheme}://www.{host.upper()}{port}/{escaped}{random.choice(['', '/', '//'])}?{pairs}#{value}"
    assert identify_url(other, {}) == identify_url(plain, {})


@given(st.text() | st.text("htps:/.\\[]%@?#&=+:1a😀\ud800", max_size=30))
def test_any_text_is_a_url_or_none(text: str):
    url = identify_url(text, {})
    if url is not None:
        url.resource.encode("ascii")
        again = identify_url(f"http://{url.resource}", {})
        assert again == url
