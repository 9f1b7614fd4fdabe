"""What command lines mean. The tables follow the sentences about commands in the design, one after the other."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.command_line import CommandLine, RequestUrl
from engine.commands import read_command

DATA = Path(__file__).parent.parent / "data"


def text_of(command: str) -> str:
    return read_command(command).text


def verb_of(command: str) -> str:
    return read_command(command).verb


def sinks_of(command: str) -> list[str]:
    return list(read_command(command).sinks)


def urls_of(command: str) -> list[str]:
    return [found.url for found in read_command(command).urls]


def requests_of(command: str) -> list[tuple[str, str]]:
    return [(found.url, found.request) for found in read_command(command).urls]


# -- verbs and wrappers ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wrapper",
    [
        "sudo", "sudo -E -u bob", "sudo -Eu bob", "sudo -u bob --", "sudo --user bob -H", "doas -u bob",
        "timeout 30", "timeout -k 5 30", "timeout -s KILL 30", "timeout --signal KILL 9", "timeout -k5 1.5m",
        "timeout --kill-after=5 --foreground 30s", "/usr/bin/timeout 30", "time", "time -p", "/usr/bin/time -f %e -o t",
        "nice", "nice -n 10", "nice -n10", "nice -10", "nice --adjustment=5", "env", "env -i", "env A=1",
        "env -i A=1 B=2",
        "env -u HOME", "stdbuf -oL", "stdbuf -o L -e 0", "nohup", "setsid", "setsid -w", "ionice -c2 -n7",
        "ionice -c 3",
        "command", "command -p", "exec", "exec -a name", "builtin", "A=1", "A=1 B='x y'", 'A="$(date)"', "A+=1",
        "a[1]=2",
        "sudo -E nice -n 10 env A=1 timeout 5", "taskset -c 0-3", "torsocks", "xargs", "xargs -0 -n 1 -P 4",
        "xargs -I {}",
    ],
)  # fmt: skip
def test_wrappers_and_assignments_are_seen_through(wrapper: str):
    read = read_command(f"{wrapper} cat /etc/hosts")
    assert (read.verb, read.text) == ("cat", "cat /etc/hosts")
    embedded = text_of(f"cd /w && {wrapper} cat /etc/hosts | head")
    assert embedded == "cd /w && cat /etc/hosts | head"


@pytest.mark.parametrize(
    ("command", "verb"),
    [
        ("", ""),
        ("   ", ""),
        ("# only a comment", ""),
        ("A=1", ""),
        ("/usr/local/bin/Rg x", "rg"),
        ("'git' status", "git"),
        (r"\ls -l", "ls"),
        ("curl.exe -s x", "curl"),
        ("A=1; echo $A", "echo"),
        ("x=$(curl -s https://a.example)", "curl"),
        ("x=$(cat t) && python3 run.py", "python3"),
        ("if grep -q x f; then ls; fi", "grep"),
        ("! grep x f", "grep"),
        ("{ ls; }", "ls"),
        ("(cd x && make)", "cd"),
        ("time ( make )", "make"),
        ("while true; do date; done", "true"),
        ("for f in a b; do cat $f; done", "for"),
        ("then sudo make", "make"),
        ("sudo", "sudo"),
        ("env", "env"),
        ("sudo -l", "sudo"),
        ("command -v curl", "command"),
        ("nohup", "nohup"),
        ("curl https://a.example | jq .", "curl"),
        ("> out.txt ls", "ls"),
        ("CURL='curl -s'; $CURL https://a.example", "curl"),
        ("$EDITOR file", "$editor"),
        ("find . -name '*.py' | xargs grep x", "find"),
        ("Get-ChildItem -Path C:\\x | Where-Object { $_.Length -gt 5 }", "get-childitem"),
        ("$r = Invoke-WebRequest -Uri 'https://a.example'", "invoke-webrequest"),
        ('& "C:\\Program Files\\tool.exe" -x', "tool"),
        ("if (Test-Path x) { Remove-Item x }", "test-path"),
    ],
)
def test_verbs(command: str, verb: str):
    assert verb_of(command) == verb


# -- cmd: -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("rm 'a'", "rm a"),
        ('rm "a"', "rm a"),
        ("rm 'a b'", 'rm "a b"'),
        (r"rm a\ b", 'rm "a b"'),
        ('cat "$HOME/x"', "cat $HOME/x"),
        ("find . -exec cat '{}' +", "find . -exec cat {} +"),
        ("ls;", "ls"),
        ("ls   -l", "ls -l"),
        ("a; b", "a\nb"),
        ("a;b&&c", "a ; b && c"),
        ("for x in a b; do\n  cat $x\ndone", "for x in a b; do cat $x; done"),
        ("ls # why", "ls"),
        ("echo x >out", "echo x > out"),
        ("> out echo x", "echo x > out"),
        ("ls >a*>~/[b]", "ls > a* > ~/[b]"),
        ("echo `date`", "echo $(date)"),
        ("echo $(timeout 5 curl -m 5 https://a.example)", "echo $(curl https://a.example)"),
        ("cat <<EOF\nx\nEOF", "cat <<'END'\nx\nEND"),
        ("curl https://a.example/?a=1", "curl 'https://a.example/?a=1'"),
        ("bash -c 'ls -l; cat x'", "ls -l; cat x"),
        ("sh -lc 'ls -l'", "ls -l"),
        ("bash -euo pipefail -c 'ls -l'", "ls -l"),
        ("bash -lc \"timeout 5 cat 'a b' | head\"", "cat 'a b' | head"),
        ("sudo bash -c \"bash -c 'ls'\"", "ls"),
        ("cd x && bash -c 'a; b' | c", "cd x && (a; b) | c"),
        ("bash <<'EOF'\nls -l\nEOF", "ls -l"),
        ("bash <<< 'ls -l'", "ls -l"),
        ("eval 'ls -l'", "ls -l"),
        ("pwsh -NoProfile -Command 'Get-Content x'", "Get-Content x"),
    ],
)
def test_the_same_command_in_two_spellings(one: str, other: str):
    assert text_of(one) == text_of(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('rm "a b"', "rm a b"),
        ("rm 'a*'", "rm a*"),
        ("echo '$HOME'", "echo $HOME"),
        ("echo '$(date)'", "echo $(date)"),
        ("git commit -m 'step 1'", "git commit -m 'step 2'"),
        ("python -m pytest", "python -m mypy"),
        ("rm -f x", "rm x"),
        ("grep -A 3 x f", "grep -A 4 x f"),
        ("grep -s x f", "grep x f"),
        ("sleep 20 && cat out", "sleep 21 && cat out"),
        ("echo try1; cat a", "echo try2; cat a"),
        ("cd a && curl https://x.example", "cd b && curl https://x.example"),
        ("a; b", "a && b"),
        ("a | b", "a || b"),
        ("(a; b) | c", "a; b | c"),
        ("a &", "a"),
        ("a > x", "a > y"),
        ("a > x", "a >> x"),
        ("a > x 2>&1", "a 2>&1 > x"),
        ("cat > f <<EOF\nx\nEOF", "cat > f <<EOF\ny\nEOF"),
        ("A=1; run $A", "A=2; run $A"),
        ("export A=1; run", "export A=2; run"),
        ("! a", "a"),
        ("curl -X POST https://a.example", "curl https://a.example"),
        ("curl -o x https://a.example", "curl -o y https://a.example"),
        ("curl -H 'A: 1' https://a.example", "curl -H 'A: 2' https://a.example"),
        ("wget -m https://a.example", "wget https://a.example"),
        ("wget -A jpg https://a.example", "wget -A png https://a.example"),
        ("bash -c 'cat \"$1\"' _ a", "bash -c 'cat \"$1\"' _ b"),
        ('bash -c "echo $(date)"', 'bash -c "echo $(pwd)"'),
        ("bash a.sh", "bash b.sh"),
    ],
)
def test_two_commands_are_two(one: str, other: str):
    assert text_of(one) != text_of(other)


@pytest.mark.parametrize(
    "flags",
    [
        "-m 60", "-m60", "--max-time 60", "--max-time=60", "-s", "-sS", "-sSL", "-sSLm 60", "-sSLm60", "-k", "-f", "-v",
        "--silent --show-error", "--connect-timeout 5", "--retry 3 --retry-delay=2", "--compressed", "--insecure",
        "-A agent/1.0", "-Aagent/1.0", "--user-agent 'my agent'", "--no-progress-meter", "-#", "--limit-rate 10k",
    ],
)  # fmt: skip
def test_volatile_flags_vanish(flags: str):
    plain = text_of("curl -H 'A: b' https://a.example/x -o out")
    assert text_of(f"curl {flags} -H 'A: b' https://a.example/x -o out") == plain
    assert text_of(f"curl -H 'A: b' https://a.example/x -o out {flags}") == plain


@pytest.mark.parametrize(
    "flags", ["-q", "-nv", "-qnv", "-T 5", "-T5", "--timeout=5", "-t 3", "--tries=3", "--no-verbose"]
)
def test_volatile_flags_of_wget_vanish(flags: str):
    assert text_of(f"wget {flags} https://a.example -O x") == "wget https://a.example -O x"


@pytest.mark.parametrize(
    "output", ["-o out", "-oout", "-so out", "-sSLo out", "-sSLoout", "--output out", "--output=out", "-s -o'out'"]
)
def test_an_option_has_one_name(output: str):
    assert text_of(f"curl {output} https://a.example") == "curl -o out https://a.example"


def test_what_is_no_option_keeps_its_dash():
    assert text_of("curl -d -s https://a.example -- -x") == "curl -d -s https://a.example -x"
    assert text_of("curl -zZ9 -Zs https://a.example --new-flag=1") == "curl -z Z9 -Zs https://a.example --new-flag=1"


# -- sinks ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "sinks"),
    [
        ("echo a > b", ["b"]),
        ("echo a>b", ["b"]),
        ("echo a >> b", ["b"]),
        ("echo a >| b", ["b"]),
        ("echo a 1> b", ["b"]),
        ("echo a &> b", ["b"]),
        ("echo a &>> b", ["b"]),
        ("echo a >& b", ["b"]),
        ("echo a > b;", ["b"]),
        ("(echo a; echo b) > c", ["c"]),
        ("for x in a; do echo $x; done > b", ["b"]),
        ("> b", ["b"]),
        ("echo a 2> b", []),
        ("echo a >&2", []),
        ("echo a 2>&1", []),
        ("echo 'a > b'", []),
        ("echo a \\> b", []),
        ("[[ a > b ]]", []),
        ("echo $((3 > 2))", []),
        ("cat < b", []),
        ("echo a > 'b c'", ["b c"]),
        ("echo a > ./b", ["b"]),
        ("echo a > ././b//c/./d", ["b/c/d"]),
        ("echo a > ../b", ["../b"]),
        ("echo a > .b", [".b"]),
        ("OUT=/tmp/x; echo a > $OUT/y", ["/tmp/x/y"]),
        ("echo a > $OUT", ["$OUT"]),
        ("echo a > log-$(date +%s).txt", []),
        ("a > x; b > y; c > x", ["x", "y"]),
        ("bash -c 'echo a > b'", ["b"]),
        ("echo $(a > b)", ["b"]),
        ("cat <<EOF\na > b\nEOF", []),
        ("sh <<EOF\na > b\nEOF", ["b"]),
        # tee, dd
        ("a | tee b", ["b"]),
        ("a | tee -a b c", ["b", "c"]),
        ("a | tee b 2>&1", ["b"]),
        ("a | sudo tee b > /dev/null", ["b"]),
        ("a | tee >(cat > c)", ["c"]),
        ("dd if=/dev/zero of=disk.img bs=1M", ["disk.img"]),
        # options of programs that write there
        ("curl -o out https://a.example", ["out"]),
        ("curl -oout https://a.example", ["out"]),
        ("curl -sSLo out https://a.example", ["out"]),
        ("curl --output=out https://a.example", ["out"]),
        ("curl --output-dir d -o out https://a.example", ["d/out"]),
        ("curl -o a https://a.example -o b https://b.example", ["a", "b"]),
        ("curl -O https://a.example/f.zip", []),
        ("curl -O -o b https://a.example/f.zip", ["b"]),
        ("wget -O out https://a.example", ["out"]),
        ("wget -qO out https://a.example", ["out"]),
        ("wget -qO- https://a.example", []),
        ("wget --output-document=out https://a.example", ["out"]),
        ("http --output out https://a.example", ["out"]),
        ("gcc -O2 -o prog a.c", ["prog"]),
        ("go build -o bin/x ./cmd", ["bin/x"]),
        ("sort -o s f", ["s"]),
        ("sort -uo s f", ["s"]),
        ("sort f --output=s", ["s"]),
        ("pandoc a.md -o a.pdf", ["a.pdf"]),
        ("git archive -o a.tar HEAD", ["a.tar"]),
        ("terraform plan -out=p.bin", ["p.bin"]),
        ("Invoke-WebRequest https://a.example -OutFile out.html", ["out.html"]),
        ("Get-Process | Out-File out.txt", ["out.txt"]),
        # and of programs that do not
        ("kubectl get pods -o json", []),
        ("set -o pipefail; make", []),
        ("ssh -o StrictHostKeyChecking=no host ls", []),
        ("grep -o x f", []),
        ("ps -o pid", []),
        ("bash -o pipefail -c ls", []),
        ("git log --oneline -o x", []),
        # generic targets
        ("a > /dev/null", []),
        ("a > //dev/./null; curl -o /dev///null https://a.example", []),
        ("a > /dev/stderr", []),
        ("a > /dev/fd/3", []),
        ("a > NUL", []),
        ("a > $null", []),
        ("curl -s -o /dev/null https://a.example", []),
        ("curl -o - https://a.example", []),
        ("curl -o /dev/null https://a.example > b", ["b"]),
        ("curl https://a.example -o b > /dev/null", ["b"]),
        ("a > /dev/null | tee b", ["b"]),
    ],
)
def test_sinks(command: str, sinks: list[str]):
    assert sinks_of(command) == sinks


# -- URLs -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "urls"),
    [
        ("curl https://a.example/x", ["https://a.example/x"]),
        ("curl HTTPS://a.example/x", ["HTTPS://a.example/x"]),
        ("curl a.example/x", ["a.example/x"]),
        ("curl -s a.example:8080", ["a.example:8080"]),
        ("curl me:pw@a.example/x", ["me:pw@a.example/x"]),
        ("curl localhost:3000/health", ["localhost:3000/health"]),
        ("curl '[::1]:8080/x'", ["[::1]:8080/x"]),
        ("curl --url a.example", ["a.example"]),
        ("curl https://a.example https://b.example", ["https://a.example", "https://b.example"]),
        ("wget -q a.example/x", ["a.example/x"]),
        ("http GET a.example/x", ["a.example/x"]),
        ("http :8000/x", ["localhost:8000/x"]),
        ("https a.example", ["a.example"]),
        ("xh a.example", ["a.example"]),
        ("git clone https://a.example/r.git", ["https://a.example/r.git"]),
        ("git commit -m 'see https://a.example/1.'", ["https://a.example/1"]),
        (r"grep -E 'http://127\.0\.0\.1:3080/' log", [r"http://127\.0\.0\.1:3080/"]),
        ("URL=https://a.example/x make", ["https://a.example/x"]),
        ("python3 -c \"import u;u.urlopen('https://a.example/x')\"", ["https://a.example/x"]),
        ("python3 - <<'EOF'\nget('https://a.example/x')\nEOF", ["https://a.example/x"]),
        ("bash <<'EOF'\ncurl a.example/x\nEOF", ["a.example/x"]),
        ("bash -c 'curl a.example/x'", ["a.example/x"]),
        ("x=$(curl a.example/x)", ["a.example/x"]),
        ("cat <<EOF | python3\nget('https://a.example/x')\nEOF", ["https://a.example/x"]),
        ("cat <<EOF > f\nhttps://a.example/x\nEOF", []),
        ("tee f <<EOF\nhttps://a.example/x\nEOF", []),
        # values of options are no operands
        ("curl -H 'Origin: https://b.example' -e https://c.example https://a.example", ["https://a.example"]),
        ("curl -A 'bot (+https://b.example)' -x http://proxy.example:1 https://a.example", ["https://a.example"]),
        ("curl -d 'u=https://b.example' -H 'Host: b.example' a.example", ["a.example"]),
        ("curl -m 1.5 -o out.html a.example", ["a.example"]),
        ("https_proxy=http://p.example:1 curl https://a.example", ["https://a.example"]),
        # without a dot or a scheme, or with another scheme
        ("curl somewhere", []),
        ("curl ftp://a.example/x file:///etc/hosts", []),
        ("curl $URL", []),
        ("ping a.example", []),
        ("cat a.example", []),
        # what variables hold
        ("B=https://a.example/v1; curl $B/items?page=2", ["https://a.example/v1/items?page=2"]),
        ('B=https://a.example; U="$B/x"; curl "${U}/y"', ["https://a.example/x/y"]),
        ("U=https://a.example; echo hi", ["https://a.example"]),
        ("U=https://a.example; V=$U; curl $V", ["https://a.example"]),
        ('$b = "https://a.example"; irm "$b/x"', ["https://a.example/x"]),
        ("export B=https://a.example && curl $B/x", ["https://a.example/x"]),
    ],
)
def test_urls(command: str, urls: list[str]):
    assert urls_of(command) == urls


@pytest.mark.parametrize(
    ("command", "requests"),
    [
        ("curl https://a.example", [("https://a.example", "")]),
        ("curl -X GET https://a.example", [("https://a.example", "")]),
        ("curl -X post https://a.example", [("https://a.example", "POST")]),
        ("curl -XDELETE https://a.example", [("https://a.example", "DELETE")]),
        ("curl -I https://a.example", [("https://a.example", "HEAD")]),
        ("curl -d a=1 -d b=2 https://a.example", [("https://a.example", "POST a=1&b=2")]),
        ("curl --data-raw='{\"a\": 1}' https://a.example", [("https://a.example", 'POST {"a": 1}')]),
        ("curl --json '{}' https://a.example", [("https://a.example", "POST {}")]),
        ("curl -X PUT -d x https://a.example", [("https://a.example", "PUT x")]),
        ("curl -F f=@a.png https://a.example", [("https://a.example", "POST f=@a.png")]),
        ("curl -T f https://a.example", [("https://a.example", "PUT @f")]),
        ("curl -d @body.json https://a.example", [("https://a.example", "POST @body.json")]),
        ("curl -G https://a.example/x -d page=2", [("https://a.example/x?page=2", "")]),
        ("curl -G 'https://a.example/x?a=1#top' -d page=2", [("https://a.example/x?a=1&page=2#top", "")]),
        ("curl -G --data-urlencode 'q=a b&c' a.example", [("a.example?q=a%20b%26c", "")]),
        ("curl --url-query page=2 https://a.example", [("https://a.example?page=2", "")]),
        ("curl -d @- https://a.example <<EOF\nx\nEOF", [("https://a.example", "POST x")]),
        ("cat <<EOF | curl -d @- https://a.example\nx\nEOF", [("https://a.example", "POST x")]),
        (
            "curl -d a https://a.example --next https://b.example",
            [("https://a.example", "POST a"), ("https://b.example", "")],
        ),
        ("wget --post-data=a=1 https://a.example", [("https://a.example", "POST a=1")]),
        ("wget --method=PUT --body-file=f https://a.example", [("https://a.example", "PUT @f")]),
        ("http a.example a=1 b:=2 q==3 H:v", [("a.example?q=3", "POST a=1&b:=2")]),
        ("http PUT a.example a=1", [("a.example", "PUT a=1")]),
        ("http localhost a=1", [("localhost", "POST a=1")]),
    ],
)
def test_what_is_requested(command: str, requests: list[tuple[str, str]]):
    assert requests_of(command) == [(url, request) for url, request in requests]


@pytest.mark.parametrize(
    "command",
    [
        "curl https://a.example/x?page={}",
        "curl -G https://a.example/x -d page={}",
        "curl https://a.example/x -d '{{\"page\": {}}}'",
        'curl https://a.example/x --json \'{{"after": "c{}"}}\'',
        'page={}; curl "https://a.example/x?page=$page"',
        'for p in {} x; do curl "https://a.example/x?page=$p"; done',
        'for ((p={};p<99;p++)); do curl "https://a.example/x?page=$p"; done',
        "seq {} 99 | xargs -I% curl 'https://a.example/x?page=%'",
        "seq {} 99 | xargs -I% sh -c 'curl https://a.example/x?page=%'",
        "echo '{{\"page\": {}}}' | curl -d @- https://a.example/x",
        'curl -d @- https://a.example/x <<EOF\n{{"page": {}}}\nEOF',
        "http a.example/x page=={}",
        "http POST a.example/x page={}",
        "wget --post-data='page={}' https://a.example/x",
        "python3 -c \"get('https://a.example/x', params=dict(page={}))\"",
        "python3 -c \"[get(f'https://a.example/x?page={{p}}') for p in range({})]\"",
        "python3 -c \"get('https://a.example/x?page=' + str({}))\"",
        "python3 - <<EOF\nget('https://a.example/x?page=%d' % {})\nEOF",
        "node -e \"fetch('https://a.example/x', {{method: 'POST', body: '{}'}})\"",
        'curl "https://a.example/$(echo {})"',
    ],
)
def test_another_page_is_another_resource(command: str):
    """However the page is passed: what ``net:`` is made of differs from page to page."""
    pages = [command.format(page) for page in range(3)]
    assert all(read_command(page).urls for page in pages)
    assert len({read_command(page).urls for page in pages}) == 3


@pytest.mark.parametrize(
    "command",
    [
        "curl -s https://t.example/admin",
        "wget -q https://t.example/admin",
        "http https://t.example/admin",
        "sudo timeout 5 curl -m 9 https://t.example/admin -o x",
        "bash -c 'curl https://t.example/admin'",
        "python3 -c \"import urllib.request as u;u.urlopen('https://t.example/admin')\"",
        "python3 <<'EOF'\nimport requests\ndata = requests.get('https://t.example/admin').json()\nEOF",
        "cd /w && curl https://t.example/admin | jq '.[$i]'",
        'curl -H "Authorization: $TOKEN" https://t.example/admin',
    ],
)
def test_one_resource_whatever_fetches_it(command: str):
    assert read_command(command).urls == (RequestUrl("https://t.example/admin"),)


@pytest.mark.parametrize(
    ("command", "fetches"),
    [
        ("curl https://a.example", True),
        ("wget a.example", True),
        ("http a.example", True),
        ("xh a.example", True),
        ("cd x && timeout 5 curl $URL", True),
        ("x=$(curl $URL)", True),
        ("cat urls | xargs -n1 curl", True),
        ("bash -c 'curl a.example'", True),
        ("git clone https://a.example/r", False),
        ("echo curl https://a.example", False),
        ("command -v curl", False),
        ("which curl", False),
    ],
)
def test_who_fetches(command: str, fetches: bool):
    assert read_command(command).fetches is fetches


# -- what the outcome is read from ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "command",
    [
        "cat x.log", "tail -n 50 ci.log", "tail -f x 2>/dev/null", "head -5 < x", "grep -rn Error . | head -20",
        "rg -i traceback logs/", "less x", "sed -n '1,40p' src/web.py", "sed -n -e '/Error/p' x", "awk '{print $1}' x",
        "awk '$3 > 5 || $4 {print}' x", "git log --oneline -5", "git -C x show HEAD", "git --no-pager diff",
        "git blame f", "jq .a x", "wc -l x", "sort x | uniq -c | sort -rn", "cut -d: -f1 x | tr a b", "nl x", "ls -la",
        "find . -name '*.log'", "cd x && cat y; tail z", "cat x || true", "cat x > /dev/null", "cat x 2>&1 | grep y",
        "find . -name '*.log' | xargs grep -l Error", "sudo timeout 5 cat x", "bash -lc 'tail x | grep y'",
        "cat $(find . -name x)", "diff <(sort a) <(sort b)", "for f in *.log; do tail -5 $f; done", "docker logs app",
        "echo ---; cat x", "Get-Content x.log | Select-String err", "LC_ALL=C grep x y", "sleep 5; tail x",
    ],
)  # fmt: skip
def test_pure_readers(command: str):
    assert read_command(command).reads_only


@pytest.mark.parametrize(
    "command",
    [
        "", "python x.py", "cat x | python -", "cat x | sh", "curl https://a.example | head", "cat x > y",
        "cat x | tee y",
        "cat x 2> y", "sed -i s/a/b/ x", "sed -n 'w out' x", "sed -ni p x", "awk '{system($1)}' x",
        "awk '{print > $1}' x",
        "awk -f prog x", "awk '{print | \"sort\"}' x", "git commit -m x", "git status", "git diff --output=p",
        "find . -delete",
        "find . -exec rm {} +", "xargs rm < x", "cat x | xargs -n1 python", "sort -o x x", "uniq a b",
        "cat $(python x)",
        "cat <(make)", "make && cat x", "cat x && make", "bash script.sh", "bash -c 'make'", "node -e 1",
        "docker run x",
        "if make; then cat x; fi", "cat <<EOF\n$(make)\nEOF", "yq -i .a x", "eval \"$X\"", "A=1", "echo hello",
    ],
)  # fmt: skip
def test_no_pure_readers(command: str):
    assert not read_command(command).reads_only


@pytest.mark.parametrize(
    ("command", "asks"),
    [
        ("curl -w '%{http_code}' -o /dev/null a.example", True),
        ("curl -sw '%{response_code}\\n' a.example", True),
        ("curl --write-out='%{http_code}' a.example", True),
        ("x=$(curl -w '%{http_code}' a.example)", True),
        ("curl -w '%{time_total}' a.example", False),
        ("curl -H '%{http_code}' a.example", False),
        ("echo '%{http_code}'", False),
        ("wget -w '%{http_code}' a.example", False),
    ],
)
def test_who_asks_for_the_http_code(command: str, asks: bool):
    assert read_command(command).asks_http_code is asks


# -- recorded expectations ------------------------------------------------------------------------------------


def command_rows() -> list[tuple[str, list[str]]]:
    rows = map(json.loads, (DATA / "fingerprints.jsonl").read_text("utf-8").splitlines())
    return [
        (row["args"]["command"], row["expected"])
        for row in rows
        if row["tool"] in {"bash", "pwsh", "shell"} and row.get("config", {}).get("localHosts") != "allow"
    ]


@pytest.mark.parametrize(("command", "expected"), command_rows())
def test_what_is_expected_of_commands(command: str, expected: list[str]):
    """The parts of each row that a command alone decides: its verb, sinks and family."""
    read = read_command(command)
    found = {f"sink:{sink}" for sink in read.sinks}
    if read.verb:
        found |= {f"verb:{read.verb}", f"cmd:{read.verb}:*"}
        assert read.text
    if read.fetches:
        found.add("family:http-fetch")
    assert found == {one for one in expected if one.startswith(("sink:", "verb:", "cmd:", "family:"))}
    assert len(read.urls) == sum(one.startswith("net:") for one in expected)


# -- rules ----------------------------------------------------------------------------------------------------

wrappers = st.sampled_from(
    ["", "sudo -u bob ", "timeout -k 5 30 ", "time -p ", "nice -n 10 ", "env -i ", "TRY=1 ", "A=1 B='2 3' ", "nohup "]
)
volatile = st.sampled_from(["", "-s ", "-sSL ", "-m60 ", "--max-time 5 ", "--retry=3 ", "-k ", "-A x "])
plain_words = st.lists(st.text("abc./-_=:,", min_size=1, max_size=8).map(lambda text: f"x{text}"), max_size=4)
quotes = st.sampled_from(["{}", "'{}'", '"{}"'])
commands = st.sampled_from(
    [
        "cat x", "curl -d a=1 https://a.example -o y", "grep 'a b' x | head > z", "git commit -m 'x y'",
        "for x in a; do ls; done",
        "python3 <<E\nprint('https://a.example')\nE", "bash -c 'ls; cat $x'", "echo $(date) `pwd` \"$x\"",
        "A=1; b $A &", "",
    ]
)  # fmt: skip
shell_text = st.text(st.sampled_from("ab 1=-\n\t\\'\"$`(){}<>|&;#[]*~!?\0é\ud800/:."), max_size=60)
FRAGMENTS = """
curl wget http bash -c sh eval sudo -u env A=1 xargs cat tee git sed awk find sort -uo -o -O -d @- -G -sSL -m60 --next
--output=a -X https://a.b/c?d=1 a.b/c x==1 $X ${X:-y} $( ` ) ( (( )) $(( <( > >> <<EOF <<< 2>&1 &> | || && & ; ' " \\
$' # [[ ]] { } if then do done for in case esac ! = a=( // powershell -Command cmd /c su dd of=x %{http_code} -w
"""
fragments = st.lists(
    st.sampled_from([*FRAGMENTS.split(), "\n", "\nEOF\n", "\0", "\ud800", "\u00a0", "\0000\0"]), max_size=25
).flatmap(lambda parts: st.sampled_from(["", " "]).map(lambda joint: joint.join(parts)))


@given(st.one_of(st.text(), shell_text, fragments))
def test_any_text_can_be_read(text: str):
    read = read_command(text)
    assert read == read_command(text)
    parts = [read.verb, read.text, *read.sinks, *(found.url + found.request for found in read.urls)]
    assert not any("\0" in part for part in parts)


@given(commands, wrappers, wrappers)
def test_wrappers_change_nothing(command: str, outer: str, inner: str):
    plain = read_command(f"run --it {command}")
    assert read_command(f"{outer}{inner}run --it {command}") == plain


@given(plain_words, st.lists(quotes, min_size=4, max_size=4))
def test_quotes_around_plain_words_change_nothing(words: list[str], how: list[str]):
    quoted = [quote.format(word) for quote, word in zip(how, words, strict=False)]
    assert read_command(" ".join(["run", *quoted])) == read_command(" ".join(["run", *words]))


@given(wrappers, volatile, volatile)
def test_volatile_flags_change_nothing(wrapper: str, first: str, second: str):
    plain = read_command("curl -H 'A: b' 'https://a.example/x?a=1&b=2' -o out | jq . > y")
    varied = f"{wrapper}curl {first}-H 'A: b' {second}'https://a.example/x?a=1&b=2' -o out | jq . > y"
    assert read_command(varied) == plain


@given(commands)
def test_a_script_in_a_shell_is_its_command(command: str):
    quoted = command.replace("'", "'\\''")
    assert read_command(f"bash -lc '{quoted}'") == _named(read_command(command), "bash")


def _named(read: CommandLine, shell: str) -> CommandLine:
    """An empty script leaves the shell the only one to name."""
    if read.verb:
        return read
    return CommandLine(shell, read.text, read.urls, read.sinks, read.fetches, read.reads_only, read.asks_http_code)


HOSTILE = {
    "URLs": "curl " + "https://a.example/x " * 10_000,
    "one long URL": "echo https://" + "a" * 200_000,
    "a query for many URLs": "curl -G -d " + "a" * 100_000 + " https://a.example" * 5_000,
    "a body for many URLs": "curl -d " + "a" * 100_000 + " https://a.example" * 5_000,
    "many requests that depend on the line": "".join(f"curl -d {n} https://a.example/$x;" for n in range(5_000)),
    "a folder for many files": "curl --output-dir " + "a" * 100_000 + " -o b" * 10_000,
    "variables that double": "".join(f"A{n}=$A{n - 1}$A{n - 1};" for n in range(1, 10_000))
    + "curl https://a.example/$A9999",
    "a variable used often": "A=" + "x" * 400 + ";" + "curl https://$A.example;" * 5_000,
    "flags": "curl " + "-sSL " * 40_000,
    "a cluster": "curl -" + "s" * 200_000,
    "items": "http POST a.example " + "a=b " * 40_000,
    "a bare host": "curl " + "a." * 100_000 + "$",
    "wrappers": "sudo -u " * 30_000,
    "assignments": "a=b " * 40_000,
    "keywords": "if; " * 40_000,
    "scripts in scripts": "bash -c " * 20_000,
    "documents in documents": "sh <<A\n" * 20_000,
    "documents in order": "".join(f"sh <<A{n}\n" for n in range(10_000)),
    "here and there": "a > " + "./" * 100_000,
    "an awk program": "awk '" + "print " * 40_000 + "'",
    "a sed program": "sed -n '" + "\n " * 100_000 + "'",
    "a python program": 'python -c "' + "'https://a.example/b' , params" * 6_000 + '"',
    "substitutions": "echo " + "$(curl a.example " * 20_000,
    "closing brackets": "echo https://a.example/" + ")" * 60_000,
    "a megabyte of everything": "a\"b'c$d`e(f)g{h}i<j>k|l&m;n\\o\n" * 33_000,
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_no_text_makes_it_hang(text: str):
    """Quadratic work on any of these would take minutes to hours, or more memory than there is."""
    read = read_command(text)
    assert sum(len(found.url) + len(found.request) for found in read.urls) < 50_000_000
