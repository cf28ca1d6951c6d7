"""Several answers to one question: each judged in a copy of the workspace, the first that passes taken, or the best."""

import asyncio
import re
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kit import Bench, fenced, steps, understanding
from sandboxes import bubblewrap_here
from surefoot import events as e
from surefoot.config import ReflectionConfig
from surefoot.engine import resume_run, start_run
from surefoot.errors import ModelRejected
from surefoot.fold import fold
from surefoot.machine import Rung, StepStatus
from surefoot.models.base import ModelRequest, ModelTraits
from surefoot.models.scripted import Rule
from surefoot.outcome import Verdict
from surefoot.phases.acting import MAX_RED_ROUNDS, MAX_REFUSALS
from surefoot.phases.candidates import failing_tests
from surefoot.plan import CommandCheck, ExecutionStep

SUM = ExecutionStep(id="s", name="sum", description="write the sum of 2 and 3", writes=("sum.txt",))
CHECK = "grep -qx 5 sum.txt"
WRONG = [fenced(f"{number}\n", "") for number in range(100, 200)]
RIGHT = fenced("5\n", "")
TWO_RETRIES = {"max_step_retries": 2, "max_single_step_repairs": 0, "max_task_replanning_attempts": 0, "candidates": 3}
BEFORE = WRONG[:4]
"""What fails before it comes to candidates: an attempt with its correction, and a fresh one with its own."""


def tried(bench: Bench) -> list[e.CandidateTried]:
    return bench.events(e.CandidateTried)


def rungs(bench: Bench) -> list[str]:
    return [event.rung for event in bench.events(e.RungChosen)]


@pytest.mark.req("R8")
async def test_the_first_candidate_that_passes_is_taken_and_no_more_are_asked_for(bench: Bench) -> None:
    state = await bench.run_plan(steps(SUM), [*BEFORE, WRONG[50], RIGHT], checks=[CHECK], reflection=TWO_RETRIES)
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    assert rungs(bench) == [Rung.ADJUST_PARAMETERS, Rung.CANDIDATES]
    first, second = tried(bench)
    assert (first.number, second.number, second.of) == (1, 2, 3)
    assert [r.passed for r in first.results] == [False]
    assert [r.passed for r in second.results] == [True]
    assert state.model_calls == 6, "the third was not needed"
    assert bench.files() == {"sum.txt": "5\n"}
    assert state.steps["s"].output is not None
    assert state.steps["s"].output.generated_files == ("sum.txt",), "observed, as with any attempt"
    actions = [event.tool for event in bench.events(e.ActionStarted)]
    assert len(actions) == 5, "what lost was never in the workspace"
    assert list((bench.home / "copies").iterdir()) == []


@pytest.mark.req("R8")
async def test_candidates_are_asked_the_same_at_rising_temperature(bench: Bench) -> None:
    await bench.run_plan(steps(SUM), [*WRONG], checks=[CHECK], reflection={**TWO_RETRIES, "candidates": 4})
    asked = bench.model.requests[4:8]
    assert [request.temperature for request in asked] == [0.4, 0.7, 1.0, 1.0]
    assert len({request.messages for request in asked}) == 1, "so that a server reuses what it has read"
    assert len({request.seed for request in asked}) == 4
    assert "Learnt from earlier attempts" in asked[0].messages[-1].content
    assert "100" not in asked[0].messages[-1].content, "without the old draft"


@pytest.mark.req("R8")
async def test_equal_answers_cost_no_check(bench: Bench) -> None:
    count = bench.home / "count"
    check = f"echo x >> {count}; {CHECK}"
    answers = [*BEFORE, WRONG[50], WRONG[50], WRONG[0], WRONG[50]]
    state = await bench.run_plan(steps(SUM), answers, checks=[check], reflection=TWO_RETRIES)
    new, same, old = tried(bench)
    assert new.results
    assert (same.results, same.unusable) == ((), "the same as candidate 1")
    assert (old.results, old.unusable) == ((), "exactly this was tried in an earlier attempt, and the checks failed")
    looks = [event for event in bench.events(e.ChecksRan) if event.results]
    assert len(count.read_text().splitlines()) <= len(looks) + 1, "one more than what was looked at in the workspace"
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.FAILED
    (refused,) = bench.events(e.ActionRefused)
    assert refused.reason == "exactly this was a candidate, and the checks failed", "the correction gets no second look"


