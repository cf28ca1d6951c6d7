"""What to do next inside a step. The model is asked only what cannot be told without it: a step that writes one file
needs no decision about tools, just the file."""

from collections.abc import Sequence
from dataclasses import replace

from surefoot.artifacts import handed_on
from surefoot.asking import ask_read
from surefoot.context import briefing, plan_text, step_text, what_failed, what_fails
from surefoot.drafts import StepDecision, schema_of
from surefoot.errors import UnknownTool, UnreadableAnswer
from surefoot.models.base import ModelReply
from surefoot.models.reading import find_body, read_control, read_json
from surefoot.outcome import CheckResult
from surefoot.phases.answering import answers_freely, free_answer
from surefoot.phases.computing import is_result, program_for
from surefoot.phases.performing import tool_context
from surefoot.phases.proposal import Proposal
from surefoot.phases.revising import revise
from surefoot.phases.writing import file_body, other_files
from surefoot.plan import ExecutionStep
from surefoot.prompts import render
from surefoot.reflection import says_missing
from surefoot.run import Run
from surefoot.state import StepRun


async def next_proposals(run: Run, mine: StepRun, results: Sequence[CheckResult]) -> list[Proposal]:
    """One thing to do, or what one answer says all together."""
    if is_one_answer(run, mine.step):
        return await in_one_answer(run, mine, results, temperature(run, mine))
    return [await _decide(run, mine, results)]


def is_one_answer(run: Run, step: ExecutionStep) -> bool:
    """Whether a step is done by one answer, which can be judged as a whole."""
    return len(step.writes) == 1 or answers_freely(run, step)


async def in_one_answer(
    run: Run, mine: StepRun, results: Sequence[CheckResult], warmth: float, *, anew: bool = False
) -> list[Proposal]:
    """`anew`: a small model is asked in other words, and without sight of the code that is wrong."""
    if answers_freely(run, mine.step):
        # That what is still to be made is not there says nothing, and is taken for part of the task.
        there = not any(says_missing(result.detail) for result in results if not result.passed)
        return await free_answer(run, mine, what_fails(mine, results, there=there), warmth)
    path = mine.step.writes[0]
    if is_result(run, mine.step):
        # What a small model learnt would be about a program that it is not shown.
        told = what_fails(mine, results, there=False) if run.model.traits.small else what_failed(mine, results)
        return [await program_for(run, mine, path, told, warmth, anew=anew)]
    return [await file_body(run, mine, path, results, warmth, anew=anew)]


def named_call(mine: StepRun) -> Proposal:
    """What a step says by itself that is to be called, with what earlier tries changed about it."""
    return Proposal("act", mine.tool or mine.step.tool, {**mine.step.parameters, **mine.parameters})


def temperature(run: Run, mine: StepRun) -> float:
    """First attempts are cool, later ones vary on purpose, also those of a new plan; a refused repeat is warmed up at
    once."""
    earlier = mine.attempt - 1 + run.state.replans + run.state.approach_index
    return min(0.35 * earlier + 0.4 * mine.refusals, 1.0)


async def _decide(run: Run, mine: StepRun, results: Sequence[CheckResult]) -> Proposal:
    inline = run.model.traits.inline_bodies
    prompt = render(
        "act",
        plan=plan_text(run.state),
        step=step_text(mine.step),
        context=handed_on(run, mine.step.id) + other_files(run, mine),
        tools=run.toolbox.describe(run.toolbox.usable(tool_context(run))),
        history=_history(mine),
        failed=what_failed(mine, results),
        body_hint=_body_hint(inline),
        left=_left(run, mine),
    )
    draft, answer = await ask_read(
        run,
        "act and write" if inline else "act",
        briefing(run) + "\n\n" + prompt,
        lambda reply: _read_action(run, reply),
        # A body behind the JSON and a schema that ends with the JSON exclude each other.
        None if inline else schema_of(StepDecision),
        step_id=mine.step.id,
        temperature=temperature(run, mine),
    )
    await revise(run, mine.step.id, draft)
    if draft.is_complete or draft.decision == "replan":
        return Proposal(draft.decision, thought=draft.reason or draft.thought)
    tool = run.toolbox.get(draft.tool)
    arguments = dict(draft.arguments)
    body = ""
    if tool.needs_body(arguments):
        path = str(arguments.get("path", ""))
        body = str(arguments.pop(tool.body_argument, "") or "") or body_behind(answer, path)
        if not body and path:
            written = await file_body(run, mine, path, results, temperature(run, mine))
            return replace(written, thought=draft.thought)
    return Proposal("act", tool.name, arguments, body, draft.thought)


def _read_action(run: Run, reply: ModelReply) -> tuple[StepDecision, str]:
    """The decision in an answer, also in the looser forms that models write; with the answer itself."""
    match read_control(reply.text):
        case "step_done":
            return StepDecision(decision="done", reason=reply.text[:300]), reply.text
        case "replan":
            return StepDecision(decision="replan", reason=reply.text[:300]), reply.text
    draft = read_json(reply.text, StepDecision, truncated=reply.finish_reason == "length")
    if draft.decision == "act":
        try:
            run.toolbox.get(draft.tool)
        except UnknownTool as error:
            raise UnreadableAnswer(f"{error}. {error.remedy}", answer=reply.text) from None
    return draft, reply.text


def body_behind(answer: str, path: str) -> str:
    """The fenced block that comes with the decision, if there is one and it is whole."""
    if "```" not in answer:
        return ""
    body = find_body(answer, path)
    return body.text if body is not None and body.closed else ""


def _history(mine: StepRun) -> str:
    if not mine.actions:
        return "(nothing yet)"
    shown = []
    for number, action in enumerate(mine.actions, 1):
        arguments = ", ".join(f"{k}={str(v)[:80]!r}" for k, v in action.arguments.items())
        # Only the last result is shown whole; older ones were context for decisions that are already made.
        text = action.summary if action is mine.actions[-1] else action.summary.splitlines()[0][:160]
        shown.append(f"{number}. {action.tool}({arguments}) -> {'ok' if action.ok else 'FAILED'}\n{text}")
    return "\n".join(shown)


def _body_hint(inline: bool) -> str:
    if inline:
        return (
            "For write_file, edit_file and run_python leave the content out of the JSON and put it right after it, "
            "in a fenced code block; for edit_file the block holds SEARCH/REPLACE blocks.\n"
        )
    return "For write_file and edit_file give only the path: the content is asked for next.\n"


def _left(run: Run, mine: StepRun) -> str:
    left = run.config.max_actions_per_step - len(mine.actions)
    budget = run.budget_left()
    return f"Actions left in this step: {left}." + (f" Left for the whole run: {budget}." if budget else "")
