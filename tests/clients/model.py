"""A scripted model on loopback, in the protocols that agent harnesses speak.

Anthropic Messages, OpenAI Responses, OpenAI Chat Completions and Gemini's generateContent, streamed or whole. What the
model says next depends only on the conversation it is shown, so a client may retry, restart and ask beside the way: a
word in what was last written to it chooses the script, the number of its own tool turns since then the step.
"""

from __future__ import annotations

import itertools
import json
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Json = dict[str, Any]
DONE = "ALLDONE"


class Step:
    """One turn of the model: a text, and the tools it calls."""

    def __init__(self, *calls: tuple[str, Mapping[str, Any]], text: str = "") -> None:
        self.text = text
        self.calls = calls


History = Sequence[str | None]
"""A conversation: what was written to the model, and None for each turn in which it called tools."""


class Model:
    """The model, from ``with`` to its end. ``scripts`` by a word that stands in what is written to it."""

    def __init__(self, scripts: Mapping[str, Sequence[Step]]) -> None:
        self._scripts = scripts
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._turns: defaultdict[str, list[Json]] = defaultdict(list)
        self._server = _Server(self)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> Model:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def turns(self, word: str) -> list[Json]:
        """The requests it answered from this script, in order: what it was told before each of its turns."""
        with self._lock:
            return list(self._turns[word])

    def ended(self, word: str) -> int:
        """How often it has come to the end of this script."""
        return max(0, len(self.turns(word)) - len(self._scripts[word]))

    def number(self, prefix: str) -> str:
        return f"{prefix}{next(self._numbers):06d}"

    def next_step(self, history: History, body: Json) -> Step:
        """What the model says now. A request that offers no tools is the client's own business."""
        if not body.get("tools"):
            return Step(text="ok")
        turns = 0
        for entry in reversed(history):
            if entry is None:
                turns += 1
            elif word := next((word for word in self._scripts if word in entry), ""):
                with self._lock:
                    self._turns[word].append(body)
                steps = self._scripts[word]
                return steps[turns] if turns < len(steps) else Step(text=DONE)
        return Step(text=DONE)


# -- the protocols ----------------------------------------------------------------------------------------------


