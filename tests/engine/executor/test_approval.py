"""Approval of actions: durable questions, answers bound to one action, and rules that the user chooses."""

import pytest

from support.kit import Bench, PreparedPerson, act, fenced, steps
from surefoot.core.plan import ExecutionStep, FileCheck, StepType, TextCheck
from surefoot.core.transitions import Stage, StepStatus
from surefoot.journal import events as e
from surefoot.journal.messages import AnswerMessage

STEP = ExecutionStep(
    id="s", name="make x.txt", description="make x.txt", step_type=StepType.COMMAND_EXECUTION,
    checks=(FileCheck(path="x.txt"),),
)  # fmt: skip
TOUCH = act("run_command", command="touch x.txt")


@pytest.mark.req("P12", "D6")
async def test_command_waits_for_approval_across_processes(bench: Bench) -> None:
    state = await bench.run_plan(steps(STEP), [TOUCH], approve="ask")
    assert state.stage is Stage.WAITING
    assert not bench.events(e.ActionStarted)
    (question,) = state.open_questions
    assert "command: touch x.txt" in question.text
    assert str(bench.root) in question.text
    assert "use run_command" in question.text, "the model's reason is shown"
    bench.journal.send(state.run_id, AnswerMessage(question_id=question.id, answer="yes", by="ann"))
    state = await bench.resume(state.run_id, [])
    assert state.steps["s"].status is StepStatus.SUCCEEDED
    assert state.questions[question.id].by == "ann"
    assert not bench.model.requests, "an approved action is not decided again"


@pytest.mark.req("P12", "D6")
async def test_question_of_the_model_waits_across_processes(bench: Bench) -> None:
    state = await bench.run_plan(steps(STEP), [act("ask_user", question="Which colour?")])
    assert state.stage is Stage.WAITING
    (question,) = state.open_questions
    bench.journal.send(state.run_id, AnswerMessage(question_id=question.id, answer="blue"))
    state = await bench.resume(state.run_id, [TOUCH])
    assert state.steps["s"].status is StepStatus.SUCCEEDED
    (prompt,) = bench.prompts()
    assert "the user answered: blue" in prompt, "the model is not asked for this action again"


@pytest.mark.req("P12")
async def test_approval_is_valid_for_one_action_only(bench: Bench) -> None:
    state = await bench.run_plan(steps(STEP), [TOUCH], approve="ask")
    (question,) = state.open_questions
    bench.journal.send(state.run_id, AnswerMessage(question_id=question.id, answer="yes"))
    other = act("run_command", command="touch y.txt")
    two = STEP.with_(checks=(FileCheck(path="x.txt"), FileCheck(path="y.txt")))
    state = await bench.run_plan(steps(two), [TOUCH, other], approve="ask")
    assert state.stage is Stage.WAITING
    (question,) = state.open_questions
    bench.journal.send(state.run_id, AnswerMessage(question_id=question.id, answer="yes"))
    state = await bench.resume(state.run_id, [other])
    assert state.stage is Stage.WAITING, "another command is another question"
    assert bench.files() == {"x.txt": ""}


@pytest.mark.req("P12")
@pytest.mark.attack("forge")
async def test_approval_is_valid_once(bench: Bench) -> None:
    """The same command again is another question: what was right once may do harm the second time."""
    again = act("run_command", command="echo x >> log.txt")
    step = STEP.with_(checks=(TextCheck(path="log.txt", pattern="x\nx"),))
    person = PreparedPerson("yes", "no", "no", "no")
    bench.person = person
    await bench.run_plan(steps(step), [again] * 3, approve="ask")
    assert len(bench.events(e.ActionStarted)) == 1
    assert len({question.id for question in person.questions}) == len(person.questions) >= 2


@pytest.mark.req("P12")
async def test_refusal_is_shown_to_the_model(bench: Bench) -> None:
    person = PreparedPerson("no, write it with a tool", "yes")
    bench.person = person
    answers = [TOUCH, act("write_file", path="x.txt"), fenced("x", "text")]
    state = await bench.run_plan(steps(STEP), answers, approve="ask")
    assert state.steps["s"].status is StepStatus.SUCCEEDED
    assert "the user said no: no, write it with a tool" in bench.prompts()[1]
    assert "+x" in person.questions[1].text, "the diff is shown"
    assert not [a for a in bench.events(e.ActionStarted) if a.tool == "run_command"]


