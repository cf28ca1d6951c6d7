"""Steps without checks, and steps that are to write something, at the default settings."""

import pytest
from rich.console import Console

from support.kit import NO_RETRIES, Bench, act, done, steps
from support.talk import CALC_TEST, results, submit
from surefoot.cli.report.details import details
from surefoot.cli.report.symbols import UNICODE
from surefoot.cli.views.jsonl import outcome_object
from surefoot.cli.views.plain import event_lines
from surefoot.core.outcome import Verdict
from surefoot.core.plan import ExecutionStep, FileCheck, StepType
from surefoot.core.transitions import StepStatus
from surefoot.journal import events as e
from surefoot.journal.state import RunState
from surefoot.view.labels import done_label

FINISH = ("finish_step", {"summary": "done"})
FREE = submit({"name": "Do it", "description": "do the task"})


def write(path: str, content: str) -> tuple[str, dict[str, str]]:
    return "write_file", {"path": path, "content": content}


def shown(state: RunState) -> str:
    console = Console(width=200)
    with console.capture() as capture:
        for line in details(state, UNICODE):
            console.print(line)
    return capture.get()


@pytest.mark.req("X1", "P10")
async def test_step_that_no_check_can_judge_is_done_unproven_everywhere(bench: Bench) -> None:
    state = await bench.talk("Leave a note.", [FREE, [write("note.txt", "hello"), FINISH]])
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.UNVERIFIED
    assert state.outcome.unproven_steps == ("s1",)
    assert outcome_object(state, Verdict.UNVERIFIED)["unproven_steps"] == ["s1"]
    (finished,) = bench.events(e.StepFinished)
    assert finished.output.unproven
    assert "done, unproven" in event_lines(finished, state, UNICODE)[0]
    assert shown(state).count("done, unproven") == 2, "beside the step, and in the summary"


@pytest.mark.req("X1")
async def test_changed_file_that_does_not_parse_is_the_result_of_finishing(bench: Bench) -> None:
    broken, whole = write("a.py", "def f(:\n"), write("a.py", "def f():\n    return 1\n")
    state = await bench.talk("Improve it.", [FREE, [broken, FINISH], [whole, FINISH]])
    assert "a.py parses" in results(bench.talker.requests[2])[1]
    assert state.steps["s1"].status is StepStatus.SUCCEEDED
    assert state.outcome is not None
    assert state.outcome.unproven_steps == ()


@pytest.mark.req("X1")
async def test_command_that_the_step_names_is_its_check(bench: Bench) -> None:
    body = "    def test(self):\n        self.assertEqual(f(), 2)\n"
    bench.write(test_a__py=f"import unittest\nfrom a import f\nclass T(unittest.TestCase):\n{body}")
    plan = submit(
        {"name": "Fix f", "description": "Fix f so that `python3 -m unittest test_a` passes."},
        {"name": "Note", "description": "write note.txt", "after": [1]},
    )
    wrong, right = write("a.py", "def f():\n    return 1\n"), write("a.py", "def f():\n    return 2\n")
    script = [plan, [wrong, FINISH], [right, FINISH], [write("note.txt", "x"), FINISH]]
    state = await bench.talk("Fix f.", script, baseline="off")
    assert "python3 -m unittest test_a" in results(bench.talker.requests[2])[1]
    assert state.steps["s1"].status is StepStatus.SUCCEEDED
    assert [r.check.label for r in state.steps["s1"].results][-1] == "python3 -m unittest test_a"


@pytest.mark.req("X1")
async def test_json_decisions_are_looked_at_too(bench: Bench) -> None:
    step = ExecutionStep(id="s", name="s", description="x", step_type=StepType.COMMAND_EXECUTION)
    broken, whole = (act("run_command", command=f"echo '{text}' > x.json") for text in ("{", "{}"))
    cause = {"category": "parameter_error", "root_cause": "the file is not whole", "recoverable": True}
    answers = [broken, done(), cause, whole, done()]
    state = await bench.run_plan(steps(step), answers)
    assert [f.kind for f in state.steps["s"].failures] == ["check_failed"]
    assert state.steps["s"].status is StepStatus.SUCCEEDED


@pytest.mark.req("X1")
async def test_step_that_writes_tests_is_not_done_without_a_test_file(bench: Bench) -> None:
    plan = submit(
        {"name": "Write new tests", "type": "testing", "description": "cover f"},
        {"name": "Note", "description": "write note.txt", "after": [1]},
    )
    test = write("test_f.py", "def test_f():\n    assert True\n")
    script = [plan, [("list_files", {}), FINISH], [test, FINISH], [write("note.txt", "x"), FINISH]]
    state = await bench.talk("Improve the project.", script, baseline="off")
    assert "asks for tests, and no test file was written" in results(bench.talker.requests[2])[1]
    assert state.steps["s1"].status is StepStatus.SUCCEEDED
    assert "test_f.py" in bench.files()


