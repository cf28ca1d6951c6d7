"""Reword the task for a small model after all its candidates have failed.

The repaired step and the new plan are made here without asking the model. Asked to correct its answer, a small model
repeats it; asked for a plan or an explanation, it loses track of the task. The repaired step shows how the answers
failed, which the candidates were not told. The new plan asks for one file at a time, or follows an alternative
approach.
"""

from surefoot.core.plan import StepKind
from surefoot.core.transitions import SETTLED, Rung
from surefoot.journal.state import RunState, StepRun
from surefoot.project.folder import is_test
from surefoot.prompting.context import approach_text, understood
from surefoot.prompting.drafts.short import PlanDraft, StepDraft
from surefoot.prompting.run_context import RunContext

MAX_FILES = 3
"""A step of more files is not split: each file would be one more question."""
EVIDENCE_CHARS = 800
CORRECT = (
    "Every answer so far fails in the way that is shown. Do exactly what the task says about that case, and write the "
    "rest as the task asks."
)
AFRESH = (
    "All answers so far were wrong in the same way. Write it in another way: one small part for each rule of the task, "
    "in the order of the task."
)


def is_further_try(run: RunContext, step_run: StepRun) -> bool:
    """Whether candidates have failed before this attempt, so that the question has to be another one."""
    return is_repaired(step_run) or (run.state.had_candidates and _in_later_plan(run.state))


def is_repaired(step_run: StepRun) -> bool:
    return step_run.rungs[-1:] == [Rung.REPAIR_STEP]


def _in_later_plan(state: RunState) -> bool:
    return bool(state.task_replan_count or state.approach_index)


def repaired_step(run: RunContext, step_run: StepRun) -> StepDraft:
    """Word the step differently. Its files and obligations do not change."""
    step = step_run.step
    return StepDraft(name=step.name, description=_described(run.state, step_run, CORRECT), type=step.step_type)


def replanned_task(run: RunContext, failed: StepRun) -> PlanDraft:
    """Plan the remaining steps without asking: the failed one reworded, or split into one per file, then the others."""
    drafts: list[StepDraft] = []
    for step_run in run.state.steps.values():
        if step_run.status in SETTLED:
            continue
        after = [len(drafts)] if drafts else []
        drafts += _parts(run, step_run, after) if step_run is failed else [_draft(step_run, after)]
    return PlanDraft(steps=drafts)


def what_refutes(step_run: StepRun) -> str:
    """Quote how the answers so far failed; in a new plan, the lessons instead."""
    if step_run.failures:
        return f"\n# Every answer so far fails with\n{step_run.failures[-1].evidence[:EVIDENCE_CHARS]}\n"
    lessons = "\n".join(f"- {note}" for note in dict.fromkeys(step_run.notes[-2:]))
    return f"\n# Wrong so far\n{lessons}\n" if lessons else ""


def _parts(run: RunContext, failed: StepRun, after: list[int]) -> list[StepDraft]:
    """Return the failed step in other words; as one step per file, if the task's files are known and few."""
    targets = failed.step.writes
    if run.step_kind(failed) is StepKind.FREE_ANSWER:
        targets = understood(run.state).target_files
    files = [path for path in targets if not is_test(path) and path not in run.state.protected]
    if not 1 < len(files) <= MAX_FILES:
        description = _described(run.state, failed, AFRESH)
        return [_draft(failed, after).model_copy(update={"description": description})]
    first = after[0] if after else 0
    return [
        StepDraft(
            name=f"Write {path}",
            description=f"Write {path} so that the task is fulfilled. {AFRESH}",
            file=path,
            after=[first + number] if first + number else [],
        )
        for number, path in enumerate(files)
    ]


def _draft(step_run: StepRun, after: list[int]) -> StepDraft:
    step = step_run.step
    file = step.writes[0] if len(step.writes) == 1 else ""
    return StepDraft(name=step.name, description=step.description, type=step.step_type, file=file, after=after)


def _described(state: RunState, step_run: StepRun, advice: str) -> str:
    """Return the step's own description, without the task, which is shown anyway, and with the advice."""
    assert state.task is not None
    own = step_run.step.description
    own = "" if own == state.task.text else own.partition(f"\n\n{CORRECT}")[0]
    approach = approach_text(state).strip() if state.approach_index else ""
    return "\n\n".join(filter(None, [own if own != CORRECT else "", approach, advice]))