@pytest.mark.req("P12")
async def test_approval_is_void_when_the_file_has_changed(bench: Bench) -> None:
    (bench.root / "x.txt").write_text("one\n")
    step = STEP.with_(writes=("x.txt",), checks=(TextCheck(path="x.txt", pattern="three"),))
    write = fenced("three", "text")
    state = await bench.run_plan(steps(step), [write], approve="ask")
    (question,) = state.open_questions
    assert "-one" in question.text
    assert "+three" in question.text
    (bench.root / "x.txt").write_text("two\n")
    bench.journal.send(state.run_id, AnswerMessage(question_id=question.id, answer="yes"))
    state = await bench.resume(state.run_id, [write])
    assert state.stage is Stage.WAITING
    assert "-two" in state.open_questions[0].text
    assert bench.files() == {"x.txt": "two\n"}


@pytest.mark.req("P12")
async def test_edits_are_shown_as_a_diff(bench: Bench) -> None:
    (bench.root / "x.txt").write_text("one\ntwo\n")
    step = STEP.with_(checks=(TextCheck(path="x.txt", pattern="three"),))
    edits = "<<<<<<< SEARCH\ntwo\n=======\nthree\n>>>>>>> REPLACE"
    answers = [act("edit_file", path="x.txt", edits=edits)]
    state = await bench.run_plan(steps(step), answers, approve="ask")
    (question,) = state.open_questions
    assert "-two\n+three" in question.text
    assert "SEARCH" not in question.text


@pytest.mark.req("P12")
async def test_rule_that_the_user_chooses_is_remembered(bench: Bench) -> None:
    person = PreparedPerson("always run_command(touch *)")
    bench.person = person
    two = STEP.with_(checks=(FileCheck(path="x.txt"), FileCheck(path="y.txt")))
    answers = [TOUCH, act("run_command", command="touch y.txt")]
    state = await bench.run_plan(steps(two), answers, approve="ask")
    assert state.steps["s"].status is StepStatus.SUCCEEDED
    assert len(person.questions) == 1
    assert "always run_command(touch *)" in person.questions[0].options


@pytest.mark.req("P12")
async def test_deny_rules_apply_under_every_policy(bench: Bench) -> None:
    answers = [TOUCH, act("write_file", path="x.txt"), fenced("x", "text")]
    state = await bench.run_plan(steps(STEP), answers, approve="auto", deny=("run_command(touch *)",))
    assert state.steps["s"].status is StepStatus.SUCCEEDED
    assert bench.events(e.ActionRefused)[0].reason == "the user's rules do not allow this"


@pytest.mark.req("P12")
async def test_auto_edit_and_never_ask_no_questions(bench: Bench) -> None:
    write = [act("write_file", path="x.txt"), fenced("x", "text")]
    state = await bench.run_plan(steps(STEP), write, approve="auto-edit")
    assert state.steps["s"].status is StepStatus.SUCCEEDED
    (bench.root / "x.txt").unlink()
    state = await bench.run_plan(steps(STEP), [TOUCH, *write], approve="never")
    assert state.steps["s"].status is StepStatus.SUCCEEDED
    assert not bench.events(e.QuestionAsked)


@pytest.mark.req("P12")
@pytest.mark.parametrize("answer", ["always run_command", "always run_command(*)", "always anything", "sure"])
async def test_only_an_offered_rule_is_a_standing_yes(bench: Bench, answer: str) -> None:
    bench.person = person = PreparedPerson(answer, answer, answer)
    state = await bench.run_plan(steps(STEP), [TOUCH], approve="ask")
    assert state.stage is Stage.WAITING
    assert not state.allowed
    assert not bench.files()
    assert len(person.questions) == 3, "asked again, then left open"


