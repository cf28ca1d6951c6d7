"""The strategy for models that call tools: a survey, then steps that continue its conversation."""

from collections.abc import Awaitable, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any

from pydantic import ValidationError

from surefoot.core.outcome import CheckResult, Failure
from surefoot.core.plan import ExecutionStep, StepKind
from surefoot.core.purpose import Purpose
from surefoot.core.transitions import SETTLED, StepStatus
from surefoot.core.values import what_is_wrong
from surefoot.errors import UnreadableAnswer
from surefoot.journal import events as e
from surefoot.journal.state import Conversation, StepRun
from surefoot.models.items import AssistantTurn, Message
from surefoot.prompting.context import step_text
from surefoot.prompting.conversation.dialogue import RESULT_SHARE, Dialogue
from surefoot.prompting.conversation.earlier import Beginning, beginning
from surefoot.prompting.conversation.proposals import proposal_of
from surefoot.prompting.conversation.room import Restart, Room
from surefoot.prompting.conversation.specifications import specifications
from surefoot.prompting.conversation.survey import MAX_SILENT_TURNS, Survey
from surefoot.prompting.conversation.texts import candidate_start, facts, step_start
from surefoot.prompting.drafts.full import FullApproachDraft, FullChangeDraft, FullPlanDraft
from surefoot.prompting.drafts.short import (
    CallDraft,
    ReflectionDraft,
    UnderstandingDraft,
)
from surefoot.prompting.drafts.verbs import ChangeStepsDraft, Verb
from surefoot.prompting.fit import shorten
from surefoot.prompting.profile import Profile
from surefoot.prompting.proposal import Proposal
from surefoot.prompting.results import step_done
from surefoot.prompting.run_context import RunContext
from surefoot.prompting.strategy import Refusal, Turn

CONTINUE_BELOW_TOKENS = 60_000
"""A step continues the conversation of the step before it if that is shorter than this."""
GO_ON = "Go on by calling a tool. Call finish_step when the step is done, or cannot if it cannot be done."

NOTED = "Noted."
ONLY_ASKED = "This was not executed: the attempt has ended, and only {verb} was asked for."


