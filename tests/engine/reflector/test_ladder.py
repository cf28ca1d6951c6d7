"""The recovery ladder: which rung follows which failure, and how often."""

import importlib.util
from dataclasses import replace
from pathlib import Path

import pytest

from surefoot.config.model import ReflectionConfig
from surefoot.core.outcome import ErrorCategory
from surefoot.core.transitions import Rung
from surefoot.engine.reflector.ladder import LIMITED_BY, SURE_ENOUGH, TABLE, Facts, next_rung

LIMITS = ReflectionConfig()
PARAMETER = Facts(LIMITS, ErrorCategory.PARAMETER_ERROR)
TOOL = Facts(LIMITS, ErrorCategory.TOOL_ERROR, has_alternative_tool=True)

RECOVERY_DIAGRAM = [
    ("parameter error, retries left", PARAMETER, Rung.ADJUST_PARAMETERS),
    ("parameter error, no retries left", replace(PARAMETER, step_retry_count=3), Rung.REPAIR_STEP),
    ("tool error, retries left", TOOL, Rung.ALTERNATIVE_TOOL),
    ("tool error, no retries left", replace(TOOL, step_retry_count=3), Rung.REPAIR_STEP),
    ("dependency error", replace(PARAMETER, category=ErrorCategory.DEPENDENCY_ERROR), Rung.REPAIR_STEP),
    ("decomposition error", replace(PARAMETER, category=ErrorCategory.DECOMPOSITION_ERROR), Rung.REPAIR_STEP),
    ("no repairs left", replace(PARAMETER, step_retry_count=3, single_step_repair_count=1), Rung.REPLAN_TASK),
    (
        "no replans left",
        replace(PARAMETER, step_retry_count=3, single_step_repair_count=1, task_replan_count=1),
        Rung.GIVE_UP,
    ),
]


@pytest.mark.req("R2", "R4")
@pytest.mark.parametrize(("facts", "rung"), [pytest.param(f, r, id=name) for name, f, r in RECOVERY_DIAGRAM])
def test_rung_for_each_edge_of_the_recovery_diagram(facts: Facts, rung: Rung) -> None:
    assert next_rung(facts)[0] is rung


@pytest.mark.req("P17", "A3")
@pytest.mark.parametrize(
    ("facts", "rung"),
    [
        (replace(PARAMETER, temporary=True), Rung.RETRY_LATER),
        (replace(PARAMETER, temporary=True, temporary_retries=3), Rung.ADJUST_PARAMETERS),
        (replace(PARAMETER, step_retry_count=3, single_step_repair_count=1, critical=False), Rung.SKIP_STEP),
        (replace(PARAMETER, step_retry_count=3, single_step_repair_count=1, has_fallback=True), Rung.FALLBACK),
        (
            replace(
                PARAMETER, step_retry_count=3, single_step_repair_count=1, task_replan_count=1, alternative_approaches=1
            ),
            Rung.NEXT_APPROACH,
        ),
        (replace(PARAMETER, recoverable=False), Rung.GIVE_UP),
        (replace(PARAMETER, recoverable=False, confidence=0.2), Rung.ADJUST_PARAMETERS),
        (replace(PARAMETER, step_retry_count=3, consecutive_failures=3), Rung.REPAIR_STEP),
        (replace(PARAMETER, step_retry_count=3, consecutive_failures=4), Rung.REPLAN_TASK),
        (replace(PARAMETER, step_retry_count=3, may_change_plan=False), Rung.GIVE_UP),
    ],
)
def test_rung_for_cases_outside_the_diagram(facts: Facts, rung: Rung) -> None:
    assert next_rung(facts)[0] is rung


@pytest.mark.req("R3")
def test_default_limits() -> None:
    assert LIMITS.max_step_retries == 3
    assert LIMITS.max_single_step_repairs == 1
    assert LIMITS.max_task_replanning_attempts == 1
    assert LIMITS.max_consecutive_failures == 3


