"""What a run did can be undone, compared, forked and applied, exactly, and nobody's own work is lost by it."""

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from kit import Bench, act, done, fenced, steps
from surefoot import events as e
from surefoot.errors import RestoreConflict, UsageError, WorkspaceError, WorkspaceLocked
from surefoot.fold import fold
from surefoot.fork import fork
from surefoot.machine import Stage, StepStatus
from surefoot.models.base import ModelRequest
from surefoot.models.scripted import Rule
from surefoot.outcome import Verdict
from surefoot.plan import ExecutionStep, FileCheck, StepType
from surefoot.retention import clear
from surefoot.state import RunState
from surefoot.trail import diff_of, trail
from surefoot.undo import Way, undo
from surefoot.workspace.lock import WorkspaceLock
from surefoot.workspace.snapshot import Workspace
from surefoot.worktree import apply_worktree, make_worktree, worktree_of
from trees import photograph

NO_REPLAN = {"max_step_retries": 0, "max_single_step_repairs": 0, "max_task_replanning_attempts": 0}
SPOIL = "rm -r docs; chmod 600 run.sh; ln -s nowhere link; mkdir -p empty/deep; echo new > made.txt; echo x >> kept.txt"
SECOND = "rm gone.txt; echo 2 > two.txt"


@pytest.fixture
def filled(bench: Bench) -> Bench:
    bench.write(kept__txt="kept\n", gone__txt="gone\n", other__txt="other\n")
    (bench.root / "docs").mkdir()
    (bench.root / "docs/spec.md").write_text("spec\n")
    (bench.root / "run.sh").write_text("#!/bin/sh\n")
    (bench.root / "run.sh").chmod(0o755)
    return bench


def making(name: str, made: str) -> ExecutionStep:
    kind = StepType.COMMAND_EXECUTION
    return ExecutionStep(id=name, name=name, description=name, step_type=kind, checks=(FileCheck(path=made),))


async def run_two_steps(bench: Bench, second: str = SECOND, **config: Any) -> RunState:
    plan = steps(making("one", "made.txt"), making("two", "two.txt"), after=[("two", "one")])
    answers = [act("run_command", command=SPOIL), act("run_command", command=second), done()]
    return await bench.run_plan(plan, answers, **config)


async def undone(bench: Bench, state: RunState, **how: Any) -> Way:
    way = await undo(bench.journal, bench.home, state.run_id, **how)
    assert way is not None
    return way


def state_now(bench: Bench, run_id: str) -> RunState:
    return fold(bench.journal.read(run_id))


# -- undo ----------------------------------------------------------------------------------------------------------


@pytest.mark.req("X2", "P13")
async def test_a_run_is_undone_exactly_and_brought_back_exactly(filled: Bench) -> None:
    before = photograph(filled.root)
    state = await run_two_steps(filled)
    after = photograph(filled.root)
    assert before != after
    way = await undone(filled, state)
    assert photograph(filled.root) == before
    assert not (await undone(filled, state)).changes, "undone twice is undone once"
    await undone(filled, state, to=way.now[:12])
    assert photograph(filled.root) == after
    await undone(filled, state)
    assert photograph(filled.root) == before


@pytest.mark.req("X2", "P13")
async def test_a_step_and_all_after_it_are_undone(filled: Bench) -> None:
    state = await run_two_steps(filled)
    await undone(filled, state, step="two")
    assert not (filled.root / "two.txt").exists()
    assert (filled.root / "gone.txt").exists()
    assert (filled.root / "made.txt").exists(), "the first step stays"
    await undone(filled, state, step="1")
    assert not (filled.root / "made.txt").exists()


