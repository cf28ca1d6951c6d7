"""Turns the drafts of understanding and approach into their outputs, and repairs paths mechanically. Pure."""

import re
from collections.abc import Collection, Sequence
from fnmatch import fnmatch

from surefoot.core.phases import (
    AlternativeApproach,
    ApproachOutput,
    TaskComplexity,
    TechnicalDecision,
    UnderstandingOutput,
)
from surefoot.engine.planner.normalize import clean_path, distinct
from surefoot.prompting.project.file_roles import is_input, is_made_by_program, needs_step
from surefoot.prompting.project.task_text import files_named_in
from surefoot.prompting.schemas import ApproachDraft, UnderstandingDraft


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
    """Return what was understood, and the repairs that it needed.

    Of the files, those stay that the task names too or that exist: small models invent others, and write what they
    should have read. `trusted`: the model knows the files that it names, and how complex the task is.
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
    """Return paths relative to the workspace; patterns as the files that they match."""
    found: list[str] = []
    for path in paths:
        plain = path.strip().strip("`'\"")
        inside = plain.removeprefix(f"{root}/") if root else plain
        matching = [name for name in sorted(existing) if fnmatch(name, inside)] if re.search(r"[*?]", inside) else []
        relative = matching or [cleaned for cleaned in [clean_path(inside)] if cleaned]
        if matching or inside != plain or not relative:
            repairs.append(f"{plain!r} became {', '.join(relative[:8])}" if relative else f"left out {plain!r}")
        found += relative
    return found


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
    if left_out := [path for path in distinct(files) if path not in kept]:
        why = "given tests, files that are only read, or files that neither the task nor the folder has"
        repairs.append(f"left out of the files to write: {', '.join(left_out)} ({why})")
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
