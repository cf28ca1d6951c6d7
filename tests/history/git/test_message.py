"""The title of a commit and of a pull request."""

import pytest

from support import recorded
from surefoot.core.transitions import StepStatus
from surefoot.engine.planner.normalize import WHOLE_TASK
from surefoot.history.git.message import SUBJECT, account_of, message_of, title_of
from surefoot.journal import events as e
from surefoot.journal.reducers import fold

LONG = "The shop reports that the desk lamp costs 19.99 but is listed with 19.98, and a test fails. Find out why."


@pytest.mark.parametrize(
    ("task", "name", "title"),
    [
        ("Fix the rounding. It is wrong.", "Convert prices exactly", "Fix the rounding"),
        (LONG, "Convert prices exactly", "Convert prices exactly"),
        (LONG, WHOLE_TASK, "The shop reports that the desk lamp costs 19.99 but is listed with…"),
    ],
)
def test_a_long_task_is_named_after_its_one_step(task: str, name: str, title: str) -> None:
    state = fold(recorded.whole_run())
    assert state.task is not None
    step_id, step_run = next(iter(state.steps.items()))
    step_run.step, step_run.status = step_run.step.with_(name=name), StepStatus.SUCCEEDED
    state.steps, state.task, state.understanding = {step_id: step_run}, state.task.with_(text=task), None
    assert title_of(state) == title
    assert len(title) <= SUBJECT


def test_the_message_lists_the_steps_with_what_was_said_of_them() -> None:
    state = fold(recorded.whole_run())
    first, second = list(state.steps)[:2]
    for step_run in state.steps.values():
        step_run.status = StepStatus.SUCCEEDED
    thoughts = {first: "Read it.\nThen " + "counted " * 100, second: "Done."}
    done = [e.Decided(step_id=step_id, decision="done", thought=text) for step_id, text in thoughts.items()]
    text = message_of(state, account_of(state, recorded.records(done), lambda text: text))
    rows = text.partition("Done:\n")[2].partition("\n\n")[0].split("\n- ")
    assert rows[0].replace("\n ", "").startswith(f"- {state.step(first).name}: Read it. Then counted counted")
    assert len(rows[0]) < 600
    assert rows[0].endswith("…")
    assert rows[1] == state.step(second).name
    hidden = account_of(state, recorded.records(done), lambda text: text.replace("counted", "[hidden]"))
    assert "count" not in hidden.steps[first], "secrets are removed before anything is cut"
    assert all(len(line) <= 72 for line in text.splitlines())
