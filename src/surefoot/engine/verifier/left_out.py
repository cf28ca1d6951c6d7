"""Checks and criteria that no longer count, because a person undid the file that they are about in a review. Pure.

Only checks and criteria of the plan or the engine are left out. Checks of the user and the project always count.
"""

import re
from collections.abc import Iterable, Iterator

from surefoot.core.plan import Check, CommandCheck, ExpressionCheck
from surefoot.core.transitions import StepStatus
from surefoot.journal.state import RunState


def is_left_out(check: Check, undone: Iterable[str]) -> bool:
    """Whether a check is about one of these files, and neither the user nor the project gave it."""
    if check.origin not in ("plan", "engine"):
        return False
    if isinstance(check, CommandCheck | ExpressionCheck):
        return names_one(check.label, undone)
    return check.path in undone


def names_one(text: str, paths: Iterable[str]) -> bool:
    """Whether a text names one of these files."""
    return any(re.search(rf"(?<![\w./-])(?:\./)?{re.escape(path)}(?![\w/-]|\.\w)", text) for path in paths)


def left_out_checks(state: RunState) -> Iterator[Check]:
    """Yield the checks of the plan and its finished steps that do not count, each once."""
    if state.plan is None or not state.undone_files:
        return
    step_checks = [c for r in state.steps.values() if r.status is StepStatus.SUCCEEDED for c in r.step.checks]
    left_out = {
        check.key: check for check in (*state.plan.checks, *step_checks) if is_left_out(check, state.undone_files)
    }
    yield from left_out.values()


def left_out_criteria(state: RunState) -> set[str]:
    """Return the criteria of the plan and its steps that name an undone file, or are linked to a check left out."""
    plan = state.plan
    if plan is None or not state.undone_files:
        return set()
    keys = {check.key for check in left_out_checks(state)}
    linked = {c for c, key in zip(plan.success_criteria, plan.criterion_checks, strict=False) if key in keys}
    criteria = [*plan.success_criteria, *(c for r in state.steps.values() for c in r.step.validation_criteria)]
    return linked | {criterion for criterion in criteria if names_one(criterion, state.undone_files)}