@pytest.mark.req("X2")
async def test_what_was_changed_since_stays_and_the_rest_is_undone(filled: Bench) -> None:
    state = await run_two_steps(filled)
    (filled.root / "other.txt").write_text("changed by hand\n")
    (filled.root / "notes").mkdir()
    (filled.root / "notes/mine.txt").write_text("mine\n")
    (filled.root / "empty/deep/mine.txt").write_text("in a folder of the run\n")
    await undone(filled, state)
    assert filled.files() == {
        "docs/spec.md": "spec\n",
        "empty/deep/mine.txt": "in a folder of the run\n",
        "gone.txt": "gone\n",
        "kept.txt": "kept\n",
        "notes/mine.txt": "mine\n",
        "other.txt": "changed by hand\n",
        "run.sh": "#!/bin/sh\n",
    }
    assert (filled.root / "run.sh").stat().st_mode & 0o777 == 0o755


@pytest.mark.req("X2")
async def test_the_same_file_changed_by_both_is_refused_and_forced(filled: Bench) -> None:
    state = await run_two_steps(filled)
    (filled.root / "kept.txt").write_text("by hand\n")
    (filled.root / "other.txt").write_text("also by hand\n")
    (filled.root / "gone.txt").write_text("made again by hand\n")
    half = photograph(filled.root)
    with pytest.raises(RestoreConflict) as caught:
        await undone(filled, state)
    assert caught.value.paths == ("gone.txt", "kept.txt")
    assert photograph(filled.root) == half
    way = await undone(filled, state, force=True)
    assert (filled.root / "kept.txt").read_text() == "kept\n"
    assert (filled.root / "gone.txt").read_text() == "gone\n"
    assert (filled.root / "other.txt").read_text() == "also by hand\n", "what is in nobody's way stays even then"
    await undone(filled, state, to=way.now)
    assert photograph(filled.root) == half, "what was overwritten is not lost"


@pytest.mark.req("X2")
async def test_what_was_changed_by_hand_stays_also_when_more_is_undone_later(filled: Bench) -> None:
    state = await run_two_steps(filled)
    (filled.root / "kept.txt").write_text("by hand\n")
    way = await undone(filled, state, step="two")
    assert (filled.root / "kept.txt").read_text() == "by hand\n"
    for _ in range(2):
        with pytest.raises(RestoreConflict) as caught:
            await undone(filled, state)
        assert caught.value.paths == ("kept.txt",)
        await undone(filled, state, to=way.now)  # and back, which is nobody's consent either
    (filled.root / "kept.txt").write_text("kept\nx\n")
    await undone(filled, state)
    assert not (filled.root / "made.txt").exists()
    assert (filled.root / "kept.txt").read_text() == "kept\n"


async def test_what_a_later_run_did_is_in_the_way(filled: Bench) -> None:
    first = await run_two_steps(filled)
    plan = steps(making("three", "three.txt"))
    second = await filled.run_plan(plan, [act("run_command", command="echo y >> kept.txt; echo 3 > three.txt")])
    with pytest.raises(RestoreConflict, match=r"kept\.txt"):
        await undone(filled, first)
    await undone(filled, second)
    await undone(filled, first)
    assert (filled.root / "kept.txt").read_text() == "kept\n"


async def test_what_checks_left_behind_after_the_last_step_is_undone_too(filled: Bench) -> None:
    """The final checks run after the last snapshot; what they leave is nobody's own."""
    before = photograph(filled.root)
    plan = steps(making("one", "made.txt"))
    answers = [act("run_command", command=SPOIL)]
    state = await filled.run_plan(plan, answers, checks=["mkdir -p build && date +%N > build/log"])
    assert (filled.root / "build/log").exists()
    await undone(filled, state)
    assert photograph(filled.root) == before


