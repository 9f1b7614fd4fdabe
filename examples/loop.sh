#!/bin/sh
# An agent in a few lines of shell: it runs one command again and again, and asks the breaker before each run.
#
#   breaker serve                        in one terminal
#   sh examples/loop.sh 'ls /nowhere'    in another
#
# It speaks the protocol of engine/protocol.py over a plain socket, through nc (the one that knows -U) or socat.
set -eu

socket=${BREAKER_SOCKET:-${XDG_RUNTIME_DIR:-/run/user/$(id -u)}/repeat-tool-breaker/engine.sock}
command=${1:-ls /nowhere}
times=${2:-14}

pipes=$(mktemp -d)
trap 'rm -rf "$pipes"' EXIT
trap : PIPE # an engine that goes away is said in words, below
mkfifo "$pipes/asked" "$pipes/answered"
if command -v socat >/dev/null; then
    socat - "UNIX-CONNECT:$socket" <"$pipes/asked" >"$pipes/answered" &
elif command -v nc >/dev/null; then
    nc -U "$socket" <"$pipes/asked" >"$pipes/answered" &
else
    echo "this example needs socat or nc (the one that knows -U)" >&2
    exit 1
fi
exec 3>"$pipes/asked" 4<"$pipes/answered"

# Sends one request, and reads the line that answers it; nothing else is under way on this connection.
ask() {
    printf '{"jsonrpc":"2.0","id":%s,"method":"%s","params":%s}\n' "$1" "$2" "$3" >&3 2>/dev/null &&
        IFS= read -r answer <&4 || { echo "no engine at $socket" >&2; exit 1; }
}

# A text as a JSON string; control characters other than a line break are dropped.
quoted() {
    printf '"%s"' "$(printf '%s' "$1" | tr -d '\000-\011\013-\037' | sed 's/\\/\\\\/g; s/"/\\"/g; $!s/$/\\n/' | tr -d '\n')"
}

# Whatever the model would be told: the JSON string of one field, made readable.
told() {
    printf '%s\n' "$answer" | sed 's/\\\\/\\u005c/g; s/\\"/\\u0022/g' | sed -n "s/.*\"$1\":\"\\([^\"]*\\)\".*/    \\1/p" |
        sed 's/\\n/\
    /g; s/\\u0022/"/g; s/\\u005c/\\/g'
}

ask 0 initialize '{"protocol":1,"client":{"name":"loop.sh"},"agent":{"id":"shell-'$$'","harness":"shell"}}'

number=0
while [ "$number" -lt "$times" ]; do
    number=$((number + 1))
    ask "$number" call/decide '{"id":"c'$number'","tool":"bash","args":{"command":'"$(quoted "$command")"'}}'
    case $answer in
    *'"decision":"allow"'*) ;;
    *)
        echo "$number: refused"
        told reason
        continue
        ;;
    esac
    status=0
    output=$(sh -c "$command" 2>&1) || status=$?
    echo "$number: ran, exit code $status"
    result='{"value":{"exitCode":'$status'},"content":'$(quoted "$output")'}'
    ask "$number" call/settle '{"id":"c'$number'","result":'"$result"'}'
    told text
done
ask 0 agent/end '{}'
