"""Prefill: the beginning of an answer, for a model that can continue text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.candidates import RIGHT, WRONG
from support.kit import SMALL, Bench
from surefoot.core.outcome import Verdict
from surefoot.engine.loop import start_run
from surefoot.models.base import ModelRequest
from surefoot.models.parsing.answer import read_fenced
from surefoot.prompting.small.outline import outline
from surefoot.prompting.small.prefill import prefill_existing, prefill_new, prefill_outline

TESTS = "import unittest\n\nfrom dial import turn, clamp\n\n\nclass DialTest(unittest.TestCase):\n    pass\n"
CONTINUES = SMALL.with_(continues=True)


@pytest.mark.req("X5")
@pytest.mark.parametrize(
    ("others", "first_line"),
    [
        ((TESTS,), '"""clamp, turn"""\n\n'),
        (("import dial\n\nassert dial.turn(1) == 2\n",), '"""turn"""\n\n'),
        (("from tools.dial import Dial\n",), '"""Dial"""\n\n'),
        (("from dial import *\n",), ""),
        (("from other import turn\n",), ""),
        (("no Python at all (",), ""),
        ((), ""),
    ],
)
def test_prefill_of_a_new_module_names_what_others_import(others: tuple[str, ...], first_line: str) -> None:
    assert prefill_new("tools/dial.py", others) == prefill_existing("tools/dial.py") + first_line


@pytest.mark.req("X5")
def test_prefill_of_an_existing_file_is_its_beginning() -> None:
    source = 'KEEP = 1\n\n\ndef half(n):\n    """Half of it."""\n    return n / 3\n\n\ndef rest():\n    pass\n'
    prefill = prefill_outline("half.py", outline(source, "half"))
    assert prefill == prefill_existing("half.py") + 'KEEP = 1\n\n\ndef half(n):\n    """Half of it."""'


@pytest.mark.req("X5")
@given(st.lists(st.sampled_from(["x = 1", "", "def f(a):", "    return a", "# ...", "..."])))
def test_prefill_and_continuation_are_read_as_one_file(lines: list[str]) -> None:
    prefill = prefill_new("dial.py", [TESTS])
    text = "\n".join(["y = 2", *lines, "z = 3"])
    body = read_fenced(f"{prefill}{text}\n```\n", "dial.py")
    assert body is not None
    assert body.rstrip("\n") == f'"""clamp, turn"""\n\n{text}'


@pytest.mark.req("X5")
async def test_answer_is_prefilled_for_a_model_that_continues_text(bench: Bench) -> None:
    """Without a prefill a small model would answer with the tests, or copy the wrong code that it sees."""
    bench.write(
        half__py="KEEP = 1\n\n\ndef half(n):\n    return n / 3\n",
        test_half__py="import unittest, half\n\n\nclass T(unittest.TestCase):\n"
        "    def test_half(self):\n        self.assertEqual(half.half(4), 2)\n",
    )

    def complete(request: ModelRequest) -> str:
        assert request.stop == ("\n```",)
        return f"{request.begin}\n    return n / {4 - len(bench.model.requests)}"

    task = bench.task("half in half.py is wrong.", ["python3 -m unittest -q"])
    services = bench.services([complete, complete], traits=CONTINUES)
    state = await start_run(services, task, bench.config())
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    first, second = bench.model.requests
    assert first.begin == second.begin == "`half.py`\n```python\nKEEP = 1\n\n\ndef half(n):"
    assert ["n / 3" in request.messages[-1].content for request in (first, second)] == [True, False]
    assert bench.files()["half.py"] == "KEEP = 1\n\n\ndef half(n):\n    return n / 2\n"


@pytest.mark.req("X5")
async def test_answer_is_not_prefilled_without_a_check(bench: Bench) -> None:
    task = bench.task("Write sum.py.", [])
    services = bench.services([RIGHT], traits=CONTINUES)
    await start_run(services, task, bench.config())
    assert [request.begin for request in bench.model.requests] == [""]
    assert "CANNOT" in bench.prompts()[0]


@pytest.mark.req("X5")
async def test_prefill_contains_no_secrets(bench: Bench) -> None:
    secret = "sk-proj-abcdefghijklmnopqrstuvwxyz012345"
    bench.write(half__py=f'KEY = "{secret}"\n\n\ndef half(n):\n    return n / 3\n')
    task = bench.task("half in half.py is wrong.", ["python3 -c 'import half; assert half.half(4) == 2, half.half(4)'"])
    services = bench.services([*WRONG], traits=CONTINUES)
    await start_run(services, task, bench.config())
    assert bench.model.requests
    assert all(not request.begin for request in bench.model.requests)
    assert all(secret not in request.model_dump_json() for request in bench.model.requests)
