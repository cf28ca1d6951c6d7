"""Replaying finished runs: the same decisions from the recorded answers and results, and the first that differs."""

import os
import socket
from typing import Any

import pytest

from support.kit import SMALL, Bench, PreparedPerson, act, done, fenced, steps
from support.talk import CALC_TEST, submit
from surefoot.core.outcome import Verdict
from surefoot.core.plan import CommandCheck, ExecutionStep, FileCheck, StepType
from surefoot.core.transitions import Rung, Stage
from surefoot.engine.executor import step as step_module
from surefoot.engine.loop import start_run
from surefoot.engine.reflector import recover
from surefoot.history.fork import Point, fork
from surefoot.history.gc import collect_garbage
from surefoot.history.replay.recording import decision_of
from surefoot.history.replay.replay import Verification, play, verify
from surefoot.history.timeline import build_timeline
from surefoot.journal import events as e
from surefoot.journal.messages import AnswerMessage, ControlMessage
from surefoot.journal.state import RunState
from surefoot.workspace.process import process

pytestmark = pytest.mark.slow

CHECK = "python3 test_calc.py"
WRONG, RIGHT = "def add(a, b):\n    return a - b\n", "def add(a, b):\n    return a + b\n"
FIX = ("edit_file", {"path": "calc.py", "search": "a - b", "replace": "a + b"})
FINISH = ("finish_step", {"summary": "fixed"})


@pytest.fixture
def calc(bench: Bench) -> Bench:
    bench.write(calc__py=WRONG, test_calc__py=CALC_TEST)
    return bench


async def verified(bench: Bench, state: RunState, monkeypatch: pytest.MonkeyPatch) -> Verification:
    """Verify a run whose workspace is gone. Processes, connections and writes elsewhere fail the test."""

    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError(f"a replay must not do this: {args!r}")

    before = {path: path.read_bytes() for path in bench.root.rglob("*") if path.is_file()}
    hidden = bench.root.rename(bench.root.with_name("moved"))
    with monkeypatch.context() as patch:
        patch.setattr(process, "_start", refuse, raising=False)
        patch.setattr("asyncio.create_subprocess_exec", refuse)
        patch.setattr("subprocess.Popen", refuse)
        patch.setattr(socket.socket, "connect", refuse)
        result = await verify(bench.journal, bench.home, state.run_id, bench.toolbox)
    assert not bench.root.exists()
    hidden.rename(bench.root)
    assert {path: path.read_bytes() for path in bench.root.rglob("*") if path.is_file()} == before
    return result


