"""Commands see the runs of the current folder. A run of another folder needs --all or its id, and is named first."""

import json
import os
import shutil
from pathlib import Path

import pytest

from cli.conftest import Surefoot
from support import recorded
from support.stories import TASK, UNDERSTANDING, adder, good_script, slow_script
from surefoot.journal.store.sqlite import SqliteJournal

pytestmark = pytest.mark.slow

ADDS = "python3 -c 'from adder import add; assert add(2, 3) == 5'"


def write_adder(surefoot: Surefoot) -> str:
    """A run that writes adder.py in this folder. Returns its id."""
    arguments = ["run", TASK, "-m", surefoot.script(UNDERSTANDING, adder("+")), "--check", ADDS, "--json"]
    result = surefoot(*arguments)
    assert result.code == 0, result.err
    return str(result.objects[-1]["run_id"])


def waiting_run(surefoot: Surefoot) -> str:
    """A run that stopped after planning, as asked. Returns its id."""
    model = surefoot.script(UNDERSTANDING)
    result = surefoot("run", TASK, "-m", model, "--check", ADDS, "--until-phase", "planning", "--json")
    return str(result.objects[-1]["run_id"])


# -- what `last` means -----------------------------------------------------------------------------------------------


@pytest.mark.req("X2")
def test_undo_last_never_reaches_another_folder(surefoot: Surefoot) -> None:
    """Reported: `surefoot undo last -y` in one project deleted a file in another."""
    other = surefoot.elsewhere("other")
    write_adder(other)
    refused = surefoot("undo", "last", "-y")
    assert refused.code == 2
    assert "there are no runs in" in refused.err
    assert "1 run in other folders" in refused.err
    assert "surefoot list --all" in refused.err
    assert (other.workspace / "adder.py").exists()
    write_adder(surefoot)
    newest = write_adder(surefoot.elsewhere("third"))
    done = surefoot("undo", "last", "-y")
    assert done.code == 0, done.err
    assert newest not in done.err
    assert not (surefoot.workspace / "adder.py").exists()
    assert (other.workspace / "adder.py").exists()


def test_the_current_folder_is_found_from_a_sub_folder(surefoot: Surefoot) -> None:
    run_id = write_adder(surefoot)
    below = surefoot.elsewhere("work/src/deep")
    assert surefoot.elsewhere("beside")("show").code == 2
    assert run_id in below("show").out
    assert below("undo", "last", "-y").code == 0
    assert not (surefoot.workspace / "adder.py").exists()


def test_the_innermost_folder_with_runs_is_the_current_one(surefoot: Surefoot) -> None:
    outer, inner = write_adder(surefoot), write_adder(surefoot.elsewhere("work/part"))
    assert inner in surefoot.elsewhere("work/part/deep")("show").out
    assert outer in surefoot("show").out
    assert outer in surefoot.elsewhere("work/other part")("show").out


def test_a_repository_of_its_own_does_not_see_the_runs_of_the_folder_around_it(surefoot: Surefoot) -> None:
    write_adder(surefoot)
    project = surefoot.elsewhere("work/project")
    (project.workspace / ".git").mkdir()
    assert "there are no runs in" in project("undo", "last", "-y").err
    assert (surefoot.workspace / "adder.py").exists()


def test_a_link_to_the_folder_is_the_folder(surefoot: Surefoot) -> None:
    run_id = write_adder(surefoot)
    link = surefoot.workspace.parent / "link"
    link.symlink_to(surefoot.workspace)
    assert run_id in surefoot.elsewhere("link")("show").out


def test_runs_in_copies_of_the_folder_are_its_runs(surefoot: Surefoot) -> None:
    model = surefoot.script(UNDERSTANDING, adder("+"))
    copied = surefoot("run", TASK, "-m", model, "--check", ADDS, "--worktree")
    assert copied.code == 0, copied.err
    assert not (surefoot.workspace / "adder.py").exists()
    (item,) = surefoot("list", "--json").objects
    assert Path(item["workspace"]) != surefoot.workspace
    assert "no runs in" in surefoot.elsewhere("other")("list").err
    applied = surefoot("apply", "last", "-y")
    assert applied.code == 0, applied.err
    assert str(surefoot.workspace) in applied.err
    assert (surefoot.workspace / "adder.py").exists()


def test_a_removed_working_directory_still_allows_ids(surefoot: Surefoot) -> None:
    run_id = write_adder(surefoot)
    gone = surefoot.elsewhere("gone")
    script = f"rmdir {gone.workspace} && exec {surefoot.program} show"
    gone.program = Path(shutil.which("sh") or "/bin/sh")
    assert run_id in gone("-c", f"{script} {run_id}").out
    gone.workspace.mkdir()
    assert "there are no runs in this folder" in gone("-c", script).err


