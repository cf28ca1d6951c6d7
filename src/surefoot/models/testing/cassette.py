"""Cassettes: recorded exchanges with a model that can be replayed exactly.

A cassette is a file of JSON lines: a header, then one exchange per line. Equal requests are recorded each time and
answered in that order. A replay fails on a request that was not recorded and shows the difference.
"""

import json
import os
from collections import defaultdict
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any, TextIO

from surefoot.errors import CassetteMiss, UsageError
from surefoot.models.base import LanguageModel, Live, ModelReply, ModelRequest, ModelTraits, OnText
from surefoot.models.items import Message

FORMAT = 1


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
        self._write(request, reply)
        return reply

    async def aclose(self) -> None:
        await self.inner.aclose()

    def _write(self, request: ModelRequest, reply: ModelReply) -> None:
        lines = []
        if not self._started and not (self._path.exists() and self._path.stat().st_size):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            traits = self.traits.model_dump()
            lines.append(json.dumps({"surefoot_cassette": FORMAT, "model": self.name, "traits": traits}))
        self._started = True
        from surefoot.journal.redact import Redactor

        # A replay acts on the reply, so only values that are known to be secrets are removed from it.
        redactor = Redactor.from_environment(os.environ)
        exchange = {
            "key": request.fingerprint(),
            "request": json.loads(redactor.redact(request.model_dump_json())),
            "reply": json.loads(redactor.redact_known(reply.model_dump_json())),
        }
        lines.append(json.dumps(exchange, ensure_ascii=False))
        with self._path.open("a+", encoding="utf-8") as file:
            _remove_incomplete_line(file)
            file.write("".join(line + "\n" for line in lines))
            file.flush()
            os.fsync(file.fileno())


class ReplayModel:
    """Answers from a cassette. With a `fallback`, other requests are forwarded to it and recorded."""

    def __init__(self, path: Path | str, *, fallback: LanguageModel | None = None) -> None:
        self._path = Path(path)
        self._fallback = RecordingModel(fallback, path) if fallback is not None else None
        self._exchanges: dict[str, list[ModelReply]] = defaultdict(list)
        self._prompts: list[str] = []
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
                self._exchanges[exchange["key"]].append(ModelReply.model_validate(exchange["reply"]))
                self._prompts.append(_prompt(ModelRequest.model_validate(exchange["request"])))
            except (KeyError, IndexError, TypeError, ValueError):
                raise UsageError(
                    f"{self._path} line {number} is not an exchange", remedy="record the cassette again"
                ) from None
        return header

    async def complete(self, request: ModelRequest, on_text: OnText | None = None) -> ModelReply:
        key = request.fingerprint()
        recorded = self._exchanges.get(key)
        if recorded:
            reply = recorded.pop(0)
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
        prompt = _prompt(request)
        if not self._prompts:
            return "the cassette is empty"
        nearest = max(
            self._prompts, key=lambda recorded: SequenceMatcher(None, recorded[-2000:], prompt[-2000:]).quick_ratio()
        )
        if nearest == prompt:
            return "the same prompt was recorded, but with other settings or earlier messages, or fewer times"
        for line, other in zip(prompt.splitlines(), nearest.splitlines(), strict=False):
            if line != other:
                return f"requested {line[:120]!r}, recorded {other[:120]!r}"
        return "one prompt is longer than the recorded one"


def _prompt(request: ModelRequest) -> str:
    """The text by which requests are compared: the last message, or the whole of a conversation."""
    if all(isinstance(item, Message) for item in request.messages):
        return request.messages[-1].content
    return "\n".join(item.content for item in request.messages)


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
