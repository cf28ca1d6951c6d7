"""`run --review` and `surefoot review`: parts of the result are kept, edited or undone, and what is left is checked."""

import json
import os
import re
import sys
from pathlib import Path

import pytest

from cli.conftest import Surefoot
from cli.git.stories import CHECK, git, make_repository, run, story
from support.stories import UNDERSTANDING

pytestmark = pytest.mark.slow

BEFORE = "".join(f"line {number}\n" for number in range(1, 31))
CHANGE = (
    "sed -i 's/^line 2$/second/; s/^line 4$/fourth/; s/^line 28$/late/' long.txt; "
    "echo extra > extra.txt; printf 'ready\\n' > notes.txt"
)


def prepare(surefoot: Surefoot) -> Path:
    make_repository(surefoot.workspace, **{"long.txt": BEFORE})
    return surefoot.workspace


def shown(surefoot: Surefoot) -> dict[str, object]:
    found: dict[str, object] = json.loads(surefoot("show", "--json").out)
    return found


def test_parts_are_undone_without_a_terminal_and_the_checks_decide_again(surefoot: Surefoot) -> None:
    work = prepare(surefoot)
    assert run(surefoot, command=CHANGE).code == 0
    refused = surefoot("review")
    assert refused.code == 2
    assert "needs a terminal" in refused.err
    assert "--undo FILE:HUNK" in refused.err
    listed = surefoot("review", "--list")
    assert listed.code == 0, listed.err
    names = [line for line in listed.out.splitlines() if line.startswith(("long.txt", "extra.txt", "notes.txt"))]
    assert [name.split()[0] for name in names] == [
        "extra.txt", "long.txt", "long.txt:1", "long.txt:2", "notes.txt", "notes.txt:1",
    ]  # fmt: skip
    assert "-line 28\n+late\n" in listed.out
    assert "+extra\n" in listed.out, "the whole diff, also of new files"
    unknown = surefoot("review", "--undo", "long.txt:3")
    assert unknown.code == 2
    assert "it has 2 hunks" in unknown.err
    assert "only be undone as a whole" in surefoot("review", "--undo", "extra.txt:1").err
    (work / "kept.txt").write_text("my own later edit\n")
    done = surefoot("review", "--undo", "long.txt:2", "--undo", "extra.txt")
    assert done.code == 0, done.err + done.out
    assert "✓ Verified" in done.out
    assert (work / "long.txt").read_text() == BEFORE.replace("line 2\n", "second\n").replace("line 4\n", "fourth\n")
    assert not (work / "extra.txt").exists()
    assert (work / "notes.txt").read_text() == "ready\n"
    assert (work / "kept.txt").read_text() == "my own later edit\n"
    state = shown(surefoot)
    assert state["undone"] is None, "what is left is the result"
    diff = surefoot("diff").out
    assert "+second" in diff
    assert "late" not in diff, "neither what was undone, nor my own edit"
    assert surefoot("show", "--diff").out == diff
    verified = surefoot("replay", "--verify")
    assert verified.code == 0, verified.out + verified.err
    # What is undone last costs the proof, and the run says so.
    spoiled = surefoot("review", "--undo", "notes.txt")
    assert spoiled.code == 1, spoiled.out
    assert "✗ Failed" in spoiled.out
    assert f"after the review these checks fail: {CHECK}" in spoiled.out
    assert "surefoot resume" in spoiled.out
    assert shown(surefoot)["outcome"]["verdict"] == "failed"  # type: ignore[index]
    # A review can be taken back like any undo. Nobody has checked that tree, so it is not called verified.
    snapshot = spoiled.err.partition("--to ")[2].split()[0]
    back = surefoot("undo", "last", "--to", snapshot, "--yes")
    assert back.code == 0, back.err
    assert (work / "notes.txt").read_text() == "ready\n"
    assert "✓ Verified" not in surefoot("show").out
    whole = surefoot("undo", "last", "--yes")
    assert whole.code == 0, whole.err
    assert (work / "long.txt").read_text() == BEFORE
    assert (work / "kept.txt").read_text() == "my own later edit\n"