@pytest.mark.parametrize("command", ["show", "diff", "edit", "pause", "answer", "resume"])
def test_commands_without_an_id_mean_a_run_of_the_current_folder(surefoot: Surefoot, command: str) -> None:
    waiting_run(surefoot.elsewhere("other"))
    refused = surefoot(command)
    assert refused.code == 2
    assert "there are no runs in" in refused.err


@pytest.mark.parametrize(
    "arguments",
    [
        *(("retry", "last", "1"), ("skip", "last", "1"), ("cancel", "last"), ("apply", "last"), ("undo", "last")),
        *(("fork", "last", "--at", "1", "-C", "new"), ("run", "--based-on", "last")),
    ],
)
def test_last_means_a_run_of_the_current_folder(surefoot: Surefoot, arguments: tuple[str, ...]) -> None:
    waiting_run(surefoot.elsewhere("other"))
    refused = surefoot(*arguments)
    assert refused.code == 2
    assert "there are no runs in" in refused.err


def test_based_on_last_means_a_run_of_the_folder_that_is_worked_in(surefoot: Surefoot) -> None:
    other = surefoot.elsewhere("other")
    base = waiting_run(other)
    result = surefoot("run", "--based-on", "last", "-C", str(other.workspace), "-m", surefoot.script(adder("+")))
    assert (other.workspace / "adder.py").exists(), result.err
    (newest, _) = other("list", "--json").objects
    journal = SqliteJournal(surefoot.journal_file, read_only=True)
    assert next(iter(journal.read(newest["run_id"]))).event.based_on == base  # type: ignore[union-attr]


# -- runs of other folders ---------------------------------------------------------------------------------------------


def test_list_shows_the_runs_of_this_folder_and_counts_the_others(surefoot: Surefoot) -> None:
    own = write_adder(surefoot)
    other = surefoot.elsewhere("other")
    first, second = write_adder(other), write_adder(surefoot.elsewhere("third"))
    listed = surefoot("list")
    (line,) = listed.out.splitlines()
    assert line.startswith(own)
    assert listed.err == "2 runs in other folders: surefoot list --all\n"
    everything = surefoot("list", "--all")
    assert [line.split()[0] for line in everything.out.splitlines()] == [second, first, own]
    assert other.workspace.name in everything.out
    assert everything.err == ""
    assert [item["run_id"] for item in surefoot("list", "--json").objects] == [own]
    assert surefoot.elsewhere("new")("list").lines[0].startswith("no runs in ")


def test_undo_by_id_names_the_other_folder_and_goes_there(surefoot: Surefoot) -> None:
    other = surefoot.elsewhere("other")
    run_id = write_adder(other)
    done = surefoot("undo", run_id, "-y")
    assert done.code == 0, done.err
    assert f"undoing run {run_id} in {other.workspace}, which is not the current folder" in done.err
    assert not (other.workspace / "adder.py").exists()


def test_undo_in_the_current_folder_names_it(surefoot: Surefoot) -> None:
    run_id = write_adder(surefoot)
    done = surefoot("undo", "last", "-y")
    assert done.lines == [f"undoing run {run_id} in {surefoot.workspace}"]
    assert str(surefoot.workspace) not in done.out, "once is enough"
    assert "These files will be restored:\n" in done.out
    assert surefoot("undo", "last", "-y").out == "the folder is already in that state\n"


def test_last_of_all_folders_is_confirmed_even_with_yes(surefoot: Surefoot) -> None:
    other = surefoot.elsewhere("other")
    write_adder(other)
    refused = surefoot("undo", "last", "--all", "-y")
    assert refused.code == 2
    assert "there is no terminal to ask for confirmation" in refused.err
    assert f"cd {other.workspace}" in refused.err
    assert (other.workspace / "adder.py").exists()
    asked = surefoot.on_terminal("undo", "last", "--all", "-y")
    asked.wait_for("which is not the current folder")
    asked.wait_for("Continue? [y/N]")
    asked.type("n\n")
    assert asked.end() == 1
    assert (other.workspace / "adder.py").exists()
    asked = surefoot.on_terminal("undo", "last", "--all", "-y")
    asked.wait_for("Continue? [y/N]")
    asked.type("y\n")
    assert asked.end() == 0
    assert not (other.workspace / "adder.py").exists()


def test_a_run_of_another_folder_is_resumed_only_after_confirmation(surefoot: Surefoot) -> None:
    other = surefoot.elsewhere("other")
    run_id = waiting_run(other)
    model = surefoot.script(adder("+"))
    refused = surefoot("resume", run_id, "-m", model)
    assert refused.code == 2
    assert f"continuing run {run_id} in {other.workspace}, which is not the current folder" in refused.err
    assert not (other.workspace / "adder.py").exists()
    done = surefoot("resume", run_id, "-m", model, "-y", "--json")
    assert done.code == 0, done.err
    assert done.objects[-1]["type"] == "outcome"
    assert (other.workspace / "adder.py").exists()


