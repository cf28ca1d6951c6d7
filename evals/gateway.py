"""A local proxy between the agents and the model. It counts usage, enforces budgets, and records and replays answers.

A question with the same settings is answered from the recording, so a second run takes minutes instead of hours.
An agent sends OpenAI chat completions to `http://127.0.0.1:PORT/SESSION/v1`; the session identifies the agent.
"""

import hashlib
import json
import select
import socket
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field
from http.client import HTTPConnection, HTTPResponse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from surefoot.models.providers.wire.chat import usage_of

TIMEOUT_SECONDS = 3600


@dataclass
class Meter:
    """The usage and the limits of one session."""

    max_calls: int = 1_000
    max_tokens: int = 10_000_000
    seed: int = 0
    on_call: Callable[[], None] = lambda: None
    calls: int = 0
    replayed: int = 0
    prompt_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    model_seconds: float = 0.0
    """The time the model took when it first gave the answers."""
    waited_seconds: float = 0.0
    """The time the agent waited in this run: less if answers were replayed."""
    stopped: str = ""

    def count(self, answer: "Answer", waited: float) -> None:
        self.calls += 1
        self.prompt_tokens += answer.prompt_tokens
        self.output_tokens += answer.output_tokens
        self.cached_tokens += answer.cached_tokens
        self.model_seconds += answer.seconds
        self.waited_seconds += waited

    def exhausted(self) -> str:
        """Return which limit is reached, or an empty string."""
        if self.calls >= self.max_calls:
            self.stopped = f"all {self.max_calls} calls are used"
        elif self.prompt_tokens + self.output_tokens >= self.max_tokens:
            self.stopped = f"all {self.max_tokens} tokens are used"
        return self.stopped


@dataclass(frozen=True)
class Answer:
    text: str
    finish: str
    prompt_tokens: int
    output_tokens: int
    cached_tokens: int
    seconds: float


@dataclass
class Recording:
    """Recorded answers by the hash of their question, in an append-only file of JSON lines."""

    path: Path
    models: dict[str, Any] = field(default_factory=dict)
    _answers: dict[str, Answer] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.path.exists():
            for line in self.path.read_text(encoding="utf-8").strip().split("\n"):
                entry = json.loads(line)
                if "models" in entry:
                    self.models = entry["models"]
                else:
                    key = entry.pop("key")
                    self._answers[key] = Answer(**entry)

    def get(self, key: str) -> Answer | None:
        return self._answers.get(key)

    def put(self, key: str, answer: Answer) -> None:
        self._answers[key] = answer
        self._append({"key": key, **asdict(answer)})

    def put_models(self, models: dict[str, Any]) -> None:
        if models != self.models:
            self.models = models
            self._append({"models": models})

    def _append(self, entry: dict[str, Any]) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry, ensure_ascii=False) + "\n")


class Gateway:
    """The proxy. Without `upstream`, the address of a model server (http://127.0.0.1:8080/v1), it only replays."""

    def __init__(self, recording: Recording, upstream: str = "", api_key: str = "") -> None:
        self.recording = recording
        self.upstream = upstream
        self.api_key = api_key
        self.meters: dict[str, Meter] = defaultdict(Meter)
        self.upstream_lock = threading.Lock()
        """Serialises requests to the model: parallel requests would distort the measured times."""

        class Bound(_Handler):
            pass

        Bound.gateway = self
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Bound)
        self._server.daemon_threads = True

    def __enter__(self) -> "Gateway":
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def url(self, session: str) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/{session}/v1"


