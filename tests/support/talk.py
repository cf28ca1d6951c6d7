"""A scripted model that calls tools, for tests of conversations. It refuses requests that no server would take."""

from collections.abc import Callable, Sequence
from typing import Any

from surefoot.models.base import ModelReply, ModelRequest, ModelTraits, OnText, Usage
from surefoot.models.items import AssistantTurn, TextPart, ToolCall, ToolResultMessage

Call = tuple[str, dict[str, Any]]
Script = str | list[Call] | Exception | Callable[[ModelRequest], Any]
CALC_TEST = """import unittest
from calc import add

class Add(unittest.TestCase):
    def test_adds(self):
        self.assertEqual(add(1, 2), 3)

if __name__ == "__main__":
    unittest.main()
"""
"""A test of a module `calc`. It uses unittest, which starts faster than pytest."""
AS_WRITTEN = "the task as it is written"
"""As the understanding of a submission: it becomes the words of the task, so that it passes its gate."""
TALKING = ModelTraits(tools="native", context_tokens=200_000)


class TalkingModel:
    """Answers with the next turn of the script: a text, or calls as pairs of a name and arguments."""

    name = "talking"

    def __init__(self, script: Sequence[Script], traits: ModelTraits = TALKING) -> None:
        self.traits = traits
        self.requests: list[ModelRequest] = []
        self._script = list(script)

    @property
    def left(self) -> int:
        """How many turns of the script are left."""
        return len(self._script)

    async def complete(self, request: ModelRequest, on_text: OnText | None = None) -> ModelReply:
        assert_valid(request)
        self.requests.append(request)
        assert self._script, f"nothing left to answer to:\n{request.messages[-1].content}"
        turn = self._script.pop(0)
        if callable(turn):
            turn = turn(request)
        if isinstance(turn, Exception):
            raise turn
        parts: list[Any] = []
        if isinstance(turn, str):
            parts = [TextPart(text=turn)]
        else:
            number = sum(len(item.calls) for item in request.messages if isinstance(item, AssistantTurn))
            for position, (name, arguments) in enumerate(turn, 1):
                if arguments.get("understanding") == AS_WRITTEN:
                    arguments = {**arguments, "understanding": task_in(request)}
                parts.append(ToolCall(id=f"call_{number + position}", name=name, arguments=arguments))
        answer = AssistantTurn(parts=tuple(parts), model=self.name)
        size = request_chars(request) // 4
        return ModelReply(
            text=answer.content,
            finish_reason="tool_calls" if answer.calls else "stop",
            usage=Usage(prompt_tokens=size, output_tokens=10),
            model=self.name,
            turn=answer,
        )

    async def aclose(self) -> None:
        pass


def request_chars(request: ModelRequest) -> int:
    turns = [item for item in request.messages if isinstance(item, AssistantTurn)]
    calls = sum(len(str(call.arguments)) for turn in turns for call in turn.calls)
    return calls + sum(len(item.content) for item in request.messages)


def assert_valid(request: ModelRequest) -> None:
    """Every call has exactly one result, right after the turn that made it and in its order."""
    items = list(request.messages)
    assert items[0].role == "system"
    position = 0
    while position < len(items):
        item = items[position]
        position += 1
        assert not isinstance(item, ToolResultMessage), "a result without its call"
        for call in item.calls if isinstance(item, AssistantTurn) else ():
            assert position < len(items), f"no result for {call.name}"
            result = items[position]
            assert isinstance(result, ToolResultMessage), f"no result for {call.name}"
            assert result.call_id == call.id, f"the result of another call in place of that of {call.name}"
            position += 1
    assert not isinstance(items[-1], AssistantTurn), "nothing new since the model's last turn"


def results(request: ModelRequest) -> list[str]:
    """The results that are new in a request."""
    found: list[str] = []
    for item in reversed(request.messages):
        if isinstance(item, AssistantTurn):
            break
        if isinstance(item, ToolResultMessage):
            found.append(item.text)
    return found[::-1]


def task_in(request: ModelRequest) -> str:
    """The words of the task, from the opening of a conversation."""
    return request.messages[1].content.split("# Task\n", 1)[-1].split("\n#", 1)[0].strip()


def submit(*steps: dict[str, Any], **understanding: Any) -> list[Call]:
    """Submit understanding, approach and plan in one turn."""
    return [
        (
            "submit_understanding",
            {
                "understanding": AS_WRITTEN,
                "requirements": ["the task is done"],
                "complexity": "moderate",
                **understanding,
            },
        ),
        (
            "submit_approach",
            {"approach": "edit it", "expected_outcomes": ["it works"], "alternatives": [{"name": "rewrite it"}]},
        ),
        ("submit_plan", {"steps": list(steps) or [{"name": "Do it", "description": "Do the task."}]}),
    ]
