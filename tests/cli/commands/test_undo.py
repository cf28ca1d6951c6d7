"""`undo` and `apply` from the command line, and what `list`, `show` and `resume` say afterwards."""

import getpass
import json
import re
import subprocess

import pytest

from cli.conftest import Surefoot
from support.stories import CHECK, TASK, UNDERSTANDING, adder, good_script

pytestmark = pytest.mark.slow


def run_id_of(surefoot: Surefoot) -> str:
    return str(surefoot("list", "--json").objects[0]["run_id"])


@pytest.mark.req("X2", "O9")
def test_list_show_and_resume_say_that_a_run_is_undone(surefoot: Surefoot) -> None:
    assert surefoot(*good_script(surefoot)).code == 0
    run_id = run_id_of(surefoot)
    before = json.loads(surefoot("show", "--json").out)
    assert before["undone"] is None
    undone = surefoot("undo", run_id, "--yes")
    assert undone.code == 0, undone.err
    assert f"in {surefoot.workspace}" in undone.err
    assert not (surefoot.workspace / "adder.py").exists()
    (listed,) = surefoot("list", "--json").objects
    assert listed["undone"] == "undone"
    assert " undone " in surefoot("list").out
    shown = surefoot("show").out
    assert "– Undone  Write adder.py" in shown
    assert "✓ Verified" not in shown
    by = f"{getpass.getuser()} (surefoot undo {run_id})"
    assert re.search(rf"undone on \d{{4}}-\d\d-\d\d \d\d:\d\d by {re.escape(by)}", shown)
    resumed = surefoot("resume", run_id)
    assert resumed.code == 3
    assert "its changes were undone" in resumed.err
    assert resumed.out.startswith("– Undone")
    after = json.loads(surefoot("show", "--json").out)
    assert (after["undone"]["by"], after["undone"]["partial"]) == (by, False)
    assert after["seconds"] == before["seconds"], "the time until the undo is not counted"
    twice = surefoot("undo", run_id, "--yes")
    assert f"run {run_id} is already undone; to redo it: surefoot undo {run_id} --to " in twice.err
    assert twice.err.strip().endswith(after["undone"]["redo"][:12])
    assert (
        "surefoot: Missing argument 'RUN'.\n          the newest run: surefoot undo last; see: " in surefoot("undo").err
    )
    assert "the newest run: surefoot skip last STEP; " in surefoot("skip").err
    again = surefoot("undo", run_id, "--to", after["undone"]["redo"][:12], "--yes")
    assert again.code == 0, again.err
    assert (surefoot.workspace / "adder.py").exists()
    assert "✓ Verified" in surefoot("show").out
    assert surefoot("list", "--json").objects[0]["undone"] == ""


@pytest.mark.req("X2")
def test_what_was_applied_from_a_copy_is_undone_in_the_folder(surefoot: Surefoot) -> None:
    assert surefoot(*good_script(surefoot), "--worktree").code == 0
    run_id = run_id_of(surefoot)
    file = surefoot.workspace / "adder.py"
    assert not file.exists()
    applied = surefoot("apply", run_id, "--yes")
    assert applied.code == 0, applied.err
    assert f"surefoot undo {run_id}" in applied.out
    assert file.exists()
    assert json.loads(surefoot("show", run_id, "--json").out)["applied_to"] == str(surefoot.workspace)
    (surefoot.workspace / "mine.txt").write_text("mine")
    undone = surefoot("undo", run_id, "--yes")
    assert undone.code == 0, undone.err
    assert f"undoing run {run_id} in {surefoot.workspace}\n" in undone.err
    assert not file.exists()
    assert (surefoot.workspace / "mine.txt").read_text() == "mine"
    assert "– Undone" in surefoot("show", run_id).out
    assert "already in that state" in surefoot("undo", run_id, "--yes").out
    assert surefoot("apply", run_id, "--yes").code == 0
    assert file.exists()
    assert "✓ Verified" in surefoot("show", run_id).out


def test_a_later_run_that_changed_the_same_files_is_named(surefoot: Surefoot) -> None:
    assert surefoot(*good_script(surefoot)).code == 0
    first = run_id_of(surefoot)
    nothing = surefoot("run", "Wait.", "-m", surefoot.script(UNDERSTANDING), "--until-phase", "understanding")
    unchanged = surefoot("diff")
    assert (unchanged.code, unchanged.out) == (0, ""), nothing.err
    assert unchanged.err == f"run {run_id_of(surefoot)} changed nothing\n"
    (surefoot.workspace / "adder.py").write_text("def add(a, b):\n    return 0\n")
    undone = surefoot("undo", first, "--yes")
    assert "these files were changed since by you or another program: adder.py" in undone.err
    other = surefoot.script(UNDERSTANDING, adder("+ 0 +"))
    assert surefoot("run", TASK, "-m", other, "--check", CHECK).code == 0
    second = run_id_of(surefoot)
    refused = surefoot("undo", first, "--yes")
    assert f"these files were changed since by run {second}: adder.py" in refused.err
    assert f"undo that one first: surefoot undo {second}; or leave" in refused.err
    assert surefoot("undo", second, "--yes").code == 0
    assert "by you or another program" in surefoot("undo", first, "--yes").err, (
        "it is undone, the edit before it is not"
    )


def test_caches_of_tools_are_counted_and_not_listed(surefoot: Surefoot) -> None:
    """A check that leaves caches in the workspace, which no variable prevents."""
    caching = f"{CHECK} && mkdir -p .hypothesis && date > .hypothesis/a && date > .eslintcache"
    done = surefoot(*good_script(surefoot)[:-1], caching)
    assert done.code == 0, done.err
    shown, stat = surefoot("diff"), surefoot("diff", "--stat")
    assert shown.out.startswith("diff --git a/adder.py b/adder.py")
    assert "hypothesis" not in shown.out
    assert "b/.hypothesis/a" in surefoot("diff", "--everything").out
    of_run = surefoot("show", "--diff")
    assert (of_run.out, of_run.err) == (shown.out, shown.err)
    assert shown.err == f"3 paths in caches left out; to see all: surefoot diff {run_id_of(surefoot)} --everything\n"
    assert "1 change, 2 lines added" in stat.out
    undone = surefoot("undo", "last", "--yes")
    assert "+ adder.py" not in undone.out
    assert "- adder.py\n  and 3 paths in caches\n" in undone.out
    assert not (surefoot.workspace / ".hypothesis").exists(), "they are restored too"


@pytest.mark.req("P13", "X2")
def test_a_file_with_the_output_of_the_run_is_neither_its_work_nor_undone(surefoot: Surefoot) -> None:
    """As with `surefoot run ... > run.log 2>&1` in the workspace."""
    log = surefoot.workspace / "run.log"
    with log.open("w") as output:
        process = surefoot.start(*good_script(surefoot), stdout=output, stderr=subprocess.STDOUT)
        assert process.wait(60) == 0
    written = log.read_text()
    assert "Verified" in written
    assert "run.log" not in written, "it is not among the files of the run"
    shown = json.loads(surefoot("show", "last", "--json").out)
    files = [path for key in ("generated_files", "modified_files") for path in shown["outcome"][key]]
    assert files == ["adder.py"]
    undone = surefoot("undo", "last", "--yes")
    assert undone.code == 0, undone.err
    assert log.read_text() == written
    assert not (surefoot.workspace / "adder.py").exists()
