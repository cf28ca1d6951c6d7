"""Candidates: several answers to one question; the first that passes the checks is used, or the best is corrected."""

import asyncio
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.candidates import CHECK, FAILED_ATTEMPTS, RIGHT, SUM, TWO_RETRIES, WRONG, candidates_of, rungs_of
from support.kit import Bench, fenced, steps, understanding
from surefoot.config.model import ReflectionConfig
from surefoot.core.outcome import Verdict
from surefoot.core.transitions import Rung, StepStatus
from surefoot.engine.executor.loop import MAX_REFUSALS, ROUNDS_AFTER_AN_ERROR
from surefoot.engine.loop import resume_run
from surefoot.engine.reflector.candidates import failing_tests
from surefoot.errors import ModelRejected
from surefoot.journal import events as e
from surefoot.journal.reducers import fold
from surefoot.models.base import ModelRequest
from surefoot.models.testing.scripted import Rule

pytestmark = pytest.mark.slow


@pytest.mark.req("R8")
async def test_first_passing_candidate_is_used_and_no_more_are_requested(bench: Bench) -> None:
    state = await bench.run_plan(
        steps(SUM), [*FAILED_ATTEMPTS, WRONG[50], RIGHT], checks=[CHECK], reflection=TWO_RETRIES
    )
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    assert rungs_of(bench) == [Rung.ADJUST_PARAMETERS, Rung.CANDIDATES]
    first, second = candidates_of(bench)
    assert (first.number, second.number, second.of) == (1, 2, 3)
    assert [r.passed for r in first.results] == [False]
    assert [r.passed for r in second.results] == [True]
    assert state.model_calls == 6, "the third is not requested"
    assert bench.files() == {"sum.txt": "5\n"}
    assert state.steps["s"].output is not None
    assert state.steps["s"].output.generated_files == ("sum.txt",), "observed as in any attempt"
    actions = [event.tool for event in bench.events(e.ActionStarted)]
    assert len(actions) == 5, "a failed candidate never reaches the workspace"
    assert list((bench.home / "copies").iterdir()) == []


@pytest.mark.req("R8")
async def test_candidates_share_a_prompt_at_rising_temperatures(bench: Bench) -> None:
    await bench.run_plan(steps(SUM), [*WRONG], checks=[CHECK], reflection={**TWO_RETRIES, "candidates": 4})
    requests = bench.model.requests[4:8]
    assert [request.temperature for request in requests] == [0.4, 0.7, 1.0, 1.0]
    assert len({request.messages for request in requests}) == 1, "a server can reuse the cached prompt"
    assert len({request.seed for request in requests}) == 4
    assert "Learnt from earlier attempts" in requests[0].messages[-1].content
    assert "100" not in requests[0].messages[-1].content, "without the old draft"


@pytest.mark.req("R8")
async def test_repeated_answers_are_not_checked_again(bench: Bench) -> None:
    count = bench.home / "count"
    check = f"echo x >> {count}; {CHECK}"
    answers = [*FAILED_ATTEMPTS, WRONG[50], WRONG[50], WRONG[0], WRONG[50]]
    state = await bench.run_plan(steps(SUM), answers, checks=[check], reflection=TWO_RETRIES)
    new, same, old = candidates_of(bench)
    assert new.results
    assert (same.results, same.unusable) == ((), "the same as candidate 1")
    assert (old.results, old.unusable) == ((), "exactly this was tried in an earlier attempt, and the checks failed")
    check_runs = [event for event in bench.events(e.ChecksRan) if event.results]
    assert len(count.read_text().splitlines()) <= len(check_runs) + 1, "one more than in the workspace"
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.FAILED
    (refused,) = bench.events(e.ActionRefused)
    assert refused.reason == "exactly this was a candidate, and the checks failed", (
        "the correction is not checked again"
    )


