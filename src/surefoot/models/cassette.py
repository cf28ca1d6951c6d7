"""Cassettes: real exchanges with a model, recorded once and played again exactly, by anyone.

A cassette is a file of JSON lines: a header, then one exchange a line. The same question asked twice is recorded
twice and answered in that order. A replay that is asked something else fails loudly and shows where it differs.
"""

import json
import os
from collections import defaultdict
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any, TextIO

from surefoot.errors import CassetteMiss, UsageError
from surefoot.models.base import LanguageModel, ModelReply, ModelRequest, ModelTraits, OnText

FORMAT = 1


class RecordingModel:
    """Passes everything on to `inner` and writes each exchange down before it is returned."""

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
        exchange = {
            "key": request.fingerprint(),
            "request": request.model_dump(mode="json"),
            "reply": reply.model_dump(mode="json"),
        }
        lines.append(_redacted(json.dumps(exchange, ensure_ascii=False)))
        with self._path.open("a+", encoding="utf-8") as file:
            _cut_torn_line(file)
            file.write("".join(line + "\n" for line in lines))
            file.flush()
            os.fsync(file.fileno())


class ReplayModel:
    """Answers from a cassette. With a `fallback`, what was not recorded is asked there, recorded and kept."""

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
        # Not splitlines(): an answer may hold any of the other characters that end a line for Unicode.
        *lines, _torn = self._path.read_text(encoding="utf-8").split("\n")
        header = _parsed(lines[0], self._path, 1) if lines else {}
        if header.get("surefoot_cassette") != FORMAT:
            raise UsageError(
                f"{self._path} is not a cassette of format {FORMAT}", remedy="record it again with this version"
            )
        for number, line in enumerate(lines[1:], 2):
            exchange = _parsed(line, self._path, number)
            try:
                self._exchanges[exchange["key"]].append(ModelReply.model_validate(exchange["reply"]))
                self._prompts.append(exchange["request"]["messages"][-1]["content"])
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
            if on_text is not None:
                on_text(reply.text)
            return reply
        self.misses += 1
        if self._fallback is not None:
            return await self._fallback.complete(request, on_text)
        raise CassetteMiss(
            f"this was not recorded in {self._path.name}: {self._difference(request)}",
            remedy="the prompts, the settings or the workspace have changed since: record it again with --record",
        )

    async def aclose(self) -> None:
        if self._fallback is not None:
            await self._fallback.aclose()

    def _difference(self, request: ModelRequest) -> str:
        """The first line that differs from the most similar recorded prompt."""
        asked = request.messages[-1].content
        if not self._prompts:
            return "the cassette is empty"
        nearest = max(
            self._prompts, key=lambda prompt: SequenceMatcher(None, prompt[-2000:], asked[-2000:]).quick_ratio()
        )
        if nearest == asked:
            return "the same prompt was recorded, but with other settings or fewer times"
        for line, other in zip(asked.splitlines(), nearest.splitlines(), strict=False):
            if line != other:
                return f"asked {line[:120]!r}, recorded {other[:120]!r}"
        return "one prompt is longer than the recorded one"


def _cut_torn_line(file: TextIO) -> None:
    """A recording that was killed in the middle of a line leaves a torn one; it must not swallow the next."""
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


def _parsed(line: str, path: Path, number: int) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except ValueError:
        raise UsageError(f"{path} line {number} is not JSON", remedy="record the cassette again") from None
    return value if isinstance(value, dict) else {}


def _redacted(text: str) -> str:
    from surefoot.redact import Redactor

    return Redactor.from_environment(os.environ).redact(text)
