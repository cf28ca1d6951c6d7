"""A task in a conversation: survey, steps, red checks, recovery, resuming."""

import itertools

import pytest

from support.kit import Bench
from support.talk import CALC_TEST as TEST
from support.talk import TalkingModel, results, submit
from surefoot.config.model import PhasePolicy
from surefoot.core.outcome import Verdict
from surefoot.core.proof import ProofLevel
from surefoot.core.transitions import Rung, Stage, StepStatus
from surefoot.engine.loop import start_run
from surefoot.engine.runtime.services import Services
from surefoot.history.earlier.given import of_run
from surefoot.journal import events as e
from surefoot.models.items import AssistantTurn
from surefoot.prompting.conversation.survey import KEPT

CHECK = "python3 test_calc.py"
WRONG, RIGHT = "def add(a, b):\n    return a - b\n", "def add(a, b):\n    return a + b\n"
FIX = ("edit_file", {"path": "calc.py", "search": "a - b", "replace": "a + b"})
NOTE = ("write_file", {"path": "notes.txt", "content": "nothing to improve"})
FINISH = ("finish_step", {"summary": "fixed"})


@pytest.fixture
def calc(bench: Bench) -> Bench:
    bench.write(calc__py=WRONG, test_calc__py=TEST)
    return bench


@pytest.mark.req("X11")
async def test_a_plain_task_needs_one_call_before_the_first_change(calc: Bench) -> None:
    state = await calc.talk("Fix add in calc.py.", [submit(), [FIX, FINISH]], checks=[CHECK])
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    assert calc.files()["calc.py"] == RIGHT
    assert len(calc.talker.requests) == 2


async def test_the_first_question_shows_what_fails_now(calc: Bench) -> None:
    await calc.talk("Fix add in calc.py.", [submit(), [FIX, FINISH]], checks=[CHECK])
    asked = calc.talker.requests[0].messages[1].content
    assert f"- {CHECK} (failed before the run)" in asked
    assert "AssertionError" in asked


@pytest.mark.req("X11")
async def test_the_model_looks_before_it_plans(calc: Bench) -> None:
    looks = [
        ("read_file", {"path": "calc.py"}),
        ("search", {"pattern": "add"}),
        ("write_file", {"path": "x", "content": "y"}),
    ]
    state = await calc.talk("Fix it.", [looks, submit(), [FIX, FINISH]], checks=[CHECK])
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    read, found, refused = results(calc.talker.requests[1])
    assert "return a - b" in read
    assert "calc.py" in found
    assert "first submit the plan" in refused
    assert "x" not in calc.files()


async def test_looks_beside_a_submission_are_carried_out(calc: Bench) -> None:
    state = await calc.talk("Fix it.", [[*submit(), ("read_file", {"path": "calc.py"})], [FIX, FINISH]], checks=[CHECK])
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    assert "return a - b" in results(calc.talker.requests[1])[3]


@pytest.mark.req("X11")
async def test_requests_only_grow(calc: Bench) -> None:
    """A server can cache a request from its beginning: tools and earlier items never change."""
    script = [[("read_file", {"path": "calc.py"})], submit(), [("run_command", {"command": "ls"})], [FIX], [FINISH]]
    await calc.talk("Fix it.", script, checks=[CHECK])
    requests = calc.talker.requests
    for earlier, later in itertools.pairwise(requests):
        assert later.messages[: len(earlier.messages)] == earlier.messages
        assert later.tools == earlier.tools


@pytest.mark.req("X11")
async def test_a_refused_submission_is_corrected_in_place(calc: Bench) -> None:
    bad = [("submit_understanding", {"understanding": "x", "requirements": []}), *submit()[1:]]
    state = await calc.talk("Fix it.", [bad, submit(), [FIX, FINISH]], checks=[CHECK])
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    understanding, approach, plan = results(calc.talker.requests[1])
    assert understanding.startswith("Refused:")
    assert approach == plan == KEPT


