"""The views of stages and step statuses that the public types show."""

import pytest

from surefoot.core.phases import EXECUTION_STATUS, PHASE_STATUS, ExecutionPhase, ExecutionStatus, Phase, phase_of
from surefoot.core.transitions import Stage, StepStatus


@pytest.mark.req("P2", "P10")
def test_every_step_status_has_its_phase_status_and_every_ended_one_its_execution_status() -> None:
    assert set(PHASE_STATUS) == set(StepStatus)
    assert set(EXECUTION_STATUS) == set(StepStatus) - {StepStatus.PENDING, StepStatus.RUNNING}
    assert set(EXECUTION_STATUS.values()) == set(ExecutionStatus) - {ExecutionStatus.ROLLED_BACK}


@pytest.mark.req("P1")
@pytest.mark.parametrize(
    ("stage", "phase"),
    [
        (Stage.UNDERSTANDING, ExecutionPhase.Understanding()),
        (Stage.APPROACH, ExecutionPhase.Approach()),
        (Stage.PLANNING, ExecutionPhase.Planning()),
        (Stage.EXECUTION, ExecutionPhase.Execution(current_step=1, total_steps=3)),
        (Stage.RECOVERY, ExecutionPhase.Execution(current_step=1, total_steps=3)),
        (Stage.VALIDATION, ExecutionPhase.Validation()),
        (Stage.COMPLETED, ExecutionPhase.Completed()),
    ],
)
def test_every_stage_belongs_to_a_phase(stage: Stage, phase: Phase) -> None:
    assert phase_of(stage, started_steps=2, total_steps=3) == phase


def test_execution_counts_from_the_first_step_also_before_it_has_started() -> None:
    assert phase_of(Stage.EXECUTION, started_steps=0, total_steps=3) == ExecutionPhase.Execution(total_steps=3)
