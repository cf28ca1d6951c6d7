"""Where a model slips, counted from the journals that Surefoot leaves: what could not be read, named a tool or a path
that is not there, or repeated itself; and which answer it was that a step succeeded with."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from surefoot import events as e
from surefoot.machine import StepStatus
from surefoot.outcome import Failure, FailureKind
from surefoot.paths import journal_file, state_home
from surefoot.store.sqlite import SqliteJournal

MANY = 1_000
_WRONG_PATH = ("there is no file", "outside the workspace", "is a folder", "No such file or directory")


def slips(home: Path) -> dict[str, int]:
    """Of all runs in the journal under a home folder; nothing where there is none."""
    path = journal_file(state_home({"HOME": str(home)}))
    if not path.exists():
        return {}
    journal = SqliteJournal(path, read_only=True)
    try:
        counts = Counter[str]()
        for run in journal.summaries(MANY):
            counts += of_run(record.event for record in journal.read(run.run_id))
        return dict(sorted(counts.items()))
    finally:
        journal.close()


def of_run(events: Iterable[e.Event]) -> Counter[str]:
    counts = Counter[str]()
    answers: Counter[str] = Counter()
    chosen: set[str] = set()
    for event in events:
        match event:
            case e.ModelAnswered():
                counts[f"asked to {event.purpose}"] += 1
                answers[event.step_id] += 1
                if event.unreadable:
                    kind = "wrong tool" if "no tool" in event.unreadable else "unreadable"
                    counts[f"{kind}: {event.purpose}"] += 1
            case e.ActionRefused():
                counts["repeated" if "this was" in event.reason or "back and forth" in event.reason else "refused"] += 1
            case e.ActionFinished(ok=False) if any(sign in event.summary for sign in _WRONG_PATH):
                counts["wrong path"] += 1
            case e.CandidateTried():
                chosen.add(event.step_id)
                counts["candidates"] += 1
                counts["unreadable: write"] += event.unusable.startswith("the answer ")
                counts["repeated"] += "the same as" in event.unusable or "was tried" in event.unusable
            case e.StepFinished(failure=Failure(kind=FailureKind.UNREADABLE_ANSWER)):
                counts["unreadable: write"] += 1
            case e.StepFinished(status=StepStatus.SUCCEEDED) if answers[event.step_id]:
                counts[f"done with {_which(answers[event.step_id], event.step_id in chosen)}"] += 1
    return +counts


def _which(answers: int, chosen: bool) -> str:
    if chosen:
        return "a candidate"
    return "the first answer" if answers == 1 else "a later answer"
