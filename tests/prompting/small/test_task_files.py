"""What a small model is asked for when a task names several files: none that exists is made again, a script is asked
for at once, several results come from one program, and data that does not fit is described."""

import json

import pytest

from support.candidates import rungs_of
from support.kit import SMALL, Bench, fenced, understanding
from surefoot.core.outcome import Verdict
from surefoot.core.transitions import Rung
from surefoot.engine.loop import start_run
from surefoot.journal import events as e
from surefoot.models.base import ModelTraits

EMBEDDED = SMALL.with_(context_tokens=8_192)
"""The window of the embedded model."""
SHOP = {"shop__py": "PRICE = 3\n", "tax__py": "RATE = 2\n", "notes__md": "Prices are in cents.\n"}
LISTING = "The project consists of shop.py, tax.py and notes.md. "
BILL = fenced("from shop import PRICE\nfrom tax import RATE\n\n\ndef bill(n):\n    return n * PRICE * RATE\n")


def asked(bench: Bench) -> list[str]:
    return [event.purpose for event in bench.events(e.ModelAnswered)]


def steps_written(bench: Bench) -> list[tuple[str, ...]]:
    (made,) = bench.events(e.PlanMade)
    return [step.writes for step in made.result.output.steps]


@pytest.mark.req("X5", "P4")
async def test_listed_files_are_not_produced(bench: Bench) -> None:
    bench.write(**SHOP)
    task = bench.task(f"{LISTING}Write bill.py with bill(n), which uses both modules.", [])
    await start_run(bench.services([BILL], traits=SMALL), task, bench.config())
    assert asked(bench) == ["write"]
    assert steps_written(bench) == [("bill.py",)]
    assert bench.files()["shop.py"] == "PRICE = 3\n"


@pytest.mark.req("P4", "X5")
@pytest.mark.parametrize("small", [True, False])
async def test_listed_files_that_the_model_names_too_are_not_produced(bench: Bench, small: bool) -> None:
    """The task is not plain, so the model is asked, and names everything that it has seen."""
    bench.write(**SHOP)
    task = bench.task(f"{LISTING}Write bill.py with bill(n) and test_bill.py for it.", [])
    named = understanding("shop.py", "tax.py", "notes.md", "bill.py", "test_bill.py")
    tests = fenced("import unittest\nimport bill\n\n\nclass T(unittest.TestCase):\n"
                   "    def test(self):\n        self.assertEqual(bill.bill(2), 12)\n")  # fmt: skip
    traits = ModelTraits(small=small, inline_bodies=False)
    await start_run(bench.services([named, BILL, tests], traits=traits), task, bench.config())
    assert steps_written(bench) == [("bill.py",), ("test_bill.py",)]
    assert {name: bench.files()[name] for name in ("shop.py", "tax.py")} == {
        "shop.py": "PRICE = 3\n",
        "tax.py": "RATE = 2\n",
    }


@pytest.mark.req("X5")
@pytest.mark.parametrize("checks", [[], ["python3 sums.py && grep -qx 42 sums.txt"]], ids=["unchecked", "checked"])
async def test_script_is_asked_for_at_once(bench: Bench, checks: list[str]) -> None:
    """Other files in the text are read by the script or made by it, and no reason for three phases."""
    bench.write(sales__csv="n\n40\n2\n" + "0\n" * 9_000, units__json='{"n": "kg"}\n')
    text = "Write sums.py, a script that reads sales.csv and units.json and writes sums.txt with the sum of n."
    script = fenced("import csv\ntotal = sum(int(row['n']) for row in csv.DictReader(open('sales.csv')))\n"
                    "open('sums.txt', 'w').write(f'{total}\\n')\n")  # fmt: skip
    state = await start_run(bench.services([script], traits=EMBEDDED), bench.task(text, checks), bench.config())
    assert asked(bench) == ["write"]
    assert steps_written(bench) == [("sums.py",)]
    assert state.outcome is not None
    assert state.outcome.verdict is (Verdict.VERIFIED if checks else Verdict.UNVERIFIED)


