"""Results of earlier phases for a run that starts in the middle: from values, from a JSON file, or from another run."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from pydantic import BaseModel, ValidationError

from surefoot.core.phases import ApproachOutput, ExecutionPhase, PhaseResult, UnderstandingOutput
from surefoot.core.plan import DetailedPlan
from surefoot.core.transitions import Stage
from surefoot.core.values import what_is_wrong
from surefoot.engine.planner.gate import skipped
from surefoot.errors import UsageError
from surefoot.journal import events as e
from surefoot.journal.reducers import fold
from surefoot.journal.state import RunState
from surefoot.journal.store.base import Journal
from surefoot.results import SequentialExecutionPlan

Given: TypeAlias = SequentialExecutionPlan | Mapping[str, Any] | Path | str
"""The source of the results: a finished or stopped run as a value or by its id, a mapping with the keys
`understanding`, `approach` and `plan`, or the path of a JSON file with such an object, as `surefoot show --json` prints
it."""
PHASES = (Stage.UNDERSTANDING, Stage.APPROACH, Stage.PLANNING)
_GIVEN = "it was given"


class EarlierPhases(NamedTuple):
    understanding: PhaseResult[UnderstandingOutput] | None = None
    approach: PhaseResult[ApproachOutput] | None = None
    plan: PhaseResult[DetailedPlan] | None = None
    source: str = "what is given"
    based_on: str = ""
    """The id of the run that the results come from."""

    def first_missing(self) -> Stage:
        """The first phase that has no result; execution if there is a plan."""
        if self.plan is not None:
            return Stage.EXECUTION
        return next((s for s, r in zip(PHASES, self[:3], strict=True) if r is None), Stage.EXECUTION)

    def before(self, first: Stage) -> list[e.Event]:
        """The results of the phases before this one, as events. Raises UsageError if one is missing."""
        stages = list(Stage)
        events: list[e.Event] = []
        for phase in PHASES:
            if stages.index(phase) >= stages.index(first):
                break
            match phase:
                case Stage.UNDERSTANDING if self.understanding:
                    events.append(e.Understood(result=self.understanding))
                case Stage.APPROACH if self.approach:
                    events.append(e.ApproachChosen(result=self.approach))
                case Stage.PLANNING if self.plan:
                    events.append(e.PlanMade(result=self.plan))
                case _ if self.plan is not None and first in (Stage.EXECUTION, Stage.VALIDATION):
                    continue  # a plan contains everything that execution needs
                case _:
                    raise UsageError(
                        f"{self.source} has no result of {phase} that could be used",
                        remedy=f"start earlier, with {phase}, or give that result too",
                    )
        return events


def earlier_phases(given: Given, journal: Journal) -> EarlierPhases:
    match given:
        case SequentialExecutionPlan():
            return EarlierPhases(given.understanding, given.approach, given.plan, f"run {given.task_id}", given.task_id)
        case Path():
            return from_file(given)
        case str():
            return of_run(fold(journal.read(journal.find(given))))
    return _from_values(given, "what is given")


def of_run(state: RunState) -> EarlierPhases:
    plan = state.planning.with_(output=state.plan) if state.planning and state.plan else None
    return EarlierPhases(state.understanding, state.approach, plan, f"run {state.run_id}", state.run_id)


def from_file(path: Path) -> EarlierPhases:
    if path.exists() and not path.is_file():
        raise UsageError(
            f"{path} is not a regular file", remedy="give a JSON file, such as surefoot show --json prints"
        )
    try:
        values = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(
            f"the results in {path} cannot be read: {error}",
            remedy="give a JSON object, such as surefoot show --json prints",
        ) from None
    if not isinstance(values, dict):
        raise UsageError(f"{path} has no JSON object", remedy="give an object with understanding, approach and plan")
    return _from_values(values, str(path))


def _from_values(values: Mapping[str, Any], source: str) -> EarlierPhases:
    kinds: dict[str, tuple[type[BaseModel], Any]] = {
        "understanding": (UnderstandingOutput, ExecutionPhase.Understanding()),
        "approach": (ApproachOutput, ExecutionPhase.Approach()),
        "plan": (DetailedPlan, ExecutionPhase.Planning()),
    }
    phases: dict[str, Any] = {}
    for name, (kind, phase) in kinds.items():
        value = values.get(name)
        if value is None or isinstance(value, PhaseResult):
            phases[name] = value
            continue
        if isinstance(value, Mapping) and "phase" in value and "output" in value:
            value = value["output"]
        try:
            parsed = None if value is None or isinstance(value, kind) else kind.model_validate(value)
            value_of_phase = _with_checks_of_a_plan(parsed) if isinstance(parsed, DetailedPlan) else parsed or value
            phases[name] = None if value_of_phase is None else skipped(phase, _GIVEN, value_of_phase)
        except ValidationError as error:
            raise UsageError(
                f"{source}: {name} cannot be used: {what_is_wrong(error, 1)}",
                remedy=f"its fields: {', '.join(kind.model_fields)}",
            ) from None
    return EarlierPhases(**phases, source=source)


def _with_checks_of_a_plan(plan: DetailedPlan) -> DetailedPlan:
    """Mark all checks of a plan that was read from data as checks of the plan, whatever origin the data claims.

    A check of the user runs in the workspace without approval, and can verify the task.
    """
    steps = tuple(step.with_(checks=tuple(check.with_(origin="plan") for check in step.checks)) for step in plan.steps)
    return plan.with_(steps=steps, checks=tuple(check.with_(origin="plan") for check in plan.checks))