@pytest.mark.req("R8")
async def test_when_all_candidates_failed_before_nothing_is_run(bench: Bench) -> None:
    state = await bench.run_plan(steps(SUM), [*BEFORE, *BEFORE[:3]], checks=[CHECK], reflection=TWO_RETRIES)
    assert [bool(c.unusable) for c in tried(bench)] == [True] * 3
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
async def test_with_none_that_passes_the_one_that_fails_least_is_corrected_and_in_the_end_undone(bench: Bench) -> None:
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
        assert "return a * b" in bench.prompts()[-1], "two of its tests pass, of the others none"
        found = bench.files()
        assert ("adder.py" in found) == (verdict is Verdict.VERIFIED)
        (bench.root / "adder.py").unlink(missing_ok=True)


def test_a_runner_s_words_are_counted() -> None:
    assert failing_tests("2 failed, 3 passed, 1 error in 0.1s") == 3
    assert failing_tests("FAILED (failures=2, errors=1)") == 3
    assert failing_tests("Traceback: SyntaxError") > 1_000, "not a single test was run"


@pytest.mark.req("R8", "P14")
@pytest.mark.parametrize("kills", [1, 2, 3])
async def test_cut_off_in_the_middle_it_goes_on_with_the_next_candidate(bench: Bench, kills: int) -> None:
    class Killed(BaseException):
        pass

    killed: set[int] = set()

    def kill(record: e.Record) -> None:
        if isinstance(record.event, e.CandidateTried) and record.seq not in killed and len(killed) < kills:
            killed.add(record.seq)
            raise Killed

    services = bench.services([*BEFORE, WRONG[50], WRONG[51], RIGHT])
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
    assert state.model_calls == 7, "none was asked for again"
    assert fold(bench.journal.read(state.run_id)).steps["s"].candidates == state.steps["s"].candidates


@pytest.mark.req("R8", "X2")
async def test_what_the_checks_leave_is_left_in_the_copy(bench: Bench) -> None:
    places = bench.home / "places"
    check = f"pwd >> {places}; touch litter; {CHECK}"
    await bench.run_plan(steps(SUM), [*BEFORE, RIGHT], checks=[check], reflection=TWO_RETRIES)
    copies = {line for line in places.read_text().splitlines() if Path(line).is_relative_to(bench.home / "copies")}
    assert [Path(copy).parent.name.rpartition(".")[2] for copy in sorted(copies)] == ["placebo", "s"]
    assert not any(Path(copy).exists() for copy in copies)


@pytest.mark.req("R8", "X3")
@pytest.mark.skipif(isinstance(bubblewrap_here(), str), reason="this machine cannot use bubblewrap")
async def test_a_candidate_cannot_write_to_the_workspace_itself(bench: Bench) -> None:
    check = f"echo hello > {bench.root}/from-the-copy; {CHECK}"
    state = await bench.run_plan(
        steps(SUM), [*BEFORE, WRONG[50], RIGHT], checks=[CHECK], reflection=TWO_RETRIES, sandbox="strict"
    )
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED, "the checks do run in the copy's own sandbox"
    bench.records.clear()
    (bench.root / "sum.txt").unlink()
    await bench.run_plan(
        steps(SUM), [*BEFORE, WRONG[50], RIGHT], checks=[check], reflection=TWO_RETRIES, sandbox="strict"
    )
    wrong, right = tried(bench)
    assert "from-the-copy" in wrong.results[0].detail, "the shell says that it cannot write there"
    assert right.results[0].passed


@pytest.mark.req("R8")
async def test_what_snapshots_leave_out_can_be_read_in_the_copy(bench: Bench) -> None:
    (bench.root / "data").mkdir()
    (bench.root / "data" / "wanted").write_text("5\n")
    state = await bench.run_plan(
        steps(SUM), [*BEFORE, WRONG[50], RIGHT], checks=["grep -qxf data/wanted sum.txt"], reflection=TWO_RETRIES,
        snapshot_excludes=("data/",),
    )  # fmt: skip
    assert [[r.passed for r in c.results] for c in tried(bench)] == [[False], [True]]
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    assert (bench.root / "data" / "wanted").read_text() == "5\n"


@pytest.mark.req("R8", "P12")
@pytest.mark.parametrize("config", [{"approve": "ask"}, {"deny": ("write_file(*)",)}], ids=str)
async def test_what_a_person_wants_to_see_first_is_not_run_in_a_copy(bench: Bench, config: Any) -> None:
    class Yes:
        async def answer(self, question: Any) -> str:
            return "yes"

    bench.person = Yes()
    await bench.run_plan(steps(SUM), [*WRONG], checks=[CHECK], reflection=TWO_RETRIES, **config)
    assert tried(bench) == []


