"""What a small model is asked after all its candidates have failed: the same in other words, one question per layer.

No model is asked for a plan here. The repaired step shows the best answer with what refutes it and asks for reasons
before code; the new plan starts afresh, one file at a time, or in the way of an alternative approach.
"""

from surefoot.core.plan import StepKind
from surefoot.core.transitions import SETTLED, Rung
from surefoot.journal.events import CandidateTried
from surefoot.journal.state import RunState, StepRun
from surefoot.prompting.context import approach_text, quoted, understood
from surefoot.prompting.project.folder import is_test
from surefoot.prompting.schemas import PlanDraft, StepDraft
from surefoot.prompting.view import RunView

MAX_FILES = 3
"""A step of more files is not split: each file would be one more question."""
EVIDENCE_CHARS = 800
CORRECT = (
    "The answer that is shown is wrong, and so were all others. First work out by hand, in a few short sentences, what "
    "the failing example must give and which rule of the task says so. Then write it so that it does."
)
AFRESH = (
    "All answers so far were wrong in the same way. Start afresh: list the rules of the task one by one, in short "
    "sentences, and then write code that follows each of them in order."
)


def is_further_try(run: RunView, step_run: StepRun) -> bool:
    """Whether candidates have failed before this attempt, so that the question has to be another one."""
    state = run.state
    later_plan = bool(state.task_replan_count or state.approach_index)
    return step_run.rungs[-1:] == [Rung.REPAIR_STEP] or (state.had_candidates and later_plan)


def repaired_step(run: RunView, step_run: StepRun) -> StepDraft:
    """Word the step differently. Its files and obligations stay."""
    step = step_run.step
    return StepDraft(name=step.name, description=_described(run.state, step_run, CORRECT), type=step.step_type)


def replanned_task(run: RunView, failed: StepRun) -> PlanDraft:
    """Plan what is left without asking: the failed step afresh, one step per file if it had several, then the rest."""
    drafts: list[StepDraft] = []
    for step_run in run.state.steps.values():
        if step_run.status in SETTLED:
            continue
        after = [len(drafts)] if drafts else []
        drafts += _parts(run, step_run, after) if step_run is failed else [_draft(step_run, after)]
    return PlanDraft(steps=drafts)


def what_refutes(run: RunView, step_run: StepRun) -> str:
    """Quote the best answer so far and what fails with it; in a new plan, what is known of the failure."""
    if not step_run.failures:
        lessons = "\n".join(f"- {note}" for note in dict.fromkeys(step_run.notes[-2:]))
        return f"\n# Wrong so far\n{lessons}\n" if lessons else ""
    best = _best(step_run)
    code = run.journal.get_blob(best.body).decode() if best is not None else ""
    answer = quoted("An answer that fails", code) if code else ""
    return f"{answer}\n# It fails with\n{step_run.failures[-1].evidence[:EVIDENCE_CHARS]}\n"


def _best(step_run: StepRun) -> CandidateTried | None:
    usable = [c for c in step_run.candidates if not c.unusable and c.tool and c.body]
    return max(usable, key=lambda c: sum(result.passed for result in c.results), default=None)


def _parts(run: RunView, failed: StepRun, after: list[int]) -> list[StepDraft]:
    """Return the failed step in other words; as one step per file, if the task's files are known and few."""
    targets = understood(run.state).target_files if run.step_kind(failed) is StepKind.FREE_ANSWER else ()
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