@pytest.mark.req("R8")
async def test_retry_with_candidates_stops_when_all_failed_before(bench: Bench) -> None:
    state = await bench.run_plan(
        steps(SUM), [*FAILED_ATTEMPTS, *FAILED_ATTEMPTS[:3]], checks=[CHECK], reflection=TWO_RETRIES
    )
    assert [bool(c.unusable) for c in candidates_of(bench)] == [True] * 3
    assert len(bench.events(e.ActionStarted)) == 4
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.LOOP


TESTS = """import unittest
from adder import add


class Adds(unittest.TestCase):
    def test_a(self): self.assertEqual(add(2, 3), 5)
    def test_b(self): self.assertEqual(add(2, 2), 4)
    def test_c(self): self.assertEqual(add(0, 3), 3)
"""


ADDER = SUM.with_(writes=("adder.py",), description="write add(a, b)")


def adder(body: str) -> str:
    return fenced(f"def add(a, b):\n    return {body}\n")


@pytest.mark.req("R8", "P13")
async def test_candidate_with_the_fewest_failures_is_corrected_or_undone(bench: Bench) -> None:
    bench.write(test_adder__py=TESTS)
    before = [adder(f"{number}") for number in (100, 101, 102, 103)]
    candidates = [adder("undefined"), adder("a * b"), adder("1 / 0")]
    for last, verdict in ((adder("a + b"), Verdict.VERIFIED), (adder("a - b"), Verdict.FAILED)):
        bench.records.clear()
        answers = [*before, *candidates, last]
        check = "python3 -m unittest -q"
        state = await bench.run_plan(steps(ADDER), answers, checks=[check], reflection=TWO_RETRIES)
        assert state.outcome is not None
        assert state.outcome.verdict is verdict
        assert "return a * b" in bench.prompts()[-1], "two of its tests pass, none with the others"
        files = bench.files()
        assert ("adder.py" in files) == (verdict is Verdict.VERIFIED)
        (bench.root / "adder.py").unlink(missing_ok=True)


def test_failing_tests_are_counted_from_runner_output() -> None:
    assert failing_tests("2 failed, 3 passed, 1 error in 0.1s") == 3
    assert failing_tests("FAILED (failures=2, errors=1)") == 3
    assert failing_tests("Traceback: SyntaxError") > 1_000, "no test was run"


@pytest.mark.req("R8", "P14")
@pytest.mark.parametrize("kills", [1, 2, 3])
async def test_resume_continues_with_the_next_candidate(bench: Bench, kills: int) -> None:
    class Killed(BaseException):
        pass

    killed: set[int] = set()

    def kill(record: e.Record) -> None:
        if isinstance(record.event, e.CandidateTried) and record.seq not in killed and len(killed) < kills:
            killed.add(record.seq)
            raise Killed

    services = bench.services([*FAILED_ATTEMPTS, WRONG[50], WRONG[51], RIGHT])
    services.bus.subscribe(kill)
    bench.services = lambda *_, **__: services  # type: ignore[method-assign]
    with pytest.raises(Killed):
        await bench.run_plan(steps(SUM), [], checks=[CHECK], reflection=TWO_RETRIES)
    while True:
        try:
            state = await resume_run(services, bench.journal.find("last"))
        except Killed:
            continue
        break
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    assert [(c.attempt, c.number) for c in state.steps["s"].candidates] == [(3, 1), (3, 2), (3, 3)]
    assert state.model_calls == 7, "no request is repeated"
    assert fold(bench.journal.read(state.run_id)).steps["s"].candidates == state.steps["s"].candidates


async def test_single_candidate_is_an_ordinary_retry(bench: Bench) -> None:
    limits = {**TWO_RETRIES, "candidates": 1}
    await bench.run_plan(steps(SUM), [*WRONG], checks=[CHECK], reflection=limits)
    assert rungs_of(bench) == [Rung.ADJUST_PARAMETERS, Rung.ADJUST_PARAMETERS, Rung.GIVE_UP]


