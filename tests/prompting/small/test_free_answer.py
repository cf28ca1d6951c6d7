"""Free answers of a small model: files and commands in one answer, which is checked as a whole."""

import pytest

from support.kit import SMALL, Bench
from surefoot.core.outcome import Verdict
from surefoot.core.transitions import Rung
from surefoot.engine.loop import start_run
from surefoot.journal import events as e
from surefoot.journal.state import RunState

TASK = "Put the rate into settings.py and use it in cart.py."
CHECK = "python3 test_cart.py"
FILES = {
    "cart__py": "def tax(n):\n    return n * 0.19\n",
    "test_cart__py": "import cart, settings\nassert settings.RATE == 0.19\nassert cart.tax(100) == 19\n"
    "assert '0.19' not in open('cart.py').read()\n",
}
SETTINGS = "`settings.py`\n```python\nRATE = 0.19\n```\n"
CART = "`cart.py`\n```python\nfrom settings import RATE\n\n\ndef tax(n):\n    return n * RATE\n```\n"
NO_TEST = "`test_cart.py`\n```python\nprint('fine')\n```\n"


async def run(bench: Bench, *answers: str, task: str = TASK, checks: tuple[str, ...] = (CHECK,)) -> RunState:
    return await start_run(
        bench.services(answers, traits=SMALL), bench.task(task, checks), bench.config(reflection={"candidates": 3})
    )


def actions_of(bench: Bench) -> list[tuple[str, str]]:
    started = bench.events(e.ActionStarted)
    return [(event.tool, str(event.arguments.get("path") or event.arguments.get("command"))) for event in started]


@pytest.mark.req("X5")
async def test_one_answer_may_write_several_files(bench: Bench) -> None:
    bench.write(**FILES)
    state = await run(bench, SETTINGS + CART + NO_TEST)
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    assert state.model_calls == 1
    assert actions_of(bench) == [("write_file", "settings.py"), ("write_file", "cart.py")], (
        "the existing test is not changed"
    )
    check_runs = [event for event in bench.events(e.ChecksRan) if event.step_id and event.when == "after"]
    assert len(check_runs) == 1, "the answer is checked as a whole"
    assert "assert cart.tax(100) == 19" in bench.prompts()[0]


@pytest.mark.req("R8", "X5")
async def test_retry_for_one_file_rephrases_the_question(bench: Bench) -> None:
    task, check = "Write half.py with half(n).", "python3 -c 'import half; assert half.half(4) == 2'"
    bench.write(README__md="A half is a half.\n")
    answers = [f"Sure.\n`half.py`\n```python\ndef half(n):\n    return {n}\n```\n" for n in ("0", "1", "n / 2")]
    state = await run(bench, *answers, task=task, checks=(check,))
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    first, second, third = bench.model.requests
    assert [[message.role for message in request.messages] for request in bench.model.requests] == [["user"]] * 3
    original, rephrased = first.messages[0].content, second.messages[0].content
    assert original.startswith(
        f"These files are in the folder:\n\n# README.md\n```\nA half is a half.\n```\n\n{task}\n\nAnswer"
    )
    assert rephrased.partition("Write the complete new content of `half.py`.")[1]
    prefix = rephrased.partition("Write the complete")[0]
    assert original.partition("Answer")[0] == prefix, "a server can reuse the cached prefix"
    assert third.messages == second.messages, "a server can reuse the cached prompt"
    assert (first.temperature, second.temperature, third.temperature) == (0, 0.4, 0.7)


@pytest.mark.req("X5")
async def test_missing_target_is_not_shown_as_a_failure(bench: Bench) -> None:
    bench.write(**{**FILES, "test_cart__py": "import cart\nassert cart.tax(100) == 20, cart.tax(100)\n"})
    await run(bench, SETTINGS + CART, task="Put the rate into settings.py, 20%, and use it in cart.py.")
    assert "AssertionError: 19.0" in bench.prompts()[0]
    bench.write(**FILES)
    bench.records.clear()
    await run(bench, SETTINGS + CART)
    assert "No module named" in bench.events(e.ChecksRan)[0].results[0].detail
    assert "No module named" not in bench.prompts()[0]


