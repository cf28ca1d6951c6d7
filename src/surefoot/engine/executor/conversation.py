"""A step as a conversation: the model calls tools, several at a time, until it says that the step is done.

Every call gets exactly one result. Refusals, invalid calls and failed checks are results too. The work goes on while
the workspace, or the set of failing checks, changes.
"""

import asyncio
from collections.abc import Sequence
from itertools import groupby

from surefoot.core.outcome import CheckResult, Failure, FailureKind
from surefoot.core.plan import Check
from surefoot.core.transitions import SETTLED
from surefoot.engine.executor.action import perform
from surefoot.engine.executor.approval import review
from surefoot.engine.executor.idle import nothing_done
from surefoot.engine.executor.loop import (
    AttemptFailed,
    all_green,
    has_had_its_action,
    red_failure,
    tree_and_failing,
    with_evidence,
)
from surefoot.engine.executor.own_evidence import derived_checks, own_red, parts_missing_from, unwritten
from surefoot.engine.executor.step_criteria import UNMET, judge_step, unmet
from surefoot.engine.planner.revise import revise
from surefoot.engine.reflector.candidates import choose_candidate, chooses_candidate
from surefoot.engine.runtime.run import Run
from surefoot.engine.verifier.suite.weakened import weakened_by
from surefoot.errors import PathProtected
from surefoot.journal import events as e
from surefoot.journal.state import StepRun
from surefoot.project.asked_for import parts_asked_for
from surefoot.prompting.drafts.verbs import Verb
from surefoot.prompting.proposal import Proposal
from surefoot.prompting.results import failing_part, step_done
from surefoot.tools.context import NOT_WEAKENED
from surefoot.tools.tool import Writes

MAX_UNCHANGED_FINISHES = 3
"""The attempt ends when the model finishes the step this often with the same files and the same failing checks."""
MAX_UNCHANGED_CALLS = 2
"""How often the same call is carried out while nothing has changed."""
MAX_REFUSALS = 8
"""How many refused calls end an attempt in a conversation."""
MAX_IDLE_TURNS = 8
"""How many turns in a row may do nothing: calls that are invalid, or that only ask for the results of the checks."""
ALL_GREEN = "All checks pass."
NO_CHECKS = "There are no checks for this step."
REPLACE_CHECK = "If a check of the plan is wrong, not the work: replace it with change_steps and say why."
DO_IT = " Do it now, or finish the step again and say why it is not needed."
ONE_ACTION = "Not executed: the plan is static, and this step has had its one action."


async def converse(run: Run, step_run: StepRun, checks: Sequence[Check]) -> None:
    """Work on the step until its checks pass. Raises AttemptFailed if that does not happen."""
    if chooses_candidate(step_run):
        await _take_candidate(run, step_run, checks, await choose_candidate(run, step_run, checks))
        return
    if run.strategy.was_told_done(step_run) and await _is_still_done(run, step_run, checks):
        return
    checks = list(checks)
    results = step_run.newest_results
    idle_turns = 0
    while True:
        _check_limits(run, step_run, results, idle_turns)
        turn = await run.strategy.next_actions(step_run, results)
        done_before = _done_so_far(run, step_run)
        if await _carry_out(run, step_run, checks, turn.proposals):
            return
        idle_turns = idle_turns + 1 if _done_so_far(run, step_run) == done_before else 0
        if has_had_its_action(run, step_run):
            await _end_after_one_action(run, step_run, checks)
            return
        results = step_run.newest_results


def _done_so_far(run: Run, step_run: StepRun) -> tuple[int, ...]:
    """Count what has been done in the attempt. A turn after which the counts are equal has done nothing."""
    recorded = (step_run.actions, step_run.refused, step_run.failed_checks)
    return (*map(len, recorded), run.state.revisions)


async def _is_still_done(run: Run, step_run: StepRun, checks: Sequence[Check]) -> bool:
    return all_green(await run.verifier.check(checks or derived_checks(run, step_run), "after", step_run.step.id))


async def _take_candidate(run: Run, step_run: StepRun, checks: Sequence[Check], proposals: Sequence[Proposal]) -> None:
    """Carry out the candidate whose checks pass. Raises AttemptFailed if there is none, or they fail here."""
    if not proposals:
        tried = step_run.candidates[-1].results
        raise AttemptFailed(red_failure(tried, "none of the candidates passes its checks"))
    # An earlier process may have carried out the first ones.
    for proposal in proposals[len([action for action in step_run.actions if action.ok is not None]) :]:
        reviewed, refusal = await review(run, step_run.step.id, proposal)
        if refusal:
            raise AttemptFailed(Failure(kind=FailureKind.DENIED, message=refusal, tool=proposal.tool))
        await perform(run, step_run, reviewed)
    results = await run.verifier.check(checks, "after", step_run.step.id)
    if not all_green(results):
        raise AttemptFailed(red_failure(results, "the candidate passed its checks in a copy, and fails here"))
    run.note(e.Decided(step_id=step_run.step.id, decision="done", thought=proposals[0].thought))