@pytest.mark.req("X2")
async def test_what_someone_did_while_the_run_was_at_work_stays(filled: Bench) -> None:
    def meanwhile(_: ModelRequest) -> Any:
        (filled.root / "other.txt").write_text("by hand, meanwhile\n")
        (filled.root / "mine.txt").write_text("mine\n")
        return act("run_command", command=SECOND)

    plan = steps(making("one", "made.txt"), making("two", "two.txt"), after=[("two", "one")])
    state = await filled.run_plan(plan, [act("run_command", command=SPOIL), meanwhile])
    await undone(filled, state)
    files = filled.files()
    assert (files["other.txt"], files["mine.txt"]) == ("by hand, meanwhile\n", "mine\n")
    assert (files["kept.txt"], files["gone.txt"]) == ("kept\n", "gone\n")
    assert "made.txt" not in files


@pytest.mark.req("X2", "P13")
async def test_a_run_of_parallel_steps_one_of_which_was_rolled_back_is_undone_exactly(filled: Bench) -> None:
    before = photograph(filled.root)
    good, bad = (
        ExecutionStep(id=name, name=name, writes=(f"{name}.py",), checks=(FileCheck(path=check),))
        for name, check in (("good", "good.py"), ("bad", "never"))
    )
    answers = [
        Rule("content of `good.py`", fenced("good = 1")),
        *(Rule("bad.py", fenced(f"bad = {n}"), 1) for n in range(9)),
    ]
    state = await filled.run_plan(steps(good, bad), answers, reflection=NO_REPLAN)
    assert state.stage is Stage.FAILED
    assert filled.events(e.RolledBack)
    assert (filled.root / "good.py").exists()
    await undone(filled, state)
    assert photograph(filled.root) == before


async def test_nobody_agrees_and_nothing_happens(filled: Bench) -> None:
    state = await run_two_steps(filled)
    before = photograph(filled.root)
    seen: list[str] = []

    def no(way: Way) -> bool:
        seen.extend(change.path for change in way.changes)
        return False

    assert await undo(filled.journal, filled.home, state.run_id, agreed=no) is None
    assert "made.txt" in seen
    assert photograph(filled.root) == before
    assert state_now(filled, state.run_id).seq == state.seq


async def test_a_workspace_where_someone_is_at_work_is_left_alone(filled: Bench) -> None:
    state = await run_two_steps(filled)
    with WorkspaceLock(filled.root, filled.home, "another"), pytest.raises(WorkspaceLocked):
        await undone(filled, state)


async def test_what_cannot_be_is_told(filled: Bench) -> None:
    state = await run_two_steps(filled)
    for how, said in (({"step": "three"}, "one, two"), ({"to": "nowhere"}, "its last ones are")):
        with pytest.raises(UsageError) as caught:
            await undone(filled, state, **how)
        assert said in caught.value.remedy
    shutil.rmtree(filled.root)
    with pytest.raises(UsageError, match="gone") as caught:
        await undone(filled, state)
    assert "surefoot fork" in caught.value.remedy


# -- undo and resume -----------------------------------------------------------------------------------------------


@pytest.mark.req("X2", "A11")
async def test_a_failed_run_that_was_undone_does_its_steps_again(filled: Bench) -> None:
    before = photograph(filled.root)
    state = await run_two_steps(filled, "echo wrong > wrong.txt", reflection=NO_REPLAN)
    assert state.stage is Stage.FAILED
    assert (filled.root / "made.txt").exists()
    await undone(filled, state)
    assert photograph(filled.root) == before
    waiting = state_now(filled, state.run_id)
    assert [mine.status for mine in waiting.steps.values()] == [StepStatus.PENDING, StepStatus.PENDING]
    again = await filled.resume(state.run_id, [act("run_command", command=SPOIL), act("run_command", command=SECOND)])
    assert again.stage is Stage.COMPLETED
    assert [mine.status for mine in again.steps.values()] == [StepStatus.SUCCEEDED, StepStatus.SUCCEEDED]
    assert (filled.root / "made.txt").exists()


