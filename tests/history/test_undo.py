"""Undo, diff, fork, garbage collection and worktrees are exact and lose no changes of other people."""

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from support.kit import Bench, act, done, fenced, steps
from support.trees import photograph
from surefoot.core.outcome import Verdict
from surefoot.core.plan import ExecutionStep, FileCheck, StepType
from surefoot.core.transitions import Stage, StepStatus
from surefoot.errors import RestoreConflict, UsageError, WorkspaceError, WorkspaceLocked
from surefoot.history.fork import Point, fork
from surefoot.history.gc import collect_garbage
from surefoot.history.restoring import RestorePlan
from surefoot.history.timeline import build_timeline, diff_of
from surefoot.history.undo import undo
from surefoot.history.worktree import apply_worktree, make_worktree
from surefoot.journal import events as e
from surefoot.journal.reducers import fold
from surefoot.journal.state import RunState
from surefoot.models.base import ModelRequest
from surefoot.models.testing.scripted import Rule
from surefoot.workspace.lock import WorkspaceLock
from surefoot.workspace.workspace import Workspace
from surefoot.workspace.worktrees import worktree_of

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


async def undo_run(bench: Bench, state: RunState, **options: Any) -> RestorePlan:
    plan = await undo(bench.journal, bench.home, state.run_id, **options)
    assert plan is not None
    return plan


def state_now(bench: Bench, run_id: str) -> RunState:
    return fold(bench.journal.read(run_id))


# -- undo ----------------------------------------------------------------------------------------------------------


@pytest.mark.req("X2", "P13")
async def test_a_run_is_undone_exactly_and_redone_exactly(filled: Bench) -> None:
    before = photograph(filled.root)
    state = await run_two_steps(filled)
    after = photograph(filled.root)
    assert before != after
    plan = await undo_run(filled, state)
    assert photograph(filled.root) == before
    assert not (await undo_run(filled, state)).changes, "undo is idempotent"
    await undo_run(filled, state, to=plan.current[:12])
    assert photograph(filled.root) == after
    await undo_run(filled, state)
    assert photograph(filled.root) == before


@pytest.mark.req("X2", "P13")
async def test_undoing_a_step_undoes_the_steps_after_it_too(filled: Bench) -> None:
    state = await run_two_steps(filled)
    await undo_run(filled, state, step="two")
    assert not (filled.root / "two.txt").exists()
    assert (filled.root / "gone.txt").exists()
    assert (filled.root / "made.txt").exists(), "the first step is not undone"
    await undo_run(filled, state, step="1")
    assert not (filled.root / "made.txt").exists()


@pytest.mark.req("X2")
async def test_changes_made_after_the_run_are_kept(filled: Bench) -> None:
    state = await run_two_steps(filled)
    (filled.root / "other.txt").write_text("changed by hand\n")
    (filled.root / "notes").mkdir()
    (filled.root / "notes/mine.txt").write_text("mine\n")
    (filled.root / "empty/deep/mine.txt").write_text("in a folder of the run\n")
    await undo_run(filled, state)
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
async def test_a_file_changed_by_both_is_a_conflict_unless_forced(filled: Bench) -> None:
    state = await run_two_steps(filled)
    (filled.root / "kept.txt").write_text("by hand\n")
    (filled.root / "other.txt").write_text("also by hand\n")
    (filled.root / "gone.txt").write_text("made again by hand\n")
    half = photograph(filled.root)
    with pytest.raises(RestoreConflict) as raised:
        await undo_run(filled, state)
    assert raised.value.paths == ("gone.txt", "kept.txt")
    assert photograph(filled.root) == half
    plan = await undo_run(filled, state, force=True)
    assert (filled.root / "kept.txt").read_text() == "kept\n"
    assert (filled.root / "gone.txt").read_text() == "gone\n"
    assert (filled.root / "other.txt").read_text() == "also by hand\n", "other changes are kept even then"
    await undo_run(filled, state, to=plan.current)
    assert photograph(filled.root) == half, "overwritten changes are not lost"


