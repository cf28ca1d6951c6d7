"""The recovery ladder: which rung follows which failure, and how often."""

import importlib.util
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefoot.config.model import ReflectionConfig
from surefoot.core.outcome import ErrorCategory
from surefoot.core.transitions import Rung
from surefoot.engine.reflector.ladder import LIMITED_BY as LIMITED_BY
from surefoot.engine.reflector.ladder import TABLE, Facts, climb, counted, next_rung

LIMITS = ReflectionConfig()
PARAMETER = Facts(LIMITS, ErrorCategory.PARAMETER_ERROR)
TOOL = Facts(LIMITS, ErrorCategory.TOOL_ERROR, has_alternative_tool=True)

RECOVERY_DIAGRAM = [
    ("parameter error, retries left", PARAMETER, Rung.ADJUST_PARAMETERS),
    ("parameter error, no retries left", replace(PARAMETER, retries=3), Rung.REPAIR_STEP),
    ("tool error, retries left", TOOL, Rung.ALTERNATIVE_TOOL),
    ("tool error, no retries left", replace(TOOL, retries=3), Rung.REPAIR_STEP),
    ("dependency error", replace(PARAMETER, category=ErrorCategory.DEPENDENCY_ERROR), Rung.REPAIR_STEP),
    ("decomposition error", replace(PARAMETER, category=ErrorCategory.DECOMPOSITION_ERROR), Rung.REPAIR_STEP),
    ("no repairs left", replace(PARAMETER, retries=3, repairs=1), Rung.REPLAN_TASK),
    ("no replans left", replace(PARAMETER, retries=3, repairs=1, replans=1), Rung.GIVE_UP),
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
        (replace(PARAMETER, retries=3, repairs=1, critical=False), Rung.SKIP_STEP),
        (replace(PARAMETER, retries=3, repairs=1, has_fallback=True), Rung.FALLBACK),
        (replace(PARAMETER, retries=3, repairs=1, replans=1, alternatives=1), Rung.NEXT_APPROACH),
        (replace(PARAMETER, recoverable=False), Rung.GIVE_UP),
        (replace(PARAMETER, retries=3, consecutive_failures=3), Rung.GIVE_UP),
        (replace(PARAMETER, retries=3, may_change_plan=False), Rung.GIVE_UP),
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


@pytest.mark.req("R2")
@given(
    st.builds(
        ReflectionConfig,
        max_step_retries=st.integers(0, 5),
        max_single_step_repairs=st.integers(0, 3),
        max_task_replanning_attempts=st.integers(0, 3),
        max_consecutive_failures=st.integers(1, 6),
        max_temporary_retries=st.integers(0, 4),
    ),
    st.lists(st.tuples(st.sampled_from(ErrorCategory), st.booleans(), st.booleans()), min_size=60, max_size=60),
    st.integers(0, 3),
)
def test_number_of_recoveries_is_bounded_by_the_limits(
    limits: ReflectionConfig, failures: list[tuple[ErrorCategory, bool, bool]], alternatives: int
) -> None:
    """Holds for any sequence of failures."""
    facts = Facts(limits, ErrorCategory.UNKNOWN, alternatives=alternatives)
    rungs: list[Rung] = []
    for category, temporary, has_tool in failures:
        facts = replace(facts, category=category, temporary=temporary, has_alternative_tool=has_tool)
        rung = next_rung(facts)[0]
        rungs.append(rung)
        if rung is Rung.GIVE_UP:
            break
        facts = counted(facts, rung)
    bound = (
        limits.max_step_retries
        + limits.max_temporary_retries
        + limits.max_single_step_repairs
        + limits.max_task_replanning_attempts
        + alternatives
        + 1
    )
    assert rungs[-1] is Rung.GIVE_UP
    assert len(rungs) <= bound


def test_no_cheaper_rung_follows_a_costlier_one() -> None:
    """Holds when every attempt fails in the same way."""
    facts, order = replace(TOOL, temporary=True, alternatives=1), [rung for rung, _, _ in TABLE]
    rungs = climb(facts)
    places = [order.index(rung) for rung in rungs]
    assert all(a <= b for a, b in pairwise(places)), rungs


@pytest.mark.req("R8")
def test_last_retry_uses_candidates() -> None:
    file_step = replace(PARAMETER, can_try_candidates=True)
    retries = [Rung.ADJUST_PARAMETERS, Rung.ADJUST_PARAMETERS, Rung.CANDIDATES]
    assert climb(file_step) == [*retries, Rung.REPAIR_STEP, Rung.REPLAN_TASK, Rung.GIVE_UP]
    one = replace(file_step, limits=LIMITS.with_(candidates=1))
    assert climb(one)[:3] == [Rung.ADJUST_PARAMETERS] * 3
    few = replace(file_step, limits=LIMITS.with_(max_step_retries=1))
    assert climb(few)[:2] == [Rung.ADJUST_PARAMETERS, Rung.REPAIR_STEP], "a fresh attempt comes first"


@pytest.mark.req("R8", "P19")
def test_small_model_uses_candidates_first_and_then_gives_up() -> None:
    small = replace(PARAMETER, can_try_candidates=True, candidates_first=True, stop_after_candidates=True)
    assert climb(small) == [Rung.CANDIDATES, Rung.GIVE_UP]
    assert climb(replace(small, category=ErrorCategory.DECOMPOSITION_ERROR)) == [Rung.CANDIDATES, Rung.GIVE_UP]
    assert climb(replace(small, critical=False)) == [Rung.CANDIDATES, Rung.SKIP_STEP], (
        "an uncritical step is still skipped"
    )
    assert climb(replace(small, can_try_candidates=False)) == climb(PARAMETER)


def test_every_repeatable_rung_names_its_limit() -> None:
    facts = [replace(facts, alternatives=2, temporary=temporary, can_try_candidates=choose)
             for facts in (PARAMETER, TOOL) for temporary in (True, False) for choose in (True, False)]  # fmt: skip
    repeatable = {rung for one in facts for rung in climb(one)} - {Rung.GIVE_UP}
    assert repeatable == set(LIMITED_BY)


def test_generated_diagrams_in_the_docs_are_current() -> None:
    path = Path(__file__).parents[3] / "docs" / "diagrams.py"
    spec = importlib.util.spec_from_file_location("diagrams", path)
    assert spec is not None
    assert spec.loader is not None
    diagrams = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(diagrams)
    assert diagrams.ladder() == diagrams.LADDER.read_text(), "run: python docs/diagrams.py"
    assert diagrams.architecture() == diagrams.ARCHITECTURE.read_text(), "run: python docs/diagrams.py"
