"""What curl, wget, HTTPie and xh are asked for: which resource, written where, and what of their command line matters.

Each client is a table of its options. An option that is volatile (time limits, retries, verbosity, how to say who
asks) is dropped from the canonical command; what makes the request another resource (method, body) is told apart from
what only dresses it (headers, cookies, proxies).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple
from urllib.parse import quote

from msgspec import Struct

from engine.shell import is_live, rest_of

Option = tuple[str, str, bool]
"""An option's role, its name in canonical text, whether it takes a value."""
Settings = list[tuple[str, str]]
"""Roles and values in the order of the command line; operands are among them."""


def _options(table: str) -> dict[str, Option]:
    """Read lines of a role (with ``=`` if a value follows) and an option's names, the canonical one first."""
    options: dict[str, Option] = {}
    for role, *names in map(str.split, table.strip().splitlines()):
        options |= {name: (role.rstrip("="), names[0], role.endswith("=")) for name in names}
    return options


def _each(role: str, names: str) -> str:
    return "\n".join(f"{role} {name}" for name in names.split())


_CURL = _options(
    """
    drop    -s --silent
    drop    -S --show-error
    drop    -f --fail
    drop    -L --location
    drop    -k --insecure
    drop    -v --verbose
    drop    -# --progress-bar
    drop=   -m --max-time
    drop=   -A --user-agent
    drop=   -y --speed-time
    drop=   -Y --speed-limit
    sink=   -o --output
    folder= --output-dir
    method= -X --request
    head    -I --head
    get     -G --get
    data=   -d --data --data-ascii --data-raw --data-binary
    json=   --json
    encoded= --data-urlencode
    form=   -F --form --form-string
    upload= -T --upload-file
    query=  --url-query
    url=    --url
    report= -w --write-out
    next    -: --next
    keep    -O --remote-name
    keep    -i --include --show-headers
    keep=   -H --header
    keep=   -b --cookie
    keep=   -c --cookie-jar
    keep=   -C --continue-at
    keep=   -D --dump-header
    keep=   -E --cert
    keep=   -e --referer
    keep=   -h --help
    keep=   -K --config
    keep=   -P --ftp-port
    keep=   -Q --quote
    keep=   -r --range
    keep=   -t --telnet-option
    keep=   -U --proxy-user
    keep=   -u --user
    keep=   -x --proxy
    keep=   -z --time-cond
    """
    + _each(
        "drop",
        "--compressed --no-progress-meter --fail-with-body --fail-early --location-trusted --retry-all-errors "
        "--retry-connrefused --no-buffer --no-keepalive --tcp-nodelay",
    )
    + "\n"
    + _each(
        "drop=",
        "--connect-timeout --retry --retry-delay --retry-max-time --max-redirs --keepalive-time --limit-rate --rate "
        "--expect100-timeout --happy-eyeballs-timeout-ms",
    )
    + "\n"
    + _each(
        "keep=",
        "--abstract-unix-socket --alt-svc --aws-sigv4 --cacert --capath --cert-type --ciphers --connect-to "
        "--create-file-mode --crlfile --curves --delegation --dns-interface --dns-ipv4-addr --dns-ipv6-addr "
        "--dns-servers --doh-url --ech --egd-file --engine --etag-compare --etag-save --ftp-account "
        "--ftp-alternative-to-user --ftp-method --ftp-ssl-ccc-mode --haproxy-clientip --hostpubmd5 --hostpubsha256 "
        "--hsts --interface --ip-tos --ipfs-gateway --keepalive-cnt --key --key-type --krb --libcurl --local-port "
        "--login-options --mail-auth --mail-from --mail-rcpt --max-filesize --netrc-file --noproxy --oauth2-bearer "
        "--parallel-max --pass --pinnedpubkey --preproxy --proto --proto-default --proto-redir --proxy-cacert "
        "--proxy-capath --proxy-cert --proxy-cert-type --proxy-ciphers --proxy-crlfile --proxy-header --proxy-key "
        "--proxy-key-type --proxy-pass --proxy-pinnedpubkey --proxy-service-name --proxy-tls13-ciphers "
        "--proxy-tlsauthtype --proxy-tlspassword --proxy-tlsuser --proxy1.0 --pubkey --random-file --request-target "
        "--resolve --sasl-authzid --service-name --socks4 --socks4a --socks5 --socks5-gssapi-service "
        "--socks5-hostname --stderr --tftp-blksize --tls-max --tls13-ciphers --tlsauthtype --tlspassword --tlsuser "
        "--trace --trace-ascii --trace-config --unix-socket --variable --vlan-priority",
    )
)
"""Every option of curl 8 that takes a value is here: an unknown option is taken for one without."""

