"""Writes the pending steps as TOML for a person to edit, and reads the edited text back. Pure.

TOML has comments and long strings, and editors support it. The edited text becomes one revision of the plan, or is
refused with a message that says what is wrong and where.
"""

import json
import tomllib
from collections.abc import Collection, Container, Iterable, Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from pydantic import ValidationError

from surefoot.core.plan import Check, CommandCheck, Condition, DetailedPlan, ExecutionStep, StepDependency
from surefoot.core.transitions import StepStatus
from surefoot.core.values import wrong_fields
from surefoot.engine.scheduler.graph import check_acyclic
from surefoot.errors import PlanError
from surefoot.journal import events as e
from surefoot.journal.reducers import revised
from surefoot.journal.state import RunState

_HELP = """\
# The steps that have not started, in order. You can change, move, delete and add steps; a new step needs a unique id.
# after: the steps to wait for. "s1" waits until s1 succeeds, "s1:failure" until it fails, "s1:always" until it ends.
# checks: shell commands that must succeed when the step is done.
"""

# -- to a text -----------------------------------------------------------------------------------------------------


def as_text(state: RunState, begun: Container[str] = ()) -> str:
    parts = [_HELP]
    for step_id, step_run in state.steps.items():
        if not _is_open(state, step_id, begun):
            parts[0] += f"# {step_id} stays as it is ({step_run.status}): {' '.join(step_run.step.name.split())}\n"
    parts += ["\n".join(_table(state, step_id)) for step_id in state.steps if _is_open(state, step_id, begun)]
    return "\n".join(parts)


def _is_open(state: RunState, step_id: str, begun: Container[str]) -> bool:
    return state.steps[step_id].status is StepStatus.PENDING and step_id not in begun


def _table(state: RunState, step_id: str) -> Iterator[str]:
    step = state.step(step_id)
    assert state.plan is not None
    fields: dict[str, Any] = {"id": step.id, "name": step.name, "description": step.description}
    fields["after"] = [_after(d) for d in state.plan.dependencies if d.step_id == step_id]
    fields |= {name: value for name, value in _fields(step).items() if name not in fields and not _has_null(value)}
    fields["checks"] = [_check(check) for check in step.checks]
    yield "[[step]]"
    yield from (f"{name} = {_toml(value)}" for name, value in fields.items())
    yield ""


def _fields(step: ExecutionStep) -> dict[str, Any]:
    fields: dict[str, Any] = json.loads(step.model_dump_json(exclude_defaults=True, exclude={"sequence", "checks"}))
    return fields


def _has_null(value: Any) -> bool:
    """Whether a value contains None, which TOML cannot express. Such a field is not shown and stays as it is."""
    match value:
        case dict():
            return any(map(_has_null, value.values()))
        case list():
            return any(map(_has_null, value))
    return value is None


def _after(dependency: StepDependency) -> str:
    condition = "" if dependency.condition is Condition.SUCCESS else f":{dependency.condition}"
    return dependency.depends_on + condition


def _check(check: Check) -> Any:
    fields = json.loads(check.model_dump_json(exclude_defaults=True, exclude={"origin"}))
    if isinstance(check, CommandCheck) and set(fields) <= {"kind", "command"}:
        return check.command
    return fields


def _toml(value: Any) -> str:
    """Return a value as TOML, on one line unless it is a text of several lines. Only tables differ from JSON."""
    match value:
        case dict():
            return "{" + ", ".join(f"{_quoted(key)} = {_toml(item)}" for key, item in value.items()) + "}"
        case list():
            return f"[{', '.join(_toml(item) for item in value)}]"
        case str() if "\n" in value:
            return '"""\n' + "\n".join(_quoted(line)[1:-1] for line in value.split("\n")) + '"""'
        case str():
            return _quoted(value)
    return json.dumps(value)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


# -- and back ------------------------------------------------------------------------------------------------------


def revision(
    text: str, state: RunState, reason: str, begun: Container[str] = (), removes: Collection[str] | None = None
) -> e.PlanRevised | None:
    """Return the revision that the edited text asks for; None if it changes nothing. Raises PlanError if it is invalid.

    `removes` are the steps that the person has deleted. Other steps that the text lacks stay: they had begun when the
    text was written. None: every step that the text lacks is removed.
    """
    plan = state.plan
    if plan is None:
        raise PlanError("the run has no plan yet", remedy="wait until it is made")
    steps, after = _read(text, state)
    old = {step.id: step.with_(sequence=0) for step in plan.steps}
    rewired = {
        s for s, dependencies in after.items() if set(dependencies) != {d for d in plan.dependencies if d.step_id == s}
    }
    fixed = {step.id for step in plan.steps if not _is_open(state, step.id, begun)}
    if removes is not None:
        fixed |= {step.id for step in plan.steps if step.id not in steps and step.id not in removes}
    for step_id in fixed & steps.keys():
        # The step began while the text was edited. That does no harm if its text is unchanged.
        if steps.pop(step_id) != old[step_id] or step_id in rewired:
            problem = f"the step {step_id!r} has begun or is done ({state.steps[step_id].status}) and cannot be changed"
            raise PlanError(problem, remedy="give a new step an id of its own")
        del after[step_id]
    removed = tuple(s.id for s in plan.steps if s.id not in fixed and s.id not in steps)
    _require_known(after, [*fixed, *steps], removed)
    revised_plan = e.PlanRevised(
        by="user",
        reason=reason or "a person changed the plan",
        added=tuple(step for step_id, step in steps.items() if step_id not in old),
        changed=tuple(step for step_id, step in steps.items() if step_id in old and step != old[step_id]),
        removed=removed,
        depends_on=dict.fromkeys(sorted(rewired), ()),
        waits_for=tuple(d for step_id in sorted(rewired) for d in after[step_id]),
        order=tuple(steps),
    )
    before = [s.id for s in plan.steps if s.id in steps]
    if not (revised_plan.added or revised_plan.changed or removed or rewired) and before == list(steps):
        return None
    limit = state.config.max_plan_steps
    if revised_plan.added and len(fixed) + len(steps) > limit:
        raise PlanError(f"the plan would have more than {limit} steps (max_plan_steps)", remedy="leave some out")
    result = revised(plan, revised_plan)
    check_acyclic((step.id for step in result.steps), result.dependencies)
    return revised_plan


