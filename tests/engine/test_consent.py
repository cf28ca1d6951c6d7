"""Actions that need a person's word: bound to exactly that action, asked durably, remembered as a chosen rule."""

import pytest

from kit import Bench, act, fenced, steps
from surefoot import events as e
from surefoot.machine import Stage, StepStatus
from surefoot.plan import ExecutionStep, FileCheck, StepType, TextCheck
from surefoot.state import Question

STEP = ExecutionStep(
    id="s", name="make x.txt", description="make x.txt", step_type=StepType.COMMAND_EXECUTION,
    checks=(FileCheck(path="x.txt"),),
)  # fmt: skip
TOUCH = act("run_command", command="touch x.txt")


class Someone:
    """Answers everything the same way and remembers what was asked."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.asked: list[Question] = []

    async def answer(self, question: Question) -> str | None:
        self.asked.append(question)
        return self.answers.pop(0) if self.answers else None


@pytest.mark.req("P12", "D6")
async def test_a_command_waits_for_a_word_beyond_the_process(bench: Bench) -> None:
    state = await bench.run_plan(steps(STEP), [TOUCH], approve="ask")
    assert state.stage is Stage.WAITING
    assert not bench.events(e.ActionStarted)
    (question,) = state.open_questions
    assert "command: touch x.txt" in question.text
    assert str(bench.root) in question.text
    assert "use run_command" in question.text, "why it is wanted"
    bench.journal.send(state.run_id, {"type": "answer", "question_id": question.id, "answer": "yes", "by": "ann"})
    state = await bench.resume(state.run_id, [])
    assert state.steps["s"].status is StepStatus.SUCCEEDED
    assert state.questions[question.id].by == "ann"
    assert not bench.model.requests, "what was decided and approved is not decided anew"


@pytest.mark.req("P12", "D6")
async def test_what_the_model_asks_waits_beyond_the_process_too(bench: Bench) -> None:
    state = await bench.run_plan(steps(STEP), [act("ask_user", question="Which colour?")])
    assert state.stage is Stage.WAITING
    (question,) = state.open_questions
    bench.journal.send(state.run_id, {"type": "answer", "question_id": question.id, "answer": "blue"})
    state = await bench.resume(state.run_id, [TOUCH])
    assert state.steps["s"].status is StepStatus.SUCCEEDED
    (prompt,) = bench.prompts()
    assert "the user answered: blue" in prompt, "and it is not asked again whether to ask"


@pytest.mark.req("P12")
async def test_an_answer_is_for_exactly_what_was_asked(bench: Bench) -> None:
    state = await bench.run_plan(steps(STEP), [TOUCH], approve="ask")
    (question,) = state.open_questions
    bench.journal.send(state.run_id, {"type": "answer", "question_id": question.id, "answer": "yes"})
    other = act("run_command", command="touch y.txt")
    two = STEP.with_(checks=(FileCheck(path="x.txt"), FileCheck(path="y.txt")))
    state = await bench.run_plan(steps(two), [TOUCH, other], approve="ask")
    assert state.stage is Stage.WAITING
    (question,) = state.open_questions
    bench.journal.send(state.run_id, {"type": "answer", "question_id": question.id, "answer": "yes"})
    state = await bench.resume(state.run_id, [other])
    assert state.stage is Stage.WAITING, "another command is another question"
    assert bench.files() == {"x.txt": ""}


@pytest.mark.req("P12")
async def test_a_no_is_told_to_the_model_which_does_something_else(bench: Bench) -> None:
    person = Someone("no, write it with a tool", "yes")
    bench.person = person
    answers = [TOUCH, act("write_file", path="x.txt"), fenced("x", "text")]
    state = await bench.run_plan(steps(STEP), answers, approve="ask")
    assert state.steps["s"].status is StepStatus.SUCCEEDED
    assert "the user said no: no, write it with a tool" in bench.prompts()[1]
    assert "+x" in person.asked[1].text, "the difference is shown"
    assert not [a for a in bench.events(e.ActionStarted) if a.tool == "run_command"]


@pytest.mark.req("P12")
async def test_an_answer_is_not_for_a_file_that_has_changed_since(bench: Bench) -> None:
    (bench.root / "x.txt").write_text("one\n")
    step = STEP.with_(writes=("x.txt",), checks=(TextCheck(path="x.txt", pattern="three"),))
    write = fenced("three", "text")
    state = await bench.run_plan(steps(step), [write], approve="ask")
    (question,) = state.open_questions
    assert "-one" in question.text
    assert "+three" in question.text
    (bench.root / "x.txt").write_text("two\n")
    bench.journal.send(state.run_id, {"type": "answer", "question_id": question.id, "answer": "yes"})
    state = await bench.resume(state.run_id, [write])
    assert state.stage is Stage.WAITING
    assert "-two" in state.open_questions[0].text
    assert bench.files() == {"x.txt": "two\n"}


@pytest.mark.req("P12")
async def test_edits_are_shown_as_the_difference_they_make(bench: Bench) -> None:
    (bench.root / "x.txt").write_text("one\ntwo\n")
    step = STEP.with_(checks=(TextCheck(path="x.txt", pattern="three"),))
    edits = "<<<<<<< SEARCH\ntwo\n=======\nthree\n>>>>>>> REPLACE"
    answers = [act("edit_file", path="x.txt", edits=edits)]
    state = await bench.run_plan(steps(step), answers, approve="ask")
    (question,) = state.open_questions
    assert "-two\n+three" in question.text
    assert "SEARCH" not in question.text


@pytest.mark.req("P12")
async def test_a_rule_that_the_person_chooses_is_remembered(bench: Bench) -> None:
    person = Someone("always run_command(touch *)")
    bench.person = person
    two = STEP.with_(checks=(FileCheck(path="x.txt"), FileCheck(path="y.txt")))
    answers = [TOUCH, act("run_command", command="touch y.txt")]
    state = await bench.run_plan(steps(two), answers, approve="ask")
    assert state.steps["s"].status is StepStatus.SUCCEEDED
    assert len(person.asked) == 1
    assert "always run_command(touch *)" in person.asked[0].options


@pytest.mark.req("P12")
async def test_deny_rules_hold_whatever_the_policy(bench: Bench) -> None:
    answers = [TOUCH, act("write_file", path="x.txt"), fenced("x", "text")]
    state = await bench.run_plan(steps(STEP), answers, approve="auto", deny=("run_command(touch *)",))
    assert state.steps["s"].status is StepStatus.SUCCEEDED
    assert bench.events(e.ActionRefused)[0].reason == "the user's rules do not allow this"


@pytest.mark.req("P12")
async def test_editing_needs_no_word_with_auto_edit_and_never_asks_nothing(bench: Bench) -> None:
    write = [act("write_file", path="x.txt"), fenced("x", "text")]
    state = await bench.run_plan(steps(STEP), write, approve="auto-edit")
    assert state.steps["s"].status is StepStatus.SUCCEEDED
    (bench.root / "x.txt").unlink()
    state = await bench.run_plan(steps(STEP), [TOUCH, *write], approve="never")
    assert state.steps["s"].status is StepStatus.SUCCEEDED
    assert not bench.events(e.QuestionAsked)
