"""Runs that the tests of the page show: real runs with scripted models, and a plan of 500 steps through the reducers.

`python tests/server/make_fixtures.py` writes them to web/fixtures.
"""

import asyncio
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tests")]

from support.kit import Bench, act, done, steps  # noqa: E402
from surefoot.config.model import ExecutionConfig  # noqa: E402
from surefoot.core.outcome import CheckResult, ErrorCategory, Failure, FailureKind, StepReflection  # noqa: E402
from surefoot.core.phases import ExecutionPhase, ExecutionStatus, StepExecutionOutput  # noqa: E402
from surefoot.core.plan import (  # noqa: E402
    CommandCheck,
    DetailedPlan,
    ExecutionStep,
    Milestone,
    StepDependency,
    StepType,
)
from surefoot.core.questions import Question  # noqa: E402
from surefoot.core.task import Task  # noqa: E402
from surefoot.core.transitions import Rung, Stage, StepStatus  # noqa: E402
from surefoot.engine.planner.gate import skipped  # noqa: E402
from surefoot.journal import events as e  # noqa: E402
from surefoot.journal.messages import AnswerMessage  # noqa: E402
from surefoot.view.fold import advance, changed_since, snapshot  # noqa: E402
from surefoot.view.rows import PROTOCOL  # noqa: E402
from surefoot.view.state import RunView  # noqa: E402

FOLDER = ROOT / "web" / "fixtures"
WORKSPACE = "/srv/projects/adder"
TEST = "from adder import add\nassert add(2, 3) == 5, f'add(2, 3) is {add(2, 3)}'\n"
CHECK = CommandCheck(command="python3 test_adder.py")


def wrote(sign: str) -> dict[str, Any]:
    return act("write_file", path="adder.py", content=f"def add(a, b):\n    return a {sign} b\n")


async def healed(bench: Bench) -> list[e.Record]:
    """A step fails its check, is rolled back and tried again."""
    bench.write(test_adder__py=TEST, README__md="# adder\n")
    plan = steps(
        ExecutionStep(id="read", name="Read the README", tool="read_file", parameters={"path": "README.md"}),
        ExecutionStep(id="write", name="Write adder.py", description="add(a, b) gives the sum.", checks=(CHECK,)),
        ExecutionStep(
            id="note",
            name="Write the change log",
            step_type=StepType.FILE_OPERATION,
            critical=False,
            tool="write_file",
            parameters={"path": "CHANGES.md", "content": "- adder.py: add(a, b)\n"},
        ),
        after=[("write", "read"), ("note", "write")],
    )
    await bench.run_plan(plan, [wrote("-"), done(), wrote("+")], checks=[CHECK.command])
    return bench.records


class Away:
    """A person who is asked and does not answer."""

    async def answer(self, question: Question) -> str | None:
        await asyncio.Event().wait()
        return None


async def _wait_for_question(bench: Bench, running: "asyncio.Task[Any]") -> None:
    while len(bench.events(e.QuestionAsked)) == len(bench.events(e.QuestionAnswered)):
        assert not running.done(), running.result()
        await asyncio.sleep(0.01)


async def asking(bench: Bench) -> list[e.Record]:
    """A change of a file was approved; then a command waits for approval. The first batches show the diff."""
    bench.write(test_adder__py=TEST, adder__py="def add(a, b):\n    return a - b\n")
    bench.person = Away()
    plan = steps(
        ExecutionStep(
            id="fix",
            name="Fix add",
            tool="edit_file",
            parameters={"path": "adder.py", "search": "a - b", "replace": "a + b"},
            writes=("adder.py",),
        ),
        ExecutionStep(
            id="install",
            name="Install the helper",
            step_type=StepType.COMMAND_EXECUTION,
            writes=("vendor",),
            tool="run_command",
            parameters={"command": "python3 -m pip install ./vendor/helper && rm -rf build"},
        ),
    )
    running = asyncio.create_task(bench.run_plan(plan, checks=[CHECK.command], approve="ask"))
    for answer in ("yes", ""):
        await _wait_for_question(bench, running)
        if answer:
            (question,) = bench.events(e.QuestionAsked)
            run_id = bench.events(e.RunCreated)[0].run_id
            bench.journal.send(run_id, AnswerMessage(question_id=question.question_id, answer=answer))
            await bench.wait_for(lambda event: isinstance(event, e.QuestionAnswered))
    records = list(bench.records)
    running.cancel()
    await asyncio.wait([running])
    return records


def many() -> list[e.Record]:
    """A plan of 500 steps in layers; every 25th step fails once, every 60th is skipped, 300 are done."""
    plan_steps = tuple(
        ExecutionStep(
            id=f"s{i:03}",
            sequence=i,
            name=f"Convert module {i:03}",
            description=f"Move module {i:03} to the new interface.",
            checks=(CommandCheck(command=f"python3 -m unittest tests/test_{i:03}.py"),) if i % 3 == 0 else (),
            critical=i % 60 != 7,
        )
        for i in range(500)
    )
    needs = [(i, i - width) for i in range(500) for width in (10, 13) if i >= width and (i + width) % 4 < 2]
    plan = DetailedPlan(
        steps=plan_steps,
        dependencies=tuple(StepDependency(step_id=f"s{i:03}", depends_on=f"s{n:03}") for i, n in needs),
        milestones=(Milestone(name="Half", step_ids=tuple(step.id for step in plan_steps[:250])),),
    )
    task = Task(text="Move 500 modules to the new interface.", workspace="/srv/projects/big")
    events: list[e.Event] = [
        e.RunCreated(
            run_id="20261115-2044-large-plan",
            task=task,
            config=ExecutionConfig(max_plan_steps=500),
            model="scripted",
            surefoot="0.1.0",
            starts_at=Stage.EXECUTION,
        ),
        e.PlanMade(result=skipped(ExecutionPhase.Planning(), "given", plan)),
    ]
    for step in plan_steps[:300]:
        events += _step_events(step)
    return [e.Record(seq, 1_800_000_000 + seq * 0.25, event) for seq, event in enumerate(events, 1)]


