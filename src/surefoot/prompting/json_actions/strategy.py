"""The strategy for larger models: phases as JSON drafts, steps as one JSON decision per action."""

from collections.abc import Awaitable, Sequence
from dataclasses import replace
from functools import cached_property

from surefoot.core.outcome import CheckResult, Failure
from surefoot.core.plan import ExecutionStep, StepKind
from surefoot.core.purpose import Purpose
from surefoot.errors import UnknownTool, UnreadableAnswer
from surefoot.journal.events import PhaseName
from surefoot.journal.state import StepRun
from surefoot.models.base import ModelReply
from surefoot.models.parsing.answer import find_body, read_control, read_json
from surefoot.prompting.ask import Prompt, ask, ask_json
from surefoot.prompting.context import (
    approach_text,
    briefing,
    failures_and_lessons,
    feedback,
    files_of_other_steps,
    plan_text,
    progress_text,
    results_of_dependencies,
    step_text,
    understanding_text,
)
from surefoot.prompting.drafts.short import (
    ApproachDraft,
    CallDraft,
    PlanDraft,
    ReflectionDraft,
    StepDecision,
    StepDraft,
    UnderstandingDraft,
    schema_of,
)
from surefoot.prompting.json_actions.file_body import ask_for_file
from surefoot.prompting.json_actions.program import ask_for_program
from surefoot.prompting.json_actions.step_kind import is_computed_step
from surefoot.prompting.profile import Profile
from surefoot.prompting.proposal import Proposal
from surefoot.prompting.run_context import RunContext
from surefoot.prompting.strategy import Refusal, Turn
from surefoot.prompting.templates import render


class JsonActions:
    profile = Profile()

    def __init__(self, run: RunContext) -> None:
        self.run = run

    @cached_property
    def briefing(self) -> str:
        """The stable beginning of every prompt, rendered once per process."""
        return briefing(self.run)

    # -- phases ----------------------------------------------------------------------------------------------------

    def understand(self, refusal: Refusal) -> Awaitable[UnderstandingDraft]:
        question = render("understand", feedback=feedback(refusal.messages))
        prompt = self._prompt(Purpose.UNDERSTAND, question, temperature=0.3 * refusal.attempt)
        return ask_json(self.run, prompt, UnderstandingDraft)

    def approach(self, refusal: Refusal) -> Awaitable[ApproachDraft]:
        question = render(
            "approach", understanding=understanding_text(self.run.state), feedback=feedback(refusal.messages)
        )
        return ask_json(
            self.run, self._prompt(Purpose.APPROACH, question, temperature=0.3 * refusal.attempt), ApproachDraft
        )

    def plan(self, refusal: Refusal) -> Awaitable[PlanDraft]:
        state = self.run.state
        question = render(
            "plan",
            understanding=understanding_text(state),
            approach=approach_text(state),
            done=progress_text(state),
            max_steps=self.run.config.max_plan_steps,
            feedback=feedback(refusal.messages),
        )
        temperature = min(0.3 * (refusal.attempt + state.task_replan_count), 0.9)
        return ask_json(self.run, self._prompt(Purpose.PLAN, question, temperature=temperature), PlanDraft)

    # -- steps -----------------------------------------------------------------------------------------------------

    def step_kind(self, step: ExecutionStep) -> StepKind:
        if is_computed_step(self.run, step):
            return StepKind.PROGRAM
        return StepKind.FILE if len(step.writes) == 1 else StepKind.ACTIONS

    async def next_actions(self, step_run: StepRun, results: Sequence[CheckResult]) -> Turn:
        temperature = attempt_temperature(self.run, step_run)
        match self.run.step_kind(step_run):
            case StepKind.FILE:
                return Turn([await self.file(step_run, step_run.step.writes[0], results, temperature)])
            case StepKind.PROGRAM:
                return Turn([await self.program(step_run, results, temperature)])
        return await self.decide(step_run, results, temperature)

    async def candidate(self, step_run: StepRun, temperature: float) -> Sequence[Proposal]:
        if self.run.step_kind(step_run) is StepKind.PROGRAM:
            return [await self.program(step_run, step_run.results_before, temperature)]
        return [await self.file(step_run, step_run.step.writes[0], step_run.results_before, temperature)]

    def file(
        self, step_run: StepRun, path: str, results: Sequence[CheckResult], temperature: float
    ) -> Awaitable[Proposal]:
        """Ask for one file, or for edits to it."""
        return ask_for_file(self.run, self.briefing, step_run, path, results, temperature)

    def program(self, step_run: StepRun, results: Sequence[CheckResult], temperature: float) -> Awaitable[Proposal]:
        """Ask for a program that computes the step's file."""
        failed = failures_and_lessons(step_run, results)
        return ask_for_program(self.run, self.briefing, step_run, failed, temperature)

    async def decide(self, step_run: StepRun, results: Sequence[CheckResult], temperature: float) -> Turn:
        """Ask for the one next action, as JSON."""
        run = self.run
        inline = run.model.traits.inline_bodies
        question = render(
            "act",
            plan=plan_text(run.state),
            step=step_text(step_run.step) + self.goal(step_run.step),
            context=results_of_dependencies(run, step_run.step.id)
            + self.available_data(step_run)
            + files_of_other_steps(run, step_run),
            tools=run.describe_tools(),
            history=_history(step_run),
            failed=failures_and_lessons(step_run, results),
            body_hint=_body_hint(inline),
            left=_left(run, step_run),
        )
        prompt = self._prompt(Purpose.ACT_AND_WRITE if inline else Purpose.ACT, question, step_run.step.id, temperature)
        # A schema allows nothing after the JSON, so it cannot be used if the body of a file follows there.
        schema = None if inline else schema_of(StepDecision)
        draft, answer = await ask(run, prompt, lambda reply: _read_decision(run, reply), schema)
        if draft.only_revises:
            return Turn([], draft)
        if draft.is_complete or draft.decision == "replan":
            return Turn([Proposal(draft.decision, thought=draft.reason or draft.thought)], draft)
        tool = run.toolbox.get(draft.tool)
        arguments = dict(draft.arguments)
        body = ""
        if tool.needs_body(arguments):
            path = str(arguments.get("path", ""))
            body = str(arguments.pop(tool.body_argument, "") or "") or body_behind(answer, path)
            if not body and path:
                written = await self.file(step_run, path, results, temperature)
                return Turn([replace(written, thought=draft.thought)], draft)
        return Turn([Proposal("act", tool.name, arguments, body, draft.thought)], draft)

    def goal(self, step: ExecutionStep) -> str:
        """Name the expected results of the step, besides its files."""
        expected = [item for item in step.expected_outputs if item not in step.writes]
        return f"\nGoal: {'; '.join(expected)}" if expected else ""

    def available_data(self, step_run: StepRun) -> str:
        """Name the other steps that have a result. The results of the step's dependencies are shown as well."""
        ids = [step_id for step_id in self.run.artifacts if step_id != step_run.step.id]
        return f"\n# Available data\nread_result shows the results of: {', '.join(ids)}\n" if ids else ""

    def answer(self, step_run: StepRun, proposal: Proposal, text: str, *, ok: bool) -> None:
        """Do nothing: the next question shows what was refused."""

    def open_branch(self, step_run: StepRun, number: int, of: int) -> None:
        raise UnreadableAnswer("only a conversation has branches")

    def was_told_done(self, step_run: StepRun) -> bool:
        return False

    def done_in_branch(self, step_run: StepRun) -> Sequence[Proposal]:
        return ()

    def has_submitted(self, phase: PhaseName) -> bool:
        return False

    # -- after a failure -------------------------------------------------------------------------------------------

    def diagnose(self, step_run: StepRun, failure: Failure) -> Awaitable[ReflectionDraft]:
        question = render("reflect", step=step_text(step_run.step), failure=f"{failure.message}\n{failure.evidence}")
        return ask_json(self.run, self._prompt(Purpose.REFLECT, question, step_run.step.id), ReflectionDraft)

    def repair_step(self, step_run: StepRun, failed: str) -> Awaitable[StepDraft]:
        question = render("repair", step=step_text(step_run.step), failed=failed)
        return ask_json(self.run, self._prompt(Purpose.REPAIR, question, step_run.step.id, 0.3), StepDraft)

    def repair_call(self, step_run: StepRun, failed: str) -> Awaitable[CallDraft]:
        tools = self.run.describe_tools()
        question = render("repair_call", step=step_text(step_run.step), failed=failed, tools=tools)
        return ask_json(self.run, self._prompt(Purpose.REPAIR, question, step_run.step.id, 0.3), CallDraft)

    def _prompt(self, purpose: Purpose, question: str, step_id: str = "", temperature: float = 0.0) -> Prompt:
        text = f"{self.briefing}\n\n{question}"
        return Prompt(purpose=purpose, text=text, step_id=step_id, temperature=temperature)


