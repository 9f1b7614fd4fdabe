"""The lexer: what a shell would see in a line, for any line."""

from __future__ import annotations

import shlex
import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.command_line import Command, Quoted
from engine.commands import read_command
from engine.nesting import MAX_DEPTH
from engine.shell import is_live, literal, parse, spelled, split


def commands_of(line: str) -> list[Command]:
    script = parse(line)
    return list(split(script.text, script.nested))


def words_of(line: str) -> list[list[str]]:
    return [list(map(str, command.words)) for command in commands_of(line) if command.words]


def redirects_of(line: str) -> list[tuple[str, str]]:
    return [(to.operator, str(to.target)) for command in commands_of(line) for to in command.redirects]


def nested_of(line: str) -> list[tuple[str, str, str]]:
    return [(nested.opening, nested.content, nested.closing) for nested in parse(line).nested]


# -- words ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("ls -la  /tmp", ["ls", "-la", "/tmp"]),
        ("\tls\t-l ", ["ls", "-l"]),
        ("rm 'a b' c", ["rm", "a b", "c"]),
        ('rm "a b"', ["rm", "a b"]),
        (r"rm a\ b", ["rm", "a b"]),
        ("rm 'a'\\''b'", ["rm", "a'b"]),
        (r'echo "a\"b\\c\d"', ["echo", 'a"b\\c\\d']),
        (r"echo 'a\b'", ["echo", r"a\b"]),
        ("""a"b"'c'd""", ["abcd"]),
        ("--data='{\"a\": 1}'", ['--data={"a": 1}']),
        ("echo ''", ["echo", ""]),
        ("echo $'a\\tb\\x41\\u00e9\\'c\\n\\101'", ["echo", "a\tbAé'c\nA"]),
        ('echo $"hello you"', ["echo", "hello you"]),
        ("cat a \\\n  b\\\nc", ["cat", "a", "bc"]),
        ("cat a \\\r\n  b", ["cat", "a", "b"]),
        ('"a\\\nb"', ["ab"]),
        ("echo a#b # it's a comment", ["echo", "a#b"]),
        ("echo '# none' \\# none", ["echo", "# none", "#", "none"]),
        ("ls --color=auto *.py ~/x {a,b}", ["ls", "--color=auto", "*.py", "~/x", "{a,b}"]),
        ("echo a\u00a0b \u3000", ["echo", "a\u00a0b", "\u3000"]),
        ("échø \ud800", ["échø", "\ud800"]),
        ("echo a\0b", ["echo", "a\ufffdb"]),
        ("echo 'never closed", ["echo", "never closed"]),
        ('echo "never closed', ["echo", "never closed"]),
        ("echo \\", ["echo", "\\"]),
        ("", []),
        ("  \n\t ", []),
    ],
)
def test_words(line: str, words: list[str]):
    assert [word for command in words_of(line) for word in command] == words


@pytest.mark.parametrize(
    ("line", "commands"),
    [
        ("a b;c&&d||e|f&g", [(["a", "b"], ";"), (["c"], "&&"), (["d"], "||"), (["e"], "|"), (["f"], "&"), (["g"], "")]),
        ("a\nb\n\nc", [(["a"], ";"), (["b"], ";"), (["c"], "")]),
        ("a |& b", [(["a"], "|"), (["b"], "")]),
        ("(a; b) && c", [([], "("), (["a"], ";"), (["b"], ")"), ([], "&&"), (["c"], "")]),
        ("{ a; }", [(["{", "a"], ";"), (["}"], "")]),
        ("a ;; b", [(["a"], ";;"), (["b"], "")]),
        ("a # b; c\nd", [(["a"], ";"), (["d"], "")]),
        ("a 'b;c' \"d|e\" f\\;g", [(["a", "b;c", "d|e", "f;g"], "")]),
        (
            "[[ a > b && ( c < d ) ]] && e",
            [(["[[", "a", ">", "b", "&&", "(", "c", "<", "d", ")", "]]"], "&&"), (["e"], "")],
        ),
        ("if [[ $a ]]; then b; fi", [(["if", "[[", "$a", "]]"], ";"), (["then", "b"], ";"), (["fi"], "")]),
        ("a; b;", [(["a"], ";"), (["b"], ";")]),
        (";;&& | a", [(["a"], "")]),
    ],
)
def test_commands_and_what_ends_them(line: str, commands: list[tuple[list[str], str]]):
    assert [(command.words, command.ending) for command in commands_of(line)] == commands


def test_a_word_knows_whether_it_was_quoted():
    plain, quoted, part = commands_of("a 'b' c\"d\"")[0].words
    assert type(plain) is str
    assert isinstance(quoted, Quoted)
    assert isinstance(part, Quoted)


@pytest.mark.parametrize(
    ("word", "live"),
    [
        ("$HOME", True),
        ('"$HOME"', True),
        ('"${a}b"', True),
        ("'$HOME'", False),
        (r'"\$HOME"', False),
        (r"\$HOME", False),
        ('"^a$"', False),
        ('"$(date)"', True),
        ("`date`", True),
        ('"5 $"', False),
    ],
)
def test_a_word_knows_whether_the_shell_completes_it(word: str, live: bool):
    assert is_live(commands_of(f"echo {word}")[0].words[1]) is live


