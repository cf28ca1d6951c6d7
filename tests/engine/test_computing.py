"""A file that is computed from others is made by a program, and a plain task is not described before it is done."""

import pytest

from kit import Bench, fenced, steps, understanding
from sandboxes import bubblewrap_here
from surefoot import events as e
from surefoot.engine import start_run
from surefoot.models.base import ModelTraits
from surefoot.outcome import Verdict
from surefoot.plan import ExecutionStep
from surefoot.taskfiles import is_computed, is_source, plain_target
from surefoot.tools.base import tool
from surefoot.tools.registry import default_toolbox

ADD_UP = fenced("import csv, json\nrows = list(csv.DictReader(open('sales.csv')))\n"
                "json.dump({'total': sum(int(r['n']) for r in rows)}, open('total.json', 'w'))")  # fmt: skip
IS_RIGHT = """python3 -c "import json; assert json.load(open('total.json')) == {'total': 42}" """
TASK = 'Add up column n of sales.csv and write total.json like {"total": 7}.'


def sales(bench: Bench) -> None:
    bench.write(sales__csv="n\n40\n2\n")


@pytest.mark.req("O3")
async def test_a_result_is_computed_and_not_typed_in(bench: Bench) -> None:
    sales(bench)
    state = await bench.run(TASK, [understanding("total.json"), ADD_UP], checks=[IS_RIGHT])
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    assert bench.files() == {"sales.csv": "n\n40\n2\n", "total.json": '{"total": 42}'}, "no program is left behind"
    assert [started.tool for started in bench.events(e.ActionStarted)] == ["run_python"]


@pytest.mark.req("O3", "R8")
async def test_a_program_that_breaks_is_shown_with_what_it_said(bench: Bench) -> None:
    sales(bench)
    answers = [understanding("total.json"), fenced("print(1 / 0)"), ADD_UP]
    services = bench.services(answers, traits=ModelTraits(small=False, inline_bodies=False))
    state = await start_run(services, bench.task(TASK, [IS_RIGHT]), bench.config())
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    shown = bench.prompts()[-1]
    assert "print(1 / 0)" in shown
    assert "ZeroDivisionError" in shown
    assert not bench.events(e.RungChosen), "it goes on in the same try"


@pytest.mark.req("R8", "X5")
@pytest.mark.parametrize("wrong", ["open('total.json', 'w').write('40')", "print(1 / 0)"])
async def test_a_small_model_is_asked_in_other_words_and_not_shown_its_program(bench: Bench, wrong: str) -> None:
    """It would write it again. Asked plainly, it makes other mistakes."""
    sales(bench)
    answers = [fenced(wrong), fenced("open('total.json', 'w').write('41')"), ADD_UP]
    services = bench.services(answers, traits=ModelTraits(small=True, inline_bodies=False))
    state = await start_run(services, bench.task(TASK, [IS_RIGHT]), bench.config())
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    first, other, again = bench.model.requests
    asked = other.messages[-1].content
    assert asked.startswith("These files are in the folder:\n")
    assert TASK in asked
    assert "writes `total.json`" in asked
    assert wrong not in asked
    assert asked != first.messages[-1].content
    assert [message.role for message in other.messages] == ["user"]
    assert again.messages == other.messages, "read once"


@tool
def count() -> dict[str, object]:
    """Count the rows."""
    return {"rows": 2}


@pytest.mark.req("A2", "X5")
async def test_also_in_other_words_it_is_told_what_earlier_steps_found(bench: Bench) -> None:
    sales(bench)
    bench.toolbox = default_toolbox().with_(count)
    counting = ExecutionStep(id="count", name="count", tool="count")
    add_up = ExecutionStep(id="add", name="add up", description=TASK, writes=("total.json",))
    answers = [fenced("open('total.json', 'w').write('40')"), ADD_UP]
    small = ModelTraits(small=True, inline_bodies=False)
    plan = steps(counting, add_up, after=[("add", "count")])
    state = await bench.run_plan(plan, answers, checks=[IS_RIGHT], traits=small)
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    assert len(bench.prompts()) == 2
    assert all('"rows": 2' in prompt for prompt in bench.prompts())


@pytest.mark.req("X5")
async def test_what_is_missing_is_not_made_up(bench: Bench) -> None:
    bench.write(sales_2023__csv="n\n40\n")
    made_up = "open('sales.csv', 'w').write('n\\n{0}\\n')\nopen('total.json', 'w').write('total: {0}')"
    invented = [fenced(made_up.format(number)) for number in range(6)]
    few = {"max_step_retries": 3, "max_single_step_repairs": 0, "max_task_replanning_attempts": 0}
    answers = [understanding("total.json"), *invented]
    state = await bench.run(TASK, answers, checks=["grep -q total total.json"], reflection=few)
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.LOOP, "none of them was usable"
    assert "sales.csv is not there" in state.outcome.summary
    assert bench.files() == {"sales_2023.csv": "n\n40\n"}