@pytest.mark.req("X2")
async def test_manual_changes_are_kept_when_more_is_undone_later(filled: Bench) -> None:
    state = await run_two_steps(filled)
    (filled.root / "kept.txt").write_text("by hand\n")
    plan = await undo_run(filled, state, step="two")
    assert (filled.root / "kept.txt").read_text() == "by hand\n"
    for _ in range(2):
        with pytest.raises(RestoreConflict) as raised:
            await undo_run(filled, state)
        assert raised.value.paths == ("kept.txt",)
        await undo_run(filled, state, to=plan.current)  # going back and forth does not resolve the conflict
    (filled.root / "kept.txt").write_text("kept\nx\n")
    await undo_run(filled, state)
    assert not (filled.root / "made.txt").exists()
    assert (filled.root / "kept.txt").read_text() == "kept\n"


async def test_changes_of_a_later_run_are_a_conflict(filled: Bench) -> None:
    first = await run_two_steps(filled)
    plan = steps(making("three", "three.txt"))
    second = await filled.run_plan(plan, [act("run_command", command="echo y >> kept.txt; echo 3 > three.txt")])
    with pytest.raises(RestoreConflict, match=r"kept\.txt"):
        await undo_run(filled, first)
    await undo_run(filled, second)
    await undo_run(filled, first)
    assert (filled.root / "kept.txt").read_text() == "kept\n"


async def test_leftovers_of_the_final_checks_are_undone_too(filled: Bench) -> None:
    """The final checks run after the last snapshot; what they leave is not a change by a person."""
    before = photograph(filled.root)
    plan = steps(making("one", "made.txt"))
    answers = [act("run_command", command=SPOIL)]
    state = await filled.run_plan(plan, answers, checks=["mkdir -p build && date +%N > build/log"])
    assert (filled.root / "build/log").exists()
    await undo_run(filled, state)
    assert photograph(filled.root) == before


@pytest.mark.req("X2")
async def test_changes_made_during_the_run_are_kept(filled: Bench) -> None:
    def meanwhile(_: ModelRequest) -> Any:
        (filled.root / "other.txt").write_text("by hand, meanwhile\n")
        (filled.root / "mine.txt").write_text("mine\n")
        return act("run_command", command=SECOND)

    plan = steps(making("one", "made.txt"), making("two", "two.txt"), after=[("two", "one")])
    state = await filled.run_plan(plan, [act("run_command", command=SPOIL), meanwhile])
    diff = diff_of(list(filled.journal.read(state.run_id)), filled.home)
    assert "made.txt" in diff
    assert "mine.txt" not in diff, "as in the outcome"
    assert state.outcome is not None
    assert "mine.txt" not in state.outcome.changed_files
    await undo_run(filled, state)
    files = filled.files()
    assert (files["other.txt"], files["mine.txt"]) == ("by hand, meanwhile\n", "mine\n")
    assert (files["kept.txt"], files["gone.txt"]) == ("kept\n", "gone\n")
    assert "made.txt" not in files


@pytest.mark.req("X2", "P13")
async def test_a_run_with_a_rolled_back_parallel_step_is_undone_exactly(filled: Bench) -> None:
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
    await undo_run(filled, state)
    assert photograph(filled.root) == before


async def test_a_file_that_is_written_during_the_undo_is_kept(filled: Bench) -> None:
    """As by `surefoot undo last --yes > undo.log`."""
    before = {path: entry for path, entry in photograph(filled.root).items() if path != b"."}
    state = await run_two_steps(filled)
    log = filled.root / "undo.log"
    log.write_text("")

    def confirm(plan: RestorePlan) -> bool:
        log.write_text("these files will be restored\n")
        return True

    await undo_run(filled, state, confirm=confirm)
    assert log.read_text() == "these files will be restored\n"
    log.unlink()
    assert {path: entry for path, entry in photograph(filled.root).items() if path != b"."} == before
    undone = fold(filled.journal.read(state.run_id)).undone
    assert undone is not None
    assert not undone.is_partial