class ConversationStrategy:
    def __init__(self, run: RunContext) -> None:
        self.run = run
        # No single result may take more than a sixth of the window. Code has up to 0.4 tokens for each character.
        room_chars = run.model.traits.context_tokens * 2 // 5
        self.profile = Profile(
            max_actions=50,
            repairs_plans=False,
            answers_in_refusal=True,
            summary_chars=min(16_000, room_chars),
            read_chars=min(48_000, room_chars),
            search_matches=100,
            edit_format=run.model.traits.edit_format,
            truncate_middle=True,
            # Continuing the conversation was the first retry. Candidates are branches, if they are configured.
            candidates_first=(run.config.reflection.candidates or 1) > 1,
        )
        self._dialogue = Dialogue(run)
        self._room = Room(run, self._dialogue)
        self._survey = Survey(run, self._dialogue, self._room)

    # -- phases ----------------------------------------------------------------------------------------------------

    def understand(self, refusal: Refusal) -> Awaitable[UnderstandingDraft | None]:
        return self._survey.understanding(refusal)

    def approach(self, refusal: Refusal) -> Awaitable[FullApproachDraft]:
        return self._survey.submission(Verb.SUBMIT_APPROACH, FullApproachDraft, refusal)

    def plan(self, refusal: Refusal) -> Awaitable[FullPlanDraft]:
        return self._survey.submission(Verb.SUBMIT_PLAN, FullPlanDraft, refusal)

    def has_submitted(self, phase: e.PhaseName) -> bool:
        verbs = {"understanding": Verb.SUBMIT_UNDERSTANDING, "approach": Verb.SUBMIT_APPROACH}
        return self._survey.has(verbs.get(phase, Verb.SUBMIT_PLAN))

    # -- steps -----------------------------------------------------------------------------------------------------

    def step_kind(self, step: ExecutionStep) -> StepKind:
        return StepKind.CONVERSATION

    async def next_actions(self, step_run: StepRun, results: Sequence[CheckResult]) -> Turn:
        conversation = self._conversation(step_run)
        pending = self._dialogue.not_begun(conversation)
        for _ in range(MAX_SILENT_TURNS):
            if pending:
                text = self._dialogue.last_text(conversation)
                return Turn([proposal_of(call, self.run.toolbox, text) for call in pending])
            answers = self._dialogue.results_of_open_calls(conversation)
            if conversation.turns == 0 and self._dialogue.open_calls(conversation):
                # The step began in the turn that submitted the plan or finished the step before.
                texts = [item.content for item in answers]
                answers.append(self._message(step_start(self.run, step_run, texts)))
            spoke = isinstance(self._dialogue.items(conversation)[-1], AssistantTurn)
            if spoke and not answers:
                answers = [Message(role="user", content=GO_ON)]
            self._dialogue.append(conversation, answers)
            turn = await self._room.ask(conversation, Purpose.ACT, self._restart(step_run))
            conversation = self._conversation(step_run)
            pending = list(turn.calls)
        if pending:
            return Turn([proposal_of(call, self.run.toolbox, "") for call in pending])
        raise UnreadableAnswer(
            f"{MAX_SILENT_TURNS} answers in a row called no tool", answer=self._dialogue.last_text(conversation)
        )

    def answer(self, step_run: StepRun, proposal: Proposal, text: str, *, ok: bool) -> None:
        conversation = self._conversation(step_run)
        call = next(call for call in self._dialogue.open_calls(conversation) if call.id == proposal.call_id)
        self._dialogue.answer(conversation, call, text, ok=ok)

    def was_told_done(self, step_run: StepRun) -> bool:
        conversation = self._dialogue.newest(step_run.step.id, step_run.attempt)
        if conversation is None:
            return False
        calls = [call for call in self._dialogue.open_calls(conversation) if call.name == Verb.FINISH_STEP]
        known = [self._dialogue.result_of(conversation, call) for call in calls]
        # A turn may finish several steps, and the results of the first are repeated in the conversation of the next.
        return any(result and result.ok and result.text.startswith(step_done(step_run.step.id)) for result in known)

    async def candidate(self, step_run: StepRun, temperature: float) -> Sequence[Proposal]:
        raise UnreadableAnswer("a conversation has no single answers to compare")

    def open_branch(self, step_run: StepRun, number: int, of: int) -> None:
        """Branch off the end of the survey, as a fresh start does, so that all candidates share its beginning."""
        conversation = self._dialogue.newest(step_run.step.id, step_run.attempt)
        if conversation is None or conversation.candidate != number:
            text = candidate_start(self.run, step_run, number, of)
            self._branch_off(step_run, text, f"candidate {number} of {of}", number)

    def done_in_branch(self, step_run: StepRun) -> Sequence[Proposal]:
        conversation = self._conversation(step_run)
        return [
            proposal_of(call, self.run.toolbox, "")
            for call in self._dialogue.answered_calls(conversation)
            if call.name in self.run.toolbox and not self.run.toolbox.get(call.name).is_read_only
        ]

    def _conversation(self, step_run: StepRun) -> Conversation:
        """Return the conversation of the attempt, or open it: after the step before, or after the survey."""
        step_id, attempt = step_run.step.id, step_run.attempt
        if (newest := self._dialogue.newest(step_id, attempt)) is not None:
            return newest
        survey, before = self._dialogue.newest(), self._step_before(step_run)
        if survey is not None and self._is_first(step_run) and self._survey.has_work(survey):
            conversation = self._go_on(survey, step_run, "calls after the plan")
            self._survey.hand_over(survey, conversation)
            return conversation
        if (turn := self._unfinished_turn(step_run)) is not None:
            conversation = self._go_on(turn, step_run, "calls after finish_step")
            self._dialogue.hand_over(turn, conversation)
            return conversation
        if before is None:
            reason = "a fresh start" if attempt > 1 else "the first step"
            return self._branch_off(step_run, self._restart(step_run)(), reason)
        return self._dialogue.start(
            self._tools,
            [*self._dialogue.results_of_open_calls(before), self._message(step_start(self.run, step_run))],
            step_id=step_id,
            attempt=attempt,
            parent=before,
            keep=len(before.items),
            reason="the next step",
        )

    def _branch_off(self, step_run: StepRun, text: str, reason: str, candidate: int = 0) -> Conversation:
        """Open a conversation after the end of the survey."""
        survey = self._dialogue.newest()
        begun = beginning(self.run, self._tools, planned=True) if survey is None else Beginning([])
        items = self._survey.accepted(survey) if survey is not None else begun.items
        return self._dialogue.start(
            self._tools,
            [*items, self._message(text)],
            earlier=begun.earlier,
            step_id=step_run.step.id,
            attempt=step_run.attempt,
            parent=survey,
            keep=len(survey.items) if survey else 0,
            reason=reason,
            candidate=candidate,
        )

    def _is_first(self, step_run: StepRun) -> bool:
        others = (other for other in self.run.state.steps.values() if other is not step_run)
        return step_run.attempt == 1 and not any(other.attempt for other in others)

    def _go_on(self, before: Conversation, step_run: StepRun, reason: str) -> Conversation:
        """Open a step's conversation in the middle of a turn, whose remaining calls belong to this step."""
        return self._dialogue.start(
            self._tools,
            (),
            step_id=step_run.step.id,
            attempt=step_run.attempt,
            parent=before,
            keep=len(before.items),
            reason=reason,
        )

    def _step_before(self, step_run: StepRun) -> Conversation | None:
        """Return the conversation of the step before, if this one can continue it."""
        state = self.run.state
        if step_run.attempt > 1 or step_run.failures or len(state.running) > 1:
            return None
        for conversation in reversed(state.conversations.values()):
            other = state.steps.get(conversation.step_id)
            if other is None or conversation.attempt != other.attempt:
                continue
            is_done = other.status is StepStatus.SUCCEEDED
            return conversation if is_done and self._is_short(conversation) else None
        return None

    def _unfinished_turn(self, step_run: StepRun) -> Conversation | None:
        """Return the conversation of a finished step whose last turn has calls left that are meant for this one.

        They are meant for the first step of the plan that is not settled, even if others run in parallel.
        """
        state = self.run.state
        unsettled = [other for other in state.steps.values() if other.status not in SETTLED]
        if step_run.attempt > 1 or step_run.failures or min(unsettled, key=_sequence) is not step_run:
            return None
        continued = {conversation.parent for conversation in state.conversations.values()}
        for conversation in reversed(state.conversations.values()):
            other = state.steps.get(conversation.step_id)
            if other is None or other.status is not StepStatus.SUCCEEDED or conversation.attempt != other.attempt:
                continue
            is_open = conversation.id not in continued and self._is_short(conversation)
            return conversation if is_open and self._dialogue.not_begun(conversation) else None
        return None

    def _is_short(self, conversation: Conversation) -> bool:
        return conversation.prompt_tokens < min(CONTINUE_BELOW_TOKENS, self._dialogue.window // 2)

    @cached_property
    def _tools(self) -> tuple[Any, ...]:
        return specifications(self.run.toolbox, self.run.usable_tools())

    def _message(self, text: str) -> Message:
        """A message of the engine, shortened to a sixth of the window like a result."""
        return Message(role="user", content=shorten(text, self._dialogue.window / RESULT_SHARE))

    def _restart(self, step_run: StepRun) -> Restart:
        return lambda: "\n\n".join(filter(None, [facts(self.run, step_run), step_start(self.run, step_run)]))

    # -- after a failure -------------------------------------------------------------------------------------------

    async def diagnose(self, step_run: StepRun, failure: Failure) -> ReflectionDraft:
        question = (
            f"This attempt has ended: {failure.message}\n{failure.evidence}\nSay why with diagnose, and nothing else."
        )
        turn = await self._ask_after_failure(step_run, question, Purpose.REFLECT, Verb.DIAGNOSE)
        for call in turn.calls:
            if call.name == Verb.DIAGNOSE and not call.problem:
                try:
                    return ReflectionDraft.model_validate(call.arguments)
                except ValidationError as error:
                    raise UnreadableAnswer(
                        f"the diagnosis cannot be read: {what_is_wrong(error)}", answer=turn.content
                    ) from error
        return ReflectionDraft(root_cause=turn.content.strip()[:400] or failure.message)

    async def repair_step(self, step_run: StepRun, failed: str) -> FullChangeDraft:
        """Ask for the step in another form. If the model gives none, the step is retried as it is."""
        step = step_run.step
        question = (
            f"{failed}\n\nPlan this one step ({step.id}) again, differently: call change_steps, and nothing else."
        )
        turn = await self._ask_after_failure(step_run, question, Purpose.REPAIR, Verb.CHANGE_STEPS)
        for call in turn.calls:
            if call.name == Verb.CHANGE_STEPS and not call.problem:
                with suppress(ValidationError):
                    return ChangeStepsDraft.model_validate(call.arguments).steps[0]
        return FullChangeDraft(step=step.id)

    async def repair_call(self, step_run: StepRun, failed: str) -> CallDraft:
        question = (
            f"# Failed step\n{step_text(step_run.step)}\n\n# What failed\n{failed}\n\n"
            "Call the one tool that reaches the goal of this step, and nothing else. It becomes the call of the step."
        )
        turn = await self._ask_after_failure(step_run, question, Purpose.REPAIR)
        for call in turn.calls:
            if call.name in self.run.toolbox and not call.problem:
                return CallDraft(thought=turn.content, tool=call.name, arguments=call.arguments)
        raise UnreadableAnswer("the answer calls no tool that could be the step", answer=turn.content)

    async def _ask_after_failure(
        self, step_run: StepRun, question: str, purpose: Purpose, wanted: Verb | None = None
    ) -> AssistantTurn:
        """Ask once more in the conversation of the attempt that failed. The calls of the answer are not carried out,
        and their results say so. `wanted`: the only call that is asked for."""
        conversation = self._conversation(step_run)
        self._dialogue.append(
            conversation, [*self._dialogue.results_of_open_calls(conversation), self._message(question)]
        )
        turn = await self._room.ask(conversation, purpose, self._restart(step_run))
        if wanted is not None:
            conversation = self._conversation(step_run)
            for call in turn.calls:
                ok = call.name == wanted and not call.problem
                text = NOTED if ok else call.problem or ONLY_ASKED.format(verb=wanted.value)
                self._dialogue.answer(conversation, call, text, ok=ok)
        return turn


def _sequence(step_run: StepRun) -> int:
    return step_run.step.sequence
