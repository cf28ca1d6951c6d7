"""Candidates are checked in a copy of the workspace."""

import re
from pathlib import Path
from typing import Any

import pytest

from support.candidates import CHECK, FAILED_ATTEMPTS, RIGHT, SUM, TWO_RETRIES, WRONG, candidates_of
from support.kit import SMALL, Bench, fenced, steps
from support.sandboxes import bubblewrap_here
from surefoot.core.outcome import Verdict
from surefoot.core.plan import CommandCheck, ExecutionStep
from surefoot.core.transitions import StepStatus
from surefoot.engine.loop import start_run
from surefoot.models.base import ModelRequest
from surefoot.models.testing.scripted import Rule

pytestmark = pytest.mark.slow


@pytest.mark.req("X2")
async def test_files_left_by_checks_stay_in_the_copy(bench: Bench) -> None:
    places = bench.home / "places"
    check = f"pwd >> {places}; touch litter; {CHECK}"
    await bench.run_plan(steps(SUM), [*FAILED_ATTEMPTS, RIGHT], checks=[check], reflection=TWO_RETRIES)
    copies = {line for line in places.read_text().splitlines() if Path(line).is_relative_to(bench.home / "copies")}
    assert [Path(copy).parent.name.rpartition(".")[2] for copy in sorted(copies)] == ["hollow", "s"]
    assert not any(Path(copy).exists() for copy in copies)


@pytest.mark.req("X2")
@pytest.mark.skipif(isinstance(bubblewrap_here(), str), reason="this machine cannot use bubblewrap")
async def test_candidate_cannot_write_to_the_workspace(bench: Bench) -> None:
    check = f"echo hello > {bench.root}/from-the-copy; {CHECK}"
    state = await bench.run_plan(
        steps(SUM), [*FAILED_ATTEMPTS, WRONG[50], RIGHT], checks=[CHECK], reflection=TWO_RETRIES, sandbox="strict"
    )
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED, "the checks run in the sandbox of the copy"
    bench.records.clear()
    (bench.root / "sum.txt").unlink()
    await bench.run_plan(
        steps(SUM), [*FAILED_ATTEMPTS, WRONG[50], RIGHT], checks=[check], reflection=TWO_RETRIES, sandbox="strict"
    )
    wrong, right = candidates_of(bench)
    assert "from-the-copy" in wrong.results[0].detail, "the shell reports that it cannot write"
    assert right.results[0].passed


@pytest.mark.req("X2")
async def test_files_excluded_from_snapshots_can_be_read_in_the_copy(bench: Bench) -> None:
    (bench.root / "data").mkdir()
    (bench.root / "data" / "expected").write_text("5\n")
    state = await bench.run_plan(
        steps(SUM),
        [*FAILED_ATTEMPTS, WRONG[50], RIGHT],
        checks=["grep -qxf data/expected sum.txt"],
        reflection=TWO_RETRIES,
        snapshot_excludes=("data/",),
    )
    assert [[r.passed for r in c.results] for c in candidates_of(bench)] == [[False], [True]]
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    assert (bench.root / "data" / "expected").read_text() == "5\n"


@pytest.mark.req("P12")
@pytest.mark.parametrize("config", [{"approve": "ask"}, {"deny": ("write_file(*)",)}], ids=str)
async def test_no_candidates_where_writing_needs_approval_or_is_denied(bench: Bench, config: Any) -> None:
    class Yes:
        async def answer(self, question: Any) -> str:
            return "yes"

    bench.person = Yes()
    await bench.run_plan(steps(SUM), [*WRONG], checks=[CHECK], reflection=TWO_RETRIES, **config)
    assert candidates_of(bench) == []


@pytest.mark.req("D4")
async def test_endless_candidate_ends_before_the_command_timeout(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("surefoot.engine.verifier.verifier.MIN_SECONDS", 1)
    endless = fenced("while True: pass\n", "")
    task = bench.task("Write sum.py.", ["python3 sum.py"])
    bench.write(sum__py="raise SystemExit(1)\n")
    services = bench.services(
        [WRONG[0].replace("100", "1/0"), endless, fenced("print(5)\n", "")],
        traits=SMALL,
    )
    state = await start_run(services, task, bench.config())
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    first, _ = candidates_of(bench)
    match = re.search(r"did not end within ([\d.]+) s", first.results[-1].detail)
    assert match
    assert float(match[1]) < 120


@pytest.mark.req("X2")
async def test_parallel_steps_have_separate_copies(bench: Bench) -> None:
    def answer(request: ModelRequest) -> str:
        name = "a" if "`a.txt`" in request.messages[-1].content else "b"
        calls[name] += 1
        return fenced(f"{name}\n", "") if calls[name] == 6 else fenced(f"{calls[name]}\n", "")

    calls = {"a": 0, "b": 0}
    both = [
        ExecutionStep(id=name, name=name, description=name, writes=(f"{name}.txt",),
                      checks=(CommandCheck(command=f"sleep 0.1; grep -qx {name} {name}.txt"),))
        for name in ("a", "b")
    ]  # fmt: skip
    state = await bench.run_plan(steps(*both), [Rule("Write the complete", answer)], reflection=TWO_RETRIES)
    assert {step_id: run.status for step_id, run in state.steps.items()} == dict.fromkeys("ab", StepStatus.SUCCEEDED)
    assert bench.files() == {"a.txt": "a\n", "b.txt": "b\n"}
    assert [c.unusable for c in candidates_of(bench)] == [""] * 4
