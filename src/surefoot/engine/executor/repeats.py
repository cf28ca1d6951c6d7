"""Finds proposals that only repeat an action of this attempt, of an earlier one, or of an earlier plan. Pure.

This is for steps without a conversation (`loop.py`). A conversation has a rule of its own (`conversation.py`)."""

from surefoot.journal.state import RunState, StepRun
from surefoot.prompting.proposal import Proposal

IN_EARLIER_PLAN = "exactly this was tried in an earlier plan, and the checks failed"


def repeats(state: RunState, step_run: StepRun, proposal: Proposal) -> str:
    """Return why a proposal is refused as a repetition; empty if it is not one."""
    mark = proposal.fingerprint
    if mark in step_run.failed_fingerprints:
        return "exactly this was tried in an earlier attempt, and the checks failed"
    if not step_run.actions and mark in failed_in_earlier_plans(state, step_run):
        return IN_EARLIER_PLAN
    if step_run.actions and any(candidate.fingerprint == mark for candidate in step_run.candidates):
        return "exactly this was a candidate, and the checks failed"
    times = sum(action.fingerprint == mark for action in step_run.actions)
    if times and (proposal.body or proposal.tool in ("write_file", "edit_file")):
        return "exactly this was just done, and the checks still fail"
    marks = [action.fingerprint for action in step_run.actions[-3:]]
    if len(marks) == 3 and marks[0] == marks[2] != marks[1] == mark:
        return "this goes back and forth between two actions"
    if times >= 2:
        return "this call was made twice before in this attempt"
    return ""


def failed_in_earlier_plans(state: RunState, step_run: StepRun) -> frozenset[str]:
    """Return the fingerprints of answers that failed in earlier plans, on the same files and by a check of this step.

    On other files, or for other checks, the same answer may be right.
    """
    if not step_run.results_before:
        return frozenset()
    tree, checks = step_run.results_before[0].tree, {result.check.key for result in step_run.results_before}
    return frozenset(f.fingerprint for f in state.failed_answers if f.tree == tree and not checks.isdisjoint(f.red))