@pytest.mark.req("R1", "R4")
@pytest.mark.parametrize("category", [ErrorCategory.DEPENDENCY_ERROR, ErrorCategory.DECOMPOSITION_ERROR])
def test_a_guess_does_not_skip_a_cheaper_rung(category: ErrorCategory) -> None:
    facts = replace(PARAMETER, category=category)
    assert next_rung(replace(facts, confidence=SURE_ENOUGH))[0] is Rung.REPAIR_STEP
    assert next_rung(replace(facts, confidence=SURE_ENOUGH - 0.1))[0] is Rung.ADJUST_PARAMETERS


@pytest.mark.req("R8")
@pytest.mark.parametrize("category", ErrorCategory)
def test_a_call_that_failed_is_not_repeated_whatever_the_cause(category: ErrorCategory) -> None:
    facts = replace(PARAMETER, category=category, would_repeat=True)
    assert next_rung(facts)[0] is Rung.REPAIR_STEP
    other = next_rung(replace(facts, has_alternative_tool=True))[0]
    unclear = (ErrorCategory.TOOL_ERROR, ErrorCategory.UNKNOWN, ErrorCategory.ENVIRONMENT_ERROR)
    assert other is (Rung.ALTERNATIVE_TOOL if category in unclear else Rung.REPAIR_STEP)


@pytest.mark.req("A14")
def test_a_step_may_have_limits_of_its_own() -> None:
    once = replace(PARAMETER, max_retries=1)
    assert next_rung(once)[0] is Rung.ADJUST_PARAMETERS
    assert next_rung(replace(once, step_retry_count=1))[0] is Rung.REPAIR_STEP
    busy = replace(once, temporary=True)
    assert next_rung(busy)[0] is Rung.RETRY_LATER
    assert next_rung(replace(busy, temporary_retries=1))[0] is Rung.ADJUST_PARAMETERS
    assert next_rung(replace(PARAMETER, max_retries=5, step_retry_count=4))[0] is Rung.ADJUST_PARAMETERS


@pytest.mark.req("R8")
def test_last_retry_uses_candidates() -> None:
    file_step = replace(PARAMETER, can_try_candidates=True, step_retry_count=2)
    assert next_rung(file_step)[0] is Rung.CANDIDATES
    assert next_rung(replace(file_step, limits=LIMITS.with_(candidates=1)))[0] is Rung.ADJUST_PARAMETERS
    few = replace(file_step, limits=LIMITS.with_(max_step_retries=1), step_retry_count=0)
    assert next_rung(few)[0] is Rung.ADJUST_PARAMETERS, "a fresh attempt comes first"


@pytest.mark.req("R8", "X5")
def test_candidates_are_the_retries_of_a_small_model() -> None:
    small = replace(PARAMETER, can_try_candidates=True, candidates_first=True)
    assert next_rung(small)[0] is Rung.CANDIDATES
    assert next_rung(replace(small, category=ErrorCategory.DECOMPOSITION_ERROR))[0] is Rung.CANDIDATES
    failed = replace(small, step_retry_count=1, candidates_failed=True)
    assert next_rung(failed)[0] is Rung.REPAIR_STEP
    repaired = replace(failed, single_step_repair_count=1)
    assert next_rung(repaired)[0] is Rung.REPLAN_TASK
    assert next_rung(replace(repaired, critical=False))[0] is Rung.SKIP_STEP
    later = replace(small, task_replan_count=1, candidates_in_earlier_plan=True)
    assert next_rung(later)[0] is Rung.GIVE_UP, "the new plan was one more try"


def test_every_repeatable_rung_names_its_limit() -> None:
    ends = {Rung.FALLBACK, Rung.FAILURE_BRANCH, Rung.SKIP_STEP, Rung.GIVE_UP}
    assert {rung for rung, _, _ in TABLE} - ends == set(LIMITED_BY)


def test_generated_diagrams_in_the_docs_are_current() -> None:
    path = Path(__file__).parents[3] / "docs" / "diagrams.py"
    spec = importlib.util.spec_from_file_location("diagrams", path)
    assert spec is not None
    assert spec.loader is not None
    diagrams = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(diagrams)
    assert diagrams.ladder() == diagrams.LADDER.read_text(), "run: python docs/diagrams.py"
    assert diagrams.architecture() == diagrams.STAGES.read_text(), "run: python docs/diagrams.py"
