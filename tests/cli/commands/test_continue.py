"""`surefoot run --continue`: a follow-up to an earlier run of the same folder, without a terminal."""

import json

import pytest

from cli.conftest import Surefoot
from support.kit import fenced, understanding

pytestmark = pytest.mark.slow

CHECK = "grep -q two b.txt"


def write(surefoot: Surefoot, name: str, text: str, task: str) -> str:
    """A script for a run that writes one file."""
    return surefoot.script({**understanding(name), "understanding": task}, fenced(f"{text}\n", "text"))


def test_a_follow_up_is_told_of_the_run_before_and_inherits_its_checks(surefoot: Surefoot) -> None:
    task, more = "Write two to b.txt.", "Now also write three to c.txt."
    assert surefoot("run", task, "--check", CHECK, "-m", write(surefoot, "b.txt", "two", task)).code == 0
    base = surefoot("list", "--json").objects[0]["run_id"]
    script = write(surefoot, "c.txt", "three", more)
    result = surefoot("run", more, "--continue", "last", "-m", script, "--json")
    assert result.code == 3, result.err
    run = result.objects[0]["run_id"]
    prompts = "".join(item["prompt"] for item in surefoot("show", run, "--answers", "--json").objects)
    assert f"The task before was: {task}" in prompts
    assert "It changed: + b.txt" in prompts
    shown = json.loads(surefoot("show", run, "--json").out)
    assert shown["continues"] == base
    assert [check["command"] for check in shown["task"]["checks"]] == [CHECK]
    assert f"continues {base}: {task}" in surefoot("show", run).out
    assert f"continues {base}" in surefoot("list").out.splitlines()[0]
    assert f"continues run {base}" in surefoot("report", run, "--format", "md", "-o", "-").out
    assert "the same" in surefoot("replay", run, "--verify").out
    surefoot("undo", run, "--yes")
    other = ("--check", "grep -q three c.txt")
    third = surefoot("run", more, "--continue", run, *other, "-m", script, "--json")
    run = third.objects[0]["run_id"]
    prompts = "".join(item["prompt"] for item in surefoot("show", run, "--answers", "--json").objects)
    assert "THE USER UNDID IT" in prompts
    assert json.loads(surefoot("show", run, "--json").out)["task"]["checks"][0]["command"] == other[1]


def test_a_run_of_another_folder_is_not_continued(surefoot: Surefoot) -> None:
    task = "Write two to b.txt."
    script = write(surefoot, "b.txt", "two", task)
    surefoot("run", task, "--check", CHECK, "-m", script)
    run = surefoot("list", "--json").objects[0]["run_id"]
    elsewhere = surefoot.elsewhere("other")
    for name in (run, "last"):
        result = elsewhere("run", "go on", "--continue", name, "-m", script)
        assert result.code != 0
    assert (
        "its context cannot be used in another folder" in elsewhere("run", "go on", "--continue", run, "-m", script).err
    )
    inner = surefoot.elsewhere("work/inner")
    assert (
        "its context cannot be used in another folder" in inner("run", "go on", "--continue", "last", "-m", script).err
    )
    assert elsewhere("list").out == ""


def test_continue_cannot_be_combined_with_what_contradicts_it(surefoot: Surefoot) -> None:
    for others in (("--based-on", "last"), ("--given", "x.json"), ("--from-phase", "planning"), ("--remote",)):
        result = surefoot("run", "go on", "--continue", "last", *others)
        assert result.code == 2, result.err
        assert "--continue" in result.err
    empty = surefoot("run", "--continue", "last")
    assert "no runs" in empty.err
