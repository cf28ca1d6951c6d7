"""Turns a model's drafts into the full values, and repairs what can be repaired mechanically. Pure.

Asking a small model again with the same complaint gives the same answer, while merging two steps for one file costs
nothing. Every repair is reported with the plan.
"""

import re
from collections.abc import Collection, Sequence
from itertools import count
from pathlib import PurePosixPath

from surefoot.core.plan import (
    Check,
    CommandCheck,
    DetailedPlan,
    ExecutionStep,
    FileCheck,
    ParsesCheck,
    StepDependency,
    StepType,
    TextCheck,
)
from surefoot.engine.planner.subject import is_covered
from surefoot.prompting.project.asked_changes import asks_for_tests
from surefoot.prompting.project.folder import is_test
from surefoot.prompting.project.task_text import is_computed
from surefoot.prompting.schemas import CheckDraft, PlanDraft, StepDraft

_PSEUDO_CODE = re.compile(r"^[A-Za-z_]\w*\(.*\)$")
_WRITES_FILES = (StepType.CODE_GENERATION, StepType.CONFIGURATION, StepType.FILE_OPERATION)


def simple_plan(
    task: str, targets: Sequence[str], protected: Collection[str], existing: Collection[str] = ()
) -> DetailedPlan:
    """Return the plan of a task that needs no planning: one step per file, one for all files that a program computes
    from those that exist, or one step for everything."""
    files = [f for f in targets if f not in protected]
    if not files:
        step = ExecutionStep(id="s1", name="Do the task", description=task, step_type=StepType.COMMAND_EXECUTION)
        return DetailedPlan(steps=(step,))
    computed = [path for path in files if path not in existing and is_computed(path, task, existing)]
    groups = [[path] for path in files if path not in computed] + ([computed] if computed else [])
    groups.sort(key=lambda group: files.index(group[0]))
    steps = tuple(
        ExecutionStep(
            id=f"s{i}",
            sequence=i - 1,
            name=f"Write {' and '.join(group)}",
            description=f"Write {' and '.join(group)} so that the task is fulfilled." if len(groups) > 1 else task,
            step_type=StepType.CODE_GENERATION,
            writes=tuple(group),
            expected_outputs=tuple(group),
            checks=tuple(map(_file_check, group)),
        )
        for i, group in enumerate(groups, 1)
    )
    chain = tuple(StepDependency(step_id=f"s{i + 1}", depends_on=f"s{i}") for i in range(1, len(groups)))
    return DetailedPlan(steps=steps, dependencies=chain)


def plan_from(
    draft: PlanDraft, required_files: Sequence[str], protected: Collection[str], max_steps: int, task: str = ""
) -> tuple[DetailedPlan, list[str]]:
    """Return a runnable plan, and the repairs that it needed."""
    repairs: list[str] = []
    numbered = [(number, step) for number, step in enumerate(draft.steps, 1)]
    numbered = _without_empty_steps(numbered, repairs)
    if asks_for_tests(task):
        numbered = _into_new_tests(numbered, protected, repairs)
    numbered = _without_protected_files(numbered, protected, repairs)
    numbered, merged_into = _one_step_per_file(numbered, repairs)
    if len(numbered) > max_steps:
        repairs.append(f"cut to the first {max_steps} of {len(numbered)} steps")
        numbered = numbered[:max_steps]
    steps, dependencies = _with_ids(numbered, merged_into, repairs)
    written = {path for step in steps for path in step.writes}
    for path in required_files:
        missing = path not in written and path not in protected and not is_covered(path, draft.steps)
        if missing and len(steps) < max_steps:
            repairs.append(f"added a step for {path}, which the task names")
            steps.append(
                ExecutionStep(
                    id=fresh_id({step.id for step in steps}),
                    sequence=len(steps),
                    name=f"Write {path}",
                    writes=(path,),
                    expected_outputs=(path,),
                    checks=(_file_check(path),),
                )
            )
    plan = DetailedPlan(
        steps=tuple(steps),
        dependencies=tuple(dependencies),
        estimated_duration=sum(step.estimated_duration for step in steps),
        success_criteria=distinct(draft.success_criteria),
    )
    return plan, repairs


def step_from(draft: StepDraft, old: ExecutionStep, protected: Collection[str]) -> ExecutionStep:
    """Return a step with the draft's description and check, under the same id and with the same obligations."""
    path = clean_path(draft.file)
    same_file = not old.writes or path in old.writes or not path or path in protected
    check = check_from(draft.check, path)
    return old.with_(
        name=draft.name.strip() or old.name,
        description=draft.description.strip() or old.description,
        writes=old.writes if same_file else (path,),
        # A check of the plan itself may have been wrong and is replaced; other checks stay.
        checks=(*(c for c in old.checks if c.origin != "plan"), *([check] if check else [])),
    )


def step_of(draft: StepDraft, step_id: str, protected: Collection[str]) -> ExecutionStep:
    """Return the full step. A testing step writes nothing but tests, and no step writes protected files."""
    path = clean_path(draft.file)
    if path in protected or (draft.type is StepType.TESTING and not is_test(path)):
        path = ""
    check = check_from(draft.check, path)
    return ExecutionStep(
        id=step_id,
        name=draft.name.strip(),
        description=draft.description.strip(),
        step_type=draft.type if path or draft.type not in _WRITES_FILES else StepType.COMMAND_EXECUTION,
        writes=(path,) if path else (),
        expected_outputs=(path,) if path else (),
        checks=tuple(c for c in (_file_check(path) if path else None, check) if c),
        preconditions=distinct(draft.preconditions),
        validation_criteria=distinct(draft.validation_criteria),
        rollback_steps=distinct(draft.rollback_steps),
        requires_confirmation=draft.requires_confirmation,
        allow_failure=draft.allow_failure,
        critical=draft.critical,
        priority=draft.priority,
        when=draft.when.strip(),
        expected_tools=distinct(draft.tools),
        estimated_duration=draft.estimated_minutes,
    )