async def test_one_candidate_is_a_retry_like_the_others(bench: Bench) -> None:
    limits = {**TWO_RETRIES, "candidates": 1}
    await bench.run_plan(steps(SUM), [*WRONG], checks=[CHECK], reflection=limits)
    assert rungs(bench) == [Rung.ADJUST_PARAMETERS, Rung.ADJUST_PARAMETERS, Rung.GIVE_UP]


async def test_the_budget_ends_it_between_two_candidates(bench: Bench) -> None:
    def expensive(request: ModelRequest) -> str:
        return WRONG[60] + "\n" + "x" * 400_000

    answers = [*BEFORE, expensive, *WRONG[70:]]
    state = await bench.run_plan(
        steps(SUM), answers, checks=[CHECK], reflection=TWO_RETRIES, budget={"max_tokens": 90_000}
    )
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.BUDGET
    assert len(tried(bench)) == 1
    assert bench.files() == {}


async def test_a_model_that_is_gone_ends_it_as_ever(bench: Bench) -> None:
    answers = [*BEFORE, WRONG[50], ModelRejected("no such key")]
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
def test_candidates_keep_within_the_bound(retries: int, candidates: int, numbers: list[int], right: int) -> None:
    """However the answers repeat: attempts are bounded by the counters, and model calls by what an attempt may ask."""

    async def one() -> None:
        with tempfile.TemporaryDirectory() as folder:
            bench = Bench(Path(folder, "work"), Path(folder, "home"))
            bench.root.mkdir()
            bench.home.mkdir()
            asked = 0

            def answer(request: ModelRequest) -> str:
                nonlocal asked
                asked += 1
                return RIGHT if asked == right else WRONG[numbers[asked % len(numbers)]]

            limits = ReflectionConfig(
                max_step_retries=retries, candidates=candidates, max_single_step_repairs=0,
                max_task_replanning_attempts=0, backoff_seconds=0,
            )  # fmt: skip
            plan, rules = steps(SUM), [Rule("Write the complete new content", answer)]
            state = await bench.run_plan(plan, rules, checks=[CHECK], reflection=limits.model_dump())
            attempts = len(bench.events(e.StepStarted))
            assert attempts <= 1 + retries
            assert rungs(bench).count(Rung.CANDIDATES) <= 1
            assert len(tried(bench)) <= candidates
            assert state.model_calls <= attempts * (MAX_RED_ROUNDS + MAX_REFUSALS) + candidates
            done = [event.fingerprint for event in bench.events(e.ActionStarted)]
            assert len(done) == len(set(done)), "nothing that failed was run again"
            judged = [c.fingerprint for c in tried(bench) if c.results]
            assert len(judged) == len(set(judged))
            green = state.steps["s"].status is StepStatus.SUCCEEDED
            assert bench.files() == ({"sum.txt": "5\n"} if green else {})

    asyncio.run(one())