_WGET = _options(
    """
    drop    -q --quiet
    drop    -v --verbose
    drop    -nv --no-verbose
    drop=   -T --timeout
    drop=   -t --tries
    drop=   -w --wait
    drop=   -U --user-agent
    sink=   -O --output-document
    sink=   -o --output-file
    sink=   -a --append-output
    method= --method
    data=   --post-data --body-data
    file=   --post-file --body-file
    keep=   -A --accept
    keep=   -B --base
    keep=   -D --domains
    keep=   -e --execute
    keep=   -I --include-directories
    keep=   -i --input-file
    keep=   -l --level
    keep=   -P --directory-prefix
    keep=   -Q --quota
    keep=   -R --reject
    keep=   -X --exclude-directories
    keep    -nc --no-clobber
    keep    -nd --no-directories
    keep    -nH --no-host-directories
    keep    -np --no-parent
    """
    + _each("drop", "--no-check-certificate --show-progress --retry-connrefused --random-wait --no-dns-cache")
    + "\n"
    + _each(
        "drop=",
        "--dns-timeout --connect-timeout --read-timeout --waitretry --retry-on-http-error --progress --limit-rate "
        "--max-redirect --report-speed --retry-delay --retry --max-time",
    )
    + "\n"
    + _each(
        "keep=",
        "--accept-regex --backups --bind-address --ca-certificate --ca-directory --certificate --certificate-type "
        "--ciphers --compression --config --crl-file --cut-dirs --default-page --exclude-domains --follow-tags "
        "--ftp-password --ftp-user --header --hsts-file --http-password --http-user --ignore-tags --load-cookies "
        "--local-encoding --password --pinnedpubkey --prefer-family --private-key --private-key-type "
        "--proxy-password --proxy-user --referer --regex-type --reject-regex --rejected-log --remote-encoding "
        "--restrict-file-names --save-cookies --secure-protocol --start-pos --use-askpass --user --warc-file",
    )
)

_HTTPIE = _options(
    """
    drop    -q --quiet
    drop    -v --verbose
    drop    -F --follow
    drop    -b --body
    drop    -h --headers
    drop    -m --meta
    drop=   -p --print
    drop=   -s --style
    sink=   -o --output
    file=   --raw
    keep    -f --form
    keep    -j --json
    keep    -d --download
    keep    -c --continue
    keep=   -a --auth
    keep=   -A --auth-type
    """
    + _each("drop", "--check-status --ignore-stdin --all --stream --pretty-print")
    + "\n"
    + _each("drop=", "--timeout --verify --max-redirects --max-headers --pretty --format-options --response-charset")
    + "\n"
    + _each(
        "keep=",
        "--proxy --session --session-read-only --cert --cert-key --cert-key-pass --ssl --ciphers --boundary "
        "--default-scheme --resolve --interface --bearer --http-version --unix-socket",
    )
)

_TABLES = {"curl": _CURL, "wget": _WGET} | dict.fromkeys(("http", "https", "httpie", "xh", "xhs"), _HTTPIE)
HTTP_CLIENTS = frozenset(_TABLES)


class Target(NamedTuple):
    """A URL, and the rest of the request that is sent there: empty for a plain GET."""

    url: str
    request: str
    depends: bool
    """Some of it comes out of a variable or a pipe: only the whole command line says what is requested."""


class Fetch(Struct):
    """What one HTTP client is asked for."""

    words: list[str]
    """Its arguments without volatile flags, each option separate and under one name."""
    targets: list[Target]
    sinks: list[str]
    asks_http_code: bool = False


class _Request(Struct):
    """The settings that belong to the same URLs, being collected."""

    method: str = ""
    default: str = ""
    """The method that the settings imply."""
    get: bool = False
    body: list[str] = []
    query: list[str] = []
    urls: list[str] = []
    from_stdin: bool = False


def read_fetch(verb: str, words: list[str], document: str | None, complete: Callable[[str], str]) -> Fetch:
    """Read a client's arguments. ``document`` is its here-document; ``complete`` puts known variables in a word."""
    kept, settings = _decode(_TABLES[verb], words)
    fetch = Fetch(kept, [], [])
    requests = [_Request()]
    folder = ""
    for role, word in settings:
        value = complete(word)
        if role == "sink":
            fetch.sinks.append(value)
        elif role == "folder":
            folder = value
        elif role == "report":
            fetch.asks_http_code = "%{http_code}" in value or "%{response_code}" in value
        elif role == "next":
            requests.append(_Request())
        else:
            if value in _FROM_STDIN and role != "operand":
                requests[-1].from_stdin = document is None
                value = document or value
            _SETTERS[role](requests[-1], value)
    if folder:
        fetch.sinks = [f"{folder.rstrip('/')}/{sink}" for sink in fetch.sinks]
    for request in requests:
        if _TABLES[verb] is _HTTPIE:
            _place_items(request)
        fetch.targets += _targets(request)
    return fetch


def _decode(options: dict[str, Option], words: list[str]) -> tuple[list[str], Settings]:
    kept: list[str] = []
    settings: Settings = []
    rest = iter(words)
    for word in rest:
        option = options.get(word)
        if option is not None:
            _take(option, None, rest, kept, settings)
        elif word[:1] != "-" or word == "-":
            kept.append(word)
            settings.append(("operand", word))
        elif word == "--":
            operands = list(rest)
            kept += operands
            settings += [("operand", operand) for operand in operands]
        else:
            for option, value in _unglue(options, word):
                _take(option, value, rest, kept, settings)
    return kept, settings


