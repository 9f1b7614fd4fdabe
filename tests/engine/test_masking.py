"""Secrets become tokens; what was equal stays equal."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.canonical import canonical
from engine.masking import mask, mask_head, mask_value, token_of

SECRET = "Tr0ub4dor-and-3"
TOKEN = token_of(SECRET)

PLACES = [
    "curl -H 'Authorization: Bearer {}' https://a.example",
    'curl -H "authorization: Basic {}" https://a.example',
    "curl -H 'Proxy-Authorization: {}' u",
    "curl -H 'Cookie: {}' u",
    "curl -H 'X-Api-Key: {}' u",
    "GET / HTTP/1.1\nAuthorization: Bearer {}\nHost: a.example",
    "https://a.example/?key={}&page=2",
    "https://a.example/?page=2&access_token={}",
    "https://a.example/?token={}#top",
    "https://bob:{}@a.example/x",
    "postgres://bob:{}@db.example:5432/app",
    "curl -u bob:{} https://a.example",
    "curl -su bob:{} https://a.example",
    "curl -sSu 'bob:{}' https://a.example",
    "curl --user bob:{} https://a.example",
    'curl --user="bob:{}" https://a.example',
    "curl -u bob@mail.io:{} https://a.example",
    "curl -ubob:{} https://a.example",
    "login --password {}",
    "login --password={} --verbose",
    "login --db-password '{}'",
    "login -password {}",
    "login --api-key {}",
    "sshpass --token {} ssh host",
    "API_KEY={} make",
    "export GITHUB_TOKEN={}; make",
    "AWS_SECRET_ACCESS_KEY='{}' aws s3 ls",
    "PGPASSWORD={} psql",
    "password: {}",
    'password = "{}"',
    "'passwd': '{}'",
    '{{"api_key": "{}", "x": 1}}',
    '{{"client_secret":"{}"}}',
    '["login","--password","{}","-v"]',
    "openssl -passin pass:{}",
    "login --password \\\n  {} --verbose",
    '{{"headers":[{{"name":"Authorization","value":"Bearer {}"}}]}}',
    '{{"name": "X-Api-Key", "value": "{}"}}',
]


@pytest.mark.parametrize("place", PLACES)
def test_a_secret_in_its_place(place: str):
    text = place.format(SECRET)
    assert mask(text) == place.format(TOKEN)
    within_json = canonical({"command": text})
    assert SECRET not in mask(within_json)
    assert json.loads(mask(within_json)) == {"command": mask(text)}


SHAPED = [
    "ghp_0123456789abcdefghijklmnopqrstuvwxyz",
    "github_pat_11ABCDEFG0123456789_abcdefghijklmnop",
    "sk-abcdefghijklmnop1234567890",
    "sk-ant-api03-abcdefghijklmnopqrstuv",
    "sk-proj-0123456789abcdefghijkl",
    "xoxb-123456789012-abcdefGHIJKL",
    "AKIAIOSFODNN7EXAMPLE",
    "AIzaSyA0123456789abcdefghijklmnopqrstuv",
    "glpat-0123456789abcdefghij",
    "npm_0123456789abcdefghijklmnopqrstuvwxyz",
    "hf_abcdefghijklmnopqrstuvwxyzABCDEFGH",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P",
]


@pytest.mark.parametrize("gap", ["\n", "\r\n", "\t", "\f"])
@pytest.mark.parametrize(
    "place",
    ["--password {}", "login --password\t{}", "curl -u bob:{} u", "ghp_{0}{0}", "API_KEY=\t{}", "X-Auth-Token:\t{}"],
)
def test_a_secret_behind_a_line_break_that_json_has_written_as_a_letter(place: str, gap: str):
    secret = SECRET.replace("-", "0")
    command = f"make{gap}{place.format(secret)}"
    assert secret not in mask(command)
    assert secret not in mask(canonical({"command": command, "x": [command]}))


@pytest.mark.parametrize("quote", ["'\\''", "'\"'\"'"])
def test_a_secret_in_quotes_inside_single_quotes(quote: str):
    text = f"sh -c 'export DB_PASSWORD={quote}{SECRET}{quote}; login --token {quote}{SECRET}{quote} -v'"
    assert mask(text) == text.replace(SECRET, TOKEN)
    assert SECRET not in mask(canonical({"command": text}))


def test_a_secret_that_is_escaped_for_a_url():
    for text in (
        f"https://e.com/login?to=https%3A%2F%2Ff.com%3Ftoken%3D{SECRET}%26page%3D2",
        f"https://e.com/?q=%7B%22password%22:%20%22{SECRET}%22%7D",
        f"https://e.com/?q=%7B%22password%22%3A%22{SECRET}%22%7D",
    ):
        assert SECRET not in mask(text)


@pytest.mark.parametrize("secret", SHAPED)
@pytest.mark.parametrize(
    "place", ["echo {}", "git clone https://{}@github.com/o/r", "x = '{}'", "({})", "/hook/{}/post"]
)
def test_a_secret_known_by_its_shape(secret: str, place: str):
    assert mask(place.format(secret)) == place.format(token_of(secret))


def test_a_token_in_the_place_of_a_user():
    secret = SHAPED[0]
    assert secret not in mask(f"curl -u {secret}:x-oauth-basic https://api.github.com")
    assert secret not in mask(f"git clone https://{secret}:x-oauth-basic@github.com/o/r")


def test_a_private_key_keeps_its_frame_only():
    key = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk\nQyNTUxOQAAACA\n-----END OPENSSH PRIVATE KEY-----"
    masked = mask(f"cat > id <<'E'\n{key}\nE")
    assert "b3Blbn" not in masked
    assert "Qy" not in masked
    assert masked.endswith("-----END OPENSSH PRIVATE KEY-----\nE")
    assert "b3Blbn" not in mask(key[:60])


def test_quotes_and_brackets_around_a_secret_are_respected():
    assert mask("login --password 'two words' next") == f"login --password '{token_of('two words')}' next"
    assert mask(r'echo "{\"password\": \"a\\\"b\"}" next').endswith(r'\"}" next')
    assert "hidden" not in mask('{"token": {"kind": "x", "value": ["hidden", {"a": "}"}]}, "b": 1}')
    assert mask('{"token": {"value": "hidden"}, "b": 1}').endswith(', "b": 1}')
    assert SECRET not in mask(f"-H 'Cookie: a=\"1\"; session={SECRET}'")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ls -la /srv",
        "git push -u origin main",
        "docker run -u 1000:1000 image",
        "curl https://a.example:8080/x@y",
        "ssh://git@github.com/o/r.git",
        "login --token $TOKEN --password ${DB_PASSWORD}",
        'curl -H "Authorization: Bearer $TOKEN" u',
        "login --password $(pass show x)",
        "sorted(xs, key=lambda x: x.n)",
        "def f(token: str, key: int = 3) -> None:"[:32],
        "3 tests pass: 12 fail: 0",
        "if key == other_key:",
        "max_tokens=4096",
        "Token::new(x)",
        "monkeypatch keyboard author passed",
        "hf_hub_download npm_lifecycle_event sk-learn",
        "sqlmap -u https://a.example/?id=1",
    ],
)
def test_what_is_no_secret_stays(text: str):
    assert mask(text) == text


def test_the_same_secret_is_the_same_token_and_another_is_another():
    texts = [place.format(SECRET) for place in PLACES]
    assert all(re.findall(r"<secret:[0-9a-f]{6}>", mask(text)) == [TOKEN] for text in texts)
    assert mask("--token a1") != mask("--token a2")


@pytest.mark.parametrize("place", PLACES)
def test_a_secret_cut_off_is_masked_all_the_same(place: str):
    text = place.format(SECRET * 60)
    for chars in (20, 60, 100, 400, 800):
        head = mask_head(text + " and so on" * 10_000, chars)
        assert len(head) <= chars
        assert "Tr0ub" not in head


FRAGMENTS = [
    *("key=", "token=", "password='", 'password="', 'key=\\"', "-u ", "-u a:", " -su ", "--user=", "--password "),
    *("://", "://a:", "://a:b@", "https://", "-----BEGIN PRIVATE KEY-----", "-----END", "Authorization: Bearer "),
    *("cookie: '", '"token":{', '"token":["', "<secret:", "<secret:abcdef>", "bearer ", "basic ", "lambda", "$TOKEN"),
    *(
        "$(",
        "{{",
        "\\",
        "'",
        '"',
        "`",
        " ",
        "\n",
        "\t",
        ";",
        "&",
        "<",
        ">",
        "/",
        "?",
        ":",
        ",",
        "@",
        "{",
        "}",
        "[",
        "]",
    ),
    *("abc", "x1", "0123456789abcdefghij", "ghp_", "sk-", "eyJ", "xoxb-0123456789", "AKIA0123456789ABCDEF"),
]
tangles = st.lists(st.sampled_from(FRAGMENTS), max_size=12).map("".join) | st.text()


@given(tangles)
def test_masking_twice_is_masking_once(text: str):
    assert mask(mask(text)) == mask(text)


@given(
    tangles,
    st.sampled_from(["", " ", "\n", "x" * 40, "x" * 120 + "@", " and so on" * 20]),
    tangles,
    st.integers(0, 400),
)
def test_a_head_is_masked_as_the_whole_text_is(before: str, between: str, after: str, chars: int):
    text = before + between + after
    for at in (0, chars, len(before), len(before + between)):
        assert mask_head(text, at) == mask(text)[:at]


@given(
    tangles,
    tangles,
    st.text("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", min_size=12, max_size=40),
)
def test_a_named_secret_never_stays(before: str, after: str, secret: str):
    if secret not in before + after:
        assert secret not in mask(f"{before}\n--password {secret}\n{after}")


@pytest.mark.parametrize("fragment", [*FRAGMENTS, "key\t", "--token-token", "eyJ-", "--user-user"])
def test_many_signs_are_read_in_linear_time(fragment: str):
    mask("key @ :// : -u " + fragment * 20_000)


# -- previews -------------------------------------------------------------------------------------------------


def test_a_preview_masks_by_name_and_by_text():
    preview = mask_value(
        {
            "command": f"curl -u bob:{SECRET} u",
            "headers": {"Authorization": SECRET, "Accept": "*/*"},
            "password": 1234,
            "credentials": {"user": "bob", "pins": [SECRET]},
            "keyed": True,
            "verify_key": False,
            "count": 3,
        }
    )
    assert SECRET not in json.dumps(preview)
    assert preview["headers"] == {"Authorization": TOKEN, "Accept": "*/*"}
    assert preview["command"] == f"curl -u bob:{TOKEN} u"
    assert preview["password"] == token_of("1234")
    assert preview["credentials"]["pins"] == [TOKEN]
    assert preview["verify_key"] is False
    assert preview["count"] == 3


def test_a_preview_is_bounded_in_each_string_and_in_all():
    preview = mask_value(
        {"a": "x" * 10_000, "b": list(range(10_000)), "c": {"d": 1}}, string_chars=100, total_chars=500
    )
    assert preview["a"] == "x" * 100 + "…"
    assert preview["b"][-1].endswith(" more")
    assert len(json.dumps(preview)) < 1000
    deep: Any = 1
    for _ in range(10_000):
        deep = [deep]
    assert "…" in json.dumps(mask_value(deep), ensure_ascii=False)


def test_a_secret_at_the_cut_of_a_preview_is_masked():
    text = "x" * 80 + f" --password {SECRET * 20}"
    assert "Tr0ub" not in mask_value(text, string_chars=100)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | tangles,
    lambda children: st.lists(children) | st.dictionaries(st.text() | st.sampled_from(["token", "a"]), children),
)


@given(json_values)
def test_a_preview_is_json_and_a_preview_of_itself(value: Any):
    preview = mask_value(value, string_chars=1000, total_chars=10**6)
    json.dumps(preview, allow_nan=False)
    assert mask_value(preview, string_chars=1000, total_chars=10**6) == preview


@pytest.mark.parametrize(
    "value",
    [
        {"command": ["mysql", "--password", SECRET, "-h", "db"]},
        {"command": ["curl", "-u", f"bob:{SECRET}", "https://a.example"]},
        {"command": ["login", "--token", SECRET * 1000, "--verbose"]},
        {"headers": [{"name": "Authorization", "value": f"Bearer {SECRET}"}, {"name": "Accept", "value": "*/*"}]},
        {"env": [{"key": "DB_PASSWORD", "value": SECRET}]},
    ],
)
def test_a_preview_masks_what_a_flag_or_a_name_beside_it_makes_a_secret(value: Any):
    shown = json.dumps(mask_value(value))
    assert SECRET not in shown
    assert "<secret:" in shown


def test_a_secret_goes_on_behind_an_escaped_blank():
    assert mask(r"PASSWORD=my\ own make x") == "PASSWORD=" + token_of(r"my\ own") + " make x"


def test_words_behind_flags_that_tell_no_secret_stay():
    words = ["git", "commit", "-m", "a token of thanks: many", "--", "-u", "x", 3, "--depth", "1"]
    assert mask_value(words) == words


def test_a_flag_at_the_end_of_a_line_takes_no_name_from_the_next():
    command = f"--pass\nAuthorization: Bearer {SECRET}\nword"
    for text in (command, json.dumps(command), json.dumps(command.replace("\n", "\r\n"))):
        assert SECRET not in mask(text)
    continued = f"login --password \\\n {SECRET} x"
    for text in (continued, json.dumps(continued), json.dumps(continued.replace("\n", "\r\n"))):
        assert SECRET not in mask(text)