@pytest.mark.req("A11")
async def test_after_undoing_a_step_the_ones_before_it_are_not_done_again(filled: Bench) -> None:
    state = await run_two_steps(filled, "echo wrong > wrong.txt", reflection=NO_REPLAN, enable_auto_rollback=False)
    await undone(filled, state, step="two")
    assert not (filled.root / "wrong.txt").exists()
    again = await filled.resume(state.run_id, [act("run_command", command=SECOND)])
    assert again.stage is Stage.COMPLETED
    assert again.steps["one"].attempt == 1


async def test_a_run_that_waits_has_ended_when_it_was_undone(filled: Bench) -> None:
    plan = steps(
        making("one", "made.txt"),
        ExecutionStep(id="two", name="two", tool="list_files", requires_confirmation=True),
        after=[("two", "one")],
    )
    state = await filled.run_plan(plan, [act("run_command", command=SPOIL)])
    assert state.stage is Stage.WAITING
    await undone(filled, state)
    ended = state_now(filled, state.run_id)
    assert ended.outcome is not None
    assert ended.outcome.verdict is Verdict.CANCELLED
    again = await filled.resume(state.run_id, [act("run_command", command=SPOIL)])
    assert again.stage is Stage.WAITING
    assert (filled.root / "made.txt").exists()


# -- diff ----------------------------------------------------------------------------------------------------------


async def test_a_run_and_its_steps_are_compared_also_when_the_folder_is_gone_or_undone(filled: Bench) -> None:
    state = await run_two_steps(filled)
    await undone(filled, state)
    shutil.rmtree(filled.root)
    records = list(filled.journal.read(state.run_id))
    whole, first, second = (diff_of(records, filled.home, step) for step in ("", "one", "2"))
    assert "+x\n" in whole
    assert "+2\n" in whole
    assert "+x\n" in first
    assert "+2\n" not in first
    assert "-gone\n" in second
    assert "made.txt" not in second


# -- fork ----------------------------------------------------------------------------------------------------------


@pytest.mark.req("X3")
async def test_a_fork_has_files_and_state_of_the_moment_and_goes_on_from_there(filled: Bench, tmp_path: Path) -> None:
    state = await run_two_steps(filled)
    at_two = trail(filled.journal.read(state.run_id)).steps["two"].first.snapshot
    new = await fork(filled.journal, filled.home, state.run_id, "two", tmp_path / "forked", model="another")
    old_files = photograph(filled.root)
    begun = state_now(filled, new)
    assert begun.task is not None
    assert begun.task.folder == tmp_path / "forked"
    assert begun.model == "another"
    assert [mine.status for mine in begun.steps.values()] == [StepStatus.SUCCEEDED, StepStatus.PENDING]
    assert Workspace(tmp_path / "forked", filled.home).snapshot() == at_two
    assert begun.tokens == 0

    ended = await filled.resume(new, [act("run_command", command="echo other > two.txt")])
    assert ended.stage is Stage.COMPLETED
    assert ended.steps["one"].attempt == 1
    assert (tmp_path / "forked/two.txt").read_text() == "other\n"
    assert (tmp_path / "forked/made.txt").exists()
    assert photograph(filled.root) == old_files, "the old folder is not touched"
    assert ended.outcome is not None
    assert "made.txt" in ended.outcome.generated_files, "the task's changes are told against its real beginning"


@pytest.mark.req("X3")
async def test_a_fork_of_a_run_whose_folder_is_gone(filled: Bench, tmp_path: Path) -> None:
    before = photograph(filled.root)
    state = await run_two_steps(filled)
    shutil.rmtree(filled.root)
    await fork(filled.journal, filled.home, state.run_id, "one", tmp_path / "forked")
    assert photograph(tmp_path / "forked") == before


async def test_a_fork_needs_a_step_that_was_begun_and_an_empty_folder(filled: Bench, tmp_path: Path) -> None:
    state = await run_two_steps(filled, "echo wrong > wrong.txt", reflection=NO_REPLAN)
    runs = len(filled.journal.summaries())
    with pytest.raises(UsageError, match="that was begun"):
        await fork(filled.journal, filled.home, state.run_id, "9", tmp_path / "forked")
    with pytest.raises(UsageError, match="is not empty"):
        await fork(filled.journal, filled.home, state.run_id, "two", filled.root)
    assert len(filled.journal.summaries()) == runs
    assert await fork(filled.journal, filled.home, state.run_id, "two", tmp_path / "forked")


