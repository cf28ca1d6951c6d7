"""Inside a step: choose one action from what the last one showed, do it, look at the checks, until they pass."""

from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field

from surefoot import events as e
from surefoot.gates import decisive
from surefoot.outcome import CheckResult, Failure, FailureKind
from surefoot.phases.approving import not_allowed
from surefoot.phases.candidates import choose, is_choosing
from surefoot.phases.computing import found_nothing, made_up, out_of_reach
from surefoot.phases.deciding import is_one_answer, named_call, next_proposals
from surefoot.phases.fingerprints import fingerprint
from surefoot.phases.performing import perform
from surefoot.phases.proposal import Proposal
from surefoot.plan import Check, FileCheck, ParsesCheck, StepType
from surefoot.run import Run
from surefoot.state import Action, StepRun
from surefoot.tools.base import Writes

MAX_RED_ROUNDS = 2
"""Actions that left the checks red before an attempt is given up: a fresh start beats a third correction. A small model
that is shown its own answer gives it again, so with one of those it beats the first."""
MAX_REFUSALS = 3


class StepFailed(Exception):
    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


@dataclass(slots=True)
class _Round:
    """What the loop remembers of this attempt, rebuilt from the state when it is resumed."""

    red: int = 0
    results: tuple[CheckResult, ...] = ()
    looked_after: int = field(default=-1)
    seen: set[tuple[str, frozenset[str]]] = field(default_factory=set)
    """Trees with what failed on them: coming back to one of them is going in circles."""
    pending: list[Proposal] = field(default_factory=list)
    """What is left to do of an answer that says several things; a process that goes on later asks anew."""
    several: bool = False


def act_until_done(run: Run, mine: StepRun, checks: Sequence[Check]) -> Awaitable[None]:
    return _call_once(run, mine, checks) if mine.step.tool else _choose_and_act(run, mine, checks)


async def _call_once(run: Run, mine: StepRun, checks: Sequence[Check]) -> None:
    """A step that names its tool is one call of it: no model is asked, and the call is not tried again here."""
    step = mine.step
    if not mine.actions:
        if step.step_type is StepType.TESTING and _all_green(mine.checks or mine.baseline):
            return
        proposal = named_call(mine)
        if reason := await not_allowed(run, step.id, proposal):
            raise StepFailed(Failure(kind=FailureKind.DENIED, message=reason, tool=proposal.tool))
        await perform(run, mine, proposal, checked=bool(checks))
    done = mine.actions[-1]
    if not done.ok:
        raise StepFailed(
            Failure(
                kind=FailureKind.TOOL_ERROR,
                message=f"{done.tool}: {done.summary}",
                evidence=done.summary,
                tool=done.tool,
                temporary=done.temporary,
            )
        )
    if checks:
        results = await run.verifier.check(checks, "after", step.id)
        if not _all_green(results):
            raise StepFailed(_red(results, "its checks fail"))


async def _choose_and_act(run: Run, mine: StepRun, checks: Sequence[Check]) -> None:
    step_id, here = mine.step.id, _round_so_far(mine)
    if message := out_of_reach(run, mine.step):
        raise StepFailed(Failure(kind=FailureKind.OUT_OF_REACH, message=message))
    while True:
        if await _complete(run, mine, checks, here):
            return
        if mine.actions and not run.config.dynamic and not here.pending:
            raise StepFailed(_red(here.results, "the step's one action did not make its checks pass"))
        if len(mine.actions) >= run.config.max_actions_per_step:
            raise StepFailed(
                _with_evidence(FailureKind.MAX_ACTIONS, f"{len(mine.actions)} actions and not done", here.results)
            )
        proposal = await _proposal(run, mine, checks, here)
        if proposal.decision == "replan":
            run.note(e.Decided(step_id=step_id, decision="replan", thought=proposal.thought))
            raise StepFailed(
                Failure(kind=FailureKind.REPLAN_REQUESTED, message=proposal.thought or "the plan does not work")
            )
        if proposal.decision == "done":
            await _accept_done(run, mine, checks, here, proposal)
            return
        if not here.several and (reason := _repeats(mine, proposal)):
            await _refuse(run, mine, proposal, reason, here)
            continue
        if reason := await not_allowed(run, step_id, proposal):
            await _refuse(run, mine, proposal, reason, here)
            continue
        await perform(run, mine, proposal)


def _round_so_far(mine: StepRun) -> _Round:
    """At the beginning of an attempt nothing; when it is resumed, what was found after each action but the last, after
    which everything is looked at again."""
    here = _Round(results=mine.checks or mine.baseline)
    for number, results in dict(mine.red_looks).items():
        if 0 < number < len(mine.actions) and not _all_green(results):
            here.red += _is_a_try(mine.actions[number - 1])
            here.seen.add(_tree_and_failing(results))
    return here


async def _proposal(run: Run, mine: StepRun, checks: Sequence[Check], here: _Round) -> Proposal:
    if not here.pending:
        here.pending = await _proposals(run, mine, checks, here.results)
        # Of several things in one answer some may be as before: only when all are, it is the same answer.
        here.several = len(here.pending) > 1 and not all(_repeats(mine, proposal) for proposal in here.pending)
    return here.pending.pop(0)


async def _proposals(
    run: Run, mine: StepRun, checks: Sequence[Check], results: Sequence[CheckResult]
) -> list[Proposal]:
    if not is_choosing(mine):
        return await next_proposals(run, mine, results)
    if proposals := await choose(run, mine, checks):
        return proposals
    message = f"none of the candidates was both usable and new ({mine.candidates[-1].unusable})"
    raise StepFailed(_with_evidence(FailureKind.LOOP, message, results))


