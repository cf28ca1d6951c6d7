"""A check that never ends costs its time limit once: later looks at the same tree, and candidates, wait less."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from support.candidates import candidates_of
from support.kit import SMALL, Bench, fenced
from surefoot.core.outcome import Verdict
from surefoot.engine.loop import start_run
from surefoot.engine.verifier import verifier
from surefoot.journal import events as e
from surefoot.workspace.process.process import Limits, ProcessResult, run_process

pytestmark = pytest.mark.slow

ENDLESS = "def half(n):\n    while n:\n        pass\n    return 0\n"
CHECK = "python3 -c 'import half; assert half.half(4) == 2, half.half(4)'"
LIMIT = 1_000


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time limits of the commands that did not end. They run for a moment only, and all others as long as they
    need, so that a busy machine changes nothing."""
    seen: list[float] = []

    async def watched(*args: Any, cwd: Path, limits: Limits, **options: Any) -> ProcessResult:
        endless = "while" in (cwd / "half.py").read_text()
        done = await run_process(*args, cwd=cwd, limits=replace(limits, timeout=0.5 if endless else 600), **options)
        assert done.timed_out is endless
        if endless:
            seen.append(limits.timeout)
        return done

    monkeypatch.setattr(verifier, "run_process", watched)
    return seen


@pytest.mark.req("D4", "R8")
async def test_a_hanging_check_costs_its_limit_once_per_tree(bench: Bench, waits: list[float]) -> None:
    bench.write(half__py=ENDLESS)
    answers = [fenced(ENDLESS.replace("return 0", f"return {n}")) for n in (1, 2)]
    right = fenced("def half(n):\n    return n / 2\n")
    services = bench.services([*answers, right], traits=SMALL)
    task = bench.task("half in half.py never ends.", [CHECK])
    state = await start_run(services, task, bench.config(command_timeout_seconds=LIMIT))
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    looks = [ran for ran in bench.events(e.ChecksRan) if not ran.results[-1].passed]
    assert len(looks) > 2, "the tree is looked at before the run, before the step and after the answer"
    full = [limit for limit in waits if limit == LIMIT]
    assert len(full) == 2, f"once for the tree as it was, once for the first answer: {waits}"
    assert {limit for limit in waits if limit != LIMIT} == {verifier.HUNG_SECONDS}
    assert len(waits) > len(full)
    first, *_ = candidates_of(bench)
    assert f"did not end within {verifier.HUNG_SECONDS} s" in first.results[-1].detail


@pytest.mark.req("R8", "O6")
async def test_the_model_is_told_that_the_check_did_not_end(bench: Bench, waits: list[float]) -> None:
    bench.write(half__py=ENDLESS)
    services = bench.services([fenced("def half(n):\n    return n / 2\n")], traits=SMALL)
    await start_run(
        services, bench.task("half in half.py is wrong.", [CHECK]), bench.config(command_timeout_seconds=LIMIT)
    )
    (prompt,) = bench.prompts()
    limits = re.findall(r"did not end within ([\d.]+) s: an endless loop, or it waits for something", prompt)
    assert limits == [str(LIMIT)], "the longest look says most, also if the last one was shorter"


@pytest.mark.req("D4")
async def test_a_check_that_ended_before_gets_ten_times_that(bench: Bench, waits: list[float]) -> None:
    """A slow check must not be taken for a hanging one."""
    bench.write(half__py="def half(n):\n    return 0\n")
    slow = f"sleep 0.2; {CHECK}"
    endless = [fenced(ENDLESS.replace("return 0", f"return {n}")) for n in (1, 2)]
    services = bench.services([*endless, fenced("def half(n):\n    return n / 2\n")], traits=SMALL)
    task = bench.task("half in half.py is wrong.", [slow])
    state = await start_run(services, task, bench.config(command_timeout_seconds=LIMIT))
    assert state.outcome is not None
    assert state.outcome.verdict is Verdict.VERIFIED
    shorter = [limit for limit in waits if limit < LIMIT]
    assert shorter
    assert min(shorter) >= 0.2 * verifier.PATIENCE