def test_a_file_that_was_changed_since_is_not_touched(surefoot: Surefoot) -> None:
    work = prepare(surefoot)
    assert run(surefoot, command=CHANGE).code == 0
    (work / "long.txt").write_text("mine\n")
    refused = surefoot("review", "--undo", "long.txt:1")
    assert refused.code == 1
    assert "long.txt" in refused.err
    assert (work / "long.txt").read_text() == "mine\n"
    assert shown(surefoot)["undone"] is None


def test_the_dialogue_keeps_splits_edits_and_undoes_before_the_commit(surefoot: Surefoot) -> None:
    work = prepare(surefoot)
    editor = surefoot.home / "editor.py"
    editor.write_text(
        "import pathlib, sys\nfile = pathlib.Path(sys.argv[-1])\nassert file.read_text() == 'late\\n'\n"
        "file.write_text('later\\nand more\\n')\n"
    )
    surefoot.environ["EDITOR"] = f"{sys.executable} {editor}"
    terminal = surefoot.on_terminal(*story(surefoot, CHANGE), "--review", "--commit", "--plain")
    terminal.wait_for("file 1 of 3: ")
    terminal.wait_for("this file [k,u,e,d,q,?]?")
    assert "+extra" in terminal.output
    assert "✓ Verified" in terminal.output.partition("file 1 of 3")[0], "the verdict is said before anything is asked"
    terminal.type("?\n")
    terminal.wait_for("undo this whole file")
    terminal.type("undo\n")
    terminal.wait_for("part 1 of 2 [k,u,e,s,K,U,d,q,?]?")
    terminal.type("s\n")
    terminal.wait_for("part 1 of 3 [k,u,e,K,U,d,q,?]?")
    terminal.type("u\n")
    terminal.wait_for("part 2 of 3")
    terminal.type("k\n")
    terminal.wait_for("part 3 of 3")
    terminal.type("e\n")
    terminal.wait_for("file 3 of 3: ")
    terminal.wait_for("part 1 of 1")
    terminal.type("q\n")
    terminal.wait_for("the checks run again on what is left")
    assert terminal.end() == 0, terminal.output
    assert "\x1b[32m+fourth" in terminal.output, "the diff is coloured"
    expected = BEFORE.replace("line 4\n", "fourth\n").replace("line 28\n", "later\nand more\n")
    assert (work / "long.txt").read_text() == expected
    assert not (work / "extra.txt").exists()
    assert git(work, "show", "--name-only", "--format=", "HEAD").split() == ["long.txt", "notes.txt"]
    assert git(work, "show", "HEAD:long.txt") == expected
    assert git(work, "status", "--porcelain") == ""
    committed = surefoot("review", "--undo", "notes.txt")
    assert committed.code == 2
    assert "git revert" in committed.err


@pytest.mark.attack("escape")
def test_pager_is_not_taken_from_the_workspace(surefoot: Surefoot) -> None:
    prepare(surefoot)
    assert run(surefoot).code == 0
    planted = surefoot.workspace / "bin" / "viewer"
    planted.parent.mkdir()
    planted.write_text("#!/bin/sh\ntouch ran\n")
    planted.chmod(0o755)
    surefoot.environ |= {"PAGER": "viewer", "PATH": f"{planted.parent}{os.pathsep}{os.environ['PATH']}"}
    terminal = surefoot.on_terminal("review")
    terminal.wait_for("part 1 of 1 [k,u,e,K,U,d,q,?]?")
    terminal.type("d\n")
    terminal.wait_for_matching(lambda shown: shown.count("part 1 of 1 [k,u,e,K,U,d,q,?]?") == 2)
    terminal.type("q\n")
    assert terminal.end() == 0
    assert not (surefoot.workspace / "ran").exists()