def anthropic(model: Model, body: Json) -> tuple[Json, list[tuple[str, Json]]]:
    """The whole answer, and the same as a stream of events."""
    history: list[str | None] = []
    for message in body.get("messages", []):
        blocks = message.get("content")
        blocks = blocks if isinstance(blocks, list) else [{"type": "text", "text": blocks}]
        if message.get("role") == "user":
            history += [str(block.get("text")) for block in blocks if block.get("type") == "text"]
        elif any(block.get("type") == "tool_use" for block in blocks):
            history.append(None)
    step = model.next_step(history, body)
    content: list[Json] = [{"type": "text", "text": step.text}] if step.text else []
    for name, arguments in step.calls:
        content.append({"type": "tool_use", "id": model.number("toolu_"), "name": name, "input": arguments})
    stop = "tool_use" if step.calls else "end_turn"
    usage = {"input_tokens": 9, "output_tokens": 9, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    whole: Json = {
        "id": model.number("msg_"),
        "type": "message",
        "role": "assistant",
        "model": body.get("model", "scripted"),
        "content": content,
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": usage,
    }
    events: list[Json] = [{"type": "message_start", "message": whole | {"content": [], "stop_reason": None}}]
    for index, block in enumerate(content):
        if block["type"] == "text":
            opened, delta = block | {"text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            opened = block | {"input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        events.append({"type": "content_block_start", "index": index, "content_block": opened})
        events.append({"type": "content_block_delta", "index": index, "delta": delta})
        events.append({"type": "content_block_stop", "index": index})
    ended = {"stop_reason": stop, "stop_sequence": None}
    events.append({"type": "message_delta", "delta": ended, "usage": {"output_tokens": 9}})
    events.append({"type": "message_stop"})
    return whole, [(event["type"], event) for event in events]


def responses(model: Model, body: Json) -> tuple[Json, list[tuple[str, Json]]]:
    history: list[str | None] = []
    calling = False
    for item in body.get("input", []):
        was_calling, calling = calling, str(item.get("type", "")).endswith("_call")
        if calling and not was_calling:
            history.append(None)
        elif item.get("role") == "user":
            history.append(json.dumps(item.get("content")))
    step = model.next_step(history, body)
    output: list[Json] = [
        {
            "type": "function_call",
            "id": model.number("fc_"),
            "call_id": model.number("call_"),
            "name": name.rpartition(".")[2],
            "arguments": json.dumps(arguments),
            "status": "completed",
        }
        | ({"namespace": name.rpartition(".")[0]} if "." in name else {})
        for name, arguments in step.calls
    ]
    if step.text:
        said = {"type": "output_text", "text": step.text, "annotations": []}
        output.append(
            {
                "type": "message",
                "id": model.number("msg_"),
                "role": "assistant",
                "status": "completed",
                "content": [said],
            }
        )
    usage = {
        "input_tokens": 9,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 9,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 18,
    }
    whole: Json = {"id": model.number("resp_"), "object": "response", "status": "completed", "output": output}
    whole["usage"] = usage
    events: list[Json] = [{"type": "response.created", "response": {"id": whole["id"], "status": "in_progress"}}]
    for index, item in enumerate(output):
        events.append({"type": "response.output_item.added", "output_index": index, "item": item})
        events.append({"type": "response.output_item.done", "output_index": index, "item": item})
    events.append({"type": "response.completed", "response": whole})
    return whole, [(event["type"], event) for event in events]


def chat(model: Model, body: Json) -> tuple[Json, list[tuple[str, Json]]]:
    history: list[str | None] = []
    for message in body.get("messages", []):
        if message.get("role") == "user":
            history.append(json.dumps(message.get("content")))
        elif message.get("tool_calls"):
            history.append(None)
    step = model.next_step(history, body)
    calls = [
        {
            "index": index,
            "id": model.number("call_"),
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(arguments)},
        }
        for index, (name, arguments) in enumerate(step.calls)
    ]
    finish = "tool_calls" if calls else "stop"
    usage = {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18}
    head = {"id": model.number("chatcmpl-"), "created": 1, "model": body.get("model", "scripted")}
    message = {"role": "assistant", "content": step.text or None, "tool_calls": calls or None}
    whole = head | {
        "object": "chat.completion",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": usage,
    }

    def chunk(delta: Json, ended: str | None = None) -> tuple[str, Json]:
        choice = {"index": 0, "delta": delta, "finish_reason": ended}
        return "", head | {"object": "chat.completion.chunk", "choices": [choice]} | ({"usage": usage} if ended else {})

    chunks = [chunk({"role": "assistant", "content": step.text})]
    if calls:
        chunks.append(chunk({"tool_calls": calls}))
    chunks.append(chunk({}, finish))
    return whole, chunks


_ROUTED = {
    "reasoning": "none",
    "model_choice": "flash",
    "complexity_score": 10,
    "complexity_reasoning": "none",
    "next_speaker": "user",
    "summary": "ok",
}
"""Gemini CLI asks the model about the conversation, too; one answer has a field for each of its questions."""


def gemini(model: Model, body: Json) -> tuple[Json, list[tuple[str, Json]]]:
    history: list[str | None] = []
    for content in body.get("contents", []):
        parts = content.get("parts", [])
        if content.get("role") == "user":
            history += [str(part["text"]) for part in parts if "text" in part]
        elif any("functionCall" in part for part in parts):
            history.append(None)
    step = model.next_step(history, body)
    if not body.get("tools"):
        step = Step(text=json.dumps(_ROUTED))
    parts: list[Json] = [{"text": step.text}] if step.text else []
    for name, arguments in step.calls:
        call = {"id": model.number("fc"), "name": name, "args": arguments}
        parts.append({"functionCall": call, "thoughtSignature": "c2ln"})
    whole = {
        "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}],
        "modelVersion": "scripted",
        "responseId": model.number("r"),
        "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 9, "totalTokenCount": 18},
    }
    return whole, [("", whole)]


_Protocol = Callable[[Model, Json], tuple[Json, list[tuple[str, Json]]]]
PROTOCOLS: Mapping[str, _Protocol] = {
    "/messages": anthropic,
    "/responses": responses,
    "/chat/completions": chat,
    "enerateContent": gemini,
}
"""A part of the path, and what is spoken there."""
_COUNTED = ("count_tokens", "countTokens")


# -- HTTP -------------------------------------------------------------------------------------------------------


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, model: Model) -> None:
        self.model = model
        super().__init__(("127.0.0.1", 0), _Handler)


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name it has there
        pass

    def do_HEAD(self) -> None:
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def do_GET(self) -> None:
        self._answer({"object": "list", "data": [{"id": "scripted", "object": "model"}], "models": []})

    def do_POST(self) -> None:
        try:
            body = json.loads(self._body() or b"{}")
        except ValueError:
            body = {}
        try:
            self._serve(body)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def _serve(self, body: Json) -> None:
        if any(word in self.path for word in _COUNTED):
            self._answer({"input_tokens": 9, "totalTokens": 9})
            return
        protocol = next((speak for part, speak in PROTOCOLS.items() if part in self.path), None)
        if protocol is None:
            self._answer({})
            return
        whole, events = protocol(self.server.model, body)
        if body.get("stream") or "streamGenerate" in self.path:
            self._stream(events, done=protocol is chat)
        else:
            self._answer(whole)

    def _body(self) -> bytes:
        if self.headers.get("transfer-encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("content-length") or 0))
        return b"".join(self._chunks())

    def _chunks(self) -> Iterator[bytes]:
        while size := int(self.rfile.readline().strip() or b"0", 16):
            yield self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()

    def _answer(self, body: Json) -> None:
        data = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _stream(self, events: Sequence[tuple[str, Json]], *, done: bool) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        for name, event in events:
            head = f"event: {name}\n" if name else ""
            self.wfile.write(f"{head}data: {json.dumps(event)}\n\n".encode())
        if done:
            self.wfile.write(b"data: [DONE]\n\n")
