"""The loop inside a step: propose an action, carry it out, run the checks, until they pass."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from surefoot.core.outcome import CheckResult, Failure, FailureKind, decisive, evidence_of
from surefoot.core.plan import Check, FileCheck, ParsesCheck, StepType
from surefoot.engine.executor.action import perform
from surefoot.engine.executor.approval import review
from surefoot.engine.executor.invention import found_nothing, invented_source, unreachable_source
from surefoot.engine.executor.missing_outputs import outputs_of_attempt
from surefoot.engine.executor.own_evidence import own_red
from surefoot.engine.executor.proposed import Proposed, load
from surefoot.engine.executor.repeats import repeats
from surefoot.engine.executor.step_criteria import UNMET, judge_step, unmet
from surefoot.engine.planner.revise import revise
from surefoot.engine.reflector.candidates import choose_candidate, chooses_candidate
from surefoot.engine.runtime.run import Run
from surefoot.journal import events as e
from surefoot.journal.state import Action, StepRun
from surefoot.prompting.drafts.short import StepDecision
from surefoot.prompting.proposal import Proposal
from surefoot.tools.tool import Writes

ROUNDS_AFTER_AN_ERROR = 2
"""Red rounds after a command that failed itself: the model sees its output, so a correction has a chance."""
MAX_REFUSALS = 3
"""How many refused proposals end an attempt of this loop. Conversations have a limit of their own."""


class AttemptFailed(Exception):
    """Ends an attempt. `run_step` catches it and records a `StepFinished` with the failure."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


@dataclass(slots=True)
class _Attempt:
    """The loop's memory of an attempt, rebuilt from the state when the attempt is resumed."""

    results: tuple[CheckResult, ...] = ()
    red_rounds: int = 0
    checked_after: int = -1
    """The number of actions after which the checks last ran."""
    trees: set[tuple[str, frozenset[str]]] = field(default_factory=set)
    """Each tree with the checks that failed on it: coming back to one of them is a loop."""
    pending: list[Proposal] = field(default_factory=list)
    """The rest of an answer. It is stored with a question to a person; otherwise a resumed attempt asks again."""
    has_new_parts: bool = False
    """Whether the answer has several parts, and not all of them were done before."""


def named_call(step_run: StepRun) -> Proposal:
    """Return the call that a step names, with the tool and parameters that a reset has changed."""
    step = step_run.step
    return Proposal("act", step_run.tool or step.tool, {**step.parameters, **step_run.parameters})


async def call_once(run: Run, step_run: StepRun, checks: Sequence[Check]) -> None:
    """Make the one call of a step that names its tool. No model is asked, and the call is not repeated here."""
    step = step_run.step
    if not step_run.actions:
        if step.step_type is StepType.TESTING and all_green(step_run.newest_results):
            return
        proposal = named_call(step_run)
        proposal, refusal = await review(run, step.id, proposal)
        if refusal:
            raise AttemptFailed(Failure(kind=FailureKind.DENIED, message=refusal, tool=proposal.tool))
        await perform(run, step_run, proposal, checked=bool(checks))
    action = step_run.actions[-1]
    if not action.ok:
        raise AttemptFailed(
            Failure(
                kind=FailureKind.TOOL_ERROR,
                message=f"{action.tool}: {action.summary}",
                evidence=action.summary,
                tool=action.tool,
                temporary=action.temporary,
            )
        )
    if checks:
        results = await run.verifier.check(checks, "after", step.id)
        if not all_green(results):
            raise AttemptFailed(red_failure(results, "its checks fail"))


async def act(run: Run, step_run: StepRun, checks: Sequence[Check]) -> None:
    """Act until the step is done. Raises AttemptFailed if it cannot be done.

    If a check failed before the step, it is done when its checks pass. If they passed before, it is done after its one
    action, or when the model says so and they still pass.
    """
    attempt = _resumed_attempt(run, step_run)
    if message := unreachable_source(run, step_run):
        raise AttemptFailed(Failure(kind=FailureKind.OUT_OF_REACH, message=message))
    while not await _is_complete(run, step_run, checks, attempt):
        _check_limits(run, step_run, attempt)
        if not attempt.pending:
            if chooses_candidate(step_run):
                proposals: Sequence[Proposal] = await choose_candidate(run, step_run, checks)
                _require_candidate(step_run, proposals, attempt)
            else:
                turn = await run.strategy.next_actions(step_run, attempt.results)
                proposals = turn.proposals
                if turn.revision is not None:
                    await _revise(run, step_run, turn.revision, attempt, acts=bool(proposals))
                if not proposals:
                    continue
            attempt.pending = list(proposals)
            attempt.has_new_parts = len(proposals) > 1 and not all(repeats(run.state, step_run, p) for p in proposals)
        if await _carry_out(run, step_run, checks, attempt):
            return