@pytest.mark.req("R8", "D4")
async def test_a_candidate_that_never_ends_is_not_waited_for_like_a_command(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("surefoot.verify.LEAST_SECONDS", 1)
    endless = fenced("while True: pass\n", "")
    task = bench.task("Write sum.py.", ["python3 sum.py"])
    bench.write(sum__py="raise SystemExit(1)\n")
    services = bench.services(
        [WRONG[0].replace("100", "1/0"), endless, fenced("print(5)\n", "")],
        traits=ModelTraits(small=True, inline_bodies=False),
    )
    state = await start_run(services, task, bench.config())
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    first, _ = tried(bench)
    found = re.search(r"no end after ([\d.]+) s", first.results[-1].detail)
    assert found
    assert float(found[1]) < 120


@pytest.mark.req("R8")
async def test_they_are_shown(bench: Bench) -> None:
    from surefoot.cli.details import details
    from surefoot.cli.marks import UNICODE
    from surefoot.cli.plain import told

    state = await bench.run("Write sum.txt.", [understanding("sum.txt"), *BEFORE, WRONG[50], WRONG[50], RIGHT],
                            checks=[CHECK], reflection=TWO_RETRIES)  # fmt: skip
    wanted = [
        "✗ candidate 1 of 3, temperature 0.4: ",
        "✗ candidate 2 of 3, temperature 0.7: the same as candidate 1",
        "✓ candidate 3 of 3, temperature 1: ",
    ]
    plain = [line.strip() for event in tried(bench) for line in told(event, state, UNICODE)]
    shown = [text.plain.strip() for text in details(state, UNICODE) if " candidate " in text.plain]
    for lines in (plain, shown):
        assert [line.startswith(begin) for line, begin in zip(lines, wanted, strict=True)] == [True] * 3, lines


@pytest.mark.req("R8")
async def test_two_steps_at_the_same_time_have_copies_of_their_own(bench: Bench) -> None:
    def answer(request: ModelRequest) -> str:
        asked = request.messages[-1].content
        name = "a" if "`a.txt`" in asked else "b"
        turn[name] += 1
        return fenced(f"{name}\n", "") if turn[name] == 6 else fenced(f"{turn[name]}\n", "")

    turn = {"a": 0, "b": 0}
    both = [
        ExecutionStep(id=name, name=name, description=name, writes=(f"{name}.txt",),
                      checks=(CommandCheck(command=f"sleep 0.1; grep -qx {name} {name}.txt"),))
        for name in ("a", "b")
    ]  # fmt: skip
    state = await bench.run_plan(steps(*both), [Rule("Write the complete", answer)], reflection=TWO_RETRIES)
    assert {step_id: mine.status for step_id, mine in state.steps.items()} == dict.fromkeys("ab", StepStatus.SUCCEEDED)
    assert bench.files() == {"a.txt": "a\n", "b.txt": "b\n"}
    assert [c.unusable for c in tried(bench)] == [""] * 4


@pytest.mark.req("R8", "P19")
async def test_a_small_model_is_given_the_file_without_its_mistake(bench: Bench) -> None:
    """Shown the old code it copies it; so the first retry asks for it anew, and the checks choose."""
    bench.write(half__py="KEEP = 1\n\n\ndef half(n):\n    return n / 3\n")
    copied, right = fenced("KEEP = 1\n\n\ndef half(n):\n    return n / 3\n"), fenced("def half(n):\n    return n / 2\n")
    task = bench.task("half in half.py is wrong.", ["python3 -c 'import half; assert half.half(4) == 2, half.half(4)'"])
    services = bench.services([copied, right], traits=ModelTraits(small=True, inline_bodies=False))
    state = await start_run(services, task, bench.config())
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    assert rungs(bench) == [Rung.CANDIDATES]
    first, afresh = bench.prompts()
    assert "return n / 3" in first
    assert "return n / 3" not in afresh
    assert "def half(n):\n    ..." in afresh
    assert "KEEP = 1" in afresh


@pytest.mark.req("R8", "P19")
async def test_a_small_model_that_is_at_its_end_is_not_asked_again(bench: Bench) -> None:
    task = bench.task("Write sum.py.", [CHECK])
    services = bench.services([*WRONG], traits=ModelTraits(small=True, inline_bodies=False))
    state = await start_run(services, task, bench.config(reflection={"candidates": 3}))
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.FAILED
    assert rungs(bench) == [Rung.CANDIDATES, Rung.GIVE_UP]
    assert state.model_calls == 1 + 3, "an answer, and the candidates; shown what it wrote, it would write it again"
    assert bench.files() == {}


@pytest.mark.req("R8", "P19")
async def test_a_small_model_is_not_asked_why_it_failed_where_no_rule_tells(bench: Bench) -> None:
    for small, purposes in ((True, {"write"}), (False, {"understand", "write", "reflect"})):
        task = bench.task("Write sum.py.", ["grep -sqx 5 sum.py || { echo nope; false; }"])
        answers = [*([] if small else [understanding("sum.py")]), *[fenced(f"{n}") for n in range(100, 140)]]
        services = bench.services(answers, traits=ModelTraits(small=small, inline_bodies=False))
        state = await start_run(services, task, bench.config())
        records = [record.event for record in services.journal.read(state.run_id)]
        asked = {event.purpose for event in records if isinstance(event, e.ModelAnswered)}
        assert asked >= purposes if not small else asked == purposes


@pytest.mark.req("R8", "P19")
async def test_an_unreadable_answer_of_a_small_model_is_a_try(bench: Bench) -> None:
    task = bench.task("Write sum.py.", [CHECK])
    answers = ["I cannot say.", "nor now", RIGHT.replace("```", "```python", 1)]
    services = bench.services(answers, traits=ModelTraits(small=True, inline_bodies=False))
    state = await start_run(services, task, bench.config())
    assert {event.purpose for event in bench.events(e.ModelAnswered)} == {"write"}
    assert rungs(bench)[0] == Rung.CANDIDATES
    assert state.outcome is not None


@pytest.mark.req("R8", "P19")
async def test_functions_of_several_candidates_are_put_together(bench: Bench) -> None:
    bench.write(
        test_two__py="import unittest, two\n\n\nclass T(unittest.TestCase):\n"
        "    def test_one(self):\n        self.assertEqual(two.one(), 1)\n\n"
        "    def test_two(self):\n        self.assertEqual(two.two(), 2)\n"
    )
    task = bench.task("Write two.py.", ["python3 -m unittest -q"])
    answers = [
        fenced(f"def one():\n    return {a}\n\n\ndef two():\n    return {b}")
        for a, b in ((5, 6), (1, 7), (9, 2), (3, 4))
    ]
    services = bench.services(answers, traits=ModelTraits(small=True, inline_bodies=False))
    state = await start_run(services, task, bench.config(reflection={"candidates": 3}))
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    assert state.model_calls == 3, "nobody was asked again"
    assert [c.made_of for c in tried(bench)] == [(), (), (1, 2)]
    assert bench.files()["two.py"] == "def one():\n    return 1\n\n\ndef two():\n    return 2\n"


@pytest.mark.req("R8", "P19")
async def test_what_a_candidate_broke_is_taken_from_what_was_there(bench: Bench) -> None:
    bench.write(
        test_two__py="import unittest, two\n\n\nclass T(unittest.TestCase):\n"
        "    def test_one(self):\n        self.assertEqual(two.one(), 1)\n\n"
        "    def test_two(self):\n        self.assertEqual(two.two(), 2)\n",
        two__py="def one():\n    return 5\n\n\ndef two():\n    return 2\n",
    )
    task = bench.task("Mend two.py.", ["python3 -m unittest -q"])
    answers = [fenced(f"def one():\n    return {a}\n\n\ndef two():\n    return {b}") for a, b in ((6, 6), (1, 7))]
    services = bench.services(answers, traits=ModelTraits(small=True, inline_bodies=False))
    state = await start_run(services, task, bench.config())
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    assert [c.made_of for c in tried(bench)] == [(), (0, 1)]
    assert tried(bench)[-1].label == "candidate 1 and what was there put together"
    assert bench.files()["two.py"] == "def one():\n    return 1\n\n\ndef two():\n    return 2\n"


@pytest.mark.req("P19")
async def test_a_model_that_can_go_on_has_its_answer_begun(bench: Bench) -> None:
    """With sight of tests it would answer with the tests, and with sight of the mistake it would copy it."""
    bench.write(
        half__py="KEEP = 1\n\n\ndef half(n):\n    return n / 3\n",
        test_half__py="import unittest, half\n\n\nclass T(unittest.TestCase):\n"
        "    def test_half(self):\n        self.assertEqual(half.half(4), 2)\n",
    )

    def go_on(request: ModelRequest) -> str:
        assert request.stop == ("\n```",)
        return f"{request.begin}\n    return n / {4 - len(bench.model.requests)}"

    task = bench.task("half in half.py is wrong.", ["python3 -m unittest -q"])
    services = bench.services([go_on, go_on], traits=ModelTraits(small=True, inline_bodies=False, continues=True))
    state = await start_run(services, task, bench.config())
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    first, second = bench.model.requests
    assert first.begin == second.begin == "`half.py`\n```python\nKEEP = 1\n\n\ndef half(n):"
    assert ["n / 3" in request.messages[-1].content for request in (first, second)] == [True, False]
    assert bench.files()["half.py"] == "KEEP = 1\n\n\ndef half(n):\n    return n / 2\n"


@pytest.mark.req("P19")
async def test_an_answer_is_not_begun_where_no_check_would_tell_that_it_cannot_be_done(bench: Bench) -> None:
    task = bench.task("Write sum.py.", [])
    services = bench.services([RIGHT], traits=ModelTraits(small=True, inline_bodies=False, continues=True))
    await start_run(services, task, bench.config())
    assert [request.begin for request in bench.model.requests] == [""]
    assert "CANNOT" in bench.prompts()[0]


@pytest.mark.req("P19")
async def test_a_secret_is_not_in_the_beginning_of_an_answer(bench: Bench) -> None:
    secret = "sk-proj-abcdefghijklmnopqrstuvwxyz012345"
    bench.write(half__py=f'KEY = "{secret}"\n\n\ndef half(n):\n    return n / 3\n')
    task = bench.task("half in half.py is wrong.", ["python3 -c 'import half; assert half.half(4) == 2, half.half(4)'"])
    services = bench.services([*WRONG], traits=ModelTraits(small=True, inline_bodies=False, continues=True))
    await start_run(services, task, bench.config())
    assert bench.model.requests
    assert all(not request.begin for request in bench.model.requests)
    assert all(secret not in request.model_dump_json() for request in bench.model.requests)