@pytest.mark.req("X1", "D11")
@pytest.mark.parametrize("name", ["Read the module and its test", "Run the module with its tests", "阅读模块及其测试"])
async def test_step_that_only_looks_at_tests_is_done_without_writing_one(bench: Bench, name: str) -> None:
    bench.write(calc__py="def add(a, b):\n    return a - b\n", test_calc__py=CALC_TEST)
    plan = submit(
        {"name": name, "type": "preparation", "description": "calc.py and test_calc.py"},
        {"name": "Fix add", "description": "in calc.py", "after": [1]},
    )
    look = [("read_file", {"path": "calc.py"}), ("read_file", {"path": "test_calc.py"}), FINISH]
    fix = [("edit_file", {"path": "calc.py", "search": "a - b", "replace": "a + b"}), FINISH]
    state = await bench.talk("Fix add in calc.py.", [plan, look, fix], checks=["python3 test_calc.py"])
    assert [r.status for r in state.steps.values()] == [StepStatus.SUCCEEDED] * 2
    assert not bench.events(e.ActionRefused)
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED


@pytest.mark.req("X1")
@pytest.mark.parametrize("name", ["Read the module and write its test", "阅读模块并编写其测试"])
async def test_step_that_insists_on_having_written_tests_fails_without_one(bench: Bench, name: str) -> None:
    plan = submit({"name": name, "type": "testing", "description": "cover f"})
    look, limits = [("list_files", {}), FINISH], {**NO_RETRIES, "max_alternative_approaches": 0}
    state = await bench.talk("Improve the project.", [plan, look, [FINISH]], baseline="off", reflection=limits)
    assert state.steps["s1"].status is StepStatus.FAILED
    assert "asks for tests, and no test file was written" in state.steps["s1"].failures[0].message
    assert state.outcome is not None
    assert state.outcome.verdict not in (Verdict.VERIFIED, Verdict.UNVERIFIED)


@pytest.mark.req("X1")
async def test_file_that_a_step_promised_counts_beside_checks_of_the_user(bench: Bench) -> None:
    """The user's check passes, but the step's own file is missing."""
    plan = submit({"name": "Report", "files": ["report.md"], "checks": [{"kind": "file_exists", "value": "report.md"}]})
    script = [plan, [write("x", "made"), FINISH], [write("report.md", "# Report"), FINISH]]
    state = await bench.talk("Make x and a report.", script, checks=["grep made x"])
    assert "report.md exists" in results(bench.talker.requests[2])[1]
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    assert "report.md" in bench.files()


@pytest.mark.req("X1", "P9")
async def test_testing_step_with_a_red_check_of_its_own_is_not_done(bench: Bench) -> None:
    step = ExecutionStep(
        id="s", name="Check it", description="x", step_type=StepType.TESTING, checks=(FileCheck(path="log.txt"),)
    )
    answers = [act("run_command", command="true"), act("run_command", command="touch log.txt"), done()]
    state = await bench.run_plan(steps(step), answers, checks=["true"])
    assert state.steps["s"].status is StepStatus.SUCCEEDED
    assert "log.txt" in bench.files()


@pytest.mark.req("X1", "P10")
async def test_a_step_that_changed_nothing_and_what_is_missing_are_said_in_the_headline(bench: Bench) -> None:
    bench.write(calc__py="def add(a, b):\n    return a - b\n", test_calc__py=CALC_TEST)
    plan = submit(
        {"name": "Fix it", "description": "fix add"}, {"name": "Document it", "description": "say so", "after": [1]}
    )
    right = write("calc.py", "def add(a, b):\n    return a + b\n")
    task = "Fix add, update the docs and add a changelog entry."
    state = await bench.talk(task, [plan, [right, FINISH], [FINISH], [FINISH]], checks=["python3 test_calc.py"])
    assert results(bench.talker.requests[3])[0].startswith("Refused: ")
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED, "the given check decides"
    assert state.outcome.unproven_steps == ("s2",)
    missing = "in part: documentation and a changelog entry are missing"
    assert outcome_object(state, Verdict.VERIFIED)["summary"].startswith(f"done {missing}; ")
    page = shown(state)
    assert f"Verified {missing}" in page
    assert "done, unproven: nothing was changed" in page


@pytest.mark.parametrize(
    ("verdict", "own", "label"),
    [
        (Verdict.VERIFIED, False, "Verified in part: tests are missing"),
        (Verdict.UNVERIFIED, True, "Done in part: tests are missing"),
        (Verdict.FAILED, False, "Failed"),
    ],
)
def test_the_label_of_a_run_that_lacks_a_part(verdict: Verdict, own: bool, label: str) -> None:
    assert done_label(verdict, "done in part: tests are missing; the rest", by_own_tests=own) == label