async def test_budget_ends_the_run_between_two_candidates(bench: Bench) -> None:
    def expensive(request: ModelRequest) -> str:
        return WRONG[60] + "\n" + "x" * 400_000

    answers = [*FAILED_ATTEMPTS, expensive, *WRONG[70:]]
    state = await bench.run_plan(
        steps(SUM), answers, checks=[CHECK], reflection=TWO_RETRIES, budget={"max_tokens": 90_000}
    )
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.BUDGET
    assert len(candidates_of(bench)) == 1
    assert bench.files() == {}


async def test_model_error_among_candidates_ends_the_run(bench: Bench) -> None:
    answers = [*FAILED_ATTEMPTS, WRONG[50], ModelRejected("no such key")]
    state = await bench.run_plan(steps(SUM), answers, checks=[CHECK], reflection=TWO_RETRIES)
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.FAILED
    assert bench.files() == {}


@pytest.mark.req("R3", "R8")
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    retries=st.integers(0, 4),
    candidates=st.integers(1, 4),
    numbers=st.lists(st.integers(0, 12), min_size=1, max_size=30),
    right=st.integers(0, 40),
)
def test_attempts_and_model_calls_are_bounded(retries: int, candidates: int, numbers: list[int], right: int) -> None:
    """However the answers repeat, the counters bound the attempts, and each attempt bounds its model calls."""

    async def run() -> None:
        with tempfile.TemporaryDirectory() as folder:
            bench = Bench(Path(folder, "work"), Path(folder, "home"))
            bench.root.mkdir()
            bench.home.mkdir()
            requests = 0

            def answer(request: ModelRequest) -> str:
                nonlocal requests
                requests += 1
                return RIGHT if requests == right else WRONG[numbers[requests % len(numbers)]]

            limits = ReflectionConfig(
                max_step_retries=retries, candidates=candidates, max_single_step_repairs=0,
                max_task_replanning_attempts=0, backoff_seconds=0,
            )  # fmt: skip
            plan, rules = steps(SUM), [Rule("Write the complete new content", answer)]
            state = await bench.run_plan(plan, rules, checks=[CHECK], reflection=limits.model_dump())
            attempts = len(bench.events(e.StepStarted))
            assert attempts <= 1 + retries
            assert rungs_of(bench).count(Rung.CANDIDATES) <= 1
            assert len(candidates_of(bench)) <= candidates
            assert state.model_calls <= attempts * (ROUNDS_AFTER_AN_ERROR + MAX_REFUSALS) + candidates
            actions = [event.fingerprint for event in bench.events(e.ActionStarted)]
            assert len(actions) == len(set(actions)), "no failed action is repeated"
            checked = [c.fingerprint for c in candidates_of(bench) if c.results]
            assert len(checked) == len(set(checked))
            succeeded = state.steps["s"].status is StepStatus.SUCCEEDED
            assert bench.files() == ({"sum.txt": "5\n"} if succeeded else {})

    asyncio.run(run())


@pytest.mark.req("R8")
async def test_candidates_are_shown_live_and_in_the_report(bench: Bench) -> None:
    from surefoot.cli.report.details import details
    from surefoot.cli.report.symbols import UNICODE
    from surefoot.cli.views.plain import event_lines

    state = await bench.run("Write sum.txt.", [understanding("sum.txt"), *FAILED_ATTEMPTS, WRONG[50], WRONG[50], RIGHT],
                            checks=[CHECK], reflection=TWO_RETRIES)  # fmt: skip
    prefixes = [
        "✗ candidate 1 of 3, temperature 0.4: ",
        "✗ candidate 2 of 3, temperature 0.7: the same as candidate 1",
        "✓ candidate 3 of 3, temperature 1: ",
    ]
    plain = [line.strip() for event in candidates_of(bench) for line in event_lines(event, state, UNICODE)]
    reported = [text.plain.strip() for text in details(state, UNICODE) if " candidate " in text.plain]
    for lines in (plain, reported):
        assert [line.startswith(prefix) for line, prefix in zip(lines, prefixes, strict=True)] == [True] * 3, lines