def plan_of(text: str) -> DetailedPlan:
    """Return the plan that a complete text describes. Raises PlanError, which says what is wrong and where."""
    steps, after = _read(text, RunState())
    if not steps:
        raise PlanError("the plan has no steps", remedy="steps begin with [[step]]")
    _require_known(after, list(steps), ())
    numbered = tuple(step.with_(sequence=number) for number, step in enumerate(steps.values()))
    plan = DetailedPlan(steps=numbered, dependencies=tuple(d for dependencies in after.values() for d in dependencies))
    check_acyclic(steps, plan.dependencies)
    return plan


def _read(text: str, state: RunState) -> tuple[dict[str, ExecutionStep], dict[str, list[StepDependency]]]:
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise PlanError(
            f"this is not valid TOML: {error}", remedy="fix the syntax there; strings need quotes"
        ) from None
    if unknown := set(document) - {"step"}:
        raise PlanError(f"there is no {sorted(unknown)[0]!r} in a plan", remedy="steps begin with [[step]]")
    steps: dict[str, ExecutionStep] = {}
    after: dict[str, list[StepDependency]] = {}
    for number, table in enumerate(document.get("step", []), 1):
        step = _step(number, table, state)
        if step.id in steps:
            raise PlanError(f"two steps have the id {step.id!r}", remedy="give each an id of its own")
        steps[step.id] = step
        after[step.id] = [_dependency(step.id, str(name)) for name in _list(table, "after", step.id)]
    return steps, after


def _step(number: int, table: Mapping[str, Any], state: RunState) -> ExecutionStep:
    fields = {name: value for name, value in table.items() if name not in ("after", "checks", "sequence")}
    name = str(table.get("id", f"number {number}"))
    old = state.steps[name].step if name in state.steps else None
    origins = {check.key: check.origin for check in old.checks} if old else {}
    hidden = {field: value for field, value in _fields(old).items() if _has_null(value)} if old else {}
    checks = [_as_check(check) for check in _list(table, "checks", name)]
    try:
        step = ExecutionStep.model_validate({**hidden, **fields, "checks": checks})
    except ValidationError as error:
        where, problem = wrong_fields(error)[0]
        fitting = ", ".join(field for field in ExecutionStep.model_fields if field != "sequence")
        raise PlanError(
            f"step {name}: {where or 'the step'}: {problem}", remedy=f"a step has: {fitting}, after"
        ) from None
    # A check that existed before keeps its origin.
    return step.with_(checks=tuple(check.with_(origin=origins.get(check.key, check.origin)) for check in step.checks))


def _as_check(value: Any) -> Any:
    if isinstance(value, str):
        return {"kind": "command", "command": value, "origin": "user"}
    return {**value, "origin": "user"} if isinstance(value, dict) else value


def _list(table: Mapping[str, Any], name: str, step: str) -> list[Any]:
    value = table.get(name, [])
    if not isinstance(value, list):
        raise PlanError(f"step {step}: {name} must be a list", remedy=f'write it in brackets: {name} = ["..."]')
    return value


def _dependency(step_id: str, name: str) -> StepDependency:
    depends_on, _, condition = name.partition(":")
    if condition and condition not in list(Condition):
        known = ", ".join(Condition)
        raise PlanError(f"step {step_id}: {name!r} names no condition", remedy=f"write step:condition, one of {known}")
    return StepDependency(step_id=step_id, depends_on=depends_on, condition=Condition(condition or "success"))


def _require_known(
    after: Mapping[str, Iterable[StepDependency]], known: Collection[str], removed: Collection[str]
) -> None:
    for dependency in (d for dependencies in after.values() for d in dependencies):
        name = dependency.depends_on
        if name in known:
            continue
        near = get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(known)}"
        problem = "is no longer in the plan" if name in removed else "is not in the plan"
        raise PlanError(f"step {dependency.step_id} comes after {name!r}, which {problem}", remedy=hint)