async def _revise(run: Run, step_run: StepRun, draft: StepDecision, attempt: _Attempt, *, acts: bool) -> None:
    """Change the plan as a decision asks. If that changes nothing and the decision has no action, it is refused."""
    revisions = run.state.revisions
    outcome = await revise(run, step_run.step.id, draft)
    if not acts and run.state.revisions == revisions:
        await _refuse(run, step_run, Proposal("act"), outcome, attempt)


async def _carry_out(run: Run, step_run: StepRun, checks: Sequence[Check], attempt: _Attempt) -> bool:
    """Carry out the next pending proposal, or refuse it. Returns True if the step is done."""
    step_id = step_run.step.id
    proposed = Proposed(tuple(attempt.pending), attempt.checked_after, attempt.has_new_parts)
    proposal = attempt.pending.pop(0)
    if proposal.decision == "replan":
        run.note(e.Decided(step_id=step_id, decision="replan", thought=proposal.thought))
        message = proposal.thought or "the plan does not work"
        raise AttemptFailed(Failure(kind=FailureKind.REPLAN_REQUESTED, message=message))
    if proposal.decision == "done":
        return await _accept_done(run, step_run, checks, attempt, proposal)
    repeated = "" if attempt.has_new_parts else repeats(run.state, step_run, proposal)
    reviewed, refusal = (proposal, repeated) if repeated else await review(run, step_id, proposal, proposed=proposed)
    if refusal:
        await _refuse(run, step_run, proposal, refusal, attempt)
    else:
        await perform(run, step_run, reviewed)
    return False


def _resumed_attempt(run: Run, step_run: StepRun) -> _Attempt:
    """Rebuild an attempt from the recorded results of its actions.

    The checks run again after the last action, unless the model has seen their results and a person was asked about its
    answer.
    """
    attempt = _Attempt(results=step_run.newest_results)
    if proposed := load(run, step_run):
        attempt.pending, attempt.has_new_parts = list(proposed.proposals), proposed.has_new_parts
        attempt.checked_after = proposed.checked_after
    known = max(attempt.checked_after, len(step_run.actions) - 1)
    for number, results in dict(step_run.failed_checks).items():
        if 0 < number <= known and not all_green(results):
            attempt.red_rounds += _counts_as_round(step_run.actions[number - 1])
            attempt.trees.add(tree_and_failing(results))
    return attempt


def _check_limits(run: Run, step_run: StepRun, attempt: _Attempt) -> None:
    if has_had_its_action(run, step_run) and not attempt.pending:
        raise AttemptFailed(red_failure(attempt.results, "the step's one action did not make its checks pass"))
    if len(step_run.actions) >= (run.config.max_actions_per_step or run.profile.max_actions):
        message = f"{len(step_run.actions)} actions and not done"
        raise AttemptFailed(with_evidence(FailureKind.MAX_ACTIONS, message, attempt.results))


def has_had_its_action(run: Run, step_run: StepRun) -> bool:
    """Whether the plan is static, and the one action of the step was carried out. Read-only calls do not count."""
    return not run.config.dynamic and any(not run.toolbox.get(a.tool).is_read_only for a in step_run.actions)


def _require_candidate(step_run: StepRun, proposals: Sequence[Proposal], attempt: _Attempt) -> None:
    if not proposals:
        message = f"none of the candidates was both usable and new ({step_run.candidates[-1].unusable})"
        raise AttemptFailed(with_evidence(FailureKind.LOOP, message, attempt.results))


async def _is_complete(run: Run, step_run: StepRun, checks: Sequence[Check], attempt: _Attempt) -> bool:
    """Whether the checks show that the step is done. Without an action, only a testing step can be done.

    Raises AttemptFailed if another action cannot help.
    """
    last = step_run.actions[-1] if step_run.actions else None
    if last is None:
        is_test = step_run.step.step_type is StepType.TESTING
        return is_test and all_green(attempt.results) and not own_red(step_run.step, attempt.results)
    if attempt.checked_after == len(step_run.actions) or (attempt.pending and last.ok):
        return False
    attempt.pending.clear()
    attempt.checked_after = len(step_run.actions)
    if run.toolbox.get(last.tool).writes is Writes.NONE:
        return False
    if last.tool == "run_python" and (name := invented_source(run, run.root)):
        raise AttemptFailed(
            Failure(
                kind=FailureKind.DENIED,
                message=f"{name} is an input that does not exist; the program invented its content",
            )
        )
    attempt.results = await run.verifier.check(checks, "after", step_run.step.id)
    made_files, missing = await outputs_of_attempt(run, step_run)
    if missing and found_nothing(run, step_run, attempt.results, made_files):
        message = f"the program succeeded without writing {missing[0]}; there may have been nothing to find"
        raise AttemptFailed(Failure(kind=FailureKind.OUT_OF_REACH, message=message))
    is_one_answer = run.step_kind(step_run).is_one_answer
    if all_green(attempt.results) and not own_red(step_run.step, attempt.results):
        # Checks that passed all along do not prove the step. Only a step of one action is done without more.
        one_action = is_one_answer or has_had_its_action(run, step_run)
        return _was_red_before(step_run) or (one_action and bool(last.ok))
    attempt.red_rounds += _counts_as_round(last)
    _require_progress(attempt)
    if is_one_answer and attempt.red_rounds >= _allowed_red_rounds(run, last):
        if made_files and missing:
            message = f"it made {', '.join(made_files)}, but not {', '.join(missing)}, and its checks fail"
            raise AttemptFailed(red_failure(attempt.results, message).with_(made=made_files, missing=missing))
        raise AttemptFailed(red_failure(attempt.results, "its checks fail"))
    return False


