"""A failed step is undone: outside the workspace by compensations and rollback commands, inside from its snapshot;
and what its checks say is worth keeping is kept."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from kit import Bench, act, done, steps
from surefoot import events as e
from surefoot.engine import resume_run
from surefoot.fold import fold
from surefoot.machine import Rung, Stage, StepStatus
from surefoot.models.scripted import Rule
from surefoot.outcome import ExecutionStatus, Verdict
from surefoot.plan import CommandCheck, ExecutionStep, FileCheck, StepType
from surefoot.state import Question
from surefoot.tools.base import Tool, tool
from surefoot.tools.registry import default_toolbox

ONE_TRY = {"max_step_retries": 0, "max_single_step_repairs": 0, "max_task_replanning_attempts": 0}
FREE = ExecutionStep(
    id="s", name="announce", description="announce it", step_type=StepType.DEPLOYMENT, checks=(FileCheck(path="never"),)
)


@dataclass
class World:
    """What is outside: a board with notices on it, and a record of everything that was done to it."""

    board: dict[int, str] = field(default_factory=dict)
    done: list[str] = field(default_factory=list)
    broken: bool = False
    dies: bool = False

    def tools(self) -> list[Tool]:
        @tool(external=True, compensate="take_down")
        def put_up(text: str) -> dict[str, Any]:
            """Put up a notice."""
            number = len(self.done) + 1
            self.board[number] = text
            self.done.append(f"up {text}")
            return {"number": number}

        @tool(external=True)
        def take_down(number: int) -> str:
            """Take a notice down."""
            self.done.append(f"down {self.board.get(number, '?')}")
            if self.dies:
                raise Killed
            if self.broken:
                raise RuntimeError("the board is locked")
            del self.board[number]
            return "taken down"

        @tool(external=True)
        def shout(text: str) -> str:
            """Shout something."""
            self.done.append(f"shout {text}")
            return "shouted"

        return [put_up, take_down, shout]


class Killed(BaseException):
    pass


class Says:
    """A person with an answer for every kind of question."""

    def __init__(self, **answers: str) -> None:
        self.answers, self.asked = answers, list[str]()

    async def answer(self, question: Question) -> str | None:
        self.asked.append(question.text)
        return self.answers.get(question.kind)


@pytest.fixture
def world(bench: Bench) -> World:
    world = World()
    bench.toolbox = default_toolbox().with_(*world.tools())
    bench.person = Says(approval="yes", confirmation="yes")
    return world


def announce(*texts: str) -> list[Any]:
    return [*(act("put_up", text=text) for text in texts), done()]


@pytest.mark.req("P13")
async def test_what_succeeded_outside_is_undone_last_first_and_then_by_the_plan(bench: Bench, world: World) -> None:
    outside = bench.home / "undone.txt"
    step = FREE.with_(rollback_steps=(f"echo $(ls) > {outside}", "echo draft > by-rollback.txt"))
    answers = [*announce("a", "b")[:2], act("run_command", command="echo x > draft.txt"), done()]
    state = await bench.run_plan(steps(step), answers, reflection=ONE_TRY)
    assert world.done == ["up a", "up b", "down b", "down a"]
    assert world.board == {}
    assert outside.read_text() == "draft.txt\n", "the plan's commands come last, and still see the step's files"
    assert bench.files() == {}, "and what they left in the workspace goes with the rest"
    undone = bench.events(e.CompensationFinished)
    assert [event.ok for event in undone] == [True] * 4
    assert state.history[-1].output is not None
    assert state.history[-1].output.status is ExecutionStatus.ROLLED_BACK
    assert state.outcome is not None
    assert state.outcome.left_outside == ()


@pytest.mark.req("P13")
async def test_a_step_that_only_reached_out_is_rolled_back_too(bench: Bench, world: World) -> None:
    step = ExecutionStep(id="s", name="s", tool="put_up", parameters={"text": "a"}, checks=(FileCheck(path="never"),))
    state = await bench.run_plan(steps(step), reflection=ONE_TRY)
    assert world.done == ["up a", "down a"]
    assert [result.output.status for result in state.history if result.output] == [ExecutionStatus.ROLLED_BACK]


@pytest.mark.req("P13", "P18")
async def test_a_compensation_that_fails_is_told_as_left_outside(bench: Bench, world: World) -> None:
    world.broken = True
    state = await bench.run_plan(steps(FREE), announce("a", "b"), reflection=ONE_TRY)
    assert world.done == ["up a", "up b", "down b", "down a"], "one that fails does not keep the others from being done"
    outcome = state.outcome
    assert outcome is not None
    assert outcome.diagnosis is not None
    assert len(outcome.left_outside) == 2
    assert "put_up(text='b')" in outcome.left_outside[0]
    assert "the board is locked" in outcome.left_outside[0]
    assert outcome.diagnosis.left_outside == outcome.left_outside
    assert "Left outside the workspace:\n  - put_up" in outcome.diagnosis.as_text()


@pytest.mark.req("P13", "P18")
async def test_what_nobody_says_how_to_undo_is_told_also_when_all_ends_well(bench: Bench, world: World) -> None:
    step = FREE.with_(checks=(FileCheck(path="made.txt"),))
    answers = [act("shout", text="hear"), done(), act("run_command", command="echo made > made.txt")]
    state = await bench.run_plan(steps(step), answers, checks=["grep -q made made.txt"])
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    (left,) = state.outcome.left_outside
    assert left.startswith("shout(text='hear')")
    assert "declares no compensation" in left


@pytest.mark.req("P13")
async def test_consent_is_needed_to_undo_as_for_anything(bench: Bench, world: World) -> None:
    bench.person = Says(confirmation="yes", approval="no")
    config: dict[str, Any] = {"allow": ("put_up(*)",), "reflection": ONE_TRY}
    state = await bench.run_plan(steps(FREE), announce("a"), **config)
    assert world.done == ["up a"]
    assert state.outcome is not None
    assert "the user said no" in state.outcome.left_outside[0]


@pytest.mark.req("P13", "P12")
async def test_with_nobody_there_the_undoing_waits_for_a_word(bench: Bench, world: World) -> None:
    bench.person = Says(confirmation="yes")
    config: dict[str, Any] = {"allow": ("put_up(*)",), "reflection": ONE_TRY}
    state = await bench.run_plan(steps(FREE), announce("a"), **config)
    assert state.stage is Stage.WAITING
    assert world.done == ["up a"]
    (question,) = state.open_questions
    bench.journal.send(state.run_id, {"type": "answer", "question_id": question.id, "answer": "yes"})
    state = await bench.resume(state.run_id, [])
    assert world.done == ["up a", "down a"]
    assert state.outcome is not None
    assert state.outcome.left_outside == ()


@pytest.mark.req("P13", "P6")
async def test_without_automatic_rollback_nothing_is_undone(bench: Bench, world: World) -> None:
    step = FREE.with_(rollback_steps=(f"touch {bench.home}/ran",))
    answers = [*announce("a")[:1], act("run_command", command="echo x > draft.txt"), done()]
    state = await bench.run_plan(steps(step), answers, enable_auto_rollback=False, reflection=ONE_TRY)
    assert world.done == ["up a"]
    assert not (bench.home / "ran").exists()
    assert bench.files() == {"draft.txt": "x\n"}
    assert state.history[-1].output is not None
    assert state.history[-1].output.status is ExecutionStatus.FAILED


@pytest.mark.req("P13")
async def test_a_step_that_only_wrote_files_runs_no_rollback_commands(bench: Bench, world: World) -> None:
    step = ExecutionStep(
        id="s", name="s", tool="write_file", parameters={"path": "a.txt", "content": "a"},
        rollback_steps=(f"touch {bench.home}/ran",), checks=(FileCheck(path="never"),),
    )  # fmt: skip
    await bench.run_plan(steps(step), reflection=ONE_TRY)
    assert not (bench.home / "ran").exists()


@pytest.mark.req("P13", "P14")
@pytest.mark.parametrize(("answer", "downs"), [("done", 1), ("again", 2)])
async def test_an_undoing_that_was_cut_off_is_asked_about(bench: Bench, world: World, answer: str, downs: int) -> None:
    world.dies = True
    with pytest.raises(Killed):
        await bench.run_plan(steps(FREE), announce("a"), reflection=ONE_TRY)
    world.dies = False
    run_id = bench.journal.find("last")
    assert [*fold(bench.journal.read(run_id)).left_outside.values()] != [], "nobody knows"
    person = bench.person = Says(approval="yes", conflict=answer)
    state = await bench.resume(run_id, [])
    assert world.done == ["up a", *["down a"] * downs]
    assert any("take_down(number=1), which undoes put_up(text='a')" in text for text in person.asked)
    assert state.outcome is not None
    assert state.outcome.left_outside == ()


EVENTS = [e.StepFinished, e.Reflected, e.RungChosen, e.CompensationStarted, e.CompensationFinished, e.RolledBack]


@pytest.mark.req("P13", "P14")
@pytest.mark.parametrize("after", EVENTS, ids=lambda kind: kind.__name__)
async def test_nothing_is_undone_twice_wherever_the_process_ends(bench: Bench, world: World, after: type[Any]) -> None:
    seen: set[int] = set()

    def cut(record: e.Record) -> None:
        if isinstance(record.event, after) and record.seq not in seen and len(seen) < 3:
            seen.add(record.seq)
            raise Killed

    services = bench.services(announce("a", "b"))
    services.bus.subscribe(cut)
    bench.services = lambda *_, **__: services  # type: ignore[method-assign]
    bench.person = services.person = Says(approval="yes", confirmation="yes", conflict="again")
    with pytest.raises(Killed):
        await bench.run_plan(steps(FREE), [], reflection=ONE_TRY)
    while True:
        try:
            state = await resume_run(services, bench.journal.find("last"))
        except Killed:
            continue
        break
    # Ended between intent and effect, it had not been done: a person says so, and it is done once.
    assert world.done == ["up a", "up b", "down b", "down a"]
    assert state.outcome is not None
    assert state.outcome.left_outside == ()


@pytest.mark.req("P13", "A8")
async def test_a_run_that_is_stopped_in_the_middle_undoes_what_needs_nobody_s_word(bench: Bench, world: World) -> None:
    answers = announce("a", "b", "c")
    config: dict[str, Any] = {"allow": ("put_up(*)", "take_down(*)"), "budget": {"max_tool_calls": 2}}
    state = await bench.run_plan(steps(FREE), answers, **config)
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.BUDGET
    assert world.done == ["up a", "up b", "down b", "down a"], "the budget does not keep it from being undone"
    assert state.steps["s"].status is StepStatus.PENDING


# -- partial work --------------------------------------------------------------------------------------------------

TWO = ExecutionStep(
    id="s", name="two", description="make both", step_type=StepType.COMMAND_EXECUTION,
    checks=(CommandCheck(command="test -e a.txt"), CommandCheck(command="test -e b.txt")),
)  # fmt: skip


@pytest.mark.req("P13", "P10")
async def test_what_the_checks_show_to_be_good_is_kept_for_the_next_try(bench: Bench) -> None:
    answers = [
        act("run_command", command="echo a > a.txt"),
        done(),
        act("run_command", command="echo b > b.txt"),
        done(),
    ]
    state = await bench.run_plan(steps(TWO), answers)
    assert state.steps["s"].status is StepStatus.SUCCEEDED
    assert bench.files() == {"a.txt": "a\n", "b.txt": "b\n"}
    assert not bench.events(e.RolledBack)
    (kept,) = bench.events(e.WorkKept)
    assert kept.why == "'test -e a.txt' failed before and passes now"
    statuses = [result.output.status for result in state.history if result.output]
    assert statuses == [ExecutionStatus.PARTIAL_SUCCESS, ExecutionStatus.SUCCESS]
    assert state.history[0].output is not None
    assert state.history[0].output.logs[-1] == f"kept: {kept.why}"
    assert state.steps["s"].output is not None
    assert state.steps["s"].output.generated_files == ("a.txt", "b.txt"), "the step's work, over all its tries"
    assert counted(fold(bench.journal.read(state.run_id))) == counted(state)


def counted(state: Any) -> Any:
    mine = state.steps["s"]
    return mine.kept, mine.snapshot, mine.touched, mine.rungs, state.left_outside


@pytest.mark.req("P13")
async def test_kept_work_goes_too_when_the_step_is_given_up(bench: Bench) -> None:
    answers = [
        act("run_command", command="echo a > a.txt"),
        done(),
        act("run_command", command="echo c > c.txt"),
        done(),
    ]
    limits = {**ONE_TRY, "max_step_retries": 1}
    state = await bench.run_plan(steps(TWO), answers, reflection=limits)
    assert [event.rung for event in bench.events(e.RungChosen)] == [Rung.ADJUST_PARAMETERS, Rung.GIVE_UP]
    assert len(bench.events(e.WorkKept)) == 1
    assert bench.files() == {}, "back to before the step, not to before its last try"
    assert state.outcome is not None
    assert state.outcome.diagnosis is not None
    assert state.outcome.diagnosis.left_behind == ()


@pytest.mark.req("P13")
async def test_a_try_that_breaks_what_worked_is_not_kept(bench: Bench) -> None:
    bench.write(b__txt="b\n")
    answers = [act("run_command", command="echo a > a.txt; rm b.txt"), done()]
    again = [act("run_command", command="echo a > a.txt"), done()]
    state = await bench.run_plan(steps(TWO), [*answers, *again])
    assert not bench.events(e.WorkKept)
    assert bench.files() == {"a.txt": "a\n", "b.txt": "b\n"}
    assert state.steps["s"].status is StepStatus.SUCCEEDED


@pytest.mark.req("R8")
async def test_the_next_try_is_told_what_is_still_red(bench: Bench) -> None:
    step = ExecutionStep(
        id="s", name="two", description="make it", writes=("two.txt",),
        checks=(CommandCheck(command="grep -q 1 two.txt"), CommandCheck(command="grep -q 2 two.txt")),
    )  # fmt: skip
    answers = [Rule("Keep what works in it", "```\n1\n2\n```"), "```\n1\n```", "```\n1\n3\n```"]
    state = await bench.run_plan(steps(step), answers)
    prompt = bench.prompts()[-1]
    assert "two.txt as it is now" in prompt
    assert "# It fails now\ngrep -q 2 two.txt" in prompt
    assert state.steps["s"].status is StepStatus.SUCCEEDED
