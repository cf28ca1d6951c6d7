"""Programs by a model: a file that is computed from others comes from a program, and missing data is not invented."""

import pytest

from support.kit import SMALL, Bench, fenced, steps, understanding
from support.sandboxes import bubblewrap_here
from surefoot.core.outcome import Verdict
from surefoot.core.plan import ExecutionStep
from surefoot.engine.loop import resume_run, start_run
from surefoot.journal import events as e
from surefoot.models.base import ModelTraits
from surefoot.tools.registry import default_toolbox
from surefoot.tools.tool import tool

ADD_UP = fenced("import csv, json\nrows = list(csv.DictReader(open('sales.csv')))\n"
                "json.dump({'total': sum(int(r['n']) for r in rows)}, open('total.json', 'w'))")  # fmt: skip
IS_RIGHT = """python3 -c "import json; assert json.load(open('total.json')) == {'total': 42}" """
TASK = 'Add up column n of sales.csv and write total.json like {"total": 7}.'


def write_sales(bench: Bench) -> None:
    bench.write(sales__csv="n\n40\n2\n")


@pytest.mark.req("X5")
async def test_result_is_computed_by_a_program(bench: Bench) -> None:
    write_sales(bench)
    state = await bench.run(TASK, [understanding("total.json"), ADD_UP], checks=[IS_RIGHT])
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    assert bench.files() == {"sales.csv": "n\n40\n2\n", "total.json": '{"total": 42}'}, "no program is left behind"
    assert [started.tool for started in bench.events(e.ActionStarted)] == ["run_python"]


@pytest.mark.req("R8", "X5")
async def test_failing_program_is_shown_with_its_output(bench: Bench) -> None:
    write_sales(bench)
    answers = [understanding("total.json"), fenced("print(1 / 0)"), ADD_UP]
    services = bench.services(answers, traits=ModelTraits(small=False, inline_bodies=False))
    state = await start_run(services, bench.task(TASK, [IS_RIGHT]), bench.config())
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    prompt = bench.prompts()[-1]
    assert "print(1 / 0)" in prompt
    assert "ZeroDivisionError" in prompt
    assert not bench.events(e.RungChosen), "the same attempt continues"


@pytest.mark.req("R8", "X5")
@pytest.mark.parametrize("wrong", ["open('total.json', 'w').write('40')", "print(1 / 0)"])
async def test_small_model_is_asked_in_other_words_without_its_program(bench: Bench, wrong: str) -> None:
    """Shown its program, a small model would write it again."""
    write_sales(bench)
    answers = [fenced(wrong), fenced("open('total.json', 'w').write('41')"), ADD_UP]
    services = bench.services(answers, traits=SMALL)
    state = await start_run(services, bench.task(TASK, [IS_RIGHT]), bench.config())
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    first, second, third = bench.model.requests
    rephrased = second.messages[-1].content
    assert rephrased.startswith("These files are in the folder:\n")
    assert TASK in rephrased
    assert "writes `total.json`" in rephrased
    assert wrong not in rephrased
    assert rephrased != first.messages[-1].content
    assert [message.role for message in second.messages] == ["user"]
    assert third.messages == second.messages, "a server can reuse the cached prompt"


@tool
def count() -> dict[str, object]:
    """Count the rows."""
    return {"rows": 2}


@pytest.mark.req("A2", "X5")
async def test_rephrased_question_includes_results_of_earlier_steps(bench: Bench) -> None:
    write_sales(bench)
    bench.toolbox = default_toolbox().with_(count)
    count_step = ExecutionStep(id="count", name="count", tool="count")
    add_step = ExecutionStep(id="add", name="add up", description=TASK, writes=("total.json",))
    answers = [fenced("open('total.json', 'w').write('40')"), ADD_UP]
    plan = steps(count_step, add_step, after=[("add", "count")])
    state = await bench.run_plan(plan, answers, checks=[IS_RIGHT], traits=SMALL)
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    assert len(bench.prompts()) == 2
    assert all('"rows": 2' in prompt for prompt in bench.prompts())