TWO = 'From sales.csv make two files: total.json like {"total": 7}, and names.txt with the names, one per line.'
SALES = "name,n\nada,40\nbo,2\n"
READ = "import csv, json\nrows = list(csv.DictReader(open('sales.csv')))\n"
TOTAL = READ + "json.dump({'total': sum(int(r['n']) for r in rows)}, open('total.json', 'w'))\n"
NAMES = "open('names.txt', 'w').write(''.join(r['name'] + chr(10) for r in rows))\n"
BOTH = {"sales.csv": SALES, "total.json": '{"total": 42}', "names.txt": "ada\nbo\n"}


@pytest.mark.req("X5")
@pytest.mark.parametrize("small", [True, False])
async def test_results_of_the_same_data_are_made_by_one_program(bench: Bench, small: bool) -> None:
    bench.write(sales__csv=SALES)
    answers = [*([] if small else [understanding("total.json", "names.txt")]), fenced(TOTAL + NAMES)]
    services = bench.services(answers, traits=ModelTraits(small=small, inline_bodies=False))
    await start_run(services, bench.task(TWO, []), bench.config())
    assert steps_written(bench) == [("total.json", "names.txt")]
    assert "`total.json` and `names.txt`" in bench.prompts()[-1]
    assert bench.files() == BOTH


@pytest.mark.req("X5", "R8")
async def test_missing_output_is_named_and_asked_for(bench: Bench) -> None:
    bench.write(sales__csv=SALES)
    services = bench.services([fenced(TOTAL), fenced(TOTAL + NAMES)], traits=SMALL)
    state = await start_run(services, bench.task(TWO, []), bench.config())
    assert rungs_of(bench) == [Rung.CANDIDATES]
    first, second = bench.prompts()
    assert "Missing so far" not in first
    assert "The last answer made `total.json`, but not `names.txt`. All of them are wanted." in second
    assert bench.files() == BOTH
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.UNVERIFIED


@pytest.mark.req("X5", "R8")
async def test_missing_file_of_a_free_answer_is_named(bench: Bench) -> None:
    """The files are no results of data, so that they come in one free answer."""
    check = "python3 -c 'import one, two; assert one.ONE == 1 and two.TWO == 2'"
    answers = [
        "`one.py`\n```python\nONE = 1\n```",
        "`one.py`\n```python\nONE = 1\n```\n`two.py`\n```python\nTWO = 2\n```",
    ]
    services = bench.services(answers, traits=SMALL)
    task = bench.task("Write one.py with ONE = 1 and write two.py with TWO = 2.", [check])
    state = await start_run(services, task, bench.config())
    assert "The last answer made `one.py`, but not `two.py`." in bench.prompts()[1]
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED


@pytest.mark.req("X5")
async def test_program_that_wrote_nothing_is_still_believed(bench: Bench) -> None:
    bench.write(sales__csv=SALES)
    state = await start_run(
        bench.services([fenced(READ), fenced(TOTAL + NAMES)], traits=SMALL), bench.task(TWO, []), bench.config()
    )
    assert state.model_calls == 1
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.FAILED
    assert "succeeded without writing total.json" in state.outcome.summary


@pytest.mark.req("X14")
@pytest.mark.parametrize(
    ("name", "line", "shown"),
    [
        ("rows.csv", "ada,{}\n", "columns: ada, 0"),
        ("rows.jsonl", '{{"name": "ada", "n": {}}}\n', "- name: text"),
        ("rows.log", "2025-01-01 10:00 INFO request {} took 3 ms\n", "9,000 lines"),
    ],
)
async def test_data_that_does_not_fit_is_described_and_a_program_asked_for(
    bench: Bench, name: str, line: str, shown: str
) -> None:
    (bench.root / name).write_text("".join(line.format(number) for number in range(9_000)))
    program = fenced(f"open('count.json', 'w').write(str(len(open('{name}').readlines())))")
    check = "grep -qx 9000 count.json"
    services = bench.services([program], traits=EMBEDDED)
    state = await start_run(services, bench.task(f"Write the number of lines of {name} to count.json.", [check]),
                            bench.config())  # fmt: skip
    (prompt,) = bench.prompts()
    assert shown in prompt
    assert "program" in prompt
    assert len(prompt) < EMBEDDED.context_tokens * 3 // 2
    assert asked(bench) == ["write"]
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    assert json.loads(bench.files()["count.json"]) == 9_000
