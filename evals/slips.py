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
    purpose, chosen = dict[str, str](), set[str]()
    for event in events:
        match event:
            case e.ModelAnswered():
                counts[f"asked to {event.purpose}"] += 1
                answers[event.step_id] += 1
                purpose[event.step_id] = event.purpose
                if event.unreadable:
                    counts[_kind(event.unreadable, event.purpose)] += 1
            case e.ActionRefused():
                counts[_kind(event.reason, "")] += 1
            case e.ActionFinished(ok=False) if any(sign in event.summary for sign in _WRONG_PATH):
                counts["wrong path"] += 1
            case e.CandidateTried():
                chosen.add(event.step_id)
                counts["candidates"] += 1
                if event.unusable:
                    counts[_kind(event.unusable, purpose[event.step_id])] += 1
            case e.StepFinished(failure=Failure(kind=FailureKind.UNREADABLE_ANSWER) as failure):
                counts[_kind(failure.message, purpose[event.step_id])] += 1
            case e.StepFinished(status=StepStatus.SUCCEEDED) if answers[event.step_id]:
                counts[f"done with {_which(answers[event.step_id], event.step_id in chosen)}"] += 1
    return counts


def _kind(why: str, purpose: str) -> str:
    if any(sign in why for sign in ("this was", "back and forth", "the same as", "changes nothing")):
        return "repeated"
    if "no tool" in why:
        return f"wrong tool: {purpose}"
    if why.startswith("the answer"):
        return f"unreadable: {purpose}"
    return f"broke off: {purpose}" if purpose else "refused"


def _which(answers: int, chosen: bool) -> str:
    if chosen:
        return "a candidate"
    return "the first answer" if answers == 1 else "a later answer"
