"""A check that any file would pass does not make a run verified."""

import pytest

from kit import Bench, fenced, understanding
from surefoot import copies
from surefoot.outcome import Verdict
from surefoot.placebo import placebo
from surefoot.state import RunState

pytestmark = pytest.mark.req("X1")
IS_JSON = "python3 -m json.tool answer.json"
IS_RIGHT = """python3 -c "import json; assert json.load(open('answer.json')) == {'answer': 42}" """


async def answered(bench: Bench, *checks: str) -> RunState:
    answers = [understanding("answer.json"), fenced('{"answer": 42}', "json")]
    return await bench.run("Write the answer into answer.json.", answers, checks=checks)


async def test_a_check_of_the_form_proves_nothing_about_the_content(bench: Bench) -> None:
    state = await answered(bench, IS_JSON)
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.UNVERIFIED
    assert state.outcome.exit_code == 3
    assert "also passes when nothing is in answer.json" in state.outcome.summary
    assert bench.files() == {"answer.json": '{"answer": 42}\n'}, "and the result is left as it was made"


@pytest.mark.parametrize(("limit", "found_out"), [("MOST_FILES", True), ("MOST_BYTES", False)])
async def test_many_files_are_no_way_round_it_but_too_large_a_folder_is_not_copied(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, limit: str, found_out: bool
) -> None:
    monkeypatch.setattr(copies, limit, 0)
    bench.write(other__txt="there\n")
    state = await answered(bench, IS_JSON)
    assert state.outcome is not None
    assert state.outcome.verdict is (Verdict.UNVERIFIED if found_out else Verdict.VERIFIED)


async def test_a_check_of_the_content_does(bench: Bench) -> None:
    state = await answered(bench, IS_JSON, IS_RIGHT)
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    assert "assert json.load" in state.outcome.summary, "the one that proves it is named"


async def test_what_fails_because_of_the_old_files_is_proof_enough(bench: Bench) -> None:
    bench.write(app__py="import helper\nassert helper.VALUE == 1\n")
    answers = [understanding("helper.py"), fenced("VALUE = 1")]
    state = await bench.run("Write helper.py.", answers, checks=["python3 app.py"])
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED


async def test_a_program_that_need_not_do_anything_is_not_proved_by_starting(bench: Bench) -> None:
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
def test_a_placebo_is_a_valid_file_of_its_kind(name: str, content: bytes) -> None:
    assert placebo(name) == content
