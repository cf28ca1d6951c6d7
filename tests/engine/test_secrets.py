"""Prompts contain no secrets, and placeholders for secrets are not written back to files."""

import pytest

from support.kit import Bench, act, fenced, steps, understanding
from support.talk import submit
from surefoot.core.plan import ExecutionStep, StepType, TextCheck
from surefoot.core.transitions import StepStatus
from surefoot.engine.runtime.services import Services
from surefoot.journal import events as e
from surefoot.journal.redact import Redactor
from surefoot.models.providers.openai_compatible import OpenAICompatible
from surefoot.tools.context import ToolContext

TOKEN = "ghp_" + "a1B2c3D4e5" * 4
STEP = ExecutionStep(
    id="s", name="set debug", description="set debug in settings.py", step_type=StepType.COMMAND_EXECUTION,
    checks=(TextCheck(path="settings.py", pattern="debug = True"),),
)  # fmt: skip


async def test_prompts_show_files_without_secrets(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SERVICE_PASSWORD", "correct-horse-battery")
    bench.write(settings__py=f'token = "{TOKEN}"\npassword = "correct-horse-battery"\ndebug = False\n')
    await bench.run("Look at settings.py", [understanding("settings.py"), fenced("x")] * 3, approve="never")
    (prompt, *_) = bench.prompts()
    assert "debug = False" in prompt
    assert not [p for p in bench.prompts() if TOKEN in p or "correct-horse-battery" in p]


async def test_placeholders_are_not_written_over_secrets(bench: Bench) -> None:
    before = f'token = "{TOKEN}"\ndebug = False\n'
    bench.write(settings__py=before)
    body = 'token = "[redacted github token]"\ndebug = True\n'
    write = act("write_file", path="settings.py", content=body)
    edit = act("edit_file", path="settings.py", search="debug = False", replace="debug = True")
    state = await bench.run_plan(steps(STEP), [write, edit])
    assert state.steps["s"].status is StepStatus.SUCCEEDED
    first_action = bench.events(e.ActionFinished)[0]
    assert not first_action.ok
    assert "secrets in it that you were not shown" in first_action.summary
    assert bench.files() == {"settings.py": before.replace("False", "True")}


async def test_placeholder_text_may_be_written_where_no_secret_is(bench: Bench) -> None:
    bench.write(settings__py="debug = False\n")
    write = act("write_file", path="settings.py", content='hidden = "[redacted]"\ndebug = True\n')
    state = await bench.run_plan(steps(STEP), [write])
    assert state.steps["s"].status is StepStatus.SUCCEEDED


@pytest.mark.attack("leak by output")
async def test_the_key_of_the_model_in_use_is_a_secret(bench: Bench) -> None:
    """Also one that is in no variable, but in a file of settings."""
    key = "the-key-of-the-model-7Qz"
    model = OpenAICompatible("http://127.0.0.1:9/v1", "m", key)
    redactor = Services(bench.journal, model, bench.home).redactor
    assert redactor.redact(f"refused: {key}") == "refused: [redacted]"


@pytest.mark.attack("leak by output")
async def test_an_answer_with_a_secret_is_stored_without_it(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model may know a secret from elsewhere, or guess it."""
    password = "correct-horse-battery-9Xq"
    monkeypatch.setenv("SERVICE_PASSWORD", password)
    bench.write(settings__py="debug = False\n")
    write = act("write_file", path="settings.py", content=f'password = "{password}"\ndebug = True\n')
    await bench.run_plan(steps(STEP), [write])
    answers = [bench.journal.get_blob(event.answer).decode() for event in bench.events(e.ModelAnswered)]
    assert any("[redacted]" in answer for answer in answers)
    assert not [answer for answer in answers if password in answer]


@pytest.mark.attack("leak by output")
def test_no_half_of_a_secret_is_left_where_an_output_is_cut(bench: Bench) -> None:
    redactor = Redactor({"SERVICE_PASSWORD": "correct-horse-battery-9Xq"})
    for truncate_middle in (False, True):
        context = ToolContext(
            bench.root, redact=redactor.redact, summary_chars=200, action_id="a1", truncate_middle=truncate_middle
        )
        for before in range(0, 400, 7):
            output = "x" * before + " correct-horse-battery-9Xq " + "y" * 2_000
            shown = context.summary(output) + context.summary(output[::-1].replace("qX9-yrettab-esroh-tcerroc", "z"))
            assert "correct-horse" not in shown
            assert "battery-9Xq" not in shown


async def test_conversation_contains_no_secrets(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the results of calls, nor what is streamed or kept for people."""
    password = "correct-horse-battery-9Xq"
    monkeypatch.setenv("SERVICE_PASSWORD", password)
    bench.write(settings__py=f'token = "{TOKEN}"\npassword = "{password}"\ndebug = False\n')
    show = ("run_command", {"command": "cat settings.py"})
    edit = ("edit_file", {"path": "settings.py", "search": "debug = False", "replace": "debug = True"})
    turns = [[("read_file", {"path": "settings.py"})], submit(), [show], [edit, ("finish_step", {"summary": "done"})]]
    await bench.talk("Set debug in settings.py.", turns, checks=["cat settings.py; grep -q 'debug = True' settings.py"])
    assert "debug = True" in bench.files()["settings.py"]
    sent = "".join(request.model_dump_json() for request in bench.talker.requests)
    assert "[redacted github token]" in sent
    everything = sent + "".join(bench.streamed) + "".join(map(repr, bench.records))
    assert [secret for secret in (TOKEN, password) if secret in everything] == []


@pytest.mark.attack("leak by output")
async def test_live_output_of_a_command_is_redacted(bench: Bench) -> None:
    step = ExecutionStep(id="s", name="s", tool="run_command", parameters={"command": f"echo before {TOKEN} after"})
    await bench.run_plan(steps(step))
    shown = "".join(bench.streamed)
    assert "before" in shown
    assert "after" in shown
    assert TOKEN not in shown
