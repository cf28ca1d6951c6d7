"""Turns a model's drafts into full values, and repairs mistakes that can be repaired mechanically. Pure.

A small model that is asked again with the same complaint gives the same answer, while merging two steps for one file
costs nothing. Every repair is reported with the plan.
"""

import re
from collections.abc import Collection, Sequence
from fnmatch import fnmatch
from itertools import count
from pathlib import PurePosixPath

from surefoot.core.phases import (
    AlternativeApproach,
    ApproachOutput,
    TaskComplexity,
    TechnicalDecision,
    UnderstandingOutput,
)
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
from surefoot.engine.planner.criteria import NOT_NAMED
from surefoot.engine.planner.subject import is_covered
from surefoot.project.asked_changes import asks_for_tests
from surefoot.project.file_roles import is_input, is_made_by_program, needs_step
from surefoot.project.folder import is_test
from surefoot.project.task_text import files_named_in, is_computed
from surefoot.prompting.drafts.short import ApproachDraft, CheckDraft, PlanDraft, StepDraft, UnderstandingDraft

_PSEUDO_CODE = re.compile(r"^[A-Za-z_]\w*\(.*\)$")
_WRITES_FILES = (StepType.CODE_GENERATION, StepType.CONFIGURATION, StepType.FILE_OPERATION)

WHOLE_TASK = "Do the task"
"""The name of the one step of a plan that the engine made."""


def plain_understanding(task: str, paths: Sequence[str] = ()) -> UnderstandingOutput:
    """Return the understanding of a task that needs no analysis: its own words."""
    return UnderstandingOutput(
        understanding=task,
        key_requirements=(task,),
        task_type="write_code",
        complexity=TaskComplexity.SIMPLE,
        target_files=tuple(paths),
    )


def understanding_from(
    draft: UnderstandingDraft,
    task: str,
    existing: Collection[str],
    protected: Collection[str],
    *,
    root: str = "",
    trusted: bool = False,
) -> tuple[UnderstandingOutput, list[str]]:
    """Return the understanding, and the repairs that it needed.

    Files that neither exist nor are named by the task are left out: small models invent files, and write files that
    they should only read. `trusted`: the files and the complexity are taken as the model gave them.
    """
    repairs: list[str] = []
    files = _plain_paths(draft.files, root, existing, repairs)
    targets = files if trusted else _targets(files, task, existing, protected, repairs)
    complexity = draft.complexity
    if not trusted and len(targets) > 3 and complexity is not TaskComplexity.COMPLEX:
        repairs.append(f"a task with {len(targets)} files is complex, not {complexity}")
        complexity = TaskComplexity.COMPLEX
    output = UnderstandingOutput(
        understanding=draft.understanding.strip(),
        key_requirements=distinct(draft.requirements) or (draft.understanding.strip(),),
        task_type=draft.task_type,
        complexity=complexity,
        potential_risks=distinct(draft.risks),
        clarification_needed=distinct(draft.questions),
        target_files=distinct(targets),
    )
    return output, repairs


def _plain_paths(paths: Sequence[str], root: str, existing: Collection[str], repairs: list[str]) -> list[str]:
    """Return paths relative to the workspace. A pattern becomes the files that it matches."""
    plain_paths: list[str] = []
    for path in paths:
        plain = path.strip().strip("`'\"")
        inside = plain.removeprefix(f"{root}/") if root else plain
        matching = [name for name in sorted(existing) if fnmatch(name, inside)] if re.search(r"[*?]", inside) else []
        relative = matching or [cleaned for cleaned in [clean_path(inside)] if cleaned]
        if matching or inside != plain or not relative:
            repairs.append(f"{plain!r} became {', '.join(relative[:8])}" if relative else f"left out {plain!r}")
        plain_paths += relative
    return plain_paths


def _targets(
    files: Sequence[str], task: str, existing: Collection[str], protected: Collection[str], repairs: list[str]
) -> list[str]:
    named, known = files_named_in(task), set(existing)
    new = [path for path in named if path not in known]
    targets = [
        path
        for path in files
        if path not in protected
        and (
            needs_step(path, task, known)
            if path in known
            else not is_input(path, task) and not is_made_by_program(path, task, new)
        )
    ]
    kept = [f for f in targets if f in named or f in known or f.rsplit("/", 1)[-1] in named] or targets
    if left_out := [path for path in distinct(files) if path not in targets]:
        repairs.append(f"left out of the files to write: {', '.join(left_out)} (given tests, or only read)")
    if unnamed := [path for path in distinct(targets) if path not in kept]:
        repairs.append(f"{NOT_NAMED}{', '.join(unnamed)}")
    return kept


def approach_from(draft: ApproachDraft) -> ApproachOutput:
    return ApproachOutput(
        approach=draft.approach.strip(),
        tech_stack=distinct(draft.tech_stack),
        architecture_pattern=draft.architecture_pattern.strip(),
        key_decisions=tuple(TechnicalDecision(**d.model_dump()) for d in draft.key_decisions),
        expected_outcomes=distinct(draft.expected_outcomes),
        alternatives=tuple(AlternativeApproach(**a.model_dump()) for a in draft.alternatives if a.name.strip()),
    )


def simple_plan(
    task: str, targets: Sequence[str], protected: Collection[str], existing: Collection[str] = ()
) -> DetailedPlan:
    """Return the plan of a task that needs no planning.

    It has one step per file, and one for all files that a program computes from existing ones. Without files it has one
    step for the whole task.
    """
    files = [f for f in targets if f not in protected]
    if not files:
        step = ExecutionStep(id="s1", name=WHOLE_TASK, description=task, step_type=StepType.COMMAND_EXECUTION)
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
    """Return the step `old` with the name, description, file and check of the draft. All else stays."""
    path = clean_path(draft.file)
    same_file = not old.writes or path in old.writes or not path or path in protected
    check = check_from_draft(draft.check, path)
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
    check = check_from_draft(draft.check, path)
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


def check_from_draft(draft: CheckDraft, file: str) -> Check | None:
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
    """Let steps that would rewrite given tests write a new file beside them, because the task asks for tests."""
    changed = []
    for number, step in steps:
        path = clean_path(step.file)
        if path in protected and is_test(path):
            existing = PurePosixPath(path)
            beside = str(existing.with_name(f"{existing.stem}_more{existing.suffix}"))
            repairs.append(f"step {number} writes {beside}, because the given tests in {path} stay as they are")
            step = step.model_copy(update={"file": beside, "description": step.description.replace(path, beside)})
        changed.append((number, step))
    return changed


def _without_protected_files(
    steps: list[tuple[int, StepDraft]], protected: Collection[str], repairs: list[str]
) -> list[tuple[int, StepDraft]]:
    allowed = [(n, s) for n, s in steps if clean_path(s.file) not in protected]
    if allowed and len(allowed) < len(steps):
        repairs.append(f"dropped {len(steps) - len(allowed)} steps that would rewrite given tests")
    return allowed or steps


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
            # Merging can turn a correct order into a cycle, because the second part of the step came later.
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
