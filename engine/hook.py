"""The process that a harness starts at every call: it hands the payload to the engine and prints the answer.

    python -I -S hook.py HARNESS EVENT [--socket PATH] [--timeout SECONDS] [--fail-closed]

It is started before and after every tool call, so it does next to nothing and imports next to nothing: no JSON,
no ``socket`` module. The engine reads the payload and gives back the bytes to print, as hexadecimal digits.

``EVENT`` says which of the harness's hooks this is. Before a call (``PreToolUse``, ``BeforeTool``) every fault has a
decided answer in the harness's own form:

* no engine runs: the call is allowed, as it would be without a breaker (``--fail-closed``: denied);
* an engine is there and gives no answer, or one that cannot be read: denied, for the call may have been at the
  gate. An engine that hangs is not waited for: it says hello within seconds, or never;
* ``--timeout`` seconds passed: denied, before the harness loses patience and runs the call;
* a fault in here: denied.

After a call, and at every other event, a fault prints nothing. Nothing is ever printed on standard error, which
some harnesses show to the model, and the exit status is 0 unless the engine says otherwise.
"""

import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    import _socket

BEFORE_A_CALL = ("PreToolUse", "BeforeTool")
NO_ENGINE = "no breaker engine is running, and this hook was installed to deny calls without one"
NO_ANSWER = "the breaker engine gave no answer about this call; it was not run. Tell the operator"

CLAUDE_FORM = (
    '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny",'
    '"permissionDecisionReason":"REPEAT_TOOL_BLOCKED: %s."}}'
)
DENIAL = {
    "claude-code": CLAUDE_FORM,
    "codex": CLAUDE_FORM,
    "gemini-cli": '{"decision":"deny","reason":"REPEAT_TOOL_BLOCKED: %s."}',
}

HELLO = b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocol":1,"client":{"name":"hook"}}}\n'
REQUEST = b'{"jsonrpc":"2.0","id":1,"method":"harness/hook","params":{"harness":"%s","encoding":"hex","payload":%s}}\n'
ANSWER = b'{"jsonrpc":"2.0","id":1,"result":'
DEFAULT_TIMEOUT = 3500.0
HANDSHAKE_TIMEOUT = 10.0
"""Seconds that an engine may take to take the call; after that it hangs, and nobody will be asked."""


class Unreachable(Exception):  # noqa: N818 - not an error: a state that has its own answer
    """No engine has the payload yet, so none can have decided anything."""


def main(arguments: list[str]) -> int:
    """Run one hook. Returns the exit status."""
    harness, event = arguments[0], arguments[1]
    try:
        output, status = ask_engine(harness, read_all(0), arguments)
    except Unreachable:
        denied = "--fail-closed" in arguments
        output, status = (denial(harness, event, NO_ENGINE) if denied else b""), 0
    except BaseException:  # noqa: BLE001 - whatever went wrong, a call that reached the engine is not let through
        output, status = denial(harness, event, NO_ANSWER), 0
    write_all(1, output)
    return status


def denial(harness: str, event: str, why: str) -> bytes:
    """The harness's own form of a refusal; nothing where there is no call to refuse."""
    return (DENIAL[harness] % why).encode() if event in BEFORE_A_CALL else b""


def ask_engine(harness: str, payload: bytes, arguments: list[str]) -> tuple[bytes, int]:
    """What to print, and the exit status. Raises Unreachable, or anything else when an answer was due and none came."""
    # A line break can stand only between the tokens of a JSON text, never inside a string.
    line = payload.replace(b"\n", b" ").replace(b"\r", b" ")
    patience = float(option(arguments, "--timeout") or DEFAULT_TIMEOUT)
    connection = connect(os.environ.get("BREAKER_SOCKET") or option(arguments, "--socket"))
    try:
        connection.settimeout(min(HANDSHAKE_TIMEOUT, patience))
        connection.sendall(HELLO + REQUEST % (harness.encode(), line))
        received = receive(connection, b"", 1)
        connection.settimeout(patience)
        received = receive(connection, received, 2)
    finally:
        connection.close()
    answer = received.split(b"\n")[1]
    if not answer.startswith(ANSWER):
        raise ValueError
    return bytes.fromhex(field(answer, b'"stdout":"').decode()), int(field(answer, b'"exit":'))


def connect(path: str) -> "_socket.socket":
    """A connection to the engine. Raises Unreachable, and BlockingIOError when an engine is there and takes none."""
    import _socket  # noqa: PLC0415 - a fault in this import is a fault like any other

    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    connection.settimeout(HANDSHAKE_TIMEOUT)
    give_up = time.monotonic() + HANDSHAKE_TIMEOUT
    while True:
        try:
            connection.connect(path)
        except BlockingIOError:  # an engine is there, with a long queue before it
            if time.monotonic() > give_up:
                raise
            time.sleep(0.01)
        except OSError as error:
            raise Unreachable from error
        else:
            return connection


def receive(connection: "_socket.socket", received: bytes, lines: int) -> bytes:
    """What was received and what comes, until it holds so many lines."""
    while received.count(b"\n") < lines:
        chunk = connection.recv(65536)
        if not chunk:
            raise EOFError
        received += chunk
    return received


def field(answer: bytes, name: bytes) -> bytes:
    """The value after ``name`` in an answer of the engine's own making: hexadecimal digits, or a number."""
    _, found, rest = answer.partition(name)
    if not found:
        raise ValueError
    return rest.replace(b"}", b'"').replace(b",", b'"').split(b'"', 1)[0]


def option(arguments: list[str], name: str) -> str:
    """The argument after ``name``, or nothing."""
    return arguments[arguments.index(name) + 1] if name in arguments else ""


def read_all(descriptor: int) -> bytes:
    """Everything until end of file."""
    chunks = []
    while chunk := os.read(descriptor, 1 << 16):
        chunks.append(chunk)
    return b"".join(chunks)


def write_all(descriptor: int, data: bytes) -> None:
    """Write everything; a reader that has gone is no concern of ours."""
    try:
        while data:
            data = data[os.write(descriptor, data) :]
    except OSError:
        return


if __name__ == "__main__":
    # _exit: nothing is left to flush, and the interpreter's own end costs as much as the round trip.
    os._exit(main(sys.argv[1:]))