def _allowed_red_rounds(run: Run, last: Action) -> int:
    failed_by_itself = not last.ok and last.tool != "run_python"
    return ROUNDS_AFTER_AN_ERROR if failed_by_itself else run.profile.red_rounds


def _counts_as_round(action: Action) -> bool:
    """Whether an action counts as a round. A write that its tool refused does not."""
    return bool(action.ok) or action.tool in ("run_python", "run_command")


def _require_progress(attempt: _Attempt) -> None:
    now = tree_and_failing(attempt.results)
    if now in attempt.trees:
        message = "no progress: the files and the failing checks are the same as before"
        raise AttemptFailed(with_evidence(FailureKind.NO_PROGRESS, message, attempt.results))
    attempt.trees.add(now)


def tree_and_failing(results: Sequence[CheckResult]) -> tuple[str, frozenset[str]]:
    """Return the tree that checks ran on, and which of them fail. If neither has changed, there is no progress."""
    return results[0].tree if results else "", frozenset(r.check.key for r in results if not r.passed)


def _was_red_before(step_run: StepRun) -> bool:
    """Whether a decisive check failed before the first action of the step."""
    return any(not result.passed for result in decisive(step_run.results_before))


async def _accept_done(
    run: Run, step_run: StepRun, checks: Sequence[Check], attempt: _Attempt, proposal: Proposal
) -> bool:
    """Return whether the step is done, as the model says. Raises AttemptFailed if a check contradicts it.

    The model is told once about a criterion that is not met.
    """
    attempt.results = await run.verifier.check(checks, "after", step_run.step.id)
    was_told = any(UNMET in reason for reason in step_run.refused)
    if all_green(attempt.results) and not was_told and (not_met := unmet(await judge_step(run, step_run))):
        await _refuse(run, step_run, proposal, f"{UNMET}: {not_met}", attempt)
        return False
    run.note(e.Decided(step_id=step_run.step.id, decision="done", thought=proposal.thought))
    if not all_green(attempt.results):
        raise AttemptFailed(red_failure(attempt.results, "the model says it is done, and the checks say it is not"))
    return True


def all_green(results: Sequence[CheckResult]) -> bool:
    return all(result.passed for result in decisive(results))


def red_failure(results: Sequence[CheckResult], message: str) -> Failure:
    return with_evidence(FailureKind.CHECK_FAILED, message, results)


def with_evidence(kind: FailureKind, message: str, results: Sequence[CheckResult]) -> Failure:
    red = [r for r in decisive(results) if not r.passed]
    labels = "; ".join(r.check.label for r in red)
    # A weak check that fails (the file does not parse) explains the strong ones, so it comes first.
    red.sort(key=lambda r: not isinstance(r.check, FileCheck | ParsesCheck))
    evidence = evidence_of(red)
    return Failure(kind=kind, message=f"{message}: {labels}" if labels else message, evidence=evidence)


async def _refuse(run: Run, step_run: StepRun, proposal: Proposal, reason: str, attempt: _Attempt) -> None:
    refused = e.ActionRefused(step_id=step_run.step.id, tool=proposal.tool, arguments=proposal.arguments, reason=reason)
    await run.record(refused)
    attempt.pending.clear()
    if run.step_kind(step_run).is_one_answer and step_run.actions:
        # A model that is shown its own draft repeats it, at any temperature. Only a fresh start helps.
        raise AttemptFailed(red_failure(attempt.results, f"the correction was refused ({reason})"))
    if len(step_run.refused) >= MAX_REFUSALS:
        message = "the model keeps proposing what already failed"
        raise AttemptFailed(with_evidence(FailureKind.LOOP, message, attempt.results))
