"""The transition tables of runs and steps."""

import itertools
from pathlib import Path

import pytest

from surefoot.core.transitions import (
    ORCHESTRATION,
    RUN_TRANSITIONS,
    STEP_TRANSITIONS,
    OrchestrationState,
    Stage,
    StepStatus,
    check_transition,
    draw,
)
from surefoot.errors import IllegalTransition

ROOT = Path(__file__).parents[2]


@pytest.mark.req("O1")
def test_every_stage_has_an_orchestration_state_and_every_state_a_stage() -> None:
    assert set(ORCHESTRATION) == set(Stage)
    assert set(ORCHESTRATION.values()) == set(OrchestrationState)


@pytest.mark.req("P1", "O1")
def test_the_phases_follow_each_other() -> None:
    order = [Stage.UNDERSTANDING, Stage.APPROACH, Stage.PLANNING, Stage.EXECUTION, Stage.VALIDATION, Stage.COMPLETED]
    for old, new in itertools.pairwise(order):
        check_transition(RUN_TRANSITIONS, old, new)


@pytest.mark.req("O1")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        (Stage.COMPLETED, Stage.EXECUTION),
        (Stage.UNDERSTANDING, Stage.EXECUTION),
        (Stage.EXECUTION, Stage.COMPLETED),
        (Stage.PLANNING, Stage.VALIDATION),
        (Stage.FAILED, Stage.COMPLETED),
    ],
)
def test_other_transitions_are_errors(old: Stage, new: Stage) -> None:
    with pytest.raises(IllegalTransition, match=f"{new} cannot follow {old}"):
        check_transition(RUN_TRANSITIONS, old, new)


def test_every_stage_can_be_reached_and_only_a_person_goes_on_from_completed() -> None:
    assert set(RUN_TRANSITIONS) == set(Stage)
    reached = {Stage.UNDERSTANDING, *(new for targets in RUN_TRANSITIONS.values() for new in targets)}
    assert reached == set(Stage)
    assert set(STEP_TRANSITIONS) == set(StepStatus)
    assert all(RUN_TRANSITIONS.values())
    assert RUN_TRANSITIONS[Stage.COMPLETED] == {Stage.VALIDATION: "a person changed the result"}


@pytest.mark.parametrize(
    ("table", "start"), [(RUN_TRANSITIONS, Stage.UNDERSTANDING), (STEP_TRANSITIONS, StepStatus.PENDING)]
)
def test_the_documented_diagrams_are_drawn_from_the_tables(table: dict, start: Stage | StepStatus) -> None:  # type: ignore[type-arg]
    assert draw(table, start) in (ROOT / "docs/architecture/stages.md").read_text(), "run: python docs/diagrams.py"
