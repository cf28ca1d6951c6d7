"""Cassettes: recorded exchanges with a model that can be replayed exactly.

A cassette is a file of JSON lines: a header, then one exchange per line. Equal requests are recorded each time and
answered in that order. Durations, dates, memory addresses and the folders of absolute paths are not compared, because
they change from run to run in the outputs of commands. A replay fails on any other request and shows the difference.
"""

import hashlib
import json
import os
import re
from collections import defaultdict
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any, TextIO

from surefoot.core.values import common_prefix
from surefoot.errors import CassetteMiss, UsageError
from surefoot.models.base import LanguageModel, Live, ModelReply, ModelRequest, ModelTraits, OnText
from surefoot.models.items import AssistantTurn, Item, Message, ToolResultMessage
from surefoot.models.tokens import count_tokens

FORMAT = 1
_VOLATILE = (
    (re.compile(r"(?:/[\w.@+-]+)+/(?=[\w.@+-])"), "/"),
    (re.compile(r"\b\d+(?:\.\d+)? ?(?:s|ms|seconds?)\b"), "(time)"),
    (re.compile(r"\b0x[0-9a-f]{6,}\b"), "0x"),
    (re.compile(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?"), "(date)"),
)


class RecordingModel:
    """Forwards requests to `inner` and records each exchange before it is returned."""

    def __init__(self, inner: LanguageModel, path: Path | str) -> None:
        self.inner = inner
        self._path = Path(path)
        self._started = False

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def traits(self) -> ModelTraits:
        return self.inner.traits

    async def complete(self, request: ModelRequest, on_text: OnText | None = None) -> ModelReply:
        reply = await self.inner.complete(request, on_text)
        self._write(_exchange(request, reply))
        return reply

    async def count_tokens(self, text: str) -> int | None:
        counted = await count_tokens(self.inner, text)
        if counted is not None:
            self._write({"counted": _digest(text), "tokens": counted})
        return counted

    async def aclose(self) -> None:
        await self.inner.aclose()

    def _write(self, line: dict[str, Any]) -> None:
        lines = []
        if not self._started and not (self._path.exists() and self._path.stat().st_size):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            traits = self.traits.model_dump()
            lines.append(json.dumps({"surefoot_cassette": FORMAT, "model": self.name, "traits": traits}))
        self._started = True
        lines.append(json.dumps(line, ensure_ascii=False))
        with self._path.open("a+", encoding="utf-8") as file:
            _remove_incomplete_line(file)
            file.write("".join(line + "\n" for line in lines))
            file.flush()
            os.fsync(file.fileno())


def _exchange(request: ModelRequest, reply: ModelReply) -> dict[str, Any]:
    from surefoot.journal.redact import Redactor

    # A replay acts on the reply, so only values that are known to be secrets are removed from it.
    redactor = Redactor.from_environment(os.environ)
    return {
        "key": request.fingerprint(),
        "request": json.loads(redactor.redact(request.model_dump_json())),
        "reply": json.loads(redactor.redact_known(reply.model_dump_json())),
    }


@dataclass
class _Recorded:
    request: ModelRequest
    reply: ModelReply
    used: bool = False


class ReplayModel:
    """Answers from a cassette. With a `fallback`, other requests are forwarded to it and recorded."""

    def __init__(self, path: Path | str, *, fallback: LanguageModel | None = None) -> None:
        self._path = Path(path)
        self._fallback = RecordingModel(fallback, path) if fallback is not None else None
        self._exchanges: list[_Recorded] = []
        self._by_key: dict[str, list[_Recorded]] = defaultdict(list)
        self._counted: dict[str, int] = {}
        header = self._load()
        self.name = fallback.name if fallback else str(header.get("model", "cassette"))
        self.traits = fallback.traits if fallback else ModelTraits.model_validate(header.get("traits", {}))
        self.misses = 0

    def _load(self) -> dict[str, Any]:
        if not self._path.exists():
            if self._fallback is None:
                raise UsageError(f"there is no cassette {self._path}", remedy="record one with --record")
            return {}
        # Not splitlines(), because an answer may contain other Unicode line separators.
        *lines, _incomplete = self._path.read_text(encoding="utf-8").split("\n")
        header = _parse_line(lines[0], self._path, 1) if lines else {}
        if header.get("surefoot_cassette") != FORMAT:
            raise UsageError(
                f"{self._path} is not a cassette of format {FORMAT}", remedy="record it again with this version"
            )
        for number, line in enumerate(lines[1:], 2):
            exchange = _parse_line(line, self._path, number)
            try:
                if "counted" in exchange:
                    self._counted[exchange["counted"]] = int(exchange["tokens"])
                else:
                    self._add(exchange)
            except (KeyError, IndexError, TypeError, ValueError):
                raise UsageError(
                    f"{self._path} line {number} is not an exchange", remedy="record the cassette again"
                ) from None
        return header

    def _add(self, exchange: dict[str, Any]) -> None:
        reply = ModelReply.model_validate(exchange["reply"])
        recorded = _Recorded(ModelRequest.model_validate(exchange["request"]), reply)
        self._exchanges.append(recorded)
        for key in {exchange["key"], _stable(recorded.request).fingerprint()}:
            self._by_key[key].append(recorded)

    async def count_tokens(self, text: str) -> int | None:
        if self._fallback is not None:
            return await self._fallback.count_tokens(text)
        return self._counted.get(_digest(text))

    def _find(self, request: ModelRequest) -> _Recorded | None:
        matching = (self._by_key.get(key, ()) for key in (request.fingerprint(), _stable(request).fingerprint()))
        return next((recorded for entries in matching for recorded in entries if not recorded.used), None)

    async def complete(self, request: ModelRequest, on_text: OnText | None = None) -> ModelReply:
        recorded = self._find(request)
        if recorded is not None:
            recorded.used = True
            reply = recorded.reply
            live = Live.of(on_text)
            live.text(reply.text)
            for index, call in enumerate(reply.calls):
                live.call(index, call.name, call.raw)
            return reply
        self.misses += 1
        if self._fallback is not None:
            return await self._fallback.complete(request, on_text)
        raise CassetteMiss(
            f"the request is not in {self._path.name}: {self._difference(request)}",
            remedy="the prompts, the settings or the workspace have changed: record it again with --record",
        )

    async def aclose(self) -> None:
        if self._fallback is not None:
            await self._fallback.aclose()

    def _difference(self, request: ModelRequest) -> str:
        """The first line that differs from the most similar recorded prompt."""
        if not self._exchanges:
            return "the cassette is empty"
        prompt = _prompt(_stable(request))
        prompts = {_prompt(_stable(recorded.request)): recorded.request for recorded in self._exchanges}
        if _is_plain(request):
            nearest = max(prompts, key=lambda other: SequenceMatcher(None, other[-2000:], prompt[-2000:]).quick_ratio())
        else:
            nearest = max(prompts, key=lambda other: common_prefix(other, prompt))
        if nearest == prompt:
            return f"the same prompt was recorded, but {_other_settings(request, prompts[nearest])}"
        for line, other in zip(prompt.splitlines(), nearest.splitlines(), strict=False):
            if line != other:
                return f"requested {line[:120]!r}, recorded {other[:120]!r}"
        return "one prompt is longer than the recorded one"


def _other_settings(request: ModelRequest, recorded: ModelRequest) -> str:
    names = [name for name in ModelRequest.model_fields if name not in ("messages", "cache_key")]
    other = [name for name in names if getattr(request, name) != getattr(recorded, name)]
    return f"with other settings ({', '.join(other)})" if other else "with other earlier messages, or fewer times"


def _is_plain(request: ModelRequest) -> bool:
    return all(isinstance(item, Message) for item in request.messages) and not request.tools


def _prompt(request: ModelRequest) -> str:
    """The text by which requests are compared: the last message, or the whole of a conversation."""
    if _is_plain(request):
        return request.messages[-1].content
    return "\n".join(map(_as_text, request.messages))


def _as_text(item: Item) -> str:
    calls = item.calls if isinstance(item, AssistantTurn) else ()
    rows = [f"{call.name} {json.dumps(call.arguments, ensure_ascii=False)}" for call in calls]
    return "\n".join([f"[{item.role}]", item.content, *rows])


def _stable(request: ModelRequest) -> ModelRequest:
    """The request without the parts that change from run to run."""
    return request.with_(messages=tuple(map(_stable_item, request.messages)))


def _stable_item(item: Item) -> Item:
    if isinstance(item, AssistantTurn):
        return item
    text = item.content
    for pattern, replacement in _VOLATILE:
        text = pattern.sub(replacement, text)
    return item.with_(text=text) if isinstance(item, ToolResultMessage) else item.with_(content=text)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _remove_incomplete_line(file: TextIO) -> None:
    """Remove the incomplete last line of a killed recording, so that the next exchange starts a new line."""
    data = file.buffer
    size = data.seek(0, os.SEEK_END)
    if size == 0:
        return
    data.seek(max(size - 1, 0))
    if data.read(1) == b"\n":
        return
    data.seek(0)
    file.truncate(data.read().rfind(b"\n") + 1)
    file.seek(0, os.SEEK_END)


def _parse_line(line: str, path: Path, number: int) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except ValueError:
        raise UsageError(f"{path} line {number} is not JSON", remedy="record the cassette again") from None
    return value if isinstance(value, dict) else {}