@pytest.mark.req("X5")
async def test_missing_source_is_not_invented(bench: Bench) -> None:
    bench.write(sales_2023__csv="n\n40\n")
    template = "open('sales.csv', 'w').write('n\\n{0}\\n')\nopen('total.json', 'w').write('total: {0}')"
    inventions = [fenced(template.format(number)) for number in range(6)]
    limits = {"max_step_retries": 3, "max_single_step_repairs": 0, "max_task_replanning_attempts": 0}
    answers = [understanding("total.json"), *inventions]
    state = await bench.run(TASK, answers, checks=["grep -q total total.json"], reflection=limits)
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.LOOP, "no answer was usable"
    assert "sales.csv is an input that does not exist; the program invented its content" in state.outcome.summary
    assert bench.files() == {"sales_2023.csv": "n\n40\n"}


@pytest.mark.req("X5")
async def test_missing_source_is_not_planned_to_be_written(bench: Bench) -> None:
    """Asked which files a task writes, a small model also names those that it reads."""
    bench.write(sales_2023__csv="n\n40\n")
    answers = [understanding("sales.csv", "total.json"), *[ADD_UP] * 20]
    state = await bench.run(TASK, answers)
    assert state.outcome is not None
    assert state.outcome.verdict is not Verdict.UNVERIFIED
    assert bench.files() == {"sales_2023.csv": "n\n40\n"}


@pytest.mark.req("X5")
@pytest.mark.parametrize(
    ("checks", "verdict", "why"),
    [
        (["python3 -c 'import one; assert one.ONE == 1'"], Verdict.VERIFIED, " and how it is checked is given"),
        ([], Verdict.UNVERIFIED, ""),
    ],
)
async def test_small_model_skips_understanding_of_a_plain_task(
    bench: Bench, checks: list[str], verdict: Verdict, why: str
) -> None:
    services = bench.services([fenced("ONE = 1")], traits=SMALL)
    state = await start_run(services, bench.task("Write one.py with ONE = 1.", checks), bench.config())
    assert state.outcome is not None
    assert state.outcome.verdict is verdict
    assert state.model_calls == 1
    assert state.understanding is not None
    assert state.understanding.validation is not None
    assert state.understanding.validation.messages == (f"the task is about one.py{why}",)


@pytest.mark.req("X5")
async def test_task_without_files_and_checks_needs_understanding(bench: Bench) -> None:
    services = bench.services([understanding()], traits=SMALL)
    await start_run(services, bench.task("Tidy up.", []), bench.config())
    assert bench.events(e.ModelAnswered)[0].purpose == "understand"


@pytest.mark.req("X5")
async def test_file_to_fix_is_shown_once_with_the_failure(bench: Bench) -> None:
    bench.write(half__py="def half(n):\n    return n / 3\n")
    check = "python3 -c 'import half; assert half.half(4) == 2, half.half(4)'"
    wrong, right = fenced("def half(n):\n    return n / 4\n"), fenced("def half(n):\n    return n / 2\n")
    await bench.run("half() in half.py is wrong.", [understanding("half.py"), wrong, right], checks=[check])
    first, second = bench.prompts()[1:]
    assert first.count("return n / 3") == 1
    assert "AssertionError: 1.33" in first, "from the first attempt on"
    assert "half.py as it is now" in second
    assert "return n / 4" in second


needs_bubblewrap = pytest.mark.skipif(isinstance(bubblewrap_here(), str), reason="this machine cannot use bubblewrap")
PRICES = "Download https://prices.example.org/today.json and save it as prices.json."


@needs_bubblewrap
@pytest.mark.req("X5")
@pytest.mark.parametrize("small", [True, False])
async def test_unreachable_data_is_not_invented(bench: Bench, small: bool) -> None:
    """Commands have no network, so any content of prices.json would be invented."""
    answers = [*([] if small else [understanding("prices.json")]), ADD_UP]
    services = bench.services(answers, traits=ModelTraits(small=small, inline_bodies=False))
    state = await start_run(services, bench.task(PRICES, []), bench.config(sandbox="auto"))
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.FAILED
    assert not bench.events(e.ActionStarted)
    assert state.outcome.diagnosis is not None
    assert "https://prices.example.org/today.json cannot be reached" in state.outcome.diagnosis.root_cause
    assert any("--network" in step for step in state.outcome.diagnosis.next_steps)