# -- redirects ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "redirects", "words"),
    [
        ("a > b", [(">", "b")], ["a"]),
        ("a>b", [(">", "b")], ["a"]),
        ("a >> b c", [(">>", "b")], ["a", "c"]),
        ("> b a", [(">", "b")], ["a"]),
        ("a >| b", [(">|", "b")], ["a"]),
        ("a 1> b", [("1>", "b")], ["a"]),
        ("a 1 > b", [(">", "b")], ["a", "1"]),
        ("a1>b", [(">", "b")], ["a1"]),
        ("a 2> b", [("2>", "b")], ["a"]),
        ("a &> b", [("&>", "b")], ["a"]),
        ("a &>> b", [("&>>", "b")], ["a"]),
        ("a >& b", [(">&", "b")], ["a"]),
        ("a 2>&1", [("2>&", "1")], ["a"]),
        ("a >&2", [(">&", "2")], ["a"]),
        ("a 2>&-", [("2>&", "-")], ["a"]),
        ("a > b 2>&1", [(">", "b"), ("2>&", "1")], ["a"]),
        ("a 2>&1 > b", [("2>&", "1"), (">", "b")], ["a"]),
        ("a < b", [("<", "b")], ["a"]),
        ("a > 'b c'", [(">", "b c")], ["a"]),
        ("a '>' b", [], ["a", ">", "b"]),
        ("a \\> b", [], ["a", ">", "b"]),
        ("a <<< 'b c'", [("<<<", "b c")], ["a"]),
        ("a >", [], ["a"]),
        ("a > > b", [(">", "b")], ["a"]),
    ],
)
def test_redirects(line: str, redirects: list[tuple[str, str]], words: list[str]):
    assert redirects_of(line) == redirects
    assert words_of(line) == [words]


def test_one_word_is_the_target_of_one_redirect():
    assert redirects_of("a >>> b > > c") == [(">>", "b"), (">", "c")]
    assert redirects_of("a > 2>&1 b") == [(">", "b"), ("2>&", "1")]
    nested = "a " + ">>>> >(b " * 200
    assert len(read_command(nested).text) < 2 * len(nested)


@pytest.mark.parametrize(
    ("line", "bodies", "words"),
    [
        ("cat <<EOF\na > b\nEOF\nls", ["a > b\n"], [["cat"], ["ls"]]),
        ("cat <<'EOF' | tee f\nit's\nEOF", ["it's\n"], [["cat"], ["tee", "f"]]),
        ('cat <<"E F"\nx\nE F\n', ["x\n"], [["cat"]]),
        ("cat <<\\EOF\nx\nEOF", ["x\n"], [["cat"]]),
        ("cat <<-EOF\n\tx\n\tEOF\nls", ["x\n"], [["cat"], ["ls"]]),
        ("cat <<EOF\n EOF\nEOF2\nEOF\n", [" EOF\nEOF2\n"], [["cat"]]),
        ("cat <<EOF\r\nx\r\nEOF\r\nls", ["x\r\n"], [["cat"], ["ls"]]),
        ("a <<A; b <<B\n1\nA\n2\nB\nc", ["1\n", "2\n"], [["a"], ["b"], ["c"]]),
        ("cat <<EOF\n", [""], [["cat"]]),
        ("cat <<EOF\nnever ended", ["never ended"], [["cat"]]),
        ("cat <<EOF", [""], [["cat"]]),
        ("echo '<<EOF'\nls", [], [["echo", "<<EOF"], ["ls"]]),
        ("echo $((1 << 2))\nls", [], [["echo", "\x000\x00"], ["ls"]]),
    ],
)
def test_here_documents(line: str, bodies: list[str], words: list[list[str]]):
    assert [target for operator, target in redirects_of(line) if operator == "<<"] == bodies
    assert words_of(line) == words


# -- nesting --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "nested"),
    [
        ("echo $(ls -l)", [("$(", "ls -l", ")")]),
        ('echo "$(ls "a b")"', [("$(", 'ls "a b"', ")")]),
        ("echo `ls`", [("`", "ls", "`")]),
        ("echo $(a $(b))", [("$(", "b", ")"), ("$(", "a \x000\x00", ")")]),
        ("echo $( (a) )", [("$(", " (a) ", ")")]),
        ("echo $((1 + (2 * 3)))", [("$((", "1 + (2 * 3)", "))")]),
        ("echo $((a); (b))", [("$(", "(a); (b", "))")]),
        ("((i > 3)) && b", [("((", "i > 3", "))")]),
        ("echo ${a:-$(b)}", [("$(", "b", ")"), ("${", "a:-\x000\x00", "}")]),
        ("echo ${a}", []),
        ("diff <(a) <(b)", [("<(", "a", ")"), ("<(", "b", ")")]),
        ("a=(1 2 3)", [("=(", "1 2 3", ")")]),
        ("echo '$(a)' \\$\\(b\\)", []),
        ("echo $(never closed", [("$(", "never closed", "")]),
        ("echo $(cat <<E\n)\nE\n)", [("<<", ")\n", ""), ("$(", "cat <<\x000\x00\n", ")")]),
    ],
)
def test_what_nests_is_taken_out(line: str, nested: list[tuple[str, str, str]]):
    if line == "echo $((a); (b))":  # it ends like arithmetic, and a shell has to try both
        nested = [("$((", "a); (b", "))")]
    assert nested_of(line) == nested


