"""`run --branch`: a new branch before the run, and kind refusals."""

import json
import re

import pytest

from cli.conftest import Surefoot
from cli.git.stories import TASK, git, make_repository, run, state_of_user, story


def test_a_branch_is_made_from_the_words_of_the_task_and_everything_stays(surefoot: Surefoot) -> None:
    work = surefoot.workspace
    make_repository(work)
    (work / "kept.txt").write_text("staged\n")
    git(work, "add", "kept.txt")
    (work / "mine").write_text("mine\n")
    before, index = state_of_user(work), (work / ".git/index").read_bytes()
    arguments = story(surefoot)
    done = surefoot("run", "--branch", *arguments[1:])
    assert done.code == 0, done.err
    branch = git(work, "symbolic-ref", "--short", "HEAD").strip()
    assert re.fullmatch(r"surefoot/make-the-notes-ready-[0-9a-z]{4}", branch)
    assert json.loads(surefoot("show", "--json").out)["task"]["text"] == TASK, "the task is not taken for a name"
    assert f"git: the run works on a new branch, {branch}" in done.err
    assert f"branch  {branch}, made from main" in done.out
    assert state_of_user(work) == before
    assert (work / ".git/index").read_bytes() == index
    assert git(work, "log", "--format=%s", "--all").splitlines() == ["Begin"], "nothing is committed without --commit"


def test_after_a_failed_run_the_way_back_is_named(surefoot: Surefoot) -> None:
    work = surefoot.workspace
    make_repository(work)
    done = run(surefoot, "--branch=topic", check="true")
    assert done.code == 3
    way = "git switch main && git branch -d topic"
    assert f"git: you are on the branch topic; back to where you were: {way}" in done.err
    git(work, "switch", "--quiet", "main")
    git(work, "branch", "-d", "topic")
    empty = surefoot("run", "  ", "-m", surefoot.script("x"), "--branch=other")
    assert empty.code == 2
    assert git(work, "branch", "--format=%(refname:short)") == "main\n" or "git branch -d other" in empty.err


@pytest.mark.parametrize(("option", "value"), [("--branch", "fix"), ("--branch", "src/calc"), ("--commit", "step")])
def test_a_value_after_a_space_is_refused_and_not_put_into_the_task(
    surefoot: Surefoot, option: str, value: str
) -> None:
    make_repository(surefoot.workspace)
    (surefoot.workspace / "src/calc").mkdir(parents=True)
    refused = surefoot("run", "Add subtract to calc.py", "-m", surefoot.script("x"), option, value)
    assert refused.code == 2
    assert f"{option}={value}" in refused.err
    assert "no runs" in surefoot("list").err
    several = surefoot("run", "-m", surefoot.script("x"), option, "mend", "the", "parser", "--check", "test -f x")
    assert several.code == 1
    assert "mend the parser" in surefoot("list").out


@pytest.mark.parametrize("task_first", [True, False])
def test_a_name_after_a_space_is_taken_if_it_looks_like_one(surefoot: Surefoot, task_first: bool) -> None:
    work = surefoot.workspace
    make_repository(work)
    _, task, *options = story(surefoot)
    branch = ("--branch", "fix/minus")
    done = surefoot("run", *((task, *branch) if task_first else (*branch, task)), *options)
    assert done.code == 0, done.err
    assert git(work, "symbolic-ref", "--short", "HEAD") == "fix/minus\n"
    assert json.loads(surefoot("show", "--json").out)["task"]["text"] == TASK
    # In a task of single words it is a part of the task.
    assert surefoot("run", "--branch", "fix/plus", "now", "-m", surefoot.script("x"), "--check", "test -f x").code == 1
    assert "fix/plus now" in surefoot("list").out
    assert git(work, "symbolic-ref", "--short", "HEAD").startswith("surefoot/fix-plus-now-")


@pytest.mark.parametrize("case", ["exists", "no repository", "damaged", "detached", "merge", "rebase", "no name"])
def test_a_branch_is_refused_with_a_remedy(surefoot: Surefoot, case: str) -> None:
    work = surefoot.workspace
    name, expected, remedy = "topic", "", ""
    if case != "no repository":
        make_repository(work)
    match case:
        case "exists":
            git(work, "branch", "topic")
            expected, remedy = "the branch topic exists already", "git switch topic"
        case "no repository":
            expected, remedy = "needs a git repository", "git init"
        case "damaged":
            (work / ".git/HEAD").unlink()
            expected, remedy = "git cannot use the repository around", "not a git repository"
        case "detached":
            git(work, "checkout", "--quiet", "--detach")
            expected, remedy = "no branch is checked out", "git switch"
        case "merge" | "rebase":
            git(work, "switch", "--quiet", "-c", "side")
            (work / "kept.txt").write_text("side\n")
            git(work, "commit", "--quiet", "-am", "Side")
            git(work, "switch", "--quiet", "main")
            (work / "kept.txt").write_text("main\n")
            git(work, "commit", "--quiet", "-am", "Main")
            git(work, case, "side", check=False)
            expected, remedy = f"a {case} is under way", "finish or abort it first"
        case _:
            name, expected, remedy = "not..a name", "is not a valid branch name", "--branch=NAME"
    done = run(surefoot, f"--branch={name}")
    assert done.code == 2
    assert expected in done.err
    assert remedy in done.err
    assert not surefoot.journal_file.exists() or not surefoot("list", "--json").objects