async def _complete(run: Run, mine: StepRun, checks: Sequence[Check], here: _Round) -> bool:
    """True when programs say the step is done. Without an action of its own, only a testing step can be."""
    last = mine.actions[-1] if mine.actions else None
    if last is None:
        return mine.step.step_type is StepType.TESTING and _all_green(here.results)
    if here.looked_after == len(mine.actions) or (here.pending and last.ok):
        return False
    here.pending.clear()
    here.looked_after = len(mine.actions)
    if run.toolbox.get(last.tool).writes is Writes.NONE:
        return False
    if last.tool == "run_python" and (name := made_up(run, run.root)):
        raise StepFailed(Failure(kind=FailureKind.DENIED, message=f"{name} is not there, and was made up to be read"))
    here.results = await run.verifier.check(checks, "after", mine.step.id)
    if found_nothing(run, mine, here.results):
        message = f"the program ended well and wrote no {mine.step.writes[0]}: what it looked for may not be there"
        raise StepFailed(Failure(kind=FailureKind.OUT_OF_REACH, message=message))
    whole = is_one_answer(run, mine.step)
    if _all_green(here.results):
        # Green all along, the checks only guard: then there is more to a step than them, unless it was done at once.
        return _was_red(mine) or (whole and bool(last.ok))
    here.red += _is_a_try(last)
    _look_for_progress(here)
    if whole and here.red >= _patience(run, last):
        raise StepFailed(_red(here.results, "its checks fail"))
    return False


def _patience(run: Run, last: Action) -> int:
    """A small model is shown a command that broke off, and nothing else that it did: it would do it again."""
    shown = not last.ok and last.tool != "run_python"
    return MAX_RED_ROUNDS if shown or not run.model.traits.small else 1


def _is_a_try(action: Action) -> bool:
    """A write that was refused by its tool is none."""
    return bool(action.ok) or action.tool in ("run_python", "run_command")


def _look_for_progress(here: _Round) -> None:
    now = _tree_and_failing(here.results)
    if now in here.seen:
        message = "the workspace and what fails in it are the same as before: no progress"
        raise StepFailed(_with_evidence(FailureKind.NO_PROGRESS, message, here.results))
    here.seen.add(now)


def _tree_and_failing(results: Sequence[CheckResult]) -> tuple[str, frozenset[str]]:
    return results[0].tree if results else "", frozenset(r.check.key for r in results if not r.passed)


def _was_red(mine: StepRun) -> bool:
    return any(not result.passed for result in decisive(mine.baseline))


async def _accept_done(run: Run, mine: StepRun, checks: Sequence[Check], here: _Round, proposal: Proposal) -> None:
    """The model says it is done. That counts only where there is nothing a program could look at."""
    here.results = await run.verifier.check(checks, "after", mine.step.id)
    run.note(e.Decided(step_id=mine.step.id, decision="done", thought=proposal.thought))
    if not _all_green(here.results):
        raise StepFailed(_red(here.results, "the model says it is done, and the checks say it is not"))


def _all_green(results: Sequence[CheckResult]) -> bool:
    return all(result.passed for result in decisive(results))


def _red(results: Sequence[CheckResult], message: str) -> Failure:
    return _with_evidence(FailureKind.CHECK_FAILED, message, results)


def _with_evidence(kind: FailureKind, message: str, results: Sequence[CheckResult]) -> Failure:
    red = [r for r in decisive(results) if not r.passed]
    labels = "; ".join(r.check.label for r in red)
    # A weak check that is red (the file does not parse) explains the strong ones: it comes first.
    red.sort(key=lambda r: not isinstance(r.check, FileCheck | ParsesCheck))
    evidence = "\n".join(f"{r.check.label}\n{r.detail}" for r in red[:2])
    return Failure(kind=kind, message=f"{message}: {labels}" if labels else message, evidence=evidence)


# -- no blind repeats ----------------------------------------------------------------------------------------------


def _repeats(mine: StepRun, proposal: Proposal) -> str:
    mark = fingerprint(proposal.tool, proposal.arguments, proposal.body)
    if mark in mine.failed_fingerprints:
        return "exactly this was tried in an earlier attempt, and the checks failed"
    if mine.actions and any(candidate.fingerprint == mark for candidate in mine.candidates):
        return "exactly this was a candidate, and the checks failed"
    times = sum(action.fingerprint == mark for action in mine.actions)
    if times and (proposal.body or proposal.tool in ("write_file", "edit_file")):
        return "exactly this was just done, and the checks still fail"
    marks = [action.fingerprint for action in mine.actions[-3:]]
    if len(marks) == 3 and marks[0] == marks[2] != marks[1] == mark:
        return "this goes back and forth between two actions"
    if times >= 2:
        return "this was done twice already with nothing new to see"
    return ""


async def _refuse(run: Run, mine: StepRun, proposal: Proposal, reason: str, here: _Round) -> None:
    results = here.results
    await run.record(
        e.ActionRefused(step_id=mine.step.id, tool=proposal.tool, arguments=proposal.arguments, reason=reason)
    )
    here.pending.clear()
    if is_one_answer(run, mine.step) and mine.actions:
        # Shown its own draft, a model writes it again, however warm: only a fresh start helps.
        raise StepFailed(_red(results, "the correction was the same as what had failed"))
    if mine.refusals >= MAX_REFUSALS:
        raise StepFailed(_with_evidence(FailureKind.LOOP, "the model keeps proposing what already failed", results))
