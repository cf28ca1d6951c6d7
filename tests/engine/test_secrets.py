"""What a model is shown has no secrets in it, and what it writes back does not put placeholders in their place."""

import pytest

from kit import Bench, act, fenced, steps, understanding
from surefoot import events as e
from surefoot.machine import StepStatus
from surefoot.plan import ExecutionStep, StepType, TextCheck

TOKEN = "ghp_" + "a1B2c3D4e5" * 4
STEP = ExecutionStep(
    id="s", name="set debug", description="set debug in settings.py", step_type=StepType.COMMAND_EXECUTION,
    checks=(TextCheck(path="settings.py", pattern="debug = True"),),
)  # fmt: skip


@pytest.mark.req("P12")
async def test_a_prompt_shows_files_without_their_secrets(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SERVICE_PASSWORD", "correct-horse-battery")
    bench.write(settings__py=f'token = "{TOKEN}"\npassword = "correct-horse-battery"\ndebug = False\n')
    await bench.run("Look at settings.py", [understanding("settings.py"), fenced("x")] * 3, approve="never")
    (prompt, *_) = bench.prompts()
    assert "debug = False" in prompt
    assert not [p for p in bench.prompts() if TOKEN in p or "correct-horse-battery" in p]


@pytest.mark.req("P12")
async def test_placeholders_are_not_written_over_secrets(bench: Bench) -> None:
    before = f'token = "{TOKEN}"\ndebug = False\n'
    bench.write(settings__py=before)
    body = 'token = "[redacted github token]"\ndebug = True\n'
    whole = act("write_file", path="settings.py", content=body)
    edits = act("edit_file", path="settings.py", search="debug = False", replace="debug = True")
    state = await bench.run_plan(steps(STEP), [whole, edits])
    assert state.steps["s"].status is StepStatus.SUCCEEDED
    refused = bench.events(e.ActionFinished)[0]
    assert not refused.ok
    assert "secrets in it that you were not shown" in refused.summary
    assert bench.files() == {"settings.py": before.replace("False", "True")}


async def test_the_word_itself_may_be_written(bench: Bench) -> None:
    bench.write(settings__py="debug = False\n")
    whole = act("write_file", path="settings.py", content='hidden = "[redacted]"\ndebug = True\n')
    state = await bench.run_plan(steps(STEP), [whole])
    assert state.steps["s"].status is StepStatus.SUCCEEDED
