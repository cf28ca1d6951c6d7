"""`surefoot plan`, `edit` and `run --plan`: a plan is made, changed and carried out."""

import json
from typing import Any

import pytest

from cli.conftest import Result, Surefoot
from support.stories import CHECK, TASK, TEST, UNDERSTANDING, adder

pytestmark = pytest.mark.slow


def make_plan(surefoot: Surefoot, *more: str) -> Result:
    (surefoot.workspace / "check_adder.py").write_text(TEST)
    return surefoot("plan", TASK, "-m", surefoot.script(UNDERSTANDING), *more)


def listed(surefoot: Surefoot) -> list[dict[str, Any]]:
    """All runs, newest first."""
    return surefoot("list", "--json").objects


def shown(surefoot: Surefoot, *more: str) -> dict[str, Any]:
    fields: dict[str, Any] = json.loads(surefoot("show", *more, "--json").out)
    return fields


def rename(surefoot: Surefoot, run_id: str, old: str, new: str) -> Result:
    """Change the name of a step with `surefoot edit`."""
    steps = surefoot("edit", run_id, "--print").out
    assert old in steps
    return surefoot("edit", run_id, "--file", "-", "--why", "clearer", stdin=steps.replace(old, new))


@pytest.mark.req("P15", "A8")
def test_a_plan_is_made_changed_and_carried_out(surefoot: Surefoot) -> None:
    planned = make_plan(surefoot, "--check", CHECK)
    assert planned.code == 0, planned.err
    assert "1. Write adder.py" in planned.out
    assert "✓ Plan made" in planned.out
    assert [path.name for path in surefoot.workspace.iterdir()] == ["check_adder.py"], "not even the check was run"
    (plan,) = listed(surefoot)
    run_id = plan["run_id"]
    assert plan["status"] == "plan"
    assert f"{run_id}  " in surefoot("list").out
    assert "  plan  " in surefoot("list").out
    commands = [f"surefoot edit {run_id}", f"surefoot run --plan {run_id}"]
    for output in (planned.out, surefoot("show").out):
        assert [line.split("  ")[-1].strip() for line in output.splitlines()[-2:]] == commands

    before = shown(surefoot)["seconds"]
    edited = rename(surefoot, run_id, "Write adder.py", "Add two numbers")
    assert edited.code == 0, edited.err
    assert "~ s1: Add two numbers" in edited.out
    assert edited.out.splitlines()[-1] == f"the plan is changed; carry it out: surefoot run --plan {run_id}"
    assert "1. Add two numbers" in surefoot("show").out
    assert "clearer" in surefoot("show", "--events").out
    assert shown(surefoot)["seconds"] == before, "the time until the edit is no working time"

    done = surefoot("run", "--plan", run_id, "-m", surefoot.script(adder("+")), "--json")
    assert done.code == 0, done.err
    kinds = [line["type"] for line in done.objects]
    assert "model_answered" in kinds
    assert "phase_started" not in kinds[: kinds.index("step_started")], "neither understood nor planned again"
    outcome = done.objects[-1]
    assert (outcome["verdict"], outcome["status"]) == ("verified", "done")
    assert CHECK in [result["check"].get("command") for result in outcome["checks"]], "the check of the plan"
    assert shown(surefoot)["based_on"] == run_id
    assert shown(surefoot)["plan"]["output"]["steps"][0]["name"] == "Add two numbers"
    assert [run["status"] for run in listed(surefoot)] == ["done", "plan"]


@pytest.mark.req("P15")
def test_a_plan_says_what_happened_since_it_was_made(surefoot: Surefoot) -> None:
    """`last` is the newest plan, also after other runs."""
    make_plan(surefoot)
    plan = listed(surefoot)[0]["run_id"]
    (surefoot.workspace / "adder.py").write_text("def add(a, b):\n    return 0\n")
    first = surefoot("run", "--plan", "last", "-m", surefoot.script(adder("+")), "--check", CHECK, "--max-time", "5m")
    assert first.code == 0, first.err
    assert "warning: the folder has changed since the plan was made: + adder.py" in first.err
    assert "the folder has changed since the plan was made: + adder.py" in first.out, "the summary repeats it"
    assert shown(surefoot)["config"]["budget"]["max_seconds"] == 300
    run_id = listed(surefoot)[0]["run_id"]
    assert f"carried out by run {run_id}" in surefoot("show", plan).out
    assert shown(surefoot, plan)["carried_out_by"] == [run_id]

    again = surefoot.on_terminal("run", "--plan", plan[:-1], "-m", surefoot.script(adder("+")), "--check", CHECK)
    again.end()
    before = again.output.partition("carrying out the plan of")[2].partition("\x1b")[0]
    assert f"warning: the plan was carried out before: carried out by run {run_id}" in before, "before the live view"
    assert f"carried out by run {listed(surefoot)[0]['run_id']} and 1 run before it" in surefoot("show", plan).out


@pytest.mark.req("P15")
def test_plan_gives_json_and_the_plan_itself(surefoot: Surefoot) -> None:
    planned = make_plan(surefoot, "--json", "--check", CHECK)
    outcome = planned.objects[-1]
    assert (planned.code, outcome["exit_code"], outcome["status"]) == (0, 0, "plan")
    assert [step["name"] for step in outcome["plan"]["steps"]] == ["Write adder.py"]
    assert "checks_ran" not in [line["type"] for line in planned.objects]
    fields = shown(surefoot)
    assert (fields["status"], fields["live"], fields["carried_out_by"]) == ("plan", False, [])
    assert [check["command"] for check in fields["task"]["checks"]] == [CHECK]


