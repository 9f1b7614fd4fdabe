"""The options of curl, wget, HTTPie and xh, as far as they matter here.

An option that is volatile (time limits, retries, verbosity, how the client calls itself) is dropped from the canonical
command. What makes the request another resource (method, body, query) is told apart from what only dresses it
(headers, cookies, proxies).
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

Role = Literal[
    "drop", "keep", "operand", "url", "sink", "folder", "method", "head", "get",
    "data", "encoded", "form", "file", "upload", "query", "report", "next",
]  # fmt: skip
Option = tuple[str, str, bool]
"""An option's role, its name in canonical text, whether it takes a value."""


class Client(NamedTuple):
    """An HTTP client: its options by name, and how a cluster looks that is volatile as a whole (``-sSL``, ``-m60``)."""

    options: dict[str, Option]
    volatile: re.Pattern[str]


def _client(table: str) -> Client:
    """Read lines of a role (with ``=`` if a value follows) and an option's names, the canonical one first."""
    options: dict[str, Option] = {}
    for role, *names in map(str.split, table.strip().splitlines()):
        options |= {name: (role.rstrip("="), names[0], role.endswith("=")) for name in names}
    dropped = [(name[1:], option[2]) for name, option in options.items() if option[0] == "drop" and name[1] != "-"]
    flags = "|".join(re.escape(letters) for letters, takes_value in dropped if not takes_value)
    valued = "".join(letters for letters, takes_value in dropped if takes_value)
    return Client(options, re.compile(rf"-(?>{flags})*+(?:[{valued}][0-9.]++)?"))


def _each(role: str, names: str) -> str:
    return "\n".join(f"{role} {name}" for name in names.split())


_CURL = _client(
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
    data=   --json
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

_WGET = _client(
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

_HTTPIE = _client(
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
    data=   --raw
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

CLIENTS = {"curl": _CURL, "wget": _WGET} | dict.fromkeys(("http", "https", "httpie", "xh", "xhs"), _HTTPIE)
ITEM_CLIENTS = CLIENTS.keys() - {"curl", "wget"}
"""Clients whose operands are a method, a URL, and items of the request."""