@pytest.mark.req("X11")
async def test_a_plan_that_came_too_early_is_kept(calc: Bench) -> None:
    understanding, approach, plan = submit()
    script = [[understanding, ("submit_approach", {"approach": "edit it"}), plan], [approach], [FIX, FINISH]]
    state = await calc.talk("Fix it.", script, checks=[CHECK])
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    accepted, refused, kept = results(calc.talker.requests[1])
    assert accepted == "Accepted."
    assert "expected_outcomes" in refused
    assert kept == KEPT


async def test_a_kept_plan_can_still_be_refused(calc: Bench) -> None:
    understanding, approach, _ = submit()
    cyclic = {
        "steps": [{"name": "a", "description": "a", "after": [2]}, {"name": "b", "description": "b", "after": [1]}]
    }
    early = [understanding, ("submit_approach", {"approach": "edit it"}), ("submit_plan", cyclic)]
    state = await calc.talk("Fix it.", [early, [approach], submit()[2:], [FIX, FINISH]], checks=[CHECK])
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    assert "in a cycle" in calc.talker.requests[2].messages[-1].content


@pytest.mark.req("X11")
async def test_work_behind_the_plan_is_done_in_the_same_turn(calc: Bench) -> None:
    state = await calc.talk("Fix it.", [[*submit(), FIX, FINISH]], checks=[CHECK])
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    assert len(calc.talker.requests) == 1


async def test_work_behind_the_plan_that_is_not_enough_goes_on(calc: Bench) -> None:
    worse = ("edit_file", {"path": "calc.py", "search": "a - b", "replace": "a * b"})
    again = ("edit_file", {"path": "calc.py", "search": "a * b", "replace": "a + b"})
    state = await calc.talk("Fix it.", [[*submit(), worse, FINISH], [again, FINISH]], checks=[CHECK])
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    second = calc.talker.requests[1]
    assert results(second)[:3] == ["Accepted."] * 3
    assert "AssertionError" in results(second)[4]
    assert second.messages[-1].content.startswith("# Step s1")


async def test_work_behind_a_refused_plan_is_not_done(calc: Bench) -> None:
    bad = [("submit_understanding", {"understanding": "x", "requirements": []}), *submit()[1:], FIX, FINISH]
    state = await calc.talk("Fix it.", [bad, [submit()[0]], [FIX, FINISH]], checks=[CHECK])
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    assert results(calc.talker.requests[1])[3].startswith("Not executed")


@pytest.mark.req("X11")
async def test_red_checks_come_back_as_the_result_of_finish_step(calc: Bench) -> None:
    worse = ("edit_file", {"path": "calc.py", "search": "a - b", "replace": "a * b"})
    again = ("edit_file", {"path": "calc.py", "search": "a * b", "replace": "a + b"})
    state = await calc.talk("Fix it.", [submit(), [worse, FINISH], [again, FINISH]], checks=[CHECK])
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    assert state.steps["s1"].attempt == 1
    edited, red = results(calc.talker.requests[2])
    assert "a * b" in edited
    assert "AssertionError" in red


async def test_the_same_tests_may_be_run_after_every_change(calc: Bench) -> None:
    run = ("run_command", {"command": "python3 test_calc.py; true"})
    edits = [("write_file", {"path": "calc.py", "content": f"{WRONG}# {n}\n"}) for n in range(5)]
    script = [
        submit(),
        *[[edit, run] for edit in edits],
        [("write_file", {"path": "calc.py", "content": RIGHT}), FINISH],
    ]
    state = await calc.talk("Fix it.", script, checks=[CHECK])
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    assert not calc.events(e.ActionRefused)


@pytest.mark.req("D11")
async def test_looking_is_progress_and_only_equal_looks_are_refused(calc: Bench) -> None:
    looks = [[("read_file", {"path": "calc.py", "start_line": 1, "end_line": n})] for n in range(1, 8)]
    same = [[("read_file", {"path": "test_calc.py"})]] * 3
    state = await calc.talk("Fix it.", [submit(), *looks, *same, [FIX, FINISH]], checks=[CHECK])
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    assert len(calc.events(e.ActionRefused)) == 1