@needs_bubblewrap
@pytest.mark.req("X5")
async def test_download_is_attempted_when_the_network_is_allowed(bench: Bench) -> None:
    program = fenced("open('prices.json', 'w').write('{}')")
    services = bench.services([program], traits=SMALL)
    await start_run(services, bench.task(PRICES, []), bench.config(sandbox="auto", network=True))
    assert [started.tool for started in bench.events(e.ActionStarted)] == ["run_python"]


@pytest.mark.req("X5")
async def test_small_model_is_not_retried_without_a_check(bench: Bench) -> None:
    write_sales(bench)
    honest = fenced("if 'friday' in open('sales.csv').read():\n    open('friday.json', 'w').write('1')")
    invented = fenced("open('friday.json', 'w').write('42')")
    task = "How much was sold on friday? Write the number to friday.json. The data is in sales.csv."
    services = bench.services([honest, invented], traits=SMALL)
    state = await start_run(services, bench.task(task, []), bench.config())
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.FAILED
    assert state.model_calls == 1
    assert "succeeded without writing friday.json" in state.outcome.summary
    services = bench.services([honest, invented], traits=SMALL)
    state = await start_run(services, bench.task(task, ["grep -qx 42 friday.json"]), bench.config())
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED, "a check makes another attempt safe"


@pytest.mark.req("X5")
async def test_small_model_is_not_asked_when_a_source_is_missing(bench: Bench) -> None:
    """It would use the file of another year instead."""
    bench.write(sales_2023__csv="n\n40\n")
    task = "Sum up the amounts in sales_2024.csv and save them as total.json."
    state = await start_run(
        bench.services([understanding("total.json")], traits=SMALL), bench.task(task, []), bench.config()
    )
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.FAILED
    assert "sales_2024.csv, which the task reads, is not there" in state.outcome.summary
    (bench.root / "old").mkdir()
    (bench.root / "old" / "sales_2024.csv").write_text("n\n40\n2\n")
    program = ADD_UP.replace("sales.csv", "old/sales_2024.csv")
    state = await start_run(
        bench.services([understanding("total.json"), program], traits=SMALL), bench.task(task, []), bench.config()
    )
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.UNVERIFIED


@pytest.mark.req("X5", "P14")
async def test_a_source_that_the_user_adds_before_resuming_is_no_invention(bench: Bench) -> None:
    task = "Sum up the amounts in sales.csv and save them as total.json."
    services = bench.services([understanding("total.json")], traits=SMALL)
    state = await start_run(services, bench.task(task, []), bench.config())
    assert state.outcome is not None
    assert "sales.csv, which the task reads, is not there" in state.outcome.summary
    write_sales(bench)
    state = await resume_run(bench.services([ADD_UP], traits=SMALL), state.run_id)
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.UNVERIFIED
    assert bench.files()["total.json"] == '{"total": 42}'
    assert state.outcome.changed_files == ("total.json",)


@pytest.mark.req("X5", "P14")
async def test_a_program_that_found_nothing_may_be_written_again_on_resume(bench: Bench) -> None:
    bench.write(week__csv="day,n\n")
    task = "How much was sold on Friday? Write the number to friday.json. The data is in week.csv."
    program = fenced(
        "import csv\nrows = [r for r in csv.DictReader(open('week.csv')) if r['day'] == 'Friday']\n"
        "if rows:\n    open('friday.json', 'w').write(str(sum(int(r['n']) for r in rows)))"
    )
    services = bench.services([program], traits=SMALL)
    state = await start_run(services, bench.task(task, []), bench.config())
    assert state.outcome is not None
    assert "succeeded without writing friday.json" in state.outcome.summary
    bench.write(week__csv="day,n\nFriday,42\n")
    state = await resume_run(bench.services([program], traits=SMALL), state.run_id)
    assert len(bench.prompts()) == 1, "the model is asked again"
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.UNVERIFIED
    assert bench.files()["friday.json"] == "42"