async def _end_after_one_action(run: Run, step_run: StepRun, checks: Sequence[Check]) -> None:
    """End a step of a static plan, which has one action. Its checks decide, not the model."""
    action = step_run.actions[-1]
    results = await run.verifier.check(checks, "after", step_run.step.id)
    if not all_green(results):
        raise AttemptFailed(red_failure(results, "the step's one action did not make its checks pass"))
    if not action.ok:
        message = f"{action.tool}: {action.summary}"
        raise AttemptFailed(Failure(kind=FailureKind.TOOL_ERROR, message=message, tool=action.tool))


async def _carry_out(run: Run, step_run: StepRun, checks: list[Check], proposals: Sequence[Proposal]) -> bool:
    """Carry out one turn of the model: read-only calls at the same time, everything else in order.

    Returns True if the step is done. The rest of the turn then belongs to the next step.
    """
    blocked = failed_command = ""
    for only_reads, group in groupby(proposals, key=lambda proposal: _only_reads(run, proposal)):
        if only_reads:
            await asyncio.gather(*(_act(run, step_run, proposal) for proposal in group))
            continue
        for proposal in group:
            if blocked and proposal.decision in ("act", "done"):
                run.strategy.answer(step_run, proposal, f"Not executed, because {blocked}.", ok=False)
            elif failed_command and proposal.decision == "done":
                text = f"The step is not finished, because {failed_command} before it failed. Look at its result first."
                run.strategy.answer(step_run, proposal, text, ok=False)
            elif proposal.decision == "act" and has_had_its_action(run, step_run):
                run.strategy.answer(step_run, proposal, ONE_ACTION, ok=False)
            elif proposal.decision == "act":
                if not await _act(run, step_run, proposal):
                    is_write = run.toolbox.get(proposal.tool).writes is Writes.DECLARED
                    blocked, failed_command = (
                        (f"{proposal.tool} before it failed", "") if is_write else ("", proposal.tool)
                    )
            elif await _request(run, step_run, checks, proposal):
                return True
            elif proposal.decision == "done":
                blocked = f"step {step_run.step.id} is not finished"
    return False


def _only_reads(run: Run, proposal: Proposal) -> bool:
    return proposal.decision == "act" and run.toolbox.get(proposal.tool).is_read_only


async def _act(run: Run, step_run: StepRun, proposal: Proposal) -> bool:
    """Carry out one call, or refuse it. Returns whether it worked."""
    step_id = step_run.step.id
    refused = _unchanged_repetition(step_run, proposal)
    reviewed, refusal = (proposal, refused) if refused else await review(run, step_id, proposal)
    if refusal:
        await _refuse(run, step_run, proposal, refusal)
        return False
    await perform(run, step_run, reviewed)
    return any(action.call_id == proposal.call_id and action.ok for action in step_run.actions)


async def _refuse(run: Run, step_run: StepRun, proposal: Proposal, reason: str, hint: str = "") -> None:
    refused = e.ActionRefused(
        step_id=step_run.step.id,
        tool=proposal.tool,
        arguments=proposal.arguments,
        reason=reason,
        call_id=proposal.call_id,
    )
    await run.record(refused)
    hint = hint or (DO_IT if proposal.decision == "done" else "")
    run.strategy.answer(step_run, proposal, f"Refused: {reason}.{hint}", ok=False)


async def _request(run: Run, step_run: StepRun, checks: list[Check], proposal: Proposal) -> bool:
    """Handle a decision of the model that is not an action. Returns True if the step is done.

    A revision of the plan may change `checks`.
    """
    step_id = step_run.step.id
    match proposal.decision:
        case "done":
            return await _finish(run, step_run, checks, proposal)
        case "check":
            results = await run.verifier.check(checks, "during", step_id)
            text = (failing_part(results) or ALL_GREEN) if results else NO_CHECKS
            run.strategy.answer(step_run, proposal, text, ok=all_green(results))
        case "revise":
            assert proposal.revision is not None
            before = step_run.step
            text = await revise(run, step_id, proposal.revision)
            replaced, new = ({c.key: c for c in step.checks} for step in (before, step_run.step))
            if replaced.keys() != new.keys():
                others = [check for check in checks if check.key not in replaced]
                checks[:] = [*(check for check in new.values() if run.verifier.may_run(check)), *others]
                text = f"this step is now checked by: {', '.join(check.label for check in checks)}\n{text}"
            run.strategy.answer(step_run, proposal, text, ok=True)
        case "replan" | "cannot" as decision:
            run.note(e.Decided(step_id=step_id, decision="replan", thought=proposal.thought))
            kind = FailureKind.REPLAN_REQUESTED if decision == "replan" else FailureKind.OUT_OF_REACH
            raise AttemptFailed(Failure(kind=kind, message=proposal.thought))
        case "invalid":
            # The call cannot be carried out, and `thought` says why.
            run.strategy.answer(step_run, proposal, proposal.thought, ok=False)
    return False