async def test_after_a_failed_edit_nothing_more_is_written_in_the_same_turn(calc: Bench) -> None:
    miss = ("edit_file", {"path": "calc.py", "search": "not there at all", "replace": "x"})
    later = ("write_file", {"path": "later.py", "content": "x = 1\n"})
    state = await calc.talk("Fix it.", [submit(), [miss, later, FINISH], [FIX, FINISH]], checks=[CHECK])
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    assert "later.py" not in calc.files()
    _, skipped, finish = results(calc.talker.requests[2])
    assert skipped.startswith("Not executed")
    assert finish.startswith("Not executed")


async def test_a_failed_command_keeps_the_step_open(calc: Bench) -> None:
    bad = ("run_command", {"command": "false"})
    state = await calc.talk("Fix it.", [submit(), [FIX, bad, FINISH], [FINISH]], checks=[CHECK])
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    assert "not finished" in results(calc.talker.requests[2])[2]


async def test_cannot_ends_the_run_with_the_reason(calc: Bench) -> None:
    script = [[("cannot", {"reason": "prices.csv is not there"})]]
    state = await calc.talk("Sum up prices.csv.", script, checks=[CHECK])
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.BLOCKED
    assert "prices.csv is not there" in state.outcome.summary
    state = await calc.talk(
        "Sum up prices.csv.", [submit(), [("cannot", {"reason": "it contradicts"})]], checks=[CHECK]
    )
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.FAILED
    assert "it contradicts" in state.outcome.summary


async def test_an_answer_without_a_call_is_asked_to_go_on(calc: Bench) -> None:
    state = await calc.talk("Fix it.", ["I will look.", submit(), "Done!", [FIX, FINISH]], checks=[CHECK])
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    assert calc.talker.requests[1].messages[-1].content.startswith("Go on")
    assert calc.talker.requests[3].messages[-1].content.startswith("Go on")


async def test_invalid_calls_are_answered_with_what_is_wrong(calc: Bench) -> None:
    bad = [
        ("no_such_tool", {}),
        ("finish_step", {"summary": ["x"]}),
        ("read_file", {"wrong": 1}),
        ("submit_plan", {"steps": []}),
    ]
    state = await calc.talk("Fix it.", [submit(), bad, [FIX, FINISH]], checks=[CHECK])
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    unknown, unreadable, argument, late = results(calc.talker.requests[2])
    assert "no tool 'no_such_tool'" in unknown
    assert "summary" in unreadable
    assert "wrong" in argument or "path" in argument
    assert "steps" in late


@pytest.mark.req("P21", "P7", "P8")
async def test_a_submitted_plan_keeps_all_its_fields(calc: Bench) -> None:
    step = {
        "name": "Fix",
        "description": "Fix add.",
        "type": "testing",
        "preconditions": ["calc.py exists"],
        "expected_outputs": ["calc.py"],
        "validation_criteria": ["add adds"],
        "rollback_steps": ["true"],
        "allow_failure": True,
        "critical": False,
        "priority": 3,
        "when": "True",
        "fallback": {"x": 1},
        "estimated_minutes": 4,
        "checks": [{"kind": "command", "value": "python3 test_calc.py"}],
    }
    second = {"name": "Tests", "description": "Write tests.", "after": [1]}
    await calc.talk("Fix it.", [submit(step, second), [FIX, FINISH], [FINISH]], checks=[CHECK])
    plan = calc.events(e.PlanMade)[0].result.output
    made = plan.steps[0]
    assert (made.preconditions, made.rollback_steps, made.critical) == (("calc.py exists",), ("true",), False)
    assert (made.when, made.fallback, made.priority, made.estimated_duration) == ("True", {"x": 1}, 3, 4)
    assert [check.label for check in made.checks] == ["python3 test_calc.py"]
    assert [(d.step_id, d.depends_on) for d in plan.dependencies] == [("s2", "s1")]
    assert [step.name for step in plan.steps] == ["Fix", "Tests"]


async def test_a_plan_needs_no_step_for_each_file_that_the_task_names(calc: Bench) -> None:
    calc.write(notes__md="notes\n")
    plan = submit(files=["calc.py", "notes.md"])
    state = await calc.talk("Fix add in calc.py and say so in notes.md.", [plan, [FIX, FINISH]], checks=[CHECK])
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    assert list(state.steps) == ["s1"]


