"""Hollow checks: a check that empty files would pass does not verify a run."""

import pytest

from support.kit import Bench, fenced, understanding
from surefoot.core.outcome import Verdict
from surefoot.engine.verifier import scratch
from surefoot.engine.verifier.hollow import empty_file
from surefoot.journal.state import RunState

pytestmark = pytest.mark.req("X1")
IS_JSON = "python3 -m json.tool answer.json"
IS_RIGHT = """python3 -c "import json; assert json.load(open('answer.json')) == {'answer': 42}" """


async def run_with_checks(bench: Bench, *checks: str) -> RunState:
    answers = [understanding("answer.json"), fenced('{"answer": 42}', "json")]
    return await bench.run("Write the answer into answer.json.", answers, checks=checks)


async def test_check_of_the_format_does_not_verify(bench: Bench) -> None:
    state = await run_with_checks(bench, IS_JSON)
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.UNVERIFIED
    assert state.outcome.exit_code == 3
    assert "also passes with empty answer.json" in state.outcome.summary
    assert bench.files() == {"answer.json": '{"answer": 42}\n'}, "the result is left unchanged"


@pytest.mark.parametrize(("limit", "detected"), [("MAX_FILES", True), ("MAX_BYTES", False)])
async def test_hollow_check_is_detected_unless_the_workspace_is_too_large(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, limit: str, detected: bool
) -> None:
    monkeypatch.setattr(scratch, limit, 0)
    bench.write(other__txt="text\n")
    state = await run_with_checks(bench, IS_JSON)
    assert state.outcome is not None
    assert state.outcome.verdict is (Verdict.UNVERIFIED if detected else Verdict.VERIFIED)


async def test_check_of_the_content_verifies(bench: Bench) -> None:
    state = await run_with_checks(bench, IS_JSON, IS_RIGHT)
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    assert "assert json.load" in state.outcome.summary, "the proving check is named"


async def test_check_that_uses_existing_code_verifies(bench: Bench) -> None:
    bench.write(app__py="import helper\nassert helper.VALUE == 1\n")
    answers = [understanding("helper.py"), fenced("VALUE = 1")]
    state = await bench.run("Write helper.py.", answers, checks=["python3 app.py"])
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED


async def test_starting_a_program_does_not_verify(bench: Bench) -> None:
    answers = [understanding("hello.py"), fenced("print('hello')")]
    state = await bench.run("Write hello.py, which says hello.", answers, checks=["python3 hello.py"])
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.UNVERIFIED


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.json", b"{}\n"),
        ("a.py", b""),
        ("b/c.html", b"<x/>\n"),
        ("notes.txt", b"x\n"),
        ("SUMS", b"x\n"),
        ("x.db", b""),
    ],
)
def test_empty_file_is_valid_for_its_type(name: str, content: bytes) -> None:
    assert empty_file(name) == content