def test_a_run_of_the_current_folder_is_resumed_without_a_question(surefoot: Surefoot) -> None:
    run_id = waiting_run(surefoot)
    done = surefoot("resume", "-m", surefoot.script(adder("+")))
    assert done.code == 0, done.err
    assert done.lines[0] == f"continuing run {run_id} in {surefoot.workspace}"


def test_retry_and_edit_ask_before_they_change_a_run_of_another_folder(surefoot: Surefoot) -> None:
    other = surefoot.elsewhere("other")
    surefoot.environ["SUREFOOT_REFLECTION__ENABLE_STEP_LEVEL_REFLECTION"] = "false"
    surefoot.environ["SUREFOOT_REFLECTION__MAX_TASK_REPLANNING_ATTEMPTS"] = "0"
    failed = other("run", TASK, "-m", surefoot.script(UNDERSTANDING, *[adder("-")] * 9), "--check", ADDS, "--json")
    run_id = failed.objects[-1]["run_id"]
    for arguments in (("retry", run_id, "1"), ("edit", run_id, "--file", "-")):
        refused = surefoot(*arguments, stdin="")
        assert refused.code == 2
        assert "which is not the current folder" in refused.err
        assert "belongs to another folder" in refused.err
    assert surefoot("edit", run_id, "--print").code == 0, "this changes nothing"


def test_a_fork_names_both_folders_and_says_where_to_continue(surefoot: Surefoot) -> None:
    run_id = write_adder(surefoot)
    forked = surefoot("fork", "last", "--at", "1", "-C", "../second try")
    assert forked.code == 0, forked.err
    assert f"forking run {run_id} of {surefoot.workspace} into " in forked.err
    assert "cd '../second try' && surefoot resume " in forked.out
    assert len(surefoot.elsewhere("second try")("list").out.splitlines()) == 1


def test_controls_say_where_the_run_is(surefoot: Surefoot) -> None:
    other = surefoot.elsewhere("other")
    process = other.start(*slow_script(other), "--approve", "auto", "--sandbox", "off", "--json")
    assert process.stdout is not None
    for line in process.stdout:
        if json.loads(line)["type"] == "action_started":
            break
    sent = surefoot("cancel", "last", "--all")
    assert sent.code == 0, sent.err
    assert f" in {other.workspace}: cancel" in sent.out
    process.communicate()
    assert process.returncode == 130


# -- gc ----------------------------------------------------------------------------------------------------------------


def test_gc_removes_only_the_snapshots_of_this_folder(surefoot: Surefoot) -> None:
    other = surefoot.elsewhere("other")
    (surefoot.workspace / "own.txt").write_text("snapshots with the same content would be shared")
    own, others = write_adder(surefoot), write_adder(other)
    for file in surefoot.state.rglob("*"):
        # Content of the last minute is kept, in case a run has just stored it.
        os.utime(file, (0, 0))
    collected = surefoot("gc", "--older-than", "0.001s")
    assert collected.code == 0, collected.err
    assert collected.out.splitlines()[0] == f"runs of {surefoot.workspace}"
    assert "of 1 run," in collected.out
    assert surefoot("undo", own, "-y").code != 0
    assert other("undo", others, "-y").code == 0


def test_gc_of_all_folders_is_confirmed(surefoot: Surefoot) -> None:
    write_adder(surefoot)
    run_id = write_adder(surefoot.elsewhere("other"))
    dry = surefoot("gc", "--all", "--older-than", "0.001s", "--dry-run")
    assert "would remove" in dry.out
    assert "of 2 runs," in dry.out
    assert surefoot("gc", "--all", "--older-than", "0.001s").code == 2
    assert surefoot("show", run_id, "--diff").code == 0
    done = surefoot("gc", "--all", "--older-than", "0.001s", "--yes")
    assert (done.code, done.out.splitlines()[0]) == (0, "runs of all folders: 2 workspaces")
    assert "of 2 runs," in done.out


# -- ids ---------------------------------------------------------------------------------------------------------------


async def test_the_beginning_of_an_id_reaches_other_folders_if_only_one_run_has_it(surefoot: Surefoot) -> None:
    run_id = await surefoot.elsewhere("other").store(recorded.whole_run())
    assert run_id in surefoot("show", run_id[:6]).out
    assert surefoot("show", "zzz").code == 2


def test_the_summary_of_a_verified_run_can_be_shown_by_its_id_from_anywhere(surefoot: Surefoot) -> None:
    result = surefoot(*good_script(surefoot), "--json")
    run_id = result.objects[-1]["run_id"]
    assert run_id in surefoot.elsewhere("other")("show", run_id).out
