"""How many functions of Surefoot are on the stack when the model is asked, from the command line on."""

import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import surefoot
from support.kit import SMALL, act, fenced, understanding
from support.talk import TalkingModel, submit
from surefoot.cli import main as command_line
from surefoot.cli.session import foreground
from surefoot.models.base import ModelRequest, ModelTraits
from surefoot.models.testing.scripted import ScriptedModel
from surefoot.prompting.choose import strategy_name

MAX_FRAMES = 12
MAX_FRAMES_AFTER_A_FAILURE = 13
"""In a conversation after a failure: a repair asks in the conversation of the attempt that failed, and a candidate is a
conversation inside the choice of a candidate. Both ask through `Room`, which makes room in the model's window."""
SOURCE = Path(surefoot.__file__).parent
TASK = "Write a.txt."
CHECK = "grep -q a a.txt"
Stack = list[str]


def stack() -> Stack:
    """The functions of Surefoot on the stack. Functions of asyncio and click do not count."""
    frames = [frame for frame in traceback.extract_stack() if Path(frame.filename).is_relative_to(SOURCE)]
    return [f"{Path(frame.filename).relative_to(SOURCE)} {frame.name}" for frame in frames]


class Talking(TalkingModel):
    """Notes the stack of each call."""

    def __init__(self, script: list[Any]) -> None:
        super().__init__(script)
        self.stacks: list[Stack] = []

    async def complete(self, request: Any, on_text: Any = None) -> Any:
        self.stacks.append(stack())
        return await super().complete(request, on_text)


class Scripted(ScriptedModel):
    """Notes the stack of each call."""

    def __init__(self, script: list[Any], traits: ModelTraits) -> None:
        super().__init__(script, traits=traits)
        self.stacks: list[Stack] = []

    async def complete(self, request: Any, on_text: Any = None) -> Any:
        self.stacks.append(stack())
        return await super().complete(request, on_text)

    async def aclose(self) -> None:
        pass


Asked = Talking | Scripted
Run = Callable[..., None]
ONE_FILE = {**understanding("a.txt"), "understanding": TASK}
NO_FILE = {**understanding(), "understanding": TASK}
WRITE_A, WRITE_B, WRITE_C = (("write_file", {"path": "a.txt", "content": f"{letter}\n"}) for letter in "abc")
FINISH = ("finish_step", {"summary": "written"})


def file(text: str) -> str:
    return f"a.txt\n{fenced(text, 'text')}"


@pytest.fixture
def run_from_main(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    def run(model: Asked, **variables: str) -> None:
        async def choose(prepared: Any) -> Asked:
            return model

        work = tmp_path / "work"
        work.mkdir()
        for name, value in {**variables, "SUREFOOT_HOME": str(tmp_path / "home")}.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(foreground, "_choose_model", choose)
        words = ["surefoot", "run", TASK, "--check", CHECK, "-C", str(work), "--approve", "auto"]
        monkeypatch.setattr(sys, "argv", words)
        codes: list[int] = []
        # It would end the process of the tests, if another test has loaded Temporal's library.
        monkeypatch.setattr(command_line, "_end", codes.append)
        command_line.main()
        assert codes == [0], capsys.readouterr().err

    return run


def longest(model: Asked, *functions: str) -> int:
    """The most frames of a call to the model. One of the calls goes through each of these functions."""
    for stack in model.stacks:
        assert stack[:2] == ["cli/main.py main", "cli/commands/run.py run"]
    ways = "\n\n".join("\n".join(stack) for stack in model.stacks)
    for function in functions:
        assert function in ways
    return max(map(len, model.stacks))


def test_conversation(run_from_main: Run) -> None:
    model = Talking([submit(), [WRITE_B], [FINISH], [WRITE_A], [FINISH]])
    assert strategy_name(model.traits) == "conversation"
    run_from_main(model)
    assert longest(model, "planner/understand.py understand", "executor/conversation.py converse") <= MAX_FRAMES


@pytest.mark.parametrize(
    ("candidates", "right", "function"),
    [("2", "# Candidate 2", "branches.py try_branch"), ("1", "Write an a.", "recover.py repair_step")],
)
def test_conversation_after_a_failure(run_from_main: Run, candidates: str, right: str, function: str) -> None:
    """An attempt fails, then the second candidate or the repaired step is right."""

    def answer(request: ModelRequest) -> Any:
        newest = next(item.content for item in reversed(request.messages) if item.role == "user")
        if "differently: call change_steps" in newest:
            return [("change_steps", {"steps": [{"step": "s1", "description": "Write an a."}]})]
        if "# Step " not in newest:
            return submit()
        return [WRITE_A if right in newest else WRITE_B, FINISH]

    model = Talking([answer] * 30)
    run_from_main(model, SUREFOOT_REFLECTION__CANDIDATES=candidates)
    assert longest(model, function) <= MAX_FRAMES_AFTER_A_FAILURE


@pytest.mark.parametrize(
    ("answers", "function"),
    [
        ([ONE_FILE, file("b"), file("a")], "json_actions/file_body.py ask_for_file"),
        ([NO_FILE, act("write_file", path="a.txt"), file("a")], "json_actions/strategy.py decide"),
    ],
)
def test_json_actions(run_from_main: Run, answers: list[Any], function: str) -> None:
    model = Scripted(answers, ModelTraits(inline_bodies=False))
    assert strategy_name(model.traits) == "json_actions"
    run_from_main(model)
    assert longest(model, function) <= MAX_FRAMES


def test_small(run_from_main: Run) -> None:
    model = Scripted([file("b"), file("c"), file("a")], SMALL)
    assert strategy_name(model.traits) == "small"
    run_from_main(model)
    assert longest(model, "executor/loop.py act", "reflector/candidates.py choose_candidate") <= MAX_FRAMES
