"""Every fault of the library under every policy: recovered or not as it should be, at what price, and told truthfully.

The model is scripted; tools, processes, files, checks and the journal are real.
"""

import asyncio
import os
import sys
from pathlib import Path

import pytest

from faults.library import BY_NAME
from faults.scenario import CALLS_AT_MOST, Scenario
from faults.surefoot_side import POLICIES, Result, go_on, run_scenario
from surefoot.core.outcome import Verdict
from surefoot.core.transitions import Stage
from surefoot.journal.store.sqlite import SqliteJournal

TESTS = Path(__file__).parents[1]

CASES = [
    pytest.param(name, policy, id=f"{name}-{policy}", marks=() if policy == "default" else pytest.mark.slow)
    for name in BY_NAME
    for policy in POLICIES
]


def make(kind: type[Scenario], folder: Path, *, faulty: bool = True) -> Scenario:
    for part in ("work", "home", "outside"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    return kind(folder / "work", folder / "outside", faulty=faulty)


async def result_of(kind: type[Scenario], name: str, folder: Path, policy: str) -> Result:
    scenario = make(kind, folder)
    if not kind.kills:
        return await run_scenario(scenario, folder / "home", policy)
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "faults.child", name, str(folder), policy),
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), *sys.path])},
        cwd=folder,
    )
    assert await child.wait() == -9, "it was killed"
    assert scenario.leftovers(), "the fault did its harm"
    # The process that goes on knows nothing but the journal and the folder.
    journal = SqliteJournal(folder / "home" / "journal.sqlite")
    result = await go_on(scenario, folder / "home", journal)
    await journal.aclose()
    return result


@pytest.mark.req("R2", "R4", "P11", "P13", "X1", "X2")
@pytest.mark.parametrize(("name", "policy"), CASES)
async def test_a_fault(tmp_path: Path, name: str, policy: str) -> None:
    kind = BY_NAME[name]
    result = await result_of(kind, name, tmp_path, policy)
    expected = kind.recoverable and policy not in kind.never_under
    assert result.recovered == expected, f"{result.outcome.summary}\n{result.rungs}"
    assert not result.false_success
    assert result.calls <= CALLS_AT_MOST, "it does not go in circles"
    _is_told_truthfully(kind, result)
    if policy != "no rollback" and policy not in kind.litters_under:
        assert result.leftovers == [], "byte by byte: what was there, what was wanted, and nothing else"


def _is_told_truthfully(kind: type[Scenario], result: Result) -> None:
    outcome = result.outcome
    if result.recovered:
        assert outcome.verdict is (Verdict.VERIFIED if kind.check else Verdict.UNVERIFIED), outcome.summary
        assert outcome.diagnosis is None
        return
    assert result.state.stage is Stage.FAILED
    assert outcome.verdict in (Verdict.FAILED, Verdict.LOOP)
    assert outcome.diagnosis is not None
    assert outcome.diagnosis.what_failed
    assert set(outcome.diagnosis.left_behind) >= set(result.leftovers) - set(kind.files)


@pytest.mark.slow
@pytest.mark.req("R2")
@pytest.mark.parametrize("name", [name for name, kind in BY_NAME.items() if kind.recoverable and not kind.kills])
async def test_what_a_recovery_costs(tmp_path: Path, name: str) -> None:
    """Model calls beyond those of the same work without the fault; a recovery that costs more has become worse."""
    kind = BY_NAME[name]
    clean = await run_scenario(make(kind, tmp_path / "clean", faulty=False), tmp_path / "clean/home")
    assert clean.recovered, "without the fault it just works"
    assert clean.rungs == []
    faulty = await run_scenario(make(kind, tmp_path / "faulty"), tmp_path / "faulty/home")
    assert faulty.calls - clean.calls <= kind.most_extra_calls


def test_every_fault_has_a_story_of_its_own() -> None:
    stories = [kind.story for kind in BY_NAME.values()]
    assert len(set(stories)) == len(stories)