async def _finish(run: Run, step_run: StepRun, checks: Sequence[Check], proposal: Proposal) -> bool:
    """End the step as the model asks and return True, or refuse and return False.

    It is refused if a check fails, given tests were weakened, nothing was done, a criterion is not met, or a part that
    the task asks for is missing. Raises AttemptFailed if there is no progress.
    """
    step_id = step_run.step.id
    results = await run.verifier.check(checks or derived_checks(run, step_run), "after", step_id)
    if all_green(results) and not own_red(step_run.step, results):
        if (weakened := await weakened_by(run, step_run)) is not None:
            await _refuse_weakened(run, step_run, proposal, weakened)
            return False
        no_work = nothing_done(run, step_run)
        if no_work is not None and not _was_reminded(step_run):
            await _refuse(run, step_run, proposal, no_work.message)
            return False
        if (missing_part := unwritten(run, step_run)) and not _was_reminded(step_run):
            await _refuse(run, step_run, proposal, missing_part)
            return False
        if not _was_reminded(step_run) and (not_met := unmet(await judge_step(run, step_run))):
            await _refuse(run, step_run, proposal, f"{UNMET}: {not_met}")
            return False
        if missing := await _missing_parts(run, step_run):
            reason = f"the task asks for {', '.join(missing)}, and no such file was changed"
            await _refuse(run, step_run, proposal, reason)
            return False
        run.note(e.Decided(step_id=step_id, decision="done", thought=proposal.thought))
        text = f"{step_done(step_id)} {ALL_GREEN if results else NO_CHECKS}"
        run.strategy.answer(step_run, proposal, text, ok=True)
        return True
    equal = sum(tree_and_failing(earlier) == tree_and_failing(results) for _, earlier in step_run.failed_checks)
    if equal >= MAX_UNCHANGED_FINISHES:
        message = "no progress: the files and the failing checks are the same as before"
        raise AttemptFailed(with_evidence(FailureKind.NO_PROGRESS, message, results))
    if not run.config.dynamic:
        raise AttemptFailed(red_failure(results, "its checks fail"))
    same = "\n\nNothing has changed since you last finished the step." if equal > 1 else ""
    planned = any(not r.passed and r.check in step_run.step.checks and r.check.origin == "plan" for r in results)
    hint = f"\n\n{REPLACE_CHECK}" if planned else ""
    run.strategy.answer(step_run, proposal, f"Not done, this fails:\n\n{failing_part(results)}{same}{hint}", ok=False)
    return False


async def _refuse_weakened(run: Run, step_run: StepRun, proposal: Proposal, error: PathProtected) -> None:
    """Refuse to end a step that has weakened given tests, so that the model restores them.

    Raises AttemptFailed if the model keeps finishing the step without restoring them.
    """
    reason = str(error)
    again = step_run.refused.count(f"{proposal.tool}: {reason}") + 1
    if again >= MAX_UNCHANGED_FINISHES:
        raise AttemptFailed(Failure(kind=FailureKind.NO_PROGRESS, message=reason, evidence=error.remedy))
    await _refuse(run, step_run, proposal, reason, hint=f" Restore them: {error.remedy}.")


async def _missing_parts(run: Run, step_run: StepRun) -> list[str]:
    """Return the parts that the task asks for and no step has touched.

    Empty if other steps are left, or the model was reminded before.
    """
    others = [other for other in run.state.steps.values() if other is not step_run and other.status not in SETTLED]
    if others or _was_reminded(step_run) or not parts_asked_for(run.task.text):
        return []
    changes = await asyncio.to_thread(run.workspace.changes, run.state.snapshot)
    return await parts_missing_from(run, changes)


def _was_reminded(step_run: StepRun) -> bool:
    """Whether `finish_step` was refused before for a reason that the model may overrule. Such a reason is given once;
    weakened tests are refused every time."""
    ends = [reason for reason in step_run.refused if reason.startswith(f"{Verb.FINISH_STEP}:")]
    return any(NOT_WEAKENED not in reason for reason in ends)


def _check_limits(run: Run, step_run: StepRun, results: Sequence[CheckResult], idle_turns: int) -> None:
    limit = run.config.max_actions_per_step or run.profile.max_actions
    if len(step_run.actions) >= limit:
        message = f"{len(step_run.actions)} actions and not done"
        raise AttemptFailed(with_evidence(FailureKind.MAX_ACTIONS, message, results))
    if len(step_run.refused) >= MAX_REFUSALS:
        message = f"the model keeps proposing what is refused ({step_run.refused[-1]})"
        raise AttemptFailed(with_evidence(FailureKind.LOOP, message, results))
    if idle_turns >= MAX_IDLE_TURNS:
        message = f"{idle_turns} turns in a row did nothing: their calls were invalid, or only asked about the checks"
        raise AttemptFailed(with_evidence(FailureKind.LOOP, message, results))


def _unchanged_repetition(step_run: StepRun, proposal: Proposal) -> str:
    """Return why a call is refused as a repetition; empty if it is new, or a call since has changed a file."""
    times = 0
    for action in reversed(step_run.actions):
        if action.fingerprint == proposal.fingerprint and not action.temporary:
            times += 1
        if action.changed:
            break
    return "nothing has changed since this was done, and its result is above" if times >= MAX_UNCHANGED_CALLS else ""