async def test_a_step_continues_the_conversation_of_the_step_before(calc: Bench) -> None:
    plan = submit({"name": "One", "description": "a"}, {"name": "Two", "description": "b", "after": [1]})
    script = [plan, [("write_file", {"path": "a.txt", "content": "a"}), FINISH], [FIX, FINISH]]
    state = await calc.talk("Fix it.", script, checks=[CHECK])
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    last = calc.talker.requests[-1]
    assert sum(isinstance(item, AssistantTurn) for item in last.messages) == 2
    assert "Step s1 is done" in results(last)[-1]


@pytest.mark.req("R8")
async def test_a_fresh_start_tells_what_failed_and_that_files_are_as_before(calc: Bench) -> None:
    worse = ("edit_file", {"path": "calc.py", "search": "a - b", "replace": "a * b"})
    change = ("change_steps", {"steps": [{"step": "s1", "description": "Add instead of subtracting."}]})
    script = [submit(), [worse, FINISH], [FINISH], [FINISH], [change], [FIX, FINISH]]
    state = await calc.talk("Fix it.", script, checks=[CHECK])
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    assert state.steps["s1"].attempt == 2
    assert state.steps["s1"].step.description == "Add instead of subtracting."
    fresh = calc.talker.requests[-1]
    assert "All files that it had changed are as before that attempt: calc.py." in fresh.messages[-1].content
    assert "AssertionError" in fresh.messages[-1].content
    assert sum(isinstance(item, AssistantTurn) for item in fresh.messages) == 1


@pytest.mark.req("O3", "R4")
async def test_a_replan_is_a_new_plan_at_once_and_continues_the_survey(calc: Bench) -> None:
    script = [submit(), [("replan", {"reason": "it has to be done in two parts"})], submit()[2:], [FIX, FINISH]]
    state = await calc.talk("Fix it.", script, checks=[CHECK])
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    assert state.task_replan_count == 1
    assert [event.rung for event in calc.events(e.RungChosen)] == [Rung.REPLAN_TASK]
    asked = calc.talker.requests[2].messages[-1].content
    assert "it has to be done in two parts" in asked


@pytest.mark.req("O3", "R3", "R4")
async def test_without_replans_left_a_replan_is_a_repair(calc: Bench) -> None:
    replan = [("replan", {"reason": "it has to be done in two parts"})]
    change = [("change_steps", {"steps": [{"step": "s1r1", "description": "first one half of it"}]})]
    script = [submit(), replan, submit()[2:], replan, change, [FIX, FINISH]]
    state = await calc.talk("Fix it.", script, checks=[CHECK])
    assert [event.rung for event in calc.events(e.RungChosen)] == [Rung.REPLAN_TASK, Rung.REPAIR_STEP]
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED


async def test_the_plan_can_be_changed_while_it_runs(calc: Bench) -> None:
    added = ("add_steps", {"steps": [{"name": "Note", "description": "write a note"}], "reason": "needed"})
    script = [submit(), [added, FIX, FINISH], [("write_file", {"path": "note.txt", "content": "n"}), FINISH]]
    state = await calc.talk("Fix it.", script, checks=[CHECK])
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    assert [run.status for run in state.steps.values()] == [StepStatus.SUCCEEDED] * 2
    assert "note.txt" in calc.files()


@pytest.mark.req("X11")
async def test_what_the_task_asks_for_and_nobody_touched_is_named(calc: Bench) -> None:
    log = ("write_file", {"path": "CHANGELOG.md", "content": "add was fixed\n"})
    script = [submit(), [FIX, FINISH], [log, FINISH]]
    state = await calc.talk("Fix add and add an entry to the changelog.", script, checks=[CHECK])
    assert "asks for a changelog entry" in results(calc.talker.requests[2])[1]
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    assert not state.outcome.warnings


async def test_a_part_that_is_not_needed_is_told_in_the_outcome(calc: Bench) -> None:
    state = await calc.talk("Fix add and update the docs.", [submit(), [FIX, FINISH], [FINISH]], checks=[CHECK])
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    assert state.outcome.warnings == ("the task asks for documentation, and no such file was changed",)


