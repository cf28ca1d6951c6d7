"""Undoing effects outside the workspace: compensations of tools and rollback commands of the plan."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from support.kit import NO_RETRIES, Bench, act, done, steps
from surefoot.core.outcome import Verdict
from surefoot.core.phases import ExecutionStatus
from surefoot.core.plan import ExecutionStep, FileCheck, StepType
from surefoot.core.questions import Question
from surefoot.core.transitions import Stage, StepStatus
from surefoot.engine.loop import resume_run
from surefoot.journal import events as e
from surefoot.journal.messages import AnswerMessage
from surefoot.journal.reducers import fold
from surefoot.tools.registry import default_toolbox
from surefoot.tools.tool import Tool, tool

ANNOUNCE = ExecutionStep(
    id="s", name="announce", description="announce it", step_type=StepType.DEPLOYMENT, checks=(FileCheck(path="never"),)
)


@dataclass
class NoticeBoard:
    """The world outside the workspace: a notice board with a log of everything done to it."""

    notices: dict[int, str] = field(default_factory=dict)
    log: list[str] = field(default_factory=list)
    locked: bool = False
    dies: bool = False

    def tools(self) -> list[Tool]:
        @tool(external=True, compensate="take_down")
        def put_up(text: str) -> dict[str, Any]:
            """Put up a notice."""
            number = len(self.log) + 1
            self.notices[number] = text
            self.log.append(f"up {text}")
            return {"number": number}

        @tool(external=True)
        def take_down(number: int) -> str:
            """Take a notice down."""
            self.log.append(f"down {self.notices.get(number, '?')}")
            if self.dies:
                raise Killed
            if self.locked:
                raise RuntimeError("the board is locked")
            del self.notices[number]
            return "taken down"

        @tool(external=True)
        def shout(text: str) -> str:
            """Shout something."""
            self.log.append(f"shout {text}")
            return "shouted"

        return [put_up, take_down, shout]


class Killed(BaseException):
    pass


class PersonByKind:
    """A person with one answer for each kind of question."""

    def __init__(self, **answers: str) -> None:
        self.answers, self.questions = answers, list[str]()

    async def answer(self, question: Question) -> str | None:
        self.questions.append(question.text)
        return self.answers.get(question.kind)


@pytest.fixture
def board(bench: Bench) -> NoticeBoard:
    notice_board = NoticeBoard()
    bench.toolbox = default_toolbox().with_(*notice_board.tools())
    bench.person = PersonByKind(approval="yes", confirmation="yes")
    return notice_board


def announcements(*texts: str) -> list[Any]:
    return [*(act("put_up", text=text) for text in texts), done()]


@pytest.mark.req("P13")
async def test_external_actions_are_undone_in_reverse_order_before_rollback_commands(
    bench: Bench, board: NoticeBoard
) -> None:
    outside = bench.home / "undone.txt"
    step = ANNOUNCE.with_(rollback_steps=(f"echo $(ls) > {outside}", "echo draft > by-rollback.txt"))
    answers = [*announcements("a", "b")[:2], act("run_command", command="echo x > draft.txt"), done()]
    state = await bench.run_plan(steps(step), answers, reflection=NO_RETRIES)
    assert board.log == ["up a", "up b", "down b", "down a"]
    assert board.notices == {}
    assert outside.read_text() == "draft.txt\n", "rollback commands come last and still see the step's files"
    assert bench.files() == {}, "files that they write are undone too"
    compensations = bench.events(e.CompensationFinished)
    assert [event.ok for event in compensations] == [True] * 4
    assert state.history[-1].output is not None
    assert state.history[-1].output.status is ExecutionStatus.ROLLED_BACK
    assert state.outcome is not None
    assert state.outcome.left_outside == ()


@pytest.mark.req("P13")
async def test_step_without_file_changes_is_rolled_back_too(bench: Bench, board: NoticeBoard) -> None:
    step = ExecutionStep(id="s", name="s", tool="put_up", parameters={"text": "a"}, checks=(FileCheck(path="never"),))
    state = await bench.run_plan(steps(step), reflection=NO_RETRIES)
    assert board.log == ["up a", "down a"]
    assert [result.output.status for result in state.history if result.output] == [ExecutionStatus.ROLLED_BACK]


@pytest.mark.req("P13", "P18")
async def test_failed_compensation_is_reported_as_left_outside(bench: Bench, board: NoticeBoard) -> None:
    board.locked = True
    state = await bench.run_plan(steps(ANNOUNCE), announcements("a", "b"), reflection=NO_RETRIES)
    assert board.log == ["up a", "up b", "down b", "down a"], "the others still run"
    outcome = state.outcome
    assert outcome is not None
    assert outcome.diagnosis is not None
    assert len(outcome.left_outside) == 2
    assert "put_up(text='b')" in outcome.left_outside[0]
    assert "the board is locked" in outcome.left_outside[0]
    assert outcome.diagnosis.left_outside == outcome.left_outside
    assert "Left outside the workspace:\n  - put_up" in outcome.diagnosis.as_text()


@pytest.mark.req("P13", "P18")
async def test_effect_without_compensation_is_reported_even_on_success(bench: Bench, board: NoticeBoard) -> None:
    step = ANNOUNCE.with_(checks=(FileCheck(path="out.txt"),))
    answers = [act("shout", text="hear"), done(), act("run_command", command="echo text > out.txt")]
    state = await bench.run_plan(steps(step), answers, checks=["grep -q text out.txt"])
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    (left,) = state.outcome.left_outside
    assert left.startswith("shout(text='hear')")
    assert "declares no compensation" in left


@pytest.mark.req("P13")
async def test_compensation_needs_approval(bench: Bench, board: NoticeBoard) -> None:
    bench.person = PersonByKind(confirmation="yes", approval="no")
    config: dict[str, Any] = {"allow": ("put_up(*)",), "reflection": NO_RETRIES}
    state = await bench.run_plan(steps(ANNOUNCE), announcements("a"), **config)
    assert board.log == ["up a"]
    assert state.outcome is not None
    assert "the user said no" in state.outcome.left_outside[0]


@pytest.mark.req("P13", "P12")
async def test_compensation_waits_for_approval(bench: Bench, board: NoticeBoard) -> None:
    bench.person = PersonByKind(confirmation="yes")
    config: dict[str, Any] = {"allow": ("put_up(*)",), "reflection": NO_RETRIES}
    state = await bench.run_plan(steps(ANNOUNCE), announcements("a"), **config)
    assert state.stage is Stage.WAITING
    assert board.log == ["up a"]
    (question,) = state.open_questions
    bench.journal.send(state.run_id, AnswerMessage(question_id=question.id, answer="yes"))
    state = await bench.resume(state.run_id, [])
    assert board.log == ["up a", "down a"]
    assert state.outcome is not None
    assert state.outcome.left_outside == ()


@pytest.mark.req("P13", "P6")
async def test_nothing_is_undone_without_automatic_rollback(bench: Bench, board: NoticeBoard) -> None:
    step = ANNOUNCE.with_(rollback_steps=(f"touch {bench.home}/ran",))
    answers = [*announcements("a")[:1], act("run_command", command="echo x > draft.txt"), done()]
    state = await bench.run_plan(steps(step), answers, enable_auto_rollback=False, reflection=NO_RETRIES)
    assert board.log == ["up a"]
    assert not (bench.home / "ran").exists()
    assert bench.files() == {"draft.txt": "x\n"}
    assert state.history[-1].output is not None
    assert state.history[-1].output.status is ExecutionStatus.FAILED


@pytest.mark.req("P13")
async def test_step_that_only_wrote_files_runs_no_rollback_commands(bench: Bench, board: NoticeBoard) -> None:
    step = ExecutionStep(
        id="s", name="s", tool="write_file", parameters={"path": "a.txt", "content": "a"},
        rollback_steps=(f"touch {bench.home}/ran",), checks=(FileCheck(path="never"),),
    )  # fmt: skip
    await bench.run_plan(steps(step), reflection=NO_RETRIES)
    assert not (bench.home / "ran").exists()


@pytest.mark.req("P13", "P14")
@pytest.mark.parametrize(("answer", "downs"), [("done", 1), ("again", 2)])
async def test_interrupted_compensation_is_asked_about(
    bench: Bench, board: NoticeBoard, answer: str, downs: int
) -> None:
    board.dies = True
    with pytest.raises(Killed):
        await bench.run_plan(steps(ANNOUNCE), announcements("a"), reflection=NO_RETRIES)
    board.dies = False
    run_id = bench.journal.find("last")
    assert [*fold(bench.journal.read(run_id)).left_outside.values()] != [], "unknown until a person answers"
    person = bench.person = PersonByKind(approval="yes", conflict=answer)
    state = await bench.resume(run_id, [])
    assert board.log == ["up a", *["down a"] * downs]
    assert any("take_down(number=1), which undoes put_up(text='a')" in text for text in person.questions)
    assert state.outcome is not None
    assert state.outcome.left_outside == ()


EVENTS = [e.StepFinished, e.Reflected, e.RungChosen, e.CompensationStarted, e.CompensationFinished, e.RolledBack]


@pytest.mark.req("P13", "P14")
@pytest.mark.parametrize("after", EVENTS, ids=lambda kind: kind.__name__)
async def test_compensations_run_once_wherever_the_process_dies(
    bench: Bench, board: NoticeBoard, after: type[Any]
) -> None:
    killed_at: set[int] = set()

    def kill(record: e.Record) -> None:
        if isinstance(record.event, after) and record.seq not in killed_at and len(killed_at) < 3:
            killed_at.add(record.seq)
            raise Killed

    services = bench.services(announcements("a", "b"))
    services.bus.subscribe(kill)
    bench.services = lambda *_, **__: services  # type: ignore[method-assign]
    bench.person = services.person = PersonByKind(approval="yes", confirmation="yes", conflict="again")
    with pytest.raises(Killed):
        await bench.run_plan(steps(ANNOUNCE), [], reflection=NO_RETRIES)
    while True:
        try:
            state = await resume_run(services, bench.journal.find("last"))
        except Killed:
            continue
        break
    # Killed between intent and effect, the compensation had not run: the person answers "again", and it runs once.
    assert board.log == ["up a", "up b", "down b", "down a"]
    assert state.outcome is not None
    assert state.outcome.left_outside == ()


@pytest.mark.req("P13", "A8")
async def test_stopped_run_runs_compensations_that_need_no_approval(bench: Bench, board: NoticeBoard) -> None:
    answers = announcements("a", "b", "c")
    config: dict[str, Any] = {"allow": ("put_up(*)", "take_down(*)"), "budget": {"max_tool_calls": 2}}
    state = await bench.run_plan(steps(ANNOUNCE), answers, **config)
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.BUDGET
    assert board.log == ["up a", "up b", "down b", "down a"], "the budget does not apply to compensations"
    assert state.steps["s"].status is StepStatus.PENDING
