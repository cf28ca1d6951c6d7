import json
from pathlib import Path

import pytest

from surefoot.errors import CassetteMiss, UsageError
from surefoot.models.base import Message, ModelReply, ModelRequest, ModelTraits, Usage
from surefoot.models.items import Item, ToolResultMessage, ToolSpec
from surefoot.models.testing.cassette import RecordingModel, ReplayModel
from surefoot.models.testing.scripted import ScriptedModel, calling


def request_for(text: str, temperature: float = 0.0) -> ModelRequest:
    return ModelRequest(messages=(Message(role="user", content=text),), temperature=temperature)


async def record(path: Path, *exchanges: tuple[str, str]) -> list[ModelReply]:
    model = RecordingModel(ScriptedModel([a for _, a in exchanges], traits=ModelTraits(small=True)), path)
    return [await model.complete(request_for(q)) for q, _ in exchanges]


@pytest.mark.req("X4")
async def test_a_recording_is_replayed_exactly(tmp_path: Path) -> None:
    path = tmp_path / "a.cassette"
    answers = await record(path, ("one?", "1"), ("two?", "zwei \u2028 \x85 二\n"), ("one?", "again 1"))
    replay = ReplayModel(path)
    assert [await replay.complete(request_for(q)) for q in ("one?", "two?", "one?")] == answers
    assert replay.traits.small
    assert replay.name == "scripted"
    assert answers[0].usage == Usage(prompt_tokens=2, output_tokens=1)


@pytest.mark.req("X4")
async def test_a_request_that_was_not_recorded_fails_with_the_difference(tmp_path: Path) -> None:
    path = tmp_path / "a.cassette"
    await record(path, ("The same\nthe colour is red", "ok"))
    with pytest.raises(CassetteMiss, match="requested 'the colour is blue', recorded 'the colour is red'"):
        await ReplayModel(path).complete(request_for("The same\nthe colour is blue"))
    with pytest.raises(CassetteMiss, match="other settings"):
        await ReplayModel(path).complete(request_for("The same\nthe colour is red", temperature=0.5))
    replay = ReplayModel(path)
    await replay.complete(request_for("The same\nthe colour is red"))
    with pytest.raises(CassetteMiss, match="fewer times"):
        await replay.complete(request_for("The same\nthe colour is red"))


async def test_a_fallback_is_used_once_per_request(tmp_path: Path) -> None:
    path = tmp_path / "a.cassette"
    first = ReplayModel(path, fallback=ScriptedModel(["fresh"]))
    assert (await first.complete(request_for("new?"))).text == "fresh"
    second = ReplayModel(path, fallback=ScriptedModel([]))
    assert (await second.complete(request_for("new?"))).text == "fresh"
    assert (first.misses, second.misses) == (1, 0)


async def test_an_incomplete_last_line_is_removed(tmp_path: Path) -> None:
    path = tmp_path / "a.cassette"
    await record(path, ("one?", "1"))
    with path.open("a") as file:
        file.write('{"key": "torn')
    assert (await ReplayModel(path).complete(request_for("one?"))).text == "1"
    await record(path, ("two?", "2"))
    replay = ReplayModel(path)
    assert [(await replay.complete(request_for(q))).text for q in ("one?", "two?")] == ["1", "2"]


async def test_secrets_are_not_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "very-secret-value-42")
    path = tmp_path / "a.cassette"
    await record(path, ("say very-secret-value-42", "very-secret-value-42 it is"))
    assert "very-secret-value-42" not in path.read_text()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "not a cassette"),
        ("hello\n", "not JSON"),
        (json.dumps({"surefoot_cassette": 99}) + "\n", "not a cassette of format"),
        (json.dumps({"surefoot_cassette": 1}) + '\n{"x": 1}\n', "line 2 is not an exchange"),
    ],
)
def test_an_invalid_cassette_is_refused(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "a.cassette"
    path.write_text(content)
    with pytest.raises(UsageError, match=message):
        ReplayModel(path)


def test_a_missing_cassette_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no cassette"):
        ReplayModel(tmp_path / "none")


@pytest.mark.req("X11")
async def test_a_conversation_is_recorded_and_replayed(tmp_path: Path) -> None:
    path = tmp_path / "a.cassette"
    tool = ToolSpec(name="read_file", description="Reads.", parameters={"type": "object"})
    model: RecordingModel | ReplayModel = RecordingModel(
        ScriptedModel([calling(("read_file", {"path": "a"})), calling(("read_file", {"path": "b"})), "Done."]), path
    )
    talks = []
    for _ in range(2):
        items: list[Item] = [Message(role="user", content="Fix it.")]
        replies = []
        for _ in range(3):
            reply = await model.complete(ModelRequest(messages=tuple(items), tools=(tool,), temperature=None))
            replies.append(reply)
            items += [reply.as_turn(), *(ToolResultMessage(call_id=call.id, text="x") for call in reply.calls)]
        talks.append(replies)
        model = ReplayModel(path)
    assert talks[0] == talks[1]
    assert [len(reply.calls) for reply in talks[0]] == [1, 1, 0]
    other = [Message(role="user", content="Fix it."), talks[0][0].as_turn()]
    result = ToolResultMessage(call_id=talks[0][0].calls[0].id, text="y")
    with pytest.raises(CassetteMiss, match="requested 'y', recorded 'x'"):
        await ReplayModel(path).complete(ModelRequest(messages=(*other, result), tools=(tool,), temperature=None))