@pytest.mark.req("X5")
async def test_a_missing_source_is_not_planned_to_be_written(bench: Bench) -> None:
    """Told which files a task wants, a small model names those that it reads too."""
    bench.write(sales_2023__csv="n\n40\n")
    answers = [understanding("sales.csv", "total.json"), *[ADD_UP] * 20]
    state = await bench.run(TASK, answers)
    assert state.outcome is not None
    assert state.outcome.verdict is not Verdict.UNVERIFIED
    assert bench.files() == {"sales_2023.csv": "n\n40\n"}


@pytest.mark.parametrize(
    ("path", "task", "source"),
    [
        ("sales.csv", "Sum up the amounts in sales.csv per category and save them as totals.json.", True),
        ("totals.json", "Sum up the amounts in sales.csv per category and save them as totals.json.", False),
        ("a.csv", "Convert a.csv to b.json", True),
        ("b.json", "Convert a.csv to b.json", False),
        ("out.csv", "Save the result in out.csv", False),
        ("a.csv", "Write a.csv. Then count the rows in a.csv.", False),
        ("sales.csv", "统计 sales.csv 里每类的金额，写到 totals.json。", True),
        ("totals.json", "统计 sales.csv 里每类的金额，写到 totals.json。", False),
        ("b.json", "把 a.csv 转成 b.json", False),
        ("a.csv", "把 a.csv 转成 b.json", True),
        ("app.py", "The bug is in app.py.", False),
    ],
)
def test_what_is_a_source(path: str, task: str, source: bool) -> None:
    assert is_source(path, task) is source


@pytest.mark.parametrize(
    ("path", "task", "others", "computed"),
    [
        ("total.json", "sum sales.csv into total.json", ["sales.csv"], True),
        ("counts.json", "count the words of every file in notes/", ["notes/a.txt"], True),
        ("report.md", "write report.md from sales.csv", ["sales.csv"], True),
        ("out.json", "run tools/rates.py and keep what it prints in out.json", ["tools/rates.py"], True),
        ("prices.json", "download https://example.org/today.json as prices.json", [], True),
        ("links.md", "write links.md with https://example.org", [], False),
        ("README.md", "write a README.md about app.py", ["app.py"], False),
        ("app.py", "write app.py, which reads sales.csv", ["sales.csv"], False),
        ("config.toml", "write config.toml for data.csv", ["data.csv"], False),
        ("package.json", "make a package.json", ["src/app.js"], False),
        ("SHA256SUMS", "make a file SHA256SUMS for everything in release/", ["release/app.txt"], True),
        ("LICENSE", "add a file LICENSE, as README.md says", ["README.md"], False),
    ],
)
def test_what_is_a_result(path: str, task: str, others: list[str], computed: bool) -> None:
    assert is_computed(path, task, others) is computed


@pytest.mark.parametrize(
    ("task", "existing", "target"),
    [
        ("Write stats.py as SPEC.md says.", ["SPEC.md", "test_stats.py"], "stats.py"),
        ("The last page is lost. Make the tests pass.", ["paging.py", "test_stats.py"], "paging.py"),
        ("Fix paging.py", ["paging.py", "test_stats.py"], "paging.py"),
        ("Make a file SHA256SUMS for release/, like release/a.txt.", ["release/a.txt", "release/b"], "SHA256SUMS"),
        ("Fix paging.py", ["paging.py", "list.py"], ""),
        ("Write a.py and b.py", [], ""),
        ("Write report.json from sales.csv", ["sales.csv"], "report.json"),
        ("Write report.json and report.md from sales.csv", ["sales.csv"], ""),
        ("Write report.json and clean up sales.csv", [], ""),
        ("Join by customers.id and write late.csv from orders.csv", ["orders.csv", "customers.csv"], "late.csv"),
        ('Count the words in notes/ as counts.json, like {"a.txt": 2}', ["notes/a.txt"], "counts.json"),
        ("Add an option to cli.py and say so in README.md", ["cli.py", "README.md"], ""),
        ("Write cli.py on top of core.py", ["core.py"], ""),
        ("What is this?", ["a.py", "b.py"], ""),
    ],
)
def test_what_a_plain_task_is_about(task: str, existing: list[str], target: str) -> None:
    assert plain_target(task, existing, ["test_stats.py"]) == target


@pytest.mark.req("P19")
@pytest.mark.parametrize(
    ("checks", "verdict", "why"),
    [
        (["python3 -c 'import one; assert one.ONE == 1'"], Verdict.VERIFIED, " and how it is checked is given"),
        ([], Verdict.UNVERIFIED, ""),
    ],
)
async def test_a_small_model_is_not_asked_what_a_plain_task_wants(
    bench: Bench, checks: list[str], verdict: Verdict, why: str
) -> None:
    services = bench.services([fenced("ONE = 1")], traits=ModelTraits(small=True, inline_bodies=False))
    state = await start_run(services, bench.task("Write one.py with ONE = 1.", checks), bench.config())
    assert state.outcome is not None
    assert state.outcome.verdict is verdict
    assert state.model_calls == 1
    assert state.understanding is not None
    assert state.understanding.validation is not None
    assert state.understanding.validation.messages == (f"the task is about one.py{why}",)


