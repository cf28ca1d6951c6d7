import re
from pathlib import Path

import pytest

from surefoot.errors import ModelError, ModelUnavailable, UsageError
from surefoot.models.base import Message, ModelRequest
from surefoot.models.scripted import Rule, ScriptedModel


def asking(text: str) -> ModelRequest:
    return ModelRequest(messages=(Message(role="user", content=text),))


async def test_answers_come_in_order_and_rules_first() -> None:
    model = ScriptedModel(
        [
            "one",
            Rule("weather", "rain", times=1),
            Rule(re.compile(r"\d+"), lambda request: f"{len(request.messages)} message"),
            Rule(lambda request: "boom" in request.messages[0].content, ModelUnavailable("boom")),
            {"two": 2},
        ]
    )
    asked = ["hello", "weather?", "weather?", "room 101"]
    assert [(await model.complete(asking(q))).text for q in asked] == ["one", "rain", '{"two": 2}', "1 message"]
    with pytest.raises(ModelUnavailable):
        await model.complete(asking("boom"))
    assert len(model.requests) == 5


async def test_a_script_that_has_no_answer_shows_the_prompt() -> None:
    with pytest.raises(ModelError, match="ends with:\nwhat now"):
        await ScriptedModel([]).complete(asking("what now"))


async def test_a_rule_can_be_used_by_several_models() -> None:
    rule = Rule("x", "y", times=1)
    for _ in range(2):
        assert (await ScriptedModel([rule]).complete(asking("x"))).text == "y"


async def test_it_streams_what_it_answers() -> None:
    pieces: list[str] = []
    reply = await ScriptedModel(["long " * 100]).complete(asking("x"), pieces.append)
    assert len(pieces) > 1
    assert "".join(pieces) == reply.text


async def test_a_script_can_be_a_file(tmp_path: Path) -> None:
    path = tmp_path / "script.json"
    path.write_text('[{"when": "x", "answer": "for x"}, {"decision": "done"}]')
    model = ScriptedModel.from_file(path)
    assert (await model.complete(asking("y"))).text == '{"decision": "done"}'
    assert (await model.complete(asking("x"))).text == "for x"
    path.write_text("{}")
    with pytest.raises(UsageError, match="not a JSON list"):
        ScriptedModel.from_file(path)
