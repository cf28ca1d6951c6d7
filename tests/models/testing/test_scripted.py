import re
from pathlib import Path

import pytest

from surefoot.errors import ModelError, ModelUnavailable, UsageError
from surefoot.models.base import Live, Message, ModelRequest
from surefoot.models.items import ToolResultMessage, ToolSpec
from surefoot.models.testing.scripted import Rule, ScriptedModel, calling


def request_for(text: str) -> ModelRequest:
    return ModelRequest(messages=(Message(role="user", content=text),))


async def test_rules_take_precedence_over_the_list_of_answers() -> None:
    model = ScriptedModel(
        [
            "one",
            Rule("weather", "rain", times=1),
            Rule(re.compile(r"\d+"), lambda request: f"{len(request.messages)} message"),
            Rule(lambda request: "boom" in request.messages[0].content, ModelUnavailable("boom")),
            {"two": 2},
        ]
    )
    prompts = ["hello", "weather?", "weather?", "room 101"]
    assert [(await model.complete(request_for(q))).text for q in prompts] == ["one", "rain", '{"two": 2}', "1 message"]
    with pytest.raises(ModelUnavailable):
        await model.complete(request_for("boom"))
    assert len(model.requests) == 5


async def test_a_missing_answer_shows_the_prompt() -> None:
    with pytest.raises(ModelError, match="ends with:\nwhat now"):
        await ScriptedModel([]).complete(request_for("what now"))


async def test_a_rule_can_be_used_by_several_models() -> None:
    rule = Rule("x", "y", times=1)
    for _ in range(2):
        assert (await ScriptedModel([rule]).complete(request_for("x"))).text == "y"


async def test_answers_are_streamed() -> None:
    pieces: list[str] = []
    reply = await ScriptedModel(["long " * 100]).complete(request_for("x"), pieces.append)
    assert len(pieces) > 1
    assert "".join(pieces) == reply.text


async def test_a_script_can_be_read_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "script.json"
    path.write_text('[{"when": "x", "answer": "for x"}, {"decision": "done"}]')
    model = ScriptedModel.from_file(path)
    assert (await model.complete(request_for("y"))).text == '{"decision": "done"}'
    assert (await model.complete(request_for("x"))).text == "for x"
    path.write_text("{}")
    with pytest.raises(UsageError, match="not a JSON list"):
        ScriptedModel.from_file(path)


LOOK = ToolSpec(
    name="read_file",
    description="Reads.",
    parameters={"type": "object", "properties": {"path": {"type": "string"}, "start": {"type": "integer"}}},
)


@pytest.mark.req("X11")
async def test_scripted_calls_are_read_like_those_of_a_server(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text(
        '[{"text": "I look.", "calls": [["read_file", {"path": "a", "start": "3"}], ["fly", {}]]}, "Done."]'
    )
    written: list[tuple[int, str, str]] = []
    for model in (
        ScriptedModel([calling(("read_file", {"path": "a", "start": "3"}), ("fly", {}), text="I look."), "Done."]),
        ScriptedModel.from_file(script),
    ):
        question = Message(role="user", content="Fix it.")
        reply = await model.complete(
            ModelRequest(messages=(question,), tools=(LOOK,)), Live(call=lambda *call: written.append(call))
        )
        assert (reply.text, reply.finish_reason) == ("I look.", "tool_calls")
        assert [call.arguments for call in reply.calls] == [{"path": "a", "start": 3}, {}]
        assert "no tool 'fly'" in reply.calls[1].problem
        assert len({call.id for call in reply.calls}) == 2
        results = [ToolResultMessage(call_id=call.id, text="x") for call in reply.calls]
        request = ModelRequest(messages=(question, reply.as_turn(), *results), tools=(LOOK,))
        last = await model.complete(request)
        assert (last.text, last.calls, last.finish_reason) == ("Done.", (), "stop")
    assert [name for _, name, _ in written] == ["read_file", "fly"] * 2
