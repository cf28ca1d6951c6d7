"""How many functions of Surefoot are on the stack when the model is asked, from the command line on."""

import traceback
from pathlib import Path
from typing import Any

import pytest

import surefoot
from support.talk import TalkingModel, submit
from surefoot.cli import app
from surefoot.cli.session import foreground

MAX_FRAMES = 12
SOURCE = Path(surefoot.__file__).parent


class Asked(TalkingModel):
    """Notes the stack of each call."""

    def __init__(self, script: list[Any]) -> None:
        super().__init__(script)
        self.stacks: list[list[str]] = []

    async def complete(self, request: Any, on_text: Any = None) -> Any:
        frames = [frame for frame in traceback.extract_stack() if Path(frame.filename).is_relative_to(SOURCE)]
        self.stacks.append([f"{Path(frame.filename).relative_to(SOURCE)} {frame.name}" for frame in frames])
        return await super().complete(request, on_text)

    async def aclose(self) -> None:
        pass


def test_few_functions_are_between_the_command_line_and_the_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write = ("write_file", {"path": "a.txt", "content": "a\n"})
    model = Asked([submit(), [write], [("finish_step", {"summary": "written"})]])

    async def choose(prepared: Any) -> Any:
        return model

    monkeypatch.setenv("SUREFOOT_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(foreground, "_choose_model", choose)
    (tmp_path / "work").mkdir()
    words = ["run", "Write a.txt.", "--check", "grep -q a a.txt", "-C", str(tmp_path / "work"), "--approve", "auto"]
    assert app.cli.main(words, prog_name="surefoot", standalone_mode=False) == 0, capsys.readouterr().err
    survey, *steps = model.stacks
    assert survey[0] == steps[0][0] == "cli/commands/run.py run"
    for stack in model.stacks:
        assert len(stack) <= MAX_FRAMES, "\n".join(stack)
