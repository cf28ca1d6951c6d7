"""Count the model's mistakes in Surefoot's journals: unreadable answers, unknown tools and paths, repeated answers.

It also counts which answer completed a step.
"""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from surefoot.config.paths import journal_file, state_home
from surefoot.core.outcome import Failure, FailureKind
from surefoot.core.transitions import Rung, StepStatus
from surefoot.journal import events as e
from surefoot.journal.store.sqlite import SqliteJournal

MAX_RUNS = 1_000
OTHER_WORDS = "a question after the candidates"
_WRONG_PATH = ("there is no file", "outside the workspace", "is a folder", "No such file or directory")


def count_slips(home: Path) -> dict[str, int]:
    """Count over all runs in the journal under a home folder; empty if there is no journal."""
    path = journal_file(state_home({"HOME": str(home)}))
    if not path.exists():
        return {}
    journal = SqliteJournal(path, read_only=True)
    try:
        counts = Counter[str]()
        for run in journal.summaries(MAX_RUNS):
            counts += slips_of_run(record.event for record in journal.read(run.run_id))
        return dict(sorted(counts.items()))
    finally:
        journal.close()


def slips_of_run(events: Iterable[e.Event]) -> Counter[str]:
    counts = Counter[str]()
    answers: Counter[str] = Counter()
    purpose, with_candidates = dict[str, str](), set[str]()
    in_other_words = False
    for event in events:
        match event:
            case e.RungChosen(rung=Rung.REPAIR_STEP | Rung.REPLAN_TASK | Rung.NEXT_APPROACH) if with_candidates:
                in_other_words = True
            case e.ModelAnswered():
                counts[f"asked to {event.purpose}"] += 1
                counts["after candidates"] += in_other_words
                answers[event.step_id] += 1
                purpose[event.step_id] = event.purpose
                if event.unreadable:
                    counts[_kind(event.unreadable, event.purpose)] += 1
            case e.ActionRefused():
                counts[_kind(event.reason, "")] += 1
            case e.ActionFinished(ok=False) if any(sign in event.summary for sign in _WRONG_PATH):
                counts["wrong path"] += 1
            case e.CandidateTried():
                with_candidates.add(event.step_id)
                counts["candidates"] += 1
                if event.unusable:
                    counts[_kind(event.unusable, purpose[event.step_id])] += 1
            case e.StepFinished(failure=Failure(kind=FailureKind.UNREADABLE_ANSWER) as failure):
                counts[_kind(failure.message, purpose[event.step_id])] += 1
            case e.StepFinished(status=StepStatus.SUCCEEDED) if answers[event.step_id]:
                from_candidate = event.step_id in with_candidates
                which = OTHER_WORDS if in_other_words else _which_answer(answers[event.step_id], from_candidate)
                counts[f"done with {which}"] += 1
    return +counts


def _kind(reason: str, purpose: str) -> str:
    if any(sign in reason for sign in ("this was", "back and forth", "the same as", "changes nothing")):
        return "repeated"
    if "no tool" in reason:
        return f"wrong tool: {purpose}"
    if reason.startswith("the answer"):
        return f"unreadable: {purpose}"
    return f"broke off: {purpose}" if purpose else "refused"


def _which_answer(answers: int, from_candidate: bool) -> str:
    if from_candidate:
        return "a candidate"
    return "the first answer" if answers == 1 else "a later answer"