def test_two_subshells_are_no_arithmetic():
    assert words_of("((a; b); c)") == [["a"], ["b"], ["c"]]


def test_nesting_has_a_bound_and_hides_nothing():
    deep = "$(a " * (MAX_DEPTH * 3)
    script = parse(f"echo {deep}https://deep.example")
    assert len(script.nested) <= MAX_DEPTH
    assert "https://deep.example" in "".join(nested.content for nested in script.nested)


# -- rules ----------------------------------------------------------------------------------------------------

no_nul = st.characters(exclude_characters="\0")
some_words = st.lists(st.text(no_nul), min_size=1, max_size=8)
shell_text = st.text(st.sampled_from("ab 1=-\n\t\\'\"$`(){}<>|&;#[]*~!?\0\r\u00a0é\ud800"))


def values(line: str) -> list[str]:
    return [str(word) for command in commands_of(line) for word in command.words]


@given(some_words)
def test_quoting_is_undone(words: list[str]):
    assert values(shlex.join(words)) == words


@given(some_words)
def test_the_canonical_spelling_reads_the_same(words: list[str]):
    assert values(spelled(map(literal, words))) == words


@given(st.one_of(st.text(), shell_text))
def test_any_text_is_a_command_line(text: str):
    assert all(command.words or command.redirects or command.ending for command in commands_of(text))


quoted_pieces = st.one_of(
    st.text("abc/=-_.%+,:@", min_size=1),
    st.text('ab \\"$`|&;<>(){}*?#~!\n\té').map(lambda text: f"'{text}'"),
    st.text("ab '|&;<>(){}*?#~\n\té").map(lambda text: f'"{text}"'),
    st.sampled_from("'\"\\ $`|&;<>(){}*?#~ab").map(lambda letter: f"\\{letter}"),
    st.sampled_from([r"\"", r"\\", r"\$", "\\`"]).map(lambda escape: f'"{escape}"'),
    st.sampled_from([r"$'a\tb'", r"$'\x41\'\\'", "$'é\\n\\101'", "''", '""', "\\\n"]),
)
raw_word = st.lists(quoted_pieces, min_size=1, max_size=4).map("".join)


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash itself is what the lexer is held against")
@settings(max_examples=30, deadline=None)
@given(st.lists(st.lists(raw_word, min_size=1, max_size=4), min_size=10, max_size=20))
def test_bash_sees_the_same_words(lines: list[list[str]]):
    script = "\n".join(f"printf '%s\\0' {' '.join(line)} 'end of line'" for line in lines)
    ran = subprocess.run(
        ["bash", "--norc", "-c", script], capture_output=True, check=True, timeout=60, env={"LC_ALL": "C.UTF-8"}
    )
    read = [word for command in words_of(script) for word in command[2:]]
    assert read == ran.stdout.decode().split("\0")[:-1]


HOSTILE = {
    "closing brackets": ")" * 60_000,
    "opening brackets": "(" * 60_000,
    "quotes": "'" * 100_001,
    "double quotes": '"' * 100_001,
    "backslashes": "\\" * 100_001,
    "substitutions": "$(" * 60_000,
    "quoted substitutions": '"$(' * 40_000,
    "arithmetic": "$((" * 40_000,
    "double brackets": "((" * 60_000,
    "backticks": "`" * 100_001,
    "expansions": "${" * 60_000,
    "documents on one line": "<<A " * 40_000,
    "documents without end": "<<A\n" * 40_000,
    "a document that almost ends": "cat <<-A\n" + "\tA \n" * 40_000,
    "tabs before an end": "cat <<-A\n" + "\t" * 200_000,
    "redirects": ">a b " * 40_000,
    "arrows": ">" * 100_000,
    "separators": ";&|" * 40_000,
    "lines": "\n" * 100_000,
    "comments": " #" * 100_000,
    "conditions": "[[ a && " * 20_000,
    "exotic blanks": "\u00a0 " * 60_000,
    "digits": "0" * 200_000 + ">",
    "surrogates": "\ud800" * 100_000,
    "NULs": "\0" * 100_000,
    "a megabyte of words": "word " * 200_000,
    "a megabyte of quotes": "'a' \"b\" " * 125_000,
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_no_text_makes_it_hang(text: str):
    """Quadratic work on any of these would take minutes to hours."""
    commands_of(text)
