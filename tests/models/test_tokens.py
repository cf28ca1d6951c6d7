"""How long a request is, as a server that counts is asked."""

import pytest

from surefoot.models.base import ModelRequest, ModelTraits
from surefoot.models.items import AssistantTurn, Message, ReasoningPart, TextPart, ToolCall
from surefoot.models.tokens import TokenMeter


class Counting:
    """A model whose server counts the characters of a text."""

    name = "counting"
    traits = ModelTraits(context_tokens=100)

    async def count_tokens(self, text: str) -> int:
        self.text = text
        return len(text)


@pytest.mark.parametrize("calls", [0, 1, 3])
async def test_reasoning_is_counted_once(calls: int) -> None:
    parts = [ToolCall(id=f"c{n}", name="read_file", arguments={"path": f"file{n}"}) for n in range(calls)]
    turn = AssistantTurn(parts=(ReasoningPart(text="because of it", data={}), TextPart(text="so"), *parts), model="m")
    model = Counting()
    await TokenMeter(model).size(ModelRequest(messages=(Message(role="user", content="x" * 900), turn)))  # type: ignore[arg-type]
    assert model.text.count("because of it") == 1
    assert all(f"file{n}" in model.text for n in range(calls))
