"""`run --review` and `surefoot review`: parts of the result are kept, edited or undone, and what is left is checked."""

import json
import sys
from pathlib import Path

from cli.conftest import Surefoot
from cli.git.stories import CHECK, git, make_repository, run, story

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
    terminal.wait_for("this file [k,u,e,q,?]?")
    assert "+extra" in terminal.output
    terminal.type("?\n")
    terminal.wait_for("undo this whole file")
    terminal.type("undo\n")
    terminal.wait_for("part 1 of 2 [k,u,e,s,K,U,q,?]?")
    terminal.type("s\n")
    terminal.wait_for("part 1 of 3 [k,u,e,K,U,q,?]?")
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


def test_leaving_the_dialogue_keeps_everything_and_pipes_are_refused(surefoot: Surefoot) -> None:
    work = prepare(surefoot)
    refused = run(surefoot, "--review", command=CHANGE)
    assert refused.code == 2
    assert "needs a terminal" in refused.err
    assert (work / "notes.txt").read_text() == "not yet\n", "it is refused before the run begins"
    assert run(surefoot, command=CHANGE).code == 0
    terminal = surefoot.on_terminal("review")
    terminal.wait_for("this file [k,u,e,q,?]?")
    terminal.type("u\n")
    terminal.wait_for("part 1 of 2")
    terminal.type("\x03")
    assert terminal.end() == 0, terminal.output
    assert "everything is kept" in terminal.output
    assert (work / "extra.txt").exists()
    assert shown(surefoot)["outcome"]["verdict"] == "verified"  # type: ignore[index]