def fresh_id(taken: Collection[str]) -> str:
    return next(f"s{n}" for n in count(len(taken) + 1) if f"s{n}" not in taken)


def check_from(draft: CheckDraft, file: str) -> Check | None:
    """Return a check that can be run; None for pseudo-code such as `check_file_exists(x)`."""
    value = draft.value.strip().strip("`")
    if not value or draft.kind == "none":
        return None
    if draft.kind == "file_exists":
        path = clean_path(value)
        return FileCheck(path=path) if path and not re.search(r"\s", path) else None
    if draft.kind == "text_matches":
        if not file:
            return None
        try:
            re.compile(value)
        except re.error:
            value = re.escape(value)
        return TextCheck(path=file, pattern=value)
    if _PSEUDO_CODE.match(value) or "\n" in value or value.endswith("."):
        return None
    return CommandCheck(command=value)


def _without_empty_steps(steps: list[tuple[int, StepDraft]], repairs: list[str]) -> list[tuple[int, StepDraft]]:
    kept = [(n, s) for n, s in steps if s.name.strip() and (s.description.strip() or s.file.strip() or s.check.value)]
    if kept and len(kept) < len(steps):
        repairs.append(f"dropped {len(steps) - len(kept)} steps that say nothing")
    return kept or steps


def _into_new_tests(
    steps: list[tuple[int, StepDraft]], protected: Collection[str], repairs: list[str]
) -> list[tuple[int, StepDraft]]:
    """The task asks for tests. A step that would rewrite given ones writes its tests into a file beside them."""
    changed = []
    for number, step in steps:
        path = clean_path(step.file)
        if path in protected and is_test(path):
            given = PurePosixPath(path)
            beside = str(given.with_name(f"{given.stem}_more{given.suffix}"))
            repairs.append(f"step {number} writes {beside}, because the given tests in {path} stay as they are")
            step = step.model_copy(update={"file": beside, "description": step.description.replace(path, beside)})
        changed.append((number, step))
    return changed


def _without_protected_files(
    steps: list[tuple[int, StepDraft]], protected: Collection[str], repairs: list[str]
) -> list[tuple[int, StepDraft]]:
    kept = [(n, s) for n, s in steps if clean_path(s.file) not in protected]
    if kept and len(kept) < len(steps):
        repairs.append(f"dropped {len(steps) - len(kept)} steps that would rewrite given tests")
    return kept or steps


def _one_step_per_file(
    steps: list[tuple[int, StepDraft]], repairs: list[str]
) -> tuple[list[tuple[int, StepDraft]], dict[int, int]]:
    """Merge steps that write the same file: the second would overwrite the first."""
    first_for: dict[str, int] = {}
    by_number: dict[int, StepDraft] = {}
    merged_into: dict[int, int] = {}
    for number, step in steps:
        path = clean_path(step.file)
        if path and path in first_for:
            first = first_for[path]
            merged = by_number[first]
            by_number[first] = merged.model_copy(
                update={
                    "description": f"{merged.description} {step.description}".strip(),
                    "after": sorted({*merged.after, *step.after} - {first, number}),
                    "check": merged.check if merged.check.kind != "none" else step.check,
                }
            )
            merged_into[number] = first
            repairs.append(f"merged steps {first} and {number}, which both write {path}")
            continue
        if path:
            first_for[path] = number
        by_number[number] = step
    return list(by_number.items()), merged_into


def _with_ids(
    numbered: list[tuple[int, StepDraft]], merged_into: dict[int, int], repairs: list[str]
) -> tuple[list[ExecutionStep], list[StepDependency]]:
    known = {number for number, _ in numbered}
    steps: list[ExecutionStep] = []
    dependencies: list[StepDependency] = []
    for sequence, (number, draft) in enumerate(numbered):
        steps.append(step_of(draft, f"s{number}", ()).with_(sequence=sequence))
        for target in sorted({merged_into.get(n, n) for n in draft.after}):
            # Merging can turn a correct order into a circle: the second part of the step came later.
            turned = target > number and number in merged_into.values()
            if target in known and target != number and not turned:
                dependencies.append(StepDependency(step_id=f"s{number}", depends_on=f"s{target}"))
            elif target != number:
                repairs.append(f"dropped the dependency of step {number} on {target}, which does not come before it")
    return steps, dependencies


def _file_check(path: str) -> Check:
    if path.endswith((".py", ".json", ".toml")):
        return ParsesCheck(path=path, origin="engine")
    return FileCheck(path=path, origin="engine")


def clean_path(path: str) -> str:
    path = path.strip().strip("`'\"").replace("\\", "/")
    while path.startswith("./"):
        path = path[2:]
    return path if re.fullmatch(r"[^\0\n]{1,300}", path) and not path.startswith("/") else ""


def distinct(items: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(item.strip() for item in items if item.strip()))