def test_the_dialogue_begins_with_an_overview_shows_the_whole_diff_and_names_what_was_not_seen(
    surefoot: Surefoot,
) -> None:
    prepare(surefoot)
    assert run(surefoot, command=f"{CHANGE}; echo 1 > 長い.txt").code == 0
    pager, paged = surefoot.home / "pager.py", surefoot.home / "paged"
    pager.write_text(
        f"import pathlib, sys\npathlib.Path({str(paged)!r}).write_text(sys.stdin.read())\nprint('PAGED')\n"
    )
    surefoot.environ["PAGER"] = f"{sys.executable} {pager}"
    terminal = surefoot.on_terminal("review")
    terminal.wait_for("this file [k,u,e,d,q,?]?")
    rows = [row.strip() for row in re.sub(r"\x1b\[[0-9;]*m", "", terminal.output).splitlines()]
    start = rows.index("extra.txt  +1 -0")
    assert rows[start + 1 : start + 5] == [
        "long.txt   +3 -3", "notes.txt  +1 -1", "長い.txt   +1 -0", "4 changes, 6 lines added, 4 removed",
    ]  # fmt: skip
    terminal.type("k\n")
    terminal.wait_for("part 1 of 2")
    terminal.type("s\n")
    terminal.wait_for("part 1 of 3")
    terminal.type("q\n")
    terminal.wait_for("keeps 1 part of long.txt and 2 files unseen: notes.txt, 長い.txt")
    assert terminal.end() == 0, terminal.output
    assert "everything is kept" in terminal.output
    assert not paged.exists()

    terminal = surefoot.on_terminal("review")
    terminal.wait_for("this file [")
    terminal.type("d\n")
    terminal.wait_for("PAGED")
    terminal.wait_for_matching(lambda output: output.count("this file [") == 2)
    whole = paged.read_text()
    assert "\x1b[32m+late" in whole, "in colour"
    for name in ("extra.txt", "long.txt", "notes.txt", "長い.txt"):
        assert name in whole
    terminal.type("q\n")
    assert terminal.end() == 0, terminal.output
    assert "unseen" not in terminal.output

    surefoot.environ |= {"TERM": "dumb"}
    terminal = surefoot.on_terminal("review")
    terminal.wait_for("this file [")
    terminal.type("diff\n")
    terminal.wait_for("+late")
    terminal.type("q\n")
    assert terminal.end() == 0, terminal.output


def test_leaving_the_dialogue_keeps_everything_and_pipes_are_refused(surefoot: Surefoot) -> None:
    work = prepare(surefoot)
    refused = run(surefoot, "--review", command=CHANGE)
    assert refused.code == 2
    assert "needs a terminal" in refused.err
    assert (work / "notes.txt").read_text() == "not yet\n", "it is refused before the run begins"
    assert run(surefoot, command=CHANGE).code == 0
    terminal = surefoot.on_terminal("review")
    terminal.wait_for("this file [k,u,e,d,q,?]?")
    terminal.type("u\n")
    terminal.wait_for("part 1 of 2")
    terminal.type("\x03")
    assert terminal.end() == 0, terminal.output
    assert "everything is kept" in terminal.output
    assert (work / "extra.txt").exists()
    assert shown(surefoot)["outcome"]["verdict"] == "verified"  # type: ignore[index]


CALC = "def add(a, b):\n    return a + b\n"
CALC_TEST = (
    "import unittest\nimport calc\n\nclass Calc(unittest.TestCase):\n"
    "    def test_subtract(self):\n        self.assertEqual(calc.subtract(5, 3), 2)\n"
)
CALC_TASK = "Add subtract(a, b) to calc.py, and write notes.md about it."
UNITTEST = "python3 -m unittest -q"


def calculator(surefoot: Surefoot, *options: str, answers: int = 3, code: int = 0) -> Path:
    """A run of the guide: a model that writes one file after the other, each with a check that it is there."""
    make_repository(surefoot.workspace, **{"calc.py": CALC, "test_calc.py": CALC_TEST, ".gitignore": "__pycache__\n"})
    understanding = {
        **UNDERSTANDING,
        "files": ["calc.py", "notes.md"],
        "understanding": "Add subtract, and notes about it",
    }
    subtract = f"```python\n{CALC}\n\ndef subtract(a, b):\n    return a - b\n```"
    notes = "```markdown\n# Notes\n\nsubtract(a, b) gives the difference.\n```"
    model = surefoot.script(*(understanding, subtract, notes)[:answers])
    done = surefoot("run", CALC_TASK, "-m", model, "--check", UNITTEST, "--baseline", "off", *options)
    assert done.code == code, done.out + done.err
    return surefoot.workspace


