"""The status of a run, from its state and from whether a process drives it now. Pure.

The view, the server, the report and the commands use it, so they agree on the status. `history/status.py` has it for
lists of runs, which are not folded, and says which process drives a run. Imports little, because both need it.
"""

from collections.abc import Collection
from typing import TYPE_CHECKING, NamedTuple

from surefoot.core.transitions import RunStatus, Stage, Verdict

if TYPE_CHECKING:
    from surefoot.journal.state import RunState


class StatusFacts(NamedTuple):
    """The facts that determine the status."""

    stage: Stage
    verdict: Verdict | None
    """None if the run has not ended."""
    live: bool
    is_undone: bool = False
    is_plan: bool = False
    asks: bool = False
    is_interrupted: bool = False
    as_asked: bool = False
    is_remote: bool = False


def status_from(facts: StatusFacts) -> RunStatus:
    if facts.is_plan:
        # A plan changes no files, so an undo does not change its status.
        return "plan"
    if facts.is_undone:
        return "undone"
    if facts.verdict is not None:
        return "done" if facts.verdict in (Verdict.VERIFIED, Verdict.UNVERIFIED) else "failed"
    if facts.asks:
        return "waiting"
    if facts.live and not facts.is_interrupted:
        return "running"
    if facts.stage is Stage.WAITING or facts.as_asked:
        return "paused"
    return "queued" if facts.is_remote else "interrupted"


def status_of(state: "RunState", *, live: bool, answered: Collection[str] = ()) -> RunStatus:
    """The status of a run. `answered` are the ids of questions whose answers the run has not read yet."""
    interruption = state.interruption
    return status_from(
        StatusFacts(
            stage=state.stage,
            verdict=state.outcome.verdict if state.outcome else None,
            live=live,
            is_undone=state.undone is not None,
            is_plan=is_plan(state),
            asks=any(question.id not in answered for question in state.open_questions),
            is_interrupted=interruption is not None,
            as_asked=interruption is not None and interruption.as_asked,
            is_remote=state.remote,
        )
    )


def is_plan(state: "RunState") -> bool:
    """Whether only a plan was asked for, and it is made. Every other completed run was validated."""
    return (
        state.outcome is not None
        and state.outcome.verdict is Verdict.UNVERIFIED
        and state.stage is Stage.COMPLETED
        and state.validation is None
        and state.plan is not None
    )


def has_halted(state: "RunState") -> bool:
    """Whether the journal says that the run was interrupted or paused. Its process may need a moment to end.

    A run that asks a question is not halted: its process may be waiting for the answer.
    """
    return state.interruption is not None or (state.stage is Stage.WAITING and not state.open_questions)