class _Handler(BaseHTTPRequestHandler):
    gateway: Gateway
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        if not self.path.endswith("/v1/models"):
            self._refuse(404, "there is only /v1/models and /v1/chat/completions")
            return
        if self.gateway.upstream and not self.gateway.recording.models:
            with _request(self.gateway, "GET", "/models") as response:
                self.gateway.recording.put_models(json.loads(response.read()))
        self._send(self.gateway.recording.models or {"object": "list", "data": []})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)))
        session, _, rest = self.path.lstrip("/").partition("/")
        meter = self.gateway.meters[session]
        if rest != "v1/chat/completions":
            self._refuse(404, "there is only /v1/models and /v1/chat/completions")
            return
        meter.on_call()
        if limit := meter.exhausted():
            self._refuse(402, f"the budget of this task is used up: {limit}")
            return
        streamed = bool(body.pop("stream", False))
        body.pop("stream_options", None)
        if meter.seed:
            body["seed"] = meter.seed * 1_000 + int(body.get("seed") or 0)
        started = time.monotonic()
        if answer := self._answer(body, meter):
            meter.count(answer, time.monotonic() - started)
            self._send_stream(answer) if streamed else self._send(_completion(answer))

    def _answer(self, body: dict[str, Any], meter: Meter) -> Answer | None:
        """Return the recorded or a new answer, or None if an error was sent instead."""
        key = _key(body)
        if answer := self.gateway.recording.get(key):
            meter.replayed += 1
            return answer
        if not self.gateway.upstream:
            self._refuse(501, f"this was not recorded: question {key[:12]} at {self.path}")
            return None
        with self.gateway.upstream_lock:
            return self._ask_model(key, body)

    def _ask_model(self, key: str, body: dict[str, Any]) -> Answer | None:
        """Ask the model and record its answer. Errors are passed on unchanged, because agents react to them."""
        started = time.monotonic()
        streaming = {**body, "stream": True, "stream_options": {"include_usage": True}}
        with _request(self.gateway, "POST", "/chat/completions", streaming) as response:
            if response.status != 200:
                self._send(json.loads(response.read() or b"{}"), response.status)
                return None
            answer = self._read_stream(response, started)
        if answer is not None:
            self.gateway.recording.put(key, answer)
        return answer

    def _read_stream(self, response: HTTPResponse, started: float) -> Answer | None:
        pieces: list[str] = []
        finish, usage = "", usage_of({}, {})
        for chunk in _events(response):
            if self._agent_disconnected():
                return None  # closing the connection stops the model
            for choice in chunk.get("choices") or ():
                pieces.append(choice.get("delta", {}).get("content") or "")
                finish = choice.get("finish_reason") or finish
            usage = usage_of(chunk.get("usage") or {}, chunk.get("timings") or {}) or usage
        if not finish or usage is None:
            self._refuse(502, "the model's answer was cut off")
            return None
        seconds = round(time.monotonic() - started, 3)
        return Answer("".join(pieces), finish, usage.prompt_tokens, usage.output_tokens, usage.cached_tokens, seconds)

    def _agent_disconnected(self) -> bool:
        readable, _, _ = select.select([self.connection], [], [], 0)
        return bool(readable) and not self.connection.recv(1, socket.MSG_PEEK)

    def _send_stream(self, answer: Answer) -> None:
        whole = _completion(answer)
        delta = {"index": 0, "delta": {"role": "assistant", "content": answer.text}, "finish_reason": None}
        end = {"index": 0, "delta": {}, "finish_reason": answer.finish}
        chunks = [{"choices": [delta]}, {"choices": [end]}, {"choices": [], "usage": whole["usage"]}]
        head = {"id": whole["id"], "object": "chat.completion.chunk", "created": 0, "model": whole["model"]}
        lines = [f"data: {json.dumps({**head, **chunk}, ensure_ascii=False)}\n\n" for chunk in chunks]
        self._write(200, "text/event-stream", "".join([*lines, "data: [DONE]\n\n"]).encode())

    def _send(self, value: object, status: int = 200) -> None:
        self._write(status, "application/json", json.dumps(value, ensure_ascii=False).encode())

    def _refuse(self, status: int, message: str) -> None:
        self._send({"error": {"message": message, "type": "invalid_request_error", "code": status}}, status)

    def _write(self, status: int, kind: str, data: bytes) -> None:
        try:
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def _request(gateway: Gateway, method: str, path: str, body: dict[str, Any] | None = None) -> Iterator[HTTPResponse]:
    """Send a request to the model server. On exit the connection is closed, which also stops a running generation."""
    address = urlsplit(gateway.upstream)
    connection = HTTPConnection(address.hostname or "", address.port or 80, timeout=TIMEOUT_SECONDS)
    headers = {"content-type": "application/json", "authorization": f"Bearer {gateway.api_key or 'none'}"}
    with closing(connection):
        connection.request(method, address.path.rstrip("/") + path, json.dumps(body), headers)
        yield connection.getresponse()


def _events(response: HTTPResponse) -> Iterator[dict[str, Any]]:
    for line in response:
        text = line.decode("utf-8", "replace").strip()
        if text.startswith("data:") and text != "data: [DONE]":
            yield json.loads(text.removeprefix("data:"))


def _key(body: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(body, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def _completion(answer: Answer) -> dict[str, Any]:
    return {
        "id": "recorded",
        "object": "chat.completion",
        "created": 0,
        "model": "model",
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": answer.text}, "finish_reason": answer.finish}
        ],
        "usage": {
            "prompt_tokens": answer.prompt_tokens,
            "completion_tokens": answer.output_tokens,
            "total_tokens": answer.prompt_tokens + answer.output_tokens,
            "prompt_tokens_details": {"cached_tokens": answer.cached_tokens},
        },
    }