def views_of(surefoot: Surefoot) -> dict[str, str]:
    """What each view says of the newest run."""
    views = {name: surefoot(name).out for name in ("show", "pr", "list")}
    assert surefoot("report", "-o", "report.md").code == 0
    report = surefoot.workspace / "report.md"
    views["report"] = report.read_text()
    report.unlink()
    # The steps and their checks are what happened during the run.
    views["show"] = views["show"][views["show"].rindex(CALC_TASK) - 30 :]
    return views


def test_a_file_that_the_person_undid_does_not_cost_the_verdict(surefoot: Surefoot) -> None:
    work = calculator(surefoot)
    done = surefoot("review", "--undo", "notes.md")
    assert done.code == 0, done.out + done.err
    assert "✓ Verified" in done.out
    assert "left out, because you undid notes.md in the review: notes.md exists" in done.out
    assert "left out, because you undid notes.md" in surefoot("pr").out
    committed = surefoot("commit")
    assert committed.code == 0, committed.err
    assert git(work, "show", "--name-only", "--format=", "HEAD").split() == ["calc.py"]


def test_a_given_check_about_an_undone_file_counts(surefoot: Surefoot) -> None:
    calculator(surefoot, "--check", "test -f notes.md")
    done = surefoot("review", "--undo", "notes.md")
    assert done.code == 1, done.out
    assert "after the review these checks fail: test -f notes.md" in done.out
    assert "stronger model" not in done.out
    snapshot = done.err.partition("--to ")[2].split()[0]
    assert "take the review back: surefoot undo" in done.out
    assert f"--to {snapshot}" in done.out, "the advice fits a review"
    # Taken back: the check about the file counts again when the run goes on.
    assert surefoot("undo", "last", "--to", snapshot, "--yes").code == 0
    shows = views_of(surefoot)["show"]
    assert "✓ test" not in shows
    assert "Review taken back" in shows
    assert "the result is as it was before it, and not checked since" in shows
    assert "these checks fail" not in shows, "that was the review"
    assert "take the review back" not in shows
    assert "The review was taken back on" in surefoot("report", "--format", "md", "-o", "-").out
    (counted,) = surefoot("stats", "--json").objects
    results = counted["results"]
    assert (results["partly_undone"], results["undone"], results["failed"]) == (1, 0, 0), "as in the list"
    assert "partly undone" in surefoot("list").out


def test_each_review_is_checked_and_when_nothing_is_left_the_run_is_undone(surefoot: Surefoot) -> None:
    work = calculator(surefoot, "--check", "test -f notes.md")
    assert surefoot("review", "--undo", "notes.md").code == 1, "a given check is red, so the run has failed"
    second = surefoot("review", "--undo", "calc.py")
    assert second.code == 1
    assert "the checks run again" in second.err
    assert git(work, "status", "--porcelain") == ""
    views = views_of(surefoot)
    for name, view in {**views, "review": second.out}.items():
        assert "artly undone" not in view, name
        assert "ndone" in view, name
        assert "→ green" not in view.partition("#### Steps")[0], name
    assert "✓" not in views["show"]
    assert "calc.py\n" not in views["show"], "neither changed nor left behind"
    assert f"✗ {UNITTEST}" in views["show"]
    assert f"| `{UNITTEST}` | red → red |" in views["pr"]
    assert shown(surefoot)["undone"]["partial"] is False  # type: ignore[index]
    nothing = surefoot("review", "--undo", "calc.py")
    assert nothing.code == 2
    assert "were undone" in nothing.err
    assert surefoot("review", "--list").out == ""
    assert surefoot("commit").code == 2
    verified = surefoot("replay", "--verify")
    assert verified.code == 0, verified.out + verified.err
    # The last review can be taken back. Nobody has checked that, so nothing is green or red.
    snapshot = second.err.partition("--to ")[2].split()[0]
    back = surefoot("undo", "last", "--to", snapshot, "--yes")
    assert back.code == 0, back.err
    assert "subtract" in (work / "calc.py").read_text()
    assert [line.split()[0] for line in surefoot("review", "--list").out.splitlines()[:1]] == ["calc.py"]
    for name, view in views_of(surefoot).items():
        assert "✓" not in view, name
        assert "→ green" not in view.partition("#### Steps")[0], name