@pytest.mark.req("X11")
async def test_a_document_that_the_task_names_is_asked_for_until_it_is_changed(calc: Bench) -> None:
    log = ("write_file", {"path": "doc/CHANGES-1.3.md", "content": "add was fixed\n"})
    task = "Fix add. Mention it in doc/CHANGES-1.3.md and in the comment of calc.py."
    state = await calc.talk(task, [submit(), [FIX, FINISH], [log, FINISH]], checks=[CHECK])
    assert "asks for a change of doc/CHANGES-1.3.md" in results(calc.talker.requests[2])[1]
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    assert not state.outcome.warnings


async def test_a_named_document_that_stays_as_it_is_is_told_in_the_headline(calc: Bench) -> None:
    plan = submit({"name": "Fix add", "files": ["calc.py", "doc/CHANGES-1.3.md"]})
    task = "Fix add and mention it in doc/CHANGES-1.3.md."
    state = await calc.talk(task, [plan, [FIX, FINISH], [FINISH]], checks=[CHECK])
    assert state.outcome is not None
    assert state.outcome.summary.startswith("done in part: a change of doc/CHANGES-1.3.md is missing; ")
    assert state.outcome.warnings == ("the task asks for a change of doc/CHANGES-1.3.md, and no such file was changed",)


@pytest.mark.parametrize("task", ["Fix add, and add an entry to the changelog.", "Fix add, and the release notes too."])
async def test_an_entry_in_the_changelog_of_the_readme_is_one(calc: Bench, task: str) -> None:
    readme = "Calc\n====\n\nChangelog\n---------\n"
    calc.write(README__rst=readme)
    log = ("write_file", {"path": "README.rst", "content": f"{readme}\n- add was fixed\n"})
    state = await calc.talk(task, [submit(), [FIX, log, FINISH]], checks=[CHECK])
    assert not calc.events(e.ActionRefused)
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    assert not state.outcome.warnings


@pytest.mark.req("O11")
async def test_planning_can_be_switched_off(calc: Bench) -> None:
    state = await calc.talk("Fix it.", [[FIX, FINISH]], checks=[CHECK], enable_planning=False)
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    assert len(calc.talker.requests) == 1
    assert state.planning is not None
    assert state.planning.status == "skipped"


async def test_deny_rules_hold_for_looks_behind_links(calc: Bench) -> None:
    (calc.root / "private").mkdir()
    (calc.root / "private" / "notes.txt").write_text("hidden")
    (calc.root / "open").symlink_to("private")
    looks = [
        ("read_file", {"path": path}) for path in ("private/notes.txt", "open/notes.txt", "./x/../private/notes.txt")
    ]
    script = [looks, submit(), [FIX, FINISH]]
    await calc.talk("Fix it.", script, checks=[CHECK], deny=["read_file(private/*)"])
    assert results(calc.talker.requests[1]) == ["the user's rules do not allow this"] * 3


@pytest.mark.req("X12", "X11")
async def test_a_conversation_extends_a_test_and_proves_its_work_by_it(bench: Bench) -> None:
    test = "import unittest\nfrom calc import add\n\n\nclass T(unittest.TestCase):\n    def test_zero(self):\n"
    test += "        self.assertEqual(add(0, 0), 0)\n"
    more = "\n    def test_sum(self):\n        self.assertEqual(add(1, 2), 3)\n"
    bench.write(calc__py=WRONG, test_calc__py=test)
    extend = ("write_file", {"path": "test_calc.py", "content": test + more})
    state = await bench.talk("Fix add in calc.py.", [submit(), [FIX, extend, FINISH]], sandbox="auto")
    assert state.outcome is not None
    assert state.outcome.proof is ProofLevel.OWN_TEST, state.outcome.summary


async def test_finishing_a_step_in_which_nothing_was_done_is_refused_once(calc: Bench) -> None:
    calc.write(calc__py=RIGHT)
    state = await calc.talk("Improve calc.py.", [submit(), [FINISH], [NOTE, FINISH]], checks=["true"])
    assert results(calc.talker.requests[2])[-1].startswith("Refused: nothing was done in this step")
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.UNVERIFIED


