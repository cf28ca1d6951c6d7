"""A model that answers by script: for tests of the engine, and of programs that use it. Never a proof that something
works with real models."""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from surefoot.errors import ModelError, UsageError
from surefoot.models.base import ModelReply, ModelRequest, ModelTraits, OnText, Usage

Answer = str | dict[str, Any] | list[Any] | Exception | Callable[[ModelRequest], Any]
When = str | re.Pattern[str] | Callable[[ModelRequest], bool]


@dataclass
class Rule:
    """`when` is looked for in the messages; `answer` may be text, something to write as JSON, an exception to
    raise, or a function of the request. `times` limits how often the rule answers."""

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


def _entry(entry: Any) -> Rule | Answer:
    is_rule = isinstance(entry, dict) and {"when", "answer"} <= entry.keys() <= {"when", "answer", "times"}
    return Rule(**entry) if is_rule else entry


class ScriptedModel:
    """Takes the first rule that matches; with none, the next answer of the list.

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
        self.traits = traits or ModelTraits(inline_bodies=False)
        self.requests: list[ModelRequest] = []
        # Copies: a rule counts down how often it may answer, and the caller may want to use it again.
        self._rules = [replace(entry) for entry in script if isinstance(entry, Rule)]
        self._answers = [entry for entry in script if not isinstance(entry, Rule)]

    @classmethod
    def from_file(cls, path: Path | str) -> "ScriptedModel":
        """A JSON list of answers; an object with `when` and `answer` is a rule."""
        try:
            entries = json.loads(Path(path).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise UsageError(f"cannot read the script {path}: {error}", remedy="give a JSON list of answers") from None
        if not isinstance(entries, list):
            raise UsageError(f"the script {path} is not a JSON list", remedy="give a JSON list of answers")
        return cls([_entry(e) for e in entries], name=f"scripted:{Path(path).name}")

    async def complete(self, request: ModelRequest, on_text: OnText | None = None) -> ModelReply:
        self.requests.append(request)
        answer = self._next(request)
        if callable(answer):
            answer = answer(request)
        if isinstance(answer, Exception):
            raise answer
        text = answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
        if on_text is not None:
            for start in range(0, len(text), 64):
                on_text(text[start : start + 64])
        prompt = sum(len(message.content) for message in request.messages)
        usage = Usage(prompt_tokens=prompt // 4 + 1, output_tokens=len(text) // 4 + 1)
        return ModelReply(text=text, usage=usage, model=self.name, constrained=request.output_schema is not None)

    def _next(self, request: ModelRequest) -> Answer:
        for rule in self._rules:
            if rule.matches(request):
                if rule.times is not None:
                    rule.times -= 1
                return rule.answer
        if self._answers:
            return self._answers.pop(0)
        end = request.messages[-1].content[-400:]
        raise ModelError(
            f"the script has no answer for call {len(self.requests)}; the prompt ends with:\n{end}",
            remedy="add an answer, or a rule for this prompt",
        )

    async def aclose(self) -> None:
        pass