@pytest.mark.req("P19")
async def test_what_names_no_file_and_is_not_checked_is_thought_about_first(bench: Bench) -> None:
    services = bench.services([understanding()], traits=ModelTraits(small=True, inline_bodies=False))
    await start_run(services, bench.task("Tidy up.", []), bench.config())
    assert bench.events(e.ModelAnswered)[0].purpose == "understand"


@pytest.mark.req("O6")
async def test_a_file_that_is_to_be_mended_is_shown_once_with_what_fails(bench: Bench) -> None:
    bench.write(half__py="def half(n):\n    return n / 3\n")
    check = "python3 -c 'import half; assert half.half(4) == 2, half.half(4)'"
    wrong, right = fenced("def half(n):\n    return n / 4\n"), fenced("def half(n):\n    return n / 2\n")
    await bench.run("half() in half.py is wrong.", [understanding("half.py"), wrong, right], checks=[check])
    first, second = bench.prompts()[1:]
    assert first.count("return n / 3") == 1
    assert "AssertionError: 1.33" in first, "from the first try on"
    assert "half.py as it is now" in second
    assert "return n / 4" in second


in_a_sandbox = pytest.mark.skipif(isinstance(bubblewrap_here(), str), reason="this machine cannot use bubblewrap")
PRICES = "Download https://prices.example.org/today.json and save it as prices.json."


@in_a_sandbox
@pytest.mark.req("X5", "R8")
@pytest.mark.parametrize("small", [True, False])
async def test_what_cannot_be_reached_is_not_made_up(bench: Bench, small: bool) -> None:
    """Commands have no network: whatever a program wrote into prices.json would be invented."""
    answers = [*([] if small else [understanding("prices.json")]), ADD_UP]
    services = bench.services(answers, traits=ModelTraits(small=small, inline_bodies=False))
    state = await start_run(services, bench.task(PRICES, []), bench.config(sandbox="auto"))
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.FAILED
    assert not bench.events(e.ActionStarted)
    assert state.outcome.diagnosis is not None
    assert "https://prices.example.org/today.json cannot be reached" in state.outcome.diagnosis.root_cause
    assert any("--network" in step for step in state.outcome.diagnosis.next_steps)


@in_a_sandbox
@pytest.mark.req("R8")
async def test_what_may_be_reached_is_tried(bench: Bench) -> None:
    made = fenced("open('prices.json', 'w').write('{}')")
    services = bench.services([made], traits=ModelTraits(small=True, inline_bodies=False))
    await start_run(services, bench.task(PRICES, []), bench.config(sandbox="auto", network=True))
    assert [started.tool for started in bench.events(e.ActionStarted)] == ["run_python"]


@pytest.mark.req("X5", "P19")
async def test_a_small_model_is_not_asked_until_it_invents_what_is_not_there(bench: Bench) -> None:
    sales(bench)
    honest = fenced("if 'friday' in open('sales.csv').read():\n    open('friday.json', 'w').write('1')")
    invented = fenced("open('friday.json', 'w').write('42')")
    task = "How much was sold on friday? Write the number to friday.json. The data is in sales.csv."
    traits = ModelTraits(small=True, inline_bodies=False)
    services = bench.services([honest, invented], traits=traits)
    state = await start_run(services, bench.task(task, []), bench.config())
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.FAILED
    assert state.model_calls == 1
    assert "wrote no friday.json" in state.outcome.summary
    services = bench.services([honest, invented], traits=traits)
    state = await start_run(services, bench.task(task, ["grep -qx 42 friday.json"]), bench.config())
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED, "with a check to judge it, another try does no harm"


@pytest.mark.req("X5", "P19")
async def test_a_small_model_is_not_asked_for_a_result_of_what_is_missing(bench: Bench) -> None:
    """It would take the sheet of another year for it."""
    bench.write(sales_2023__csv="n\n40\n")
    task = "Sum up the amounts in sales_2024.csv and save them as total.json."
    traits = ModelTraits(small=True, inline_bodies=False)
    state = await start_run(
        bench.services([understanding("total.json")], traits=traits), bench.task(task, []), bench.config()
    )
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.FAILED
    assert "sales_2024.csv, which the task reads, is not there" in state.outcome.summary
    (bench.root / "old").mkdir()
    (bench.root / "old" / "sales_2024.csv").write_text("n\n40\n2\n")
    elsewhere = ADD_UP.replace("sales.csv", "old/sales_2024.csv")
    state = await start_run(
        bench.services([understanding("total.json"), elsewhere], traits=traits), bench.task(task, []), bench.config()
    )
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.UNVERIFIED
