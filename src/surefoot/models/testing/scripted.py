"""A model with scripted answers, for tests of the engine and of programs that use it."""

import asyncio
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from surefoot.errors import ModelError, UsageError
from surefoot.models.base import Live, ModelReply, ModelRequest, ModelTraits, OnText, Usage
from surefoot.models.items import AssistantTurn, TextPart, ToolCall
from surefoot.models.providers.wire.turns import Piece, RawCall, build_turn, is_conversation, with_turn

PIECE = 64
"""How many characters are streamed at once."""

Answer = str | dict[str, Any] | list[Any] | AssistantTurn | Exception | Callable[[ModelRequest], Any]
When = str | re.Pattern[str] | Callable[[ModelRequest], bool]


@dataclass
class Rule:
    """Answers requests that match `when`: a text or pattern in the messages, or a predicate.

    `answer` is text, a value to encode as JSON, a turn, an exception to raise, or a function of the request. `times`
    limits how often the rule is used.
    """

    when: When
    answer: Answer
    times: int | None = None

    def matches(self, request: ModelRequest) -> bool:
        if self.times == 0:
            return False
        text = "\n".join(message.content for message in request.messages)
        if isinstance(self.when, str):
            return self.when in text
        if isinstance(self.when, re.Pattern):
            return self.when.search(text) is not None
        return self.when(request)


def _parse_entry(entry: Any) -> Rule | Answer:
    is_rule = isinstance(entry, dict) and {"when", "answer"} <= entry.keys() <= {"when", "answer", "times"}
    return Rule(**entry) if is_rule else entry


def _calls_tools(answer: Answer) -> bool:
    return isinstance(answer, AssistantTurn) or (isinstance(answer, dict) and "calls" in answer)


def calling(*calls: tuple[str, dict[str, Any]], text: str = "") -> AssistantTurn:
    """A turn that calls tools: `calling(("read_file", {"path": "a.py"}), text="Let me look.")`. Ids are set later."""
    parts = [ToolCall(id="", name=name, raw=json.dumps(arguments, ensure_ascii=False)) for name, arguments in calls]
    return AssistantTurn(parts=(*([TextPart(text=text)] if text else []), *parts))


class ScriptedModel:
    """Answers with the first rule that matches, else with the next answer of the list.

    The calls of a turn are read like those of a server. In a script file, an object with `calls` is such a turn:
    {"text": "", "calls": [["read_file", {"path": "a.py"}]]}; `seconds` is how long its streaming takes. A model with
    such turns is asked in a conversation, unless `traits` say otherwise.

    >>> model = ScriptedModel([Rule("Say what", {"understanding": "..."}), "```python\\nx = 1\\n```"])
    """

    def __init__(
        self,
        script: Sequence[Rule | Answer],
        *,
        name: str = "scripted",
        traits: ModelTraits | None = None,
    ) -> None:
        self.name = name
        answers = [entry.answer if isinstance(entry, Rule) else entry for entry in script]
        tools: Literal["native", "none"] = "native" if any(map(_calls_tools, answers)) else "none"
        self.traits = traits or ModelTraits(inline_bodies=False, tools=tools)
        self.requests: list[ModelRequest] = []
        # Copies, because `times` is counted down and the caller may use a rule again.
        self._rules = [replace(entry) for entry in script if isinstance(entry, Rule)]
        self._answers = [entry for entry in script if not isinstance(entry, Rule)]

    @classmethod
    def from_file(cls, path: Path | str) -> "ScriptedModel":
        """Read a JSON list of answers; an object with `when` and `answer` is a rule."""
        try:
            entries = json.loads(Path(path).read_text(encoding="utf-8"))
        except OSError as error:
            raise UsageError(
                f"cannot read the script {path}: {error.strerror}", remedy="name a file that can be read: scripted:FILE"
            ) from None
        except ValueError as error:
            raise UsageError(f"the script {path} is not JSON: {error}", remedy="give a JSON list of answers") from None
        if not isinstance(entries, list):
            raise UsageError(f"the script {path} is not a JSON list", remedy="give a JSON list of answers")
        return cls([_parse_entry(entry) for entry in entries], name=f"scripted:{Path(path).name}")

    async def complete(self, request: ModelRequest, on_text: OnText | None = None) -> ModelReply:
        self.requests.append(request)
        answer = self._next(request)
        if callable(answer):
            answer = answer(request)
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, AssistantTurn) or is_conversation(request):
            return await self._turn(request, answer, Live.of(on_text))
        text = answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
        await _stream(Live.of(on_text), text)
        usage = Usage(prompt_tokens=_prompt_tokens(request), output_tokens=len(text) // 4 + 1)
        return ModelReply(text=text, usage=usage, model=self.name, constrained=request.output_schema is not None)

    async def _turn(self, request: ModelRequest, answer: Any, live: Live) -> ModelReply:
        turn = _as_turn(answer)
        pieces: list[Piece] = [
            RawCall(part.id, part.name, part.raw or json.dumps(part.arguments, ensure_ascii=False), part.extra)
            if isinstance(part, ToolCall)
            else part
            for part in turn.parts
        ]
        calls = [piece for piece in pieces if isinstance(piece, RawCall)]
        await _stream(live, turn.content, calls, answer.get("seconds", 0.0) if isinstance(answer, dict) else 0.0)
        written = len(turn.content) + sum(len(call.arguments) for call in calls)
        usage = Usage(prompt_tokens=_prompt_tokens(request), output_tokens=written // 4 + 1)
        read = build_turn(request, pieces, protocol=turn.protocol, model=turn.model or self.name, truncated=False)
        return with_turn(ModelReply(text="", usage=usage, model=self.name), read)

    def _next(self, request: ModelRequest) -> Answer:
        for rule in self._rules:
            if rule.matches(request):
                if rule.times is not None:
                    rule.times -= 1
                return rule.answer
        if self._answers:
            return self._answers.pop(0)
        prompt_end = request.messages[-1].content[-400:]
        raise ModelError(
            f"the script has no answer for call {len(self.requests)}; the prompt ends with:\n{prompt_end}",
            remedy="add an answer, or a rule for this prompt",
        )

    async def aclose(self) -> None:
        pass


async def _stream(live: Live, text: str, calls: Sequence[RawCall] = (), seconds: float = 0.0) -> None:
    """Stream an answer in pieces, evenly over `seconds`."""
    size = PIECE if not seconds else 8
    pieces: list[Callable[[], None]] = [partial(live.text, part) for part in _parts(text, size)]
    for index, call in enumerate(calls):
        pieces += [partial(live.call, index, call.name, part) for part in _parts(call.arguments, size) or [""]]
    for piece in pieces:
        piece()
        if seconds:
            await asyncio.sleep(seconds / len(pieces))


def _parts(text: str, size: int) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]


def _prompt_tokens(request: ModelRequest) -> int:
    return sum(len(message.content) for message in request.messages) // 4 + 1


def _as_turn(answer: Any) -> AssistantTurn:
    if isinstance(answer, AssistantTurn):
        return answer
    if isinstance(answer, dict) and "calls" in answer and answer.keys() <= {"calls", "text", "seconds"}:
        return calling(*((name, arguments) for name, arguments in answer["calls"]), text=answer.get("text", ""))
    text = answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
    return AssistantTurn(parts=(TextPart(text=text),))