async def test_an_undo_that_is_refused_in_the_last_moment_is_not_recorded(filled: Bench) -> None:
    state = await run_two_steps(filled)

    def confirm(plan: RestorePlan) -> bool:
        (filled.root / "two.txt").write_text("mine\n")
        return True

    with pytest.raises(RestoreConflict, match=r"two\.txt"):
        await undo_run(filled, state, confirm=confirm)
    assert (filled.root / "two.txt").read_text() == "mine\n"
    assert fold(filled.journal.read(state.run_id)).undone is None


async def test_a_conflict_while_files_are_restored_is_recorded(filled: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    state = await run_two_steps(filled)
    restore = Workspace.restore

    def late(workspace: Workspace, *arguments: Any, **options: Any) -> Any:
        (filled.root / "two.txt").write_text("mine\n")
        return restore(workspace, *arguments, **options)

    monkeypatch.setattr(Workspace, "restore", late)
    with pytest.raises(RestoreConflict):
        await undo_run(filled, state)
    undone = fold(filled.journal.read(state.run_id)).undone
    assert undone is not None
    assert "two.txt" in undone.missing


async def test_an_undo_that_is_not_confirmed_changes_nothing(filled: Bench) -> None:
    state = await run_two_steps(filled)
    before = photograph(filled.root)
    shown: list[str] = []

    def refuse(plan: RestorePlan) -> bool:
        shown.extend(change.path for change in plan.changes)
        return False

    assert await undo(filled.journal, filled.home, state.run_id, confirm=refuse) is None
    assert "made.txt" in shown
    assert photograph(filled.root) == before
    assert state_now(filled, state.run_id).seq == state.seq


async def test_a_locked_workspace_is_not_undo_run(filled: Bench) -> None:
    state = await run_two_steps(filled)
    with WorkspaceLock(filled.root, filled.home, "another"), pytest.raises(WorkspaceLocked):
        await undo_run(filled, state)


async def test_an_impossible_undo_is_a_usage_error(filled: Bench) -> None:
    state = await run_two_steps(filled)
    for options, remedy in (({"step": "three"}, "one, two"), ({"to": "nowhere"}, "its last snapshots are")):
        with pytest.raises(UsageError) as raised:
            await undo_run(filled, state, **options)
        assert remedy in raised.value.remedy
    shutil.rmtree(filled.root)
    with pytest.raises(UsageError, match="gone") as raised:
        await undo_run(filled, state)
    assert "surefoot fork" in raised.value.remedy


# -- undo and resume -----------------------------------------------------------------------------------------------


@pytest.mark.req("X2", "A11")
async def test_resuming_an_undone_run_executes_its_steps_again(filled: Bench) -> None:
    before = photograph(filled.root)
    state = await run_two_steps(filled, "echo wrong > wrong.txt", reflection=NO_REPLAN)
    assert state.stage is Stage.FAILED
    assert (filled.root / "made.txt").exists()
    await undo_run(filled, state)
    assert photograph(filled.root) == before
    waiting = state_now(filled, state.run_id)
    assert [step_run.status for step_run in waiting.steps.values()] == [StepStatus.PENDING, StepStatus.PENDING]
    again = await filled.resume(state.run_id, [act("run_command", command=SPOIL), act("run_command", command=SECOND)])
    assert again.stage is Stage.COMPLETED
    assert [step_run.status for step_run in again.steps.values()] == [StepStatus.SUCCEEDED, StepStatus.SUCCEEDED]
    assert (filled.root / "made.txt").exists()


@pytest.mark.req("A11")
async def test_after_undoing_a_step_the_steps_before_it_are_not_executed_again(filled: Bench) -> None:
    state = await run_two_steps(filled, "echo wrong > wrong.txt", reflection=NO_REPLAN, enable_auto_rollback=False)
    await undo_run(filled, state, step="two")
    assert not (filled.root / "wrong.txt").exists()
    again = await filled.resume(state.run_id, [act("run_command", command=SECOND)])
    assert again.stage is Stage.COMPLETED
    assert again.steps["one"].attempt == 1


async def test_undoing_a_waiting_run_ends_it(filled: Bench) -> None:
    plan = steps(
        making("one", "made.txt"),
        ExecutionStep(id="two", name="two", tool="list_files", requires_confirmation=True),
        after=[("two", "one")],
    )
    state = await filled.run_plan(plan, [act("run_command", command=SPOIL)])
    assert state.stage is Stage.WAITING
    await undo_run(filled, state)
    ended = state_now(filled, state.run_id)
    assert ended.outcome is not None
    assert ended.outcome.verdict is Verdict.CANCELLED
    again = await filled.resume(state.run_id, [act("run_command", command=SPOIL)])
    assert again.stage is Stage.WAITING
    assert (filled.root / "made.txt").exists()


# -- diff ----------------------------------------------------------------------------------------------------------


async def test_diffs_work_after_an_undo_and_without_the_folder(filled: Bench) -> None:
    state = await run_two_steps(filled)
    await undo_run(filled, state)
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
async def test_a_fork_has_the_files_and_state_before_the_step(filled: Bench, tmp_path: Path) -> None:
    state = await run_two_steps(filled)
    at_two = build_timeline(filled.journal.read(state.run_id)).steps["two"].first.snapshot
    new = await fork(filled.journal, filled.home, state.run_id, Point(step="two"), tmp_path / "forked", model="another")
    old_files = photograph(filled.root)
    forked = state_now(filled, new)
    assert forked.task is not None
    assert forked.task.folder == tmp_path / "forked"
    assert forked.model == "another"
    assert [step_run.status for step_run in forked.steps.values()] == [StepStatus.SUCCEEDED, StepStatus.PENDING]
    assert Workspace(tmp_path / "forked", filled.home).snapshot() == at_two
    assert forked.tokens == 0

    ended = await filled.resume(new, [act("run_command", command="echo other > two.txt")])
    assert ended.stage is Stage.COMPLETED
    assert ended.steps["one"].attempt == 1
    assert (tmp_path / "forked/two.txt").read_text() == "other\n"
    assert (tmp_path / "forked/made.txt").exists()
    assert photograph(filled.root) == old_files, "the old folder is unchanged"
    assert ended.outcome is not None
    assert "made.txt" in ended.outcome.generated_files, "changes are relative to the start of the old run"


@pytest.mark.req("X3")
async def test_a_run_can_be_forked_without_its_folder(filled: Bench, tmp_path: Path) -> None:
    before = photograph(filled.root)
    state = await run_two_steps(filled)
    shutil.rmtree(filled.root)
    await fork(filled.journal, filled.home, state.run_id, Point(step="one"), tmp_path / "forked")
    assert photograph(tmp_path / "forked") == before


async def test_a_fork_needs_a_started_step_and_an_empty_folder(filled: Bench, tmp_path: Path) -> None:
    state = await run_two_steps(filled, "echo wrong > wrong.txt", reflection=NO_REPLAN)
    runs = len(filled.journal.summaries())
    with pytest.raises(UsageError, match="that was started"):
        await fork(filled.journal, filled.home, state.run_id, Point(step="9"), tmp_path / "forked")
    with pytest.raises(UsageError, match="is not empty"):
        await fork(filled.journal, filled.home, state.run_id, Point(step="two"), filled.root)
    assert len(filled.journal.summaries()) == runs
    assert await fork(filled.journal, filled.home, state.run_id, Point(step="two"), tmp_path / "forked")


# -- gc ------------------------------------------------------------------------------------------------------------


def age(home: Path) -> None:
    """Make stored files older than the minimum age for removal."""
    for file in [*home.glob("manifests/*"), *home.glob("blobs/*/*")]:
        os.utime(file, (1, 1))


async def test_snapshots_of_old_runs_are_removed_and_others_kept(filled: Bench) -> None:
    first = await run_two_steps(filled)
    waiting = await filled.run_plan(
        steps(making("w", "w"), ExecutionStep(id="x", name="x", tool="list_files", requires_confirmation=True)),
        [act("run_command", command="echo waiting > w")],
    )
    assert waiting.stage is Stage.WAITING
    age(filled.home)
    assert collect_garbage(filled.journal, filled.home, older_than=3600).runs == ()
    expected = collect_garbage(filled.journal, filled.home, older_than=0, dry_run=True)
    assert expected.runs == (first.run_id,)
    assert expected.bytes_freed > 0
    collected = collect_garbage(filled.journal, filled.home, older_than=0)
    assert (collected.snapshots, collected.bytes_freed) == (expected.snapshots, expected.bytes_freed)
    with pytest.raises(WorkspaceError):
        await undo_run(filled, first)
    await undo_run(filled, waiting)
    assert not (filled.root / "w").exists()


async def test_the_newest_runs_and_those_in_locked_workspaces_are_kept(filled: Bench) -> None:
    await run_two_steps(filled)
    assert collect_garbage(filled.journal, filled.home, older_than=0, keep=1, dry_run=True).runs == ()
    with WorkspaceLock(filled.root, filled.home, "another"):
        assert collect_garbage(filled.journal, filled.home, older_than=0, dry_run=True).runs == ()
    assert len(collect_garbage(filled.journal, filled.home, older_than=0, dry_run=True).runs) == 1


async def test_scratch_copies_of_a_killed_process_are_removed_with_their_run(filled: Bench) -> None:
    state = await run_two_steps(filled)
    leftover, unrelated = (filled.home / "copies" / f"{run_id}.check" for run_id in (state.run_id, "another"))
    for folder in (leftover, unrelated):
        (folder / "work").mkdir(parents=True)
        (folder / "work" / "file.txt").write_text("copied\n")
    collect_garbage(filled.journal, filled.home, older_than=0, dry_run=True)
    assert leftover.exists()
    collect_garbage(filled.journal, filled.home, older_than=0)
    assert not leftover.exists()
    assert unrelated.exists()


# -- worktrees -----------------------------------------------------------------------------------------------------


async def test_a_run_in_a_copy_changes_the_folder_only_when_applied(filled: Bench, tmp_path: Path) -> None:
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
    collect_garbage(filled.journal, filled.home, older_than=0)
    assert worktree_of(filled.home, state.run_id) is None
    assert not copy.exists()


async def test_only_a_run_in_a_copy_can_be_applied(filled: Bench) -> None:
    state = await run_two_steps(filled)
    with pytest.raises(UsageError, match="did not work in a copy"):
        await apply_worktree(filled.journal, filled.home, state.run_id)


async def run_in_copy(bench: Bench, tmp_path: Path, command: str = SPOIL) -> RunState:
    """A run in a copy of the bench's folder, which the bench keeps."""
    origin, copy = bench.root, tmp_path / "copies/in-copy/work"
    make_worktree(origin, copy, bench.home, "in-copy")
    bench.root = copy
    state = await bench.run_plan(steps(making("one", "made.txt")), [act("run_command", command=command)])
    bench.root = origin
    note = bench.home / "worktrees" / "in-copy.json"
    note.rename(note.with_name(f"{state.run_id}.json"))
    return state


@pytest.mark.req("X2")
async def test_undo_removes_what_was_applied_to_the_folder(filled: Bench, tmp_path: Path) -> None:
    state = await run_in_copy(filled, tmp_path)
    (filled.root / "other.txt").write_text("before it was applied\n")
    before = photograph(filled.root)
    for _ in range(2):
        await apply_worktree(filled.journal, filled.home, state.run_id)
        assert (filled.root / "made.txt").exists()
        second = await apply_worktree(filled.journal, filled.home, state.run_id)
        assert second is not None
        assert not second.changes, "applied already"
        (filled.root / "gone.txt").write_text("after it was applied\n")
        plan = await undo_run(filled, state, by="alice (surefoot undo)")
        assert plan.folder == str(filled.root)
        assert (filled.root / "gone.txt").read_text() == "after it was applied\n", "edits of other files are kept"
        (filled.root / "gone.txt").write_text("gone\n")
        os.utime(filled.root / "gone.txt", ns=(0, before[b"gone.txt"][2]))
        assert photograph(filled.root) == before
        undone = state_now(filled, state.run_id).undone
        assert undone is not None
        assert (undone.folder, undone.by, undone.is_partial) == (str(filled.root), "alice (surefoot undo)", False)
        assert not (await undo_run(filled, state)).changes, "undone already"
    assert (tmp_path / "copies/in-copy/work/made.txt").exists(), "the copy is not touched"


@pytest.mark.req("X2")
async def test_an_applied_file_that_was_edited_since_is_a_conflict(filled: Bench, tmp_path: Path) -> None:
    state = await run_in_copy(filled, tmp_path)
    await apply_worktree(filled.journal, filled.home, state.run_id)
    (filled.root / "made.txt").write_text("by hand\n")
    edited = photograph(filled.root)
    with pytest.raises(RestoreConflict, match=r"made\.txt"):
        await undo_run(filled, state)
    assert photograph(filled.root) == edited
    plan = await undo_run(filled, state, force=True)
    assert not (filled.root / "made.txt").exists()
    await undo_run(filled, state, to=plan.current)
    assert photograph(filled.root) == edited, "overwritten changes are not lost"


@pytest.mark.req("X2")
async def test_a_step_of_an_applied_run_is_not_undone_in_the_copy_alone(filled: Bench, tmp_path: Path) -> None:
    state = await run_in_copy(filled, tmp_path)
    await apply_worktree(filled.journal, filled.home, state.run_id)
    with pytest.raises(UsageError, match="as a whole") as raised:
        await undo_run(filled, state, step="one")
    assert f"surefoot undo {state.run_id}" in raised.value.remedy
    await undo_run(filled, state)
    assert (await undo_run(filled, state, step="one")).folder == str(tmp_path / "copies/in-copy/work")


async def test_undoing_a_run_that_was_not_applied_concerns_the_copy(filled: Bench, tmp_path: Path) -> None:
    before = photograph(filled.root)
    state = await run_in_copy(filled, tmp_path)
    plan = await undo_run(filled, state)
    assert plan.folder == str(tmp_path / "copies/in-copy/work")
    assert photograph(filled.root) == before


# -- no room ---------------------------------------------------------------------------------------------------------


@pytest.mark.req("X2")
async def test_filling_the_workspace_over_the_quota_does_not_block_the_rollback(filled: Bench) -> None:
    before = photograph(filled.root)
    command = "rm gone.txt; echo 1 > made.txt; truncate -s 15T big"
    state = await filled.run_plan(steps(making("one", "made.txt")), [act("run_command", command=command)])
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.FAILED
    assert "more than the 2.0 GB allowed" in state.outcome.summary
    assert photograph(filled.root) == before
    assert any("moved aside" in warning for warning in state.warnings)


@pytest.mark.req("X2")
async def test_filling_the_workspace_over_the_quota_does_not_block_undo(filled: Bench) -> None:
    before = photograph(filled.root)
    state = await run_two_steps(filled)
    with (filled.root / "made.txt").open("r+b") as file:
        file.truncate(15 << 40)
    with pytest.raises(RestoreConflict, match=r"made\.txt"):
        await undo_run(filled, state)
    plan = await undo_run(filled, state, force=True)
    assert photograph(filled.root) == before
    assert plan.report is not None
    assert [path for path, _ in plan.report.moved_aside] == ["made.txt"]
    (filled.root / "mine").touch()
    os.truncate(filled.root / "mine", 15 << 40)
    await undo_run(filled, state, to=plan.current)
    assert (filled.root / "made.txt").stat().st_size == 15 << 40
    await undo_run(filled, state, force=True)
    assert (filled.root / "mine").stat().st_size == 15 << 40, "a large file of the user stays"
    assert (filled.root / "gone.txt").exists()


@pytest.mark.req("X2")
async def test_undo_uses_the_configured_quota(filled: Bench) -> None:
    filled.write(large__txt="x" * 100_000)
    plan = steps(making("one", "made.txt"))
    state = await filled.run_plan(plan, [act("run_command", command="echo 1 > made.txt")], snapshot_quota_gb=0.0002)
    (filled.root / "made.txt").write_text("y" * 200_000)
    undone = await undo_run(filled, state, force=True)
    assert undone.report is not None
    (path, place) = undone.report.moved_aside[0]
    assert path == "made.txt"
    assert Path(place).read_text() == "y" * 200_000
    await undo_run(filled, state, to=undone.current)
    assert (filled.root / "made.txt").read_text() == "y" * 200_000
    await undo_run(filled, state, force=True)
    age(filled.home)
    assert collect_garbage(filled.journal, filled.home, older_than=3600).bytes_freed == 0
    assert list(filled.home.glob("workspaces/*/aside/*")), "as young as the run"
    assert collect_garbage(filled.journal, filled.home, older_than=-10).bytes_freed > 200_000
    assert not list(filled.home.glob("workspaces/*/aside/*"))


# -- what is said afterwards -----------------------------------------------------------------------------------------


@pytest.mark.req("X2")
async def test_an_undone_run_says_when_by_whom_and_how_far(filled: Bench) -> None:
    state = await run_two_steps(filled)
    spent, ended = state.active_seconds, state.updated_at
    summary = filled.journal.summaries()[0]
    assert (summary.verdict, summary.undone) == (state.outcome.verdict if state.outcome else None, "")
    await undo_run(filled, state, step="two", by="alice (surefoot undo)")
    first = state_now(filled, state.run_id)
    assert first.undone is not None
    assert (first.undone.by, first.undone.step, first.undone.is_partial) == ("alice (surefoot undo)", "two", True)
    assert filled.journal.summaries()[0].undone == "partly undone"
    plan = await undo_run(filled, state)
    whole = state_now(filled, state.run_id)
    assert whole.undone is not None
    assert not whole.undone.is_partial
    assert whole.undone.by, "the user's name"
    assert filled.journal.summaries()[0].undone == "undone"
    assert (whole.active_seconds, whole.updated_at) == (spent, ended), "the time until the undo is not spent"
    await undo_run(filled, state, to=plan.current)
    again = state_now(filled, state.run_id)
    assert again.undone == first.undone, "as before the undo that was undone"
    await undo_run(filled, state, to=first.undone.redo)
    assert state_now(filled, state.run_id).undone is None
    assert filled.journal.summaries()[0].undone == ""


async def test_a_resumed_run_is_no_longer_undone(filled: Bench) -> None:
    plan = steps(making("one", "made.txt"), making("two", "never.txt"), after=[("two", "one")])
    answers = [act("run_command", command=SPOIL), act("run_command", command="true"), done()]
    state = await filled.run_plan(plan, answers, reflection=NO_REPLAN)
    await undo_run(filled, state)
    assert state_now(filled, state.run_id).undone is not None
    await filled.journal.append(state.run_id, [e.RunResumed(model="m", surefoot="0")])
    assert state_now(filled, state.run_id).undone is None
    assert filled.journal.summaries()[0].undone == ""