@pytest.mark.req("X11")
async def test_a_plan_without_an_approach_is_accepted_whatever_the_complexity(calc: Bench) -> None:
    understood, _, plan = submit(complexity="complex", files=["calc.py", "a.py", "b.py", "c.py", "d.py"])
    state = await calc.talk("Fix add in calc.py.", [[understood, plan, FIX, FINISH]], checks=[CHECK])
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    assert len(calc.talker.requests) == 1


@pytest.mark.req("X11")
async def test_a_kept_plan_is_judged_before_the_work_that_comes_with_the_missing_part(calc: Bench) -> None:
    understood, approach, plan = submit()
    script = [[understood, plan], [approach, FIX, FINISH]]
    state = await calc.talk("Fix add in calc.py.", script, checks=[CHECK], phases=PhasePolicy.FULL)
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    assert results(calc.talker.requests[1]) == ["Accepted.", KEPT]


async def test_the_first_question_names_the_project_s_own_check(calc: Bench) -> None:
    await calc.talk("Fix add in calc.py.", [submit(), [FIX, FINISH]])
    assert "- python3 -m unittest discover (failed before the run)" in calc.talker.requests[0].messages[1].content


@pytest.mark.req("X10")
async def test_of_a_long_file_of_tests_only_the_parts_that_matter_are_shown(calc: Bench) -> None:
    filler = "".join(f"    def test_{n}(self):\n        self.assertEqual({n}, {n})\n\n" for n in range(200))
    text = TEST.replace("    def test_adds", filler + "    def test_adds")
    calc.write(test_calc__py=text)
    await calc.talk("Make `add` in calc.py right; test_calc.py shows how.", [submit(), [FIX, FINISH]])
    asked = calc.talker.requests[0].messages[1].content
    assert "from calc import add" in asked
    assert "self.assertEqual(add(1, 2), 3)" in asked
    assert "test_100" not in asked


@pytest.mark.req("X10")
async def test_the_first_question_shows_the_changelog_s_beginning_and_names_missing_files(calc: Bench) -> None:
    calc.write(CHANGELOG__md="# Changes\n\n## Unreleased\n" + "- something\n" * 400)
    (calc.root / "docs").mkdir()
    (calc.root / "docs/changelog.md").write_text("see CHANGELOG.md\n")
    task = "Fix add in calc.py as data/sums.csv says, and add a line to the changelog."
    await calc.talk(task, [submit(), [("cannot", {"reason": "data/sums.csv is missing"})]])
    asked = calc.talker.requests[0].messages[1].content
    assert "see CHANGELOG.md" not in asked
    assert "# CHANGELOG.md, lines 1 to 25 of 403" in asked
    assert "Named in the task and not in the folder: data/sums.csv" in asked


async def test_a_dotted_name_of_a_function_is_not_missed_in_an_understanding(calc: Bench) -> None:
    understood, _, plan = submit(understanding="Rename add to plus")
    await calc.talk("Rename calc.add to plus.", [[understood, plan, FIX, FINISH], [FINISH]], checks=[CHECK])
    result = calc.events(e.Understood)[-1].result
    assert result.validation is not None
    assert not [warning for warning in result.validation.warnings if "the understanding does not" in warning]


@pytest.mark.req("X11", "P15")
async def test_a_given_plan_comes_with_what_was_found_out_for_it(calc: Bench) -> None:
    found = submit(understanding="add subtracts; calc.py is used by pay.py", requirements=["pay.py stays as it is"])
    planned = await calc.talk("Fix it.", [found], phases="plan")
    earlier = of_run(planned)
    calc.talker = TalkingModel([[FIX, FINISH]])
    services = Services(calc.journal, calc.talker, calc.home)
    first = Stage.EXECUTION
    task, based_on = calc.task("Fix it.", [CHECK]), planned.run_id
    state = await start_run(services, task, calc.config(), first=first, given=earlier.before(first), based_on=based_on)
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    opening = calc.talker.requests[0].messages[1].content
    assert "add subtracts; calc.py is used by pay.py\n\nRequirements:\n- pay.py stays as it is" in opening
    assert "Approach: edit it" in opening
    assert opening.endswith("The plan was given.")