def _step_events(step: ExecutionStep) -> list[e.Event]:
    red = tuple(CheckResult(check=check, passed=False, detail="1 failed", exit_code=1) for check in step.checks)
    green = tuple(result.with_(passed=True, detail="", exit_code=0) for result in red)
    if not step.critical:
        return [
            e.StepFinished(
                step_id=step.id,
                status=StepStatus.SKIPPED,
                attempt=0,
                output=StepExecutionOutput(
                    step_id=step.id, status=ExecutionStatus.SKIPPED, logs=("skipped by a person",)
                ),
            )
        ]
    events: list[e.Event] = []
    if step.sequence % 25 == 0:
        failure = Failure(kind=FailureKind.CHECK_FAILED, message="the import of the old interface is still there")
        reflection = StepReflection(category=ErrorCategory.PARAMETER_ERROR, root_cause="one import was missed")
        events += _attempt(step, 1, red, StepStatus.FAILED, failure)
        events += [
            e.StageEntered(stage=Stage.RECOVERY, reason=failure.message),
            e.Reflected(step_id=step.id, reflection=reflection),
            e.RungChosen(step_id=step.id, rung=Rung.ADJUST_PARAMETERS, why="another try with what was learnt"),
            e.RolledBack(step_id=step.id, snapshot="0" * 64),
            e.StepReset(step_id=step.id, rung=Rung.ADJUST_PARAMETERS, note=reflection.root_cause),
            e.StageEntered(stage=Stage.EXECUTION),
        ]
        return [*events, *_attempt(step, 2, green, StepStatus.SUCCEEDED, None)]
    return _attempt(step, 1, green, StepStatus.SUCCEEDED, None)


def _attempt(
    step: ExecutionStep, number: int, results: tuple[CheckResult, ...], status: StepStatus, failure: Failure | None
) -> list[e.Event]:
    before = tuple(result.with_(passed=False, exit_code=1) for result in results)
    path, action = f"module_{step.sequence:03}.py", f"{step.id}.a{number}"
    output = StepExecutionOutput(
        step_id=step.id,
        status=ExecutionStatus.FAILED if failure else ExecutionStatus.SUCCESS,
        modified_files=(path,),
        proven=bool(results) and failure is None,
    )
    return [
        e.StepStarted(step_id=step.id, attempt=number),
        *([e.ChecksRan(step_id=step.id, when="before", results=before)] if before else []),
        e.ActionStarted(action_id=action, step_id=step.id, tool="edit_file", arguments={"path": path}),
        e.ActionFinished(action_id=action, step_id=step.id, ok=True, summary=f"edited {path}", changed=(path,)),
        *([e.ChecksRan(step_id=step.id, when="after", results=results)] if results else []),
        e.StepFinished(step_id=step.id, status=status, attempt=number, output=output, failure=failure, checks=results),
    ]


def as_fixture(records: Sequence[e.Record], first: int, root: str = "", every: int = 3) -> dict[str, Any]:
    """A snapshot after the first events, and batches with the rest, as a client receives them."""
    view = RunView(live=True)
    batches: list[dict[str, Any]] = []
    start: dict[str, Any] = {}
    for number, record in enumerate(records, 1):
        advance(view, record)
        if view.state.stage is Stage.WAITING or view.state.outcome is not None:
            view.live = False
        ends = number == len(records)
        if number == first:
            start = {"v": PROTOCOL, "run": view.state.run_id, "seq": record.seq, "rows": snapshot(view)}
        elif number > first and ((number - first) % every == 0 or ends):
            after = batches[-1]["upto"] if batches else start["seq"]
            upserts, removed = changed_since(view, after)
            batch = {"v": PROTOCOL, "run": view.state.run_id, "after": after, "upto": record.seq}
            batches.append({**batch, "upserts": upserts, "removed": removed})
    end = {"v": PROTOCOL, "run": view.state.run_id, "seq": view.state.seq, "rows": snapshot(view)}
    text = json.dumps({"snapshot": start, "batches": batches, "end": end}, ensure_ascii=False)
    made: dict[str, Any] = json.loads(text.replace(root, WORKSPACE) if root else text)
    return made


async def make() -> dict[str, dict[str, Any]]:
    made = {}
    for story in (healed, asking):
        with tempfile.TemporaryDirectory() as folder:
            root, home = Path(folder) / "work", Path(folder) / "home"
            root.mkdir()
            home.mkdir()
            records = await story(Bench(root, home))
            made[story.__name__] = as_fixture(records, 2, str(root))
            asked = next((r.seq for r in records if isinstance(r.event, e.QuestionAsked)), 0)
            if asked:
                made["asking_diff"] = as_fixture(records[:asked], 2, str(root))
    large = many()
    made["many"] = as_fixture(large, len(large) - 250, every=1)
    return made


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, fixture in asyncio.run(make()).items():
        path = FOLDER / f"{name}.json"
        path.write_text(json.dumps(fixture, ensure_ascii=False, separators=(",", ":")) + "\n", "utf-8")
        print(path.relative_to(ROOT), path.stat().st_size)


if __name__ == "__main__":
    main()
