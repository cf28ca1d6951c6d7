"""Lists of names that are typed as literals agree with each other, and with the enums that they are about."""

from collections.abc import Collection
from typing import Any, get_args, get_type_hints

import pytest

from surefoot.cli.report.statistics import LABELS
from surefoot.core.phases import PHASE_STATUS, PhaseStatus
from surefoot.core.proof import ProofLetter, ProofLevel
from surefoot.core.transitions import PHASE_NAMES, OrchestrationState, RunStatus, Stage, StepStatus, Verdict
from surefoot.history.stats.facts import Result, RunFacts, facts_of
from surefoot.history.stats.values import Results
from surefoot.journal.store.base import RunSummary
from surefoot.view.labels import STATUS_LABELS, STEP_LABELS
from surefoot.view.rows import PhaseRow, RunRow, StepRow, TryRow

LISTS: dict[str, tuple[Collection[object], Collection[object]]] = {
    "labels of a run's status": (STATUS_LABELS.keys(), get_args(RunStatus)),
    "labels of a step's status": (STEP_LABELS.keys(), set(StepStatus)),
    "phase of a step's status": (PHASE_STATUS.keys(), set(StepStatus)),
    "labels of results": (LABELS.keys(), get_args(Result)),
    "counted results": (Results.model_fields.keys(), get_args(Result)),
    "letters of proof": ({level.letter for level in ProofLevel}, get_args(ProofLetter)),
    "phases of rows": (get_args(get_type_hints(PhaseRow)["name"]), PHASE_NAMES),
}
ROWS: dict[str, tuple[object, object]] = {
    "run": (get_type_hints(RunRow)["state"], OrchestrationState),
    "phase": (get_type_hints(PhaseRow)["status"], PhaseStatus),
    "step": (get_type_hints(StepRow)["status"], StepStatus),
    "try": (get_type_hints(TryRow)["status"], StepStatus),
}


@pytest.mark.parametrize("what", LISTS)
def test_lists_of_names_are_complete(what: str) -> None:
    listed, wanted = LISTS[what]
    assert set(listed) == set(wanted)


@pytest.mark.parametrize("row", ROWS)
def test_rows_use_the_enums_themselves(row: str) -> None:
    hint, wanted = ROWS[row]
    assert hint is wanted


@pytest.mark.parametrize("verdict", Verdict)
def test_every_verdict_is_one_of_the_results(verdict: Verdict) -> None:
    stage = Stage.COMPLETED if verdict in (Verdict.VERIFIED, Verdict.UNVERIFIED) else Stage.FAILED
    run: dict[str, Any] = {"run_id": "r", "task": "", "workspace": "/", "model": "m", "events": 1}
    summary = RunSummary(**run, stage=stage, verdict=verdict, created_at=0, updated_at=0)
    found: RunFacts = facts_of(summary, [])
    assert found.result in get_args(Result)
