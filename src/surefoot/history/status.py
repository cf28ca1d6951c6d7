"""The statuses of the runs in a list, and which runs a process drives now.

A process is found by the lock of the workspace, or by its lease if the journal is in a database. Imports little,
because `surefoot list` needs it.
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from surefoot.core.transitions import RunStatus, Stage, Verdict
from surefoot.journal.run_status import StatusFacts, status_from
from surefoot.journal.store.base import Reader, RunSummary
from surefoot.workspace.lock import running_in

if TYPE_CHECKING:
    from surefoot.config.storage import Storage

_OPEN_KINDS = ("run_created", "run_resumed", "run_interrupted", "question_asked", "question_answered")


def listed_statuses(runs: Sequence[RunSummary], reader: Reader, live: Collection[str]) -> list[RunStatus]:
    """The statuses of the runs in a list. `live` are the ids of those that a process drives.

    The runs are not folded. A few of their events are read, with two queries for all runs.
    """
    undecided = [run.run_id for run in runs if not has_verdict(run) and not run.undone]
    maybe_plans = [run.run_id for run in runs if (run.stage, run.verdict) == (Stage.COMPLETED, Verdict.UNVERIFIED)]
    events: dict[str, list[tuple[str, bytes]]] = {run_id: [] for run_id in undecided}
    for run_id, kind, body in reader.bodies(undecided, _OPEN_KINDS) if undecided else ():
        events[run_id].append((kind, body))
    validated = {body.run_id for body in reader.bodies(maybe_plans, ["validated"])} if maybe_plans else set()
    plans = set(maybe_plans) - validated
    statuses = []
    for run in runs:
        verdict = run.verdict if has_verdict(run) else None
        facts = StatusFacts(
            run.stage, verdict, run.run_id in live, is_undone=bool(run.undone), is_plan=run.run_id in plans
        )
        if run.run_id in events:
            facts = _with_events(facts, run.run_id, events[run.run_id], reader)
        statuses.append(status_from(facts))
    return statuses


def has_verdict(run: RunSummary) -> bool:
    return run.verdict not in (None, Verdict.INTERRUPTED)


def _with_events(facts: StatusFacts, run_id: str, events: Iterable[tuple[str, bytes]], reader: Reader) -> StatusFacts:
    """The facts, completed from some events in the same way as the reducers do it."""
    asked: set[str] = set()
    interrupted = as_asked = remote = False
    for kind, body in events:
        fields = json.loads(body)
        match kind:
            case "run_created":
                remote = fields.get("remote", False)
            case "run_resumed":
                interrupted = as_asked = False
            case "run_interrupted":
                interrupted, as_asked = True, fields.get("as_asked", False)
            case "question_asked":
                asked.add(fields["question_id"])
            case "question_answered":
                asked.discard(fields["question_id"])
    asks = bool(asked and asked - unread_answers(reader, run_id))
    return facts._replace(asks=asks, is_interrupted=interrupted, as_asked=as_asked, is_remote=remote)


def unread_answers(reader: Reader, run_id: str) -> set[str]:
    """The ids of the questions whose answers are in the inbox of a run."""
    from surefoot.journal.messages import answered_in

    return answered_in(reader.inbox(run_id))


# -- processes -----------------------------------------------------------------------------------------------------


def is_live(run_id: str, folder: Path, home: Path, driven: Collection[str]) -> bool:
    """Whether a process drives a run now. `driven` are the runs that have a lease (`RunHeads.driven`)."""
    return run_id in driven or running_in(folder, home) == run_id


def live_runs(runs: Mapping[str, Path], home: Path, storage: "Storage | None" = None) -> frozenset[str]:
    """The ids of the runs that a process drives now. `runs` maps run ids to folders."""
    if not runs:
        return frozenset()
    from surefoot.journal.store.opening import open_heads

    heads = open_heads(home, storage)
    try:
        driven = heads.driven(list(runs))
    finally:
        heads.close()
    return frozenset(run_id for run_id, folder in runs.items() if is_live(run_id, folder, home, driven))