@pytest.mark.req("P12")
async def test_unknown_answer_from_elsewhere_leaves_the_question_open(bench: Bench) -> None:
    state = await bench.run_plan(steps(STEP), [TOUCH], approve="ask")
    (question,) = state.open_questions
    bench.journal.send(state.run_id, AnswerMessage(question_id=question.id, answer="always run_command(*)"))
    state = await bench.resume(state.run_id, [])
    assert state.stage is Stage.WAITING
    assert not state.allowed
    assert "y (yes), n (no), a (always), e (edit)" in bench.events(e.Warned)[-1].message
    bench.journal.send(state.run_id, AnswerMessage(question_id=question.id, answer="a"))
    state = await bench.resume(state.run_id, [])
    assert state.allowed == ["run_command(touch *)"]
    assert bench.files() == {"x.txt": ""}


@pytest.mark.req("P12")
async def test_edited_command_runs_instead_of_the_proposed_one(bench: Bench) -> None:
    state = await bench.run_plan(steps(STEP), [act("run_command", command="rm -rf x.txt")], approve="ask")
    (question,) = state.open_questions
    assert bench.journal.get_blob(question.draft_key) == b"rm -rf x.txt"
    bench.journal.send(state.run_id, AnswerMessage(question_id=question.id, answer="edit: touch x.txt"))
    state = await bench.resume(state.run_id, [])
    assert state.steps["s"].status is StepStatus.SUCCEEDED
    assert [action.arguments for action in bench.events(e.ActionStarted)] == [{"command": "touch x.txt"}]
    summary = bench.events(e.ActionFinished)[0].summary
    assert summary.startswith("The user changed this call before it was carried out, to run_command:\ntouch x.txt\n")


@pytest.mark.req("P12")
async def test_edited_command_obeys_deny_rules(bench: Bench) -> None:
    bench.person = PreparedPerson("edit: rm -rf x.txt")
    state = await bench.run_plan(steps(STEP), [TOUCH], approve="ask", deny=("run_command(rm *)",))
    assert bench.events(e.ActionRefused)[0].reason == "the user's rules do not allow this"
    assert not bench.events(e.ActionStarted)
    assert state.stage is not Stage.COMPLETED


@pytest.mark.req("P12")
@pytest.mark.parametrize("tool", ["write_file", "edit_file"])
async def test_edited_content_is_written_instead_of_the_proposed_one(bench: Bench, tool: str) -> None:
    (bench.root / "x.txt").write_text("one\ntwo\n")
    step = STEP.with_(checks=(TextCheck(path="x.txt", pattern="mine"),))
    by_edit = act("edit_file", path="x.txt", search="two", replace="three")
    answer = by_edit if tool == "edit_file" else act("write_file", path="x.txt", content="one\nthree\n")
    bench.person = person = PreparedPerson("edit: one\nmine\n")
    state = await bench.run_plan(steps(step), [answer], approve="ask")
    assert person.questions[0].draft == "one\nthree\n"
    assert state.steps["s"].status is StepStatus.SUCCEEDED
    assert bench.files() == {"x.txt": "one\nmine\n"}
    assert [action.tool for action in bench.events(e.ActionStarted)] == ["write_file"]


@pytest.mark.req("P12")
async def test_hidden_characters_are_visible_in_a_request(bench: Bench) -> None:
    state = await bench.run_plan(steps(STEP), [act("run_command", command="rm \u202ex\u200b\x1b[8m")], approve="ask")
    text = state.open_questions[0].text
    assert "rm <U+202E>x<U+200B>" in text
    assert "\x1b" not in text


@pytest.mark.req("P12")
async def test_an_approval_stays_valid_while_another_step_goes_on(bench: Bench) -> None:
    one, two = (
        ExecutionStep(id=name, name=name, tool="write_file", parameters={"path": f"{name}.txt", "content": name})
        for name in ("one", "two")
    )
    state = await bench.run_plan(steps(one, two), approve="ask")
    first, second = sorted(state.open_questions, key=lambda question: question.step_id)
    bench.journal.send(state.run_id, AnswerMessage(question_id=first.id, answer="yes"))
    state = await bench.resume(state.run_id, [])
    assert state.steps["one"].status is StepStatus.SUCCEEDED
    assert [question.id for question in state.open_questions] == [second.id]
    bench.journal.send(state.run_id, AnswerMessage(question_id=second.id, answer="yes"))
    state = await bench.resume(state.run_id, [])
    assert state.steps["two"].status is StepStatus.SUCCEEDED
    assert len(bench.events(e.QuestionAsked)) == 2, "nothing was asked twice"