@pytest.mark.req("R8", "X5")
async def test_wrong_answer_leads_to_candidates(bench: Bench) -> None:
    bench.write(**FILES)
    wrong = SETTINGS.replace("0.19", "0.2") + CART
    state = await run(bench, wrong, NO_TEST, wrong + "\n", SETTINGS + CART)
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    assert [event.rung for event in bench.events(e.RungChosen)] == [Rung.CANDIDATES]
    unchanged, same, right = bench.events(e.CandidateTried)
    assert unchanged.unusable == "the answer changes nothing"
    assert same.unusable == "exactly this was tried in an earlier attempt, and the checks failed"
    assert all(result.passed for result in right.results)
    assert "RATE = 0.2\n" not in bench.prompts()[1], "the first answer is not shown"


@pytest.mark.req("X5")
async def test_commands_run_after_the_files_are_written(bench: Bench) -> None:
    make = "`make.py`\n```python\nopen('out.txt', 'w').write('42')\n```\nRun it:\n```sh\npython3 make.py\n```\n"
    state = await run(bench, make, task="Write make.py and out.txt with it.", checks=("grep -qx 42 out.txt",))
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    assert actions_of(bench) == [("write_file", "make.py"), ("run_command", "python3 make.py")]


@pytest.mark.req("R8", "X5")
async def test_failed_command_ends_its_answer(bench: Bench) -> None:
    bench.write(a__txt="1\n")
    broken = "```sh\nfalse\n```\n`b.txt`\n```\nnever\n```\n"
    state = await run(bench, broken, "```sh\ncp a.txt b.txt\n```", task="Copy it.", checks=("grep -qx 1 b.txt",))
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    assert actions_of(bench) == [("run_command", "false"), ("run_command", "cp a.txt b.txt")], "b.txt was not written"


@pytest.mark.req("X5")
@pytest.mark.parametrize(
    ("task", "form"), [(TASK, "{}"), (TASK, "```sh\n{}\n```"), ("Write prices.py from the price list.", "{}")]
)
async def test_answer_cannot_leads_to_no_action(bench: Bench, task: str, form: str) -> None:
    bench.write(**FILES)
    cannot = form.format("CANNOT: the price list is not here.")
    state = await run(bench, *[cannot] * 12, task=task)
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.FAILED
    assert "CANNOT: the price list is not here" in state.outcome.summary
    assert "CANNOT: the price list is not here." in state.outcome.summary
    assert actions_of(bench) == []


async def test_folder_too_large_to_show_needs_understanding(bench: Bench) -> None:
    bench.write(**FILES, big__txt="x" * 100_000)
    state = await run(bench, "{}")
    assert bench.events(e.ModelAnswered)[0].purpose == "understand"
    assert state.outcome is not None


@pytest.mark.req("X5")
@pytest.mark.parametrize("task", ["Write half.py with half(n).", "Write half.py with half(n), and say so in notes.md."])
async def test_missing_imports_are_added_in_one_file_and_in_several(bench: Bench, task: str) -> None:
    code = "def half(n):\n    return math.floor(n / 2)\n"
    answer = f"`half.py`\n```python\n{code}```\n`notes.md`\n```\nmath.floor is used.\n```\n"
    state = await run(bench, answer, task=task, checks=("python3 -c 'import half; assert half.half(5) == 2'",))
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    assert bench.files()["half.py"] == f"import math\n{code}"
    assert bench.files().get("notes.md", "math.floor is used.\n") == "math.floor is used.\n"


GENERATED = "# Made by make.py. Do not edit.\nCODES = [200]\n"


@pytest.mark.req("X1", "X5")
@pytest.mark.parametrize(
    ("task", "generated"),
    [
        ("Add the code 418 to our codes.", True),
        ("Add the code 418 to codes.py.", False),
    ],
)
async def test_generated_file_is_changed_by_its_generator(bench: Bench, task: str, generated: bool) -> None:
    """An edit by hand would pass the tests, and the next build would revert it."""
    make = (
        f"generated = {GENERATED!r}.replace('200', open('codes.txt').read())\nopen('codes.py', 'w').write(generated)\n"
    )
    bench.write(codes__txt="200", codes__py=GENERATED, make__py=make)
    by_hand = "`codes.txt`\n```\n200, 418\n```\n`codes.py`\n```python\nCODES = [200, 418]\n```\n"
    check = "python3 -c 'import codes; assert 418 in codes.CODES'"
    state = await run(bench, by_hand, "```sh\npython3 make.py\n```\n", task=task, checks=(check,))
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    assert ("Do not edit" in bench.files()["codes.py"]) is generated
    if generated:
        assert "codes.py" in bench.prompts()[1].partition("# This failed")[2], "the prompt says what to do instead"
        assert "run the program that generates it" in bench.prompts()[1]