def _take(option: Option, value: str | None, rest: Iterator[str], kept: list[str], settings: Settings) -> None:
    role, name, takes_value = option
    if takes_value and value is None:
        value = next(rest, "")
    if role == "drop":
        return
    kept.append(name)
    if value is not None:
        kept.append(value)
    if role != "keep":
        settings.append((role, value or ""))


def _unglue(options: dict[str, Option], word: str) -> list[tuple[Option, str | None]]:
    """The options in a word that holds several (``-sSL``) or one with its value (``-m60``, ``--max-time=60``)."""
    if word.startswith("--"):
        name, equals, _ = word.partition("=")
        option = options.get(name)
        if option is None or not equals:
            return [(("keep", word, False), None)]
        return [(option, rest_of(word, len(name) + 1) if option[2] else None)]
    found: list[tuple[Option, str | None]] = []
    for place, letter in enumerate(word[1:], 2):
        option = options.get(f"-{letter}", ("keep", f"-{letter}", False))
        if option[2]:
            found.append((option, rest_of(word, place) if place < len(word) else None))
            break
        found.append((option, None))
    return found


# -- the request -----------------------------------------------------------------------------------------------------

_FROM_STDIN = frozenset({"@-", "-", "@/dev/stdin", "/dev/stdin"})
_BARE_HOST = re.compile(
    r"(?:[^/?#\s@]*+@)?(?:(?:[\w-]++\.)++[\w-]*+|localhost|\[[0-9A-Fa-f:.]++\])(?::\d*+)?(?:[/?#]|$)", re.IGNORECASE
)
"""A host without a scheme. It needs a dot, for anything is a host to curl; ``localhost`` is nothing else anywhere."""
_ITEM = re.compile(r"([^:=@]*+)(==|:=@|:=|=@|=|@|:)(.*)", re.DOTALL)
_METHOD = re.compile(r"[A-Za-z]+")


def _set_method(request: _Request, value: str) -> None:
    request.method = value.upper()


def _set_head(request: _Request, _: str) -> None:
    request.default = "HEAD"


def _set_get(request: _Request, _: str) -> None:
    request.get = True


def _add_body(request: _Request, value: str) -> None:
    request.body.append(value)


def _add_file(request: _Request, value: str) -> None:
    request.body.append(f"@{value}")


def _add_upload(request: _Request, value: str) -> None:
    request.default = "PUT"
    request.body.append(f"@{value}")


def _add_encoded(request: _Request, value: str) -> None:
    name, equals, content = value.partition("=")
    if equals:
        value = f"{name}={quote(content, errors='replace')}" if name else quote(content, errors="replace")
    elif "@" not in value:
        value = quote(value, errors="replace")
    request.body.append(value)


def _add_query(request: _Request, value: str) -> None:
    request.query.append(value)


def _add_url(request: _Request, value: str) -> None:
    request.urls.append(value)


_SETTERS: dict[str, Callable[[_Request, str], None]] = {
    "operand": _add_url,
    "url": _add_url,
    "method": _set_method,
    "head": _set_head,
    "get": _set_get,
    "data": _add_body,
    "json": _add_body,
    "form": _add_body,
    "encoded": _add_encoded,
    "file": _add_file,
    "upload": _add_upload,
    "query": _add_query,
}


def _place_items(request: _Request) -> None:
    """Put HTTPie's operands (``[METHOD] URL [ITEM...]``) where they belong."""
    operands = request.urls
    if len(operands) > 1 and _METHOD.fullmatch(operands[0]):
        request.method = operands.pop(0).upper()
    for operand in operands[1:]:
        item = _ITEM.match(operand)
        if item is None or item[2] == ":":
            continue  # a header
        if item[2] == "==":
            request.query.append(f"{item[1]}={item[3]}")
        else:
            request.body.append(operand)
    request.urls = [f"localhost{url}" if url.startswith((":", "/")) else url for url in operands[:1]]


def _targets(request: _Request) -> list[Target]:
    query, body = request.query, request.body
    if request.get:
        query, body = query + body, []
    method = request.method or request.default or ("POST" if body else "GET")
    rest = f"{method} {'&'.join(body)}" if body else method
    rest = "" if rest == "GET" else rest
    depends = request.from_stdin or any(map(is_live, query)) or any(map(is_live, body))
    return [
        Target(_with_query(url.strip(), query), rest, depends or is_live(url)) for url in request.urls if _is_url(url)
    ]


def _is_url(word: str) -> bool:
    scheme, separator, _ = word.partition("://")
    if separator:
        return scheme.strip().lower() in {"http", "https"}
    return _BARE_HOST.match(word) is not None


def _with_query(url: str, query: list[str]) -> str:
    if not query:
        return url
    page, hash_sign, fragment = url.partition("#")
    return f"{page}{'&' if '?' in page else '?'}{'&'.join(query)}{hash_sign}{fragment}"