@pytest.mark.req("X3")
async def test_conversation_is_decided_in_the_same_way(calc: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = [("read_file", {"path": "calc.py"}), ("search", {"pattern": "add"})]
    wrong = ("edit_file", {"path": "calc.py", "search": "a - b", "replace": "a * b"})
    again = ("edit_file", {"path": "calc.py", "search": "a * b", "replace": "a + b"})
    script = [looks, submit(), [("run_command", {"command": "ls > out.txt"}), wrong, FINISH], [again, FINISH]]
    state = await calc.talk("Fix add in calc.py.", script, checks=[CHECK])
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    result = await verified(calc, state, monkeypatch)
    assert result.divergence is None
    assert result.compared > 15
    assert result.other_questions == ()


@pytest.mark.req("X3", "X5")
async def test_small_model_with_candidates_is_decided_in_the_same_way(
    calc: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = fenced("def add(a, b):\n    return a * b")
    answers = [bad, fenced("def add(a, b):\n    return b"), bad, fenced(RIGHT)]
    services = calc.services(answers, traits=SMALL)
    state = await start_run(services, calc.task("Fix add in calc.py.", [CHECK]), calc.config())
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    assert calc.events(e.CandidateTried)
    result = await verified(calc, state, monkeypatch)
    assert result.divergence is None
    assert result.other_questions == ()


@pytest.mark.req("X3")
async def test_failure_rollback_and_resumed_processes_are_decided_in_the_same_way(
    calc: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = ExecutionStep(
        id="s", name="Fix it", description="x", step_type=StepType.COMMAND_EXECUTION,
        checks=(FileCheck(path="done.txt"), CommandCheck(command=CHECK)),
    )  # fmt: skip
    ask = ExecutionStep(id="t", name="List", tool="list_files", requires_confirmation=True)
    answers = [
        act("run_command", command="touch half.txt"),
        done("it is done"),
        act("run_command", command="touch done.txt; sed -i s/-/+/ calc.py"),
    ]
    state = await calc.run_plan(steps(step, ask, after=[("t", "s")]), answers)
    (question,) = state.open_questions
    calc.journal.send(state.run_id, AnswerMessage(question_id=question.id, answer="yes", at=None))
    state = await calc.resume(state.run_id, [])
    assert state.outcome is not None
    assert calc.events(e.RolledBack)
    assert state.steps["s"].attempt == 2
    result = await verified(calc, state, monkeypatch)
    assert result.divergence is None
    assert result.compared > 20


async def recovered(calc: Bench) -> RunState:
    step = ExecutionStep(
        id="s", name="Fix it", description="x", checks=(CommandCheck(command=CHECK),), writes=("calc.py",)
    )
    return await calc.run_plan(steps(step), [fenced(WRONG + "\n"), fenced(RIGHT)], checks=[CHECK])


@pytest.mark.req("X3")
async def test_first_divergence_is_named(calc: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """The ladder is changed: after the failure another rung is chosen."""
    state = await recovered(calc)
    ((seq, rung),) = [(r.seq, r.event.rung) for r in calc.records if isinstance(r.event, e.RungChosen)]
    assert (await verified(calc, state, monkeypatch)).divergence is None
    monkeypatch.setattr(recover, "next_rung", lambda facts: (Rung.GIVE_UP, "another ladder"))
    result = await verified(calc, state, monkeypatch)
    assert result.divergence is not None
    assert result.divergence.seq == seq
    assert result.divergence.step_id == "s"
    assert result.divergence.recorded == f"rung_chosen of s: rung {rung}"
    assert result.divergence.now == "rung_chosen of s: rung give_up"


@pytest.mark.req("X3")
async def test_call_without_a_kind_is_no_other_decision(calc: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Older journals have no kind for a step that names its tool."""
    started = step_module._started
    plan = steps(ExecutionStep(id="s", name="List", tool="list_files"))
    with monkeypatch.context() as patch:
        patch.setattr(step_module, "_started", lambda **fields: started(**{**fields, "kind": None}))
        state = await calc.run_plan(plan)
    assert [event.kind for event in calc.events(e.StepStarted)] == [None]
    result = await verified(calc, state, monkeypatch)
    assert result.divergence is None
    assert result.compared


@pytest.mark.req("X3")
async def test_changed_wording_of_a_question_is_no_other_decision(calc: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    state = await recovered(calc)
    template = "surefoot.prompting.json_actions.file_body.render"
    monkeypatch.setattr(template, lambda name, **values: "Please write the file.")
    result = await verified(calc, state, monkeypatch)
    assert result.divergence is None
    assert len(result.other_questions) == 2


@pytest.mark.req("X3")
async def test_killed_process_is_verified_as_far_as_it_came(calc: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def kill(request: Any) -> Any:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await calc.talk("Fix add in calc.py.", [submit(), [FIX], kill], checks=[CHECK])
    (created,) = calc.events(e.RunCreated)
    state = await calc.talk_on(created.run_id, [[FINISH]])
    assert state.outcome is not None
    result = await verified(calc, state, monkeypatch)
    assert result.divergence is None
    assert result.compared > 10


@pytest.mark.req("X3", "A8")
async def test_controls_have_their_effect_again(calc: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def skip_next(request: Any) -> Any:
        (created,) = calc.events(e.RunCreated)
        calc.journal.send(created.run_id, ControlMessage(command="skip", step_id="s2", by="test"))
        return [FIX, ("run_command", {"command": "sleep 0.6"}), FINISH]

    plan = submit({"name": "Fix add"}, {"name": "Write more", "description": "more of it", "after": [1]})
    state = await calc.talk("Fix add in calc.py.", [plan, skip_next], checks=[CHECK])
    assert state.steps["s2"].status == "skipped"
    assert (await verified(calc, state, monkeypatch)).divergence is None


@pytest.mark.req("X3")
async def test_play_shows_every_event_in_order_at_any_speed(calc: Bench) -> None:
    state = await recovered(calc)
    shown: list[int] = []
    records = list(calc.journal.read(state.run_id))
    await play(records, lambda record: shown.append(record.seq))
    await play(records, lambda record: shown.append(record.seq), speed=1_000)
    assert shown == [*range(1, len(records) + 1)] * 2


async def forked(calc: Bench, state: RunState, point: Point, script: list[Any], **more: Any) -> RunState:
    """Fork a run, and let the new one go on."""
    target = calc.root.with_name("forked")
    new = await fork(calc.journal, calc.home, state.run_id, point, target, **more)
    calc.root = target
    return await calc.talk_on(new, script)


NOTE = [("write_file", {"path": "note.txt", "content": "n"}), FINISH]
PLAN = submit({"name": "Fix add"}, {"name": "Note it", "description": "write note.txt", "after": [1]})


@pytest.mark.req("X3")
@pytest.mark.parametrize(
    ("point", "script"),
    [
        (Point(step="s2"), [NOTE]),
        (Point(step="s1"), [[FIX, FINISH], NOTE]),
        (Point(decision=2), [[FIX, FINISH], NOTE]),
        (Point(phase=Stage.PLANNING), [PLAN[2:], [FIX, FINISH], NOTE]),
        (Point(phase=Stage.VALIDATION), []),
    ],
    ids=["second step", "first step", "in a step", "planning", "validation"],
)
async def test_fork_is_decided_in_the_same_way(
    calc: Bench, monkeypatch: pytest.MonkeyPatch, point: Point, script: list[Any]
) -> None:
    first = [("run_command", {"command": "echo left > left.txt"}), ("read_file", {"path": "calc.py"})]
    state = await calc.talk("Fix add in calc.py.", [PLAN, first, [FIX, FINISH], NOTE], checks=[CHECK])
    after = await forked(calc, state, point, script)
    assert after.outcome is not None
    assert after.outcome.verdict is Verdict.VERIFIED
    result = await verified(calc, after, monkeypatch)
    assert result.divergence is None
    assert result.other_questions == ()
    assert 2 <= result.compared <= sum(decision_of(r.event) is not None for r in calc.journal.read(after.run_id))
    monkeypatch.setattr("surefoot.engine.verifier.validate.final_checks", lambda run: ())
    found = (await verified(calc, after, monkeypatch)).divergence
    assert found is not None, "what today's code decides differently in a fork is found"


@pytest.mark.req("X3", "P13")
async def test_fork_whose_step_is_rolled_back_and_answered_otherwise_is_verified(
    calc: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The snapshot that the rollback restores was taken in the run that was forked."""
    calc.person = PreparedPerson("alpha")
    ask = [("run_command", {"command": "echo x > half.txt"}), ("ask_user", {"question": "Which name?"})]
    state = await calc.talk("Fix add in calc.py.", [submit(), ask, [FIX, FINISH]], checks=[CHECK])
    (question,) = state.questions.values()
    stuck = [[FINISH]] * 3
    script = [*stuck, [("change_steps", {"steps": [{"step": "s1", "description": "in one go"}]})], [FIX, FINISH]]
    after = await forked(calc, state, Point(question=question.id), script, answer="omega")
    assert "half.txt" in calc.events(e.RolledBack)[-1].paths
    assert not (calc.root / "half.txt").exists()
    assert (await verified(calc, after, monkeypatch)).divergence is None


@pytest.mark.req("X3")
async def test_snapshot_of_a_fork_is_kept_while_the_fork_is(calc: Bench) -> None:
    state = await calc.talk("Fix add in calc.py.", [submit(), [FIX, FINISH]], checks=[CHECK])
    new = await fork(calc.journal, calc.home, state.run_id, Point(step="s1"), calc.root.with_name("forked"))
    created = next(iter(calc.journal.read(new))).event
    assert isinstance(created, e.RunCreated)
    assert created.forked_at in build_timeline(calc.journal.read(new)).snapshots
    result = await verify(calc.journal, calc.home, new)
    assert (result.compared, result.divergence) == (0, None), "nothing was decided in it yet"


FIX_COMMAND = act("run_command", command="sed -i s/-/+/ calc.py")


async def in_the_middle(calc: Bench, **by_hand: str) -> tuple[RunState, RunState]:
    """Fork a run in the middle of a step, with files that only a later action of it names, and let the fork go on."""
    step = ExecutionStep(id="s", name="Fix it", description="x", step_type=StepType.COMMAND_EXECUTION)
    left = act("run_command", command="echo left > left.txt")
    state = await calc.run_plan(steps(step), [left, FIX_COMMAND, done()], checks=[CHECK])
    calc.root = calc.root.with_name("forked")
    new = await fork(calc.journal, calc.home, state.run_id, Point(decision=2), calc.root)
    calc.write(**by_hand)
    after = await calc.resume(new, [FIX_COMMAND, done()])
    assert after.outcome is not None
    assert after.outcome.verdict is Verdict.VERIFIED
    return state, after


@pytest.mark.req("X3")
async def test_fork_is_asked_the_same_with_the_files_with_which_it_began(
    calc: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, after = await in_the_middle(calc)
    result = await verified(calc, after, monkeypatch)
    assert (result.divergence, result.other_questions) == (None, ())


@pytest.mark.req("X3", "X2")
async def test_files_of_a_fork_outlive_the_run_that_was_forked(calc: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """A person adds a file before the fork goes on, so no snapshot of its own is equal to that of its beginning."""
    old = calc.root
    state, after = await in_the_middle(calc, mine__txt="added by hand")
    created = next(iter(calc.journal.read(after.run_id))).event
    assert isinstance(created, e.RunCreated)
    named = {getattr(record.event, "snapshot", "") for record in calc.journal.read(after.run_id)}
    assert created.forked_at not in named, "something else would keep it"
    for path in calc.home.rglob("*"):
        os.utime(path, (0, 0), follow_symlinks=False)
    collected = collect_garbage(calc.journal, calc.home, older_than=0, workspaces={str(old)})
    assert collected.runs == (state.run_id,)
    assert collected.snapshots > 0
    assert (await verified(calc, after, monkeypatch)).divergence is None