def attempt_temperature(run: RunContext, step_run: StepRun) -> float:
    """Return 0 for the first attempt. Later attempts, including those of a new plan, and refused answers raise it, so
    that the next answer differs."""
    earlier = step_run.attempt - 1 + run.state.task_replan_count + run.state.approach_index
    return min(0.35 * earlier + 0.4 * len(step_run.refused), 1.0)


def _read_decision(run: RunContext, reply: ModelReply) -> tuple[StepDecision, str]:
    """Read the decision, also in the looser forms that models write; returns it with the whole answer."""
    match read_control(reply.text):
        case "step_done":
            return StepDecision(decision="done", reason=reply.text[:300]), reply.text
        case "replan":
            return StepDecision(decision="replan", reason=reply.text[:300]), reply.text
    draft = read_json(reply.text, StepDecision, truncated=reply.finish_reason == "length")
    if draft.decision == "act" and not draft.only_revises:
        try:
            run.toolbox.get(draft.tool)
        except UnknownTool as error:
            raise UnreadableAnswer(f"{error}. {error.remedy}", answer=reply.text) from None
    return draft, reply.text


def body_behind(answer: str, path: str) -> str:
    """Return the fenced block that comes with the decision; empty if there is no complete one."""
    if "```" not in answer:
        return ""
    body = find_body(answer, path)
    return body.text if body is not None and body.closed else ""


def _history(step_run: StepRun) -> str:
    if not step_run.actions:
        return "(nothing yet)"
    rows = []
    for number, action in enumerate(step_run.actions, 1):
        arguments = ", ".join(f"{k}={str(v)[:80]!r}" for k, v in action.arguments.items())
        # Only the last result is shown whole; older ones were context for decisions that are already made.
        text = action.summary if action is step_run.actions[-1] else action.summary.partition("\n")[0][:160]
        rows.append(f"{number}. {action.tool}({arguments}) -> {'ok' if action.ok else 'FAILED'}\n{text}")
    return "\n".join(rows)


def _body_hint(inline: bool) -> str:
    if inline:
        return (
            "For write_file, edit_file and run_python leave the content out of the JSON and put it right after it, "
            "in a fenced code block; for edit_file the block holds SEARCH/REPLACE blocks.\n"
        )
    return "For write_file and edit_file give only the path: the content is asked for next.\n"


def _left(run: RunContext, step_run: StepRun) -> str:
    left = (run.config.max_actions_per_step or run.profile.max_actions) - len(step_run.actions)
    budget = run.budget.left()
    return f"Actions left in this step: {left}." + (f" Left for the whole run: {budget}." if budget else "")