def test_a_review_after_an_undo_is_about_what_is_left(surefoot: Surefoot) -> None:
    work = calculator(surefoot)
    undone = surefoot("undo", "last", "--step", "2", "--yes")
    assert undone.code == 0, undone.err
    assert not (work / "notes.md").exists()
    for name, view in views_of(surefoot).items():
        assert "✓" not in view, name
        assert "red → green" not in view.partition("#### Steps")[0], name
    listed = surefoot("review", "--list").out
    assert "calc.py:1" in listed
    assert "notes.md" not in listed, "it is not there any more"
    assert "changed no file 'notes.md'" in surefoot("review", "--undo", "notes.md").err
    done = surefoot("review", "--undo", "calc.py:1")
    assert done.code == 1, done.out
    assert "Undone" in done.out
    assert f"✗ {UNITTEST}" in done.out
    assert git(work, "status", "--porcelain") == ""
    assert "No file was changed" in surefoot("pr").out


def test_what_the_person_had_put_back_by_hand_is_reviewed_too(surefoot: Surefoot) -> None:
    work = calculator(surefoot)
    (work / "calc.py").write_text(CALC)
    done = surefoot("review", "--undo", "calc.py")
    assert done.code == 1, done.out
    assert "the checks run again" in done.err
    assert f"✗ {UNITTEST}" in done.out
    assert "notes.md" in surefoot("pr").out
    assert "calc.py" not in surefoot("diff").out


def test_the_remedy_without_a_terminal_fits_the_command(surefoot: Surefoot) -> None:
    prepare(surefoot)
    assert "leave --review out" in run(surefoot, "--review", command=CHANGE).err
    assert run(surefoot, command=CHANGE).code == 0
    refused = surefoot("review")
    assert "--review" not in refused.err
    assert "surefoot review last --list" in refused.err


def test_the_dialogue_twice_and_an_undo_that_is_taken_back(surefoot: Surefoot) -> None:
    work = prepare(surefoot)
    assert run(surefoot, command=CHANGE).code == 0
    asked = ("file 1 of 3", "part 1 of 2", "part 2 of 2", "file 3 of 3"), ("part 1 of 2", "part 2 of 2", "file 2 of 2")
    for questions, keys in zip(asked, ("ukkk", "kku"), strict=True):
        terminal = surefoot.on_terminal("review")
        for question, key in zip(questions, keys, strict=True):
            terminal.wait_for(question)
            terminal.type(f"{key}\n")
        terminal.wait_for("the checks run again on what is left")
        code = terminal.end()
    assert code == 1, terminal.output
    assert (work / "notes.txt").read_text() == "not yet\n"
    assert f"✗ {CHECK}" in surefoot("show").out
    again = surefoot("review", "--undo", "notes.txt")
    assert again.code == 2
    assert "changed no file 'notes.txt'" in again.err
    undone = surefoot("undo", "last", "--yes")
    assert undone.code == 0, undone.err
    assert (work / "long.txt").read_text() == BEFORE
    assert f"✗ {CHECK}" not in surefoot("show").out, "it did not run since"
    snapshot = shown(surefoot)["undone"]["redo"]  # type: ignore[index]
    assert surefoot("undo", "last", "--to", snapshot, "--yes").code == 0
    assert "late" in (work / "long.txt").read_text()
    assert f"✗ {CHECK}" in surefoot("show").out, "this tree was checked"


def test_a_run_whose_steps_are_not_all_done_is_not_checked_and_says_so(surefoot: Surefoot) -> None:
    work = calculator(surefoot, answers=2, code=1)
    assert "subtract" in (work / "calc.py").read_text()
    done = surefoot("review", "--undo", "calc.py")
    assert "not every step of the run is done" in done.err
    assert "the checks run again" not in done.err
    assert "Undone" in done.out
    assert "nothing: it was undone since" in done.out
    assert git(work, "status", "--porcelain") == ""
    for name, view in views_of(surefoot).items():
        assert "✓" not in view, name
        assert "→ green" not in view.partition("#### Steps")[0], name