# -- gc ------------------------------------------------------------------------------------------------------------


def age(home: Path) -> None:
    """What is a minute old may still be in the making; this is older."""
    for file in [*home.glob("manifests/*"), *home.glob("blobs/*/*")]:
        os.utime(file, (1, 1))


async def test_snapshots_of_old_runs_go_and_those_of_others_stay(filled: Bench) -> None:
    first = await run_two_steps(filled)
    waiting = await filled.run_plan(
        steps(making("w", "w"), ExecutionStep(id="x", name="x", tool="list_files", requires_confirmation=True)),
        [act("run_command", command="echo waiting > w")],
    )
    assert waiting.stage is Stage.WAITING
    age(filled.home)
    assert clear(filled.journal, filled.home, older_than=3600).runs == ()
    told = clear(filled.journal, filled.home, older_than=0, dry_run=True)
    assert told.runs == (first.run_id,)
    assert told.bytes_freed > 0
    done_now = clear(filled.journal, filled.home, older_than=0)
    assert (done_now.snapshots, done_now.bytes_freed) == (told.snapshots, told.bytes_freed)
    with pytest.raises(WorkspaceError):
        await undone(filled, first)
    await undone(filled, waiting)
    assert not (filled.root / "w").exists()


async def test_the_newest_stay_if_asked_and_so_does_what_someone_is_at_work_on(filled: Bench) -> None:
    await run_two_steps(filled)
    assert clear(filled.journal, filled.home, older_than=0, keep=1, dry_run=True).runs == ()
    with WorkspaceLock(filled.root, filled.home, "another"):
        assert clear(filled.journal, filled.home, older_than=0, dry_run=True).runs == ()
    assert len(clear(filled.journal, filled.home, older_than=0, dry_run=True).runs) == 1


# -- worktrees -----------------------------------------------------------------------------------------------------


async def test_a_run_in_a_copy_leaves_the_folder_alone_until_it_is_applied(filled: Bench, tmp_path: Path) -> None:
    before = photograph(filled.root)
    copy = tmp_path / "copies/in-copy/work"
    make_worktree(filled.root, copy, filled.home, "in-copy")
    assert photograph(copy) == before
    (filled.root / "other.txt").write_text("by hand\n")
    plan = steps(making("one", "made.txt"))
    origin, filled.root = filled.root, copy
    state = await filled.run_plan(plan, [act("run_command", command=SPOIL)])
    filled.root = origin
    note = filled.home / "worktrees" / "in-copy.json"
    note.rename(note.with_name(f"{state.run_id}.json"))
    assert (copy / "made.txt").exists()
    assert not (origin / "made.txt").exists()
    assert await apply_worktree(filled.journal, filled.home, state.run_id) is not None
    copied = photograph(copy, times=False)
    assert (origin / "other.txt").read_text() == "by hand\n"
    (origin / "other.txt").write_text("other\n")
    assert photograph(origin, times=False) == copied

    (origin / "kept.txt").write_text("by hand\n")
    with pytest.raises(RestoreConflict, match="kept"):
        await apply_worktree(filled.journal, filled.home, state.run_id)

    age(filled.home)
    clear(filled.journal, filled.home, older_than=0)
    assert worktree_of(filled.home, state.run_id) is None
    assert not copy.exists()


async def test_only_what_ran_in_a_copy_can_be_applied(filled: Bench) -> None:
    state = await run_two_steps(filled)
    with pytest.raises(UsageError, match="did not work in a copy"):
        await apply_worktree(filled.journal, filled.home, state.run_id)