@pytest.mark.req("P15")
def test_a_plan_is_neither_resumed_nor_mixed_with_another_task(surefoot: Surefoot) -> None:
    assert "there is no plan in" in surefoot("run", "--plan", "last", "-m", surefoot.script()).err
    make_plan(surefoot)
    run_id = listed(surefoot)[0]["run_id"]
    resumed = surefoot("resume")
    assert resumed.code == 2
    assert f"run {run_id} is a finished plan" in resumed.err
    assert f"surefoot run --plan {run_id}" in resumed.err
    assert f"surefoot run --plan {run_id}" in surefoot("retry", run_id, "s1").err
    assert surefoot("undo", run_id, "--yes").code == 0
    assert listed(surefoot)[0]["status"] == "plan", "it changed nothing that could be undone"
    assert "  plan  " in surefoot("list").out
    assert "✓ Plan made" in surefoot("show").out
    assert "Plan made, not carried out" in surefoot("report", "--format", "md", "-o", "-").out
    for arguments, message in (
        (("another task",), "a plan has its task already"),
        (("--based-on", run_id), "--plan cannot be combined with --based-on"),
        (("--from-phase", "planning"), "--plan cannot be combined with --from-phase"),
        (("--phases", "plan"), "--plan cannot be combined with --phases"),
    ):
        refused = surefoot("run", "--plan", run_id, *arguments)
        assert (refused.code, message in refused.err) == (2, True), refused.err
    assert "leave out --phases plan" in surefoot("run", "--based-on", run_id, "--phases", "plan").err
    assert len(listed(surefoot)) == 1


@pytest.mark.req("P15")
def test_a_run_that_is_no_plan_is_not_carried_out_as_one(surefoot: Surefoot) -> None:
    (surefoot.workspace / "check_adder.py").write_text(TEST)
    surefoot("run", TASK, "-m", surefoot.script(UNDERSTANDING), "--until-phase", "planning")
    run_id = listed(surefoot)[0]["run_id"]
    refused = surefoot("run", "--plan", run_id)
    assert refused.code == 2
    assert f"run {run_id} is not a plan: it is paused" in refused.err
    assert f"surefoot resume {run_id}" in refused.err
    edited = rename(surefoot, run_id, "Write adder.py", "Add two numbers")
    assert "it takes effect when the run is resumed: surefoot resume" in edited.out


@pytest.mark.req("P15")
def test_a_plan_of_another_folder_is_carried_out_there_or_where_it_is_said(surefoot: Surefoot) -> None:
    make_plan(surefoot, "--check", CHECK)
    run_id = listed(surefoot)[0]["run_id"]
    other = surefoot.elsewhere("other")
    refused = other("run", "--plan", run_id, "-m", surefoot.script(adder("+")))
    assert refused.code == 2
    assert "belongs to another folder" in refused.err
    (other.workspace / "check_adder.py").write_text(TEST)
    there = other("run", "--plan", run_id, "-C", ".", "-m", surefoot.script(adder("+")))
    assert there.code == 0, there.err
    assert "the plan was made for" in there.err
    assert (other.workspace / "adder.py").exists()
    inside = surefoot.elsewhere("work/sub")
    from_inside = inside("run", "--plan", run_id, "-m", surefoot.script(adder("+")))
    assert from_inside.code == 0, from_inside.err
    assert (surefoot.workspace / "adder.py").exists(), "in the folder of the plan, not in the sub-folder"


@pytest.mark.req("P15", "P12")
def test_a_plan_that_waits_for_an_answer_is_completed_first(surefoot: Surefoot) -> None:
    assert make_plan(surefoot, "--confirm").code == 4
    run_id = listed(surefoot)[0]["run_id"]
    refused = surefoot("run", "--plan", run_id)
    assert refused.code == 2
    assert f"the plan of run {run_id} is not made yet: the run is waiting" in refused.err
    assert f"surefoot answer {run_id}" in refused.err
    completed = surefoot("resume", "-m", surefoot.script(), "--yes")
    assert completed.code == 0, completed.err
    assert "1. Write adder.py" in completed.out
    assert completed.out.endswith(f"surefoot run --plan {run_id}\n")


def test_a_setting_to_plan_only_does_not_stop_a_plan_from_being_carried_out(surefoot: Surefoot) -> None:
    make_plan(surefoot, "--check", CHECK)
    surefoot.environ["SUREFOOT_EXECUTION__PHASES"] = "plan"
    done = surefoot("run", "--plan", "last", "-m", surefoot.script(adder("+")))
    assert done.code == 0, done.err
    assert "Verified" in done.out


def test_a_plan_with_a_secret_is_not_stored(surefoot: Surefoot) -> None:
    make_plan(surefoot)
    run_id = listed(surefoot)[0]["run_id"]
    surefoot.environ["SERVICE_TOKEN"] = "k9-very-secret-value-77"
    refused = rename(surefoot, run_id, "Write adder.py", "Use k9-very-secret-value-77")
    assert refused.code == 2
    assert "the plan contains the value of SERVICE_TOKEN" in refused.err
    assert "k9-very-secret" not in surefoot("show", "--events", "--json").out + refused.err
