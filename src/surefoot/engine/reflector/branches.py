"""Candidates of a conversation: branches of it that start at the same message, each in its own copy of the workspace.

The model works in the copy with its tools until the checks pass there or it gives up. Its calls are answered in the
branch and are not actions of the step. They are carried out in the workspace only if the checks of the branch pass. A
resumed run repeats the recorded calls of the branch in a new copy, and asks the model nothing twice.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from surefoot.core.outcome import CheckResult, decisive
from surefoot.core.plan import Check
from surefoot.engine.executor.approval import refusal_of
from surefoot.engine.runtime.run import Run
from surefoot.engine.verifier.scratch import Place
from surefoot.errors import ToolError
from surefoot.journal.state import StepRun
from surefoot.prompting.proposal import Proposal
from surefoot.prompting.results import failing_part
from surefoot.tools.context import ToolContext
from surefoot.tools.invoke import call
from surefoot.tools.tool import Writes

MAX_RED_FINISHES = 3
"""How often the model may say that it is done while checks fail."""
_FIXED = "This is a candidate in a copy of the folder. The plan stays as it is: do the step, or say cannot."


@dataclass
class Branch:
    """The progress and the result of a branch."""

    done: list[Proposal] = field(default_factory=list)
    """The calls that worked and may have changed something, in order."""
    results: tuple[CheckResult, ...] = ()
    given_up: str = ""
    """Why the model gave up, or had to stop; empty if it did not."""
    finished: bool = False
    red_finishes: int = 0
    calls: int = 0


async def try_branch(run: Run, step_run: StepRun, checks: Sequence[Check], number: int, of: int) -> Branch:
    """Let the model do the step in a copy of the workspace, in a branch of its own."""
    run.strategy.open_branch(step_run, number, of)
    branch = Branch()
    async with run.scratch.copy(step_run.step.id) as place:
        context = replace(run.tool_context, root=place.root, sandbox=place.sandbox)
        for proposal in run.strategy.done_in_branch(step_run):
            await _call(run, context, proposal, branch)
        limit = run.config.max_actions_per_step or run.profile.max_actions
        while not branch.finished and not branch.given_up:
            if branch.calls >= limit:
                branch.given_up = f"{branch.calls} calls and not done"
                break
            turn = await run.strategy.next_actions(step_run, step_run.newest_results)
            await _carry_out(run, step_run, checks, place, context, turn.proposals, branch)
        if not branch.results:
            branch.results = await run.verifier.check_at(checks, place)
    return branch


async def _carry_out(
    run: Run,
    step_run: StepRun,
    checks: Sequence[Check],
    place: Place,
    context: ToolContext,
    proposals: Sequence[Proposal],
    branch: Branch,
) -> None:
    """Carry out one turn of the model, in order. After a write that failed, the rest is not executed."""
    failed = ""
    for proposal in proposals:
        branch.calls += 1
        ok, text = False, f"Not executed, because {failed} before it failed."
        if not failed:
            ok, text = await _answer(run, step_run, checks, place, context, proposal, branch)
        run.strategy.answer(step_run, proposal, text.replace(str(place.root), str(run.root)), ok=ok)
        if not ok and proposal.decision == "act" and run.toolbox.get(proposal.tool).writes is Writes.DECLARED:
            failed = failed or proposal.tool
        if branch.finished or branch.given_up:
            return


async def _answer(
    run: Run,
    step_run: StepRun,
    checks: Sequence[Check],
    place: Place,
    context: ToolContext,
    proposal: Proposal,
    branch: Branch,
) -> tuple[bool, str]:
    """Handle one call. Returns whether it worked, and the text for the model."""
    match proposal.decision:
        case "act":
            if run.toolbox.get(proposal.tool).external:
                return False, f"Refused: {proposal.tool} has effects outside the folder, which no copy can hold."
            if reason := await refusal_of(run, step_run.step.id, proposal, may_ask=False):
                return False, f"Refused: {reason}."
            return await _call(run, context, proposal, branch)
        case "done" | "check":
            results = await run.verifier.check_at(checks, place)
            green = is_green(results)
            if proposal.decision == "check":
                return green, failing_part(results) or "All checks pass."
            branch.results, branch.finished = results, green
            branch.red_finishes += not green
            if branch.red_finishes >= MAX_RED_FINISHES:
                branch.given_up = f"{branch.red_finishes} times done, and the checks are red"
            return green, "The checks pass." if green else f"Not done, this fails:\n\n{failing_part(results)}"
        case "replan" | "cannot":
            branch.given_up = proposal.thought
            return True, "Noted."
        case "revise":
            return False, _FIXED
    return False, proposal.thought


async def _call(run: Run, context: ToolContext, proposal: Proposal, branch: Branch) -> tuple[bool, str]:
    tool = run.toolbox.get(proposal.tool)
    body = {tool.body_argument: proposal.body} if proposal.body else {}
    try:
        result = await call(tool, context, {**proposal.arguments, **body})
    except ToolError as error:
        return False, f"{error}" + (f"\n{error.remedy}" if error.remedy else "")
    if not tool.is_read_only and (result.ok or tool.writes is Writes.FREE):
        # A command that failed may have changed something before that.
        branch.done.append(proposal)
    return result.ok, result.summary or "(no output)"


def is_green(results: Sequence[CheckResult]) -> bool:
    return all(result.passed for result in decisive(results))
