"""The strategy for models that call tools: a survey, then steps that continue its conversation."""

from collections.abc import Awaitable, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any

from pydantic import ValidationError

from surefoot.core.outcome import CheckResult, Failure
from surefoot.core.plan import ExecutionStep, StepKind
from surefoot.core.purpose import Purpose
from surefoot.core.transitions import StepStatus
from surefoot.errors import ContextOverflow, UnreadableAnswer
from surefoot.journal import events as e
from surefoot.journal.state import Conversation, StepRun
from surefoot.models.items import AssistantTurn, Item, Message
from surefoot.prompting.context import step_text
from surefoot.prompting.conversation import window
from surefoot.prompting.conversation.dialogue import Dialogue
from surefoot.prompting.conversation.proposals import proposal_of
from surefoot.prompting.conversation.submissions import FullApproachDraft, FullPlanDraft
from surefoot.prompting.conversation.survey import MAX_SILENT_TURNS, Survey
from surefoot.prompting.conversation.texts import facts, opening, step_start
from surefoot.prompting.conversation.verbs import ChangeStepsDraft, Verb, specifications
from surefoot.prompting.profile import Profile
from surefoot.prompting.proposal import Proposal
from surefoot.prompting.schemas import (
    CallDraft,
    ReflectionDraft,
    StepDraft,
    UnderstandingDraft,
)
from surefoot.prompting.strategy import Refusal, Turn
from surefoot.prompting.view import RunView

CONTINUE_BELOW_TOKENS = 60_000
"""A step continues the conversation of the step before it while that is shorter."""
GO_ON = "Go on by calling a tool. Call finish_step when the step is done, or cannot if it cannot be done."
HANDOFF = (
    "The conversation is nearly too long and goes on in a new window. Write, as plain text and without calling a tool, "
    "what you need there: what you found out, what is done, what is left, and exact names and places."
)


class ConversationStrategy:
    def __init__(self, run: RunView) -> None:
        self.run = run
        # No single result may take more than about a sixth of the window.
        room = run.model.traits.context_tokens // 2
        self.profile = Profile(
            "conversation",
            max_actions=50,
            repairs_plans=False,
            summary_chars=min(16_000, room),
            read_chars=min(48_000, room),
            search_matches=100,
            truncate_middle=True,
        )
        self._dialogue = Dialogue(run)
        self._survey = Survey(run, self._dialogue)
        self._window = 0
        """The window that the server told when a request was too long; 0: as the model's traits say."""

    # -- phases ----------------------------------------------------------------------------------------------------

    def understand(self, refusal: Refusal) -> Awaitable[UnderstandingDraft]:
        return self._survey.submission(Verb.SUBMIT_UNDERSTANDING, UnderstandingDraft, refusal)

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
            answers = self._dialogue.settled(conversation)
            if any(call.name == Verb.SUBMIT_PLAN for call in self._dialogue.open_calls(conversation)):
                # The step began in the turn that submitted the plan.
                answers.append(Message(role="user", content=step_start(self.run, step_run)))
            spoke = isinstance(self._dialogue.items(conversation)[-1], AssistantTurn)
            if spoke and not answers:
                answers = [Message(role="user", content=GO_ON)]
            self._dialogue.append(conversation, answers)
            conversation = await self._make_room(conversation, step_run)
            turn = await self._ask(conversation, step_run, Purpose.ACT)
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

    async def candidate(self, step_run: StepRun, temperature: float) -> Sequence[Proposal]:
        raise UnreadableAnswer("a conversation has no single answers to compare")

    def _conversation(self, step_run: StepRun) -> Conversation:
        """Return the conversation of the attempt, or open it: behind the step before, or behind the survey."""
        step_id, attempt = step_run.step.id, step_run.attempt
        if (found := self._dialogue.newest(step_id, attempt)) is not None:
            return found
        survey, before = self._dialogue.newest(), self._step_before(step_run)
        if survey is not None and self._is_first(step_run) and self._survey.has_work(survey):
            return self._take_over(survey, step_run)
        start = step_start(self.run, step_run)
        parent = before or survey
        items: list[Item]
        if before is not None:
            items = self._dialogue.settled(before)
        else:
            items = self._survey.accepted(survey) if survey is not None else opening(self.run, planned=True)
            start = "\n\n".join(filter(None, [facts(self.run, step_run), start]))
        items.append(Message(role="user", content=start))
        return self._dialogue.start(
            self._tools,
            items,
            step_id=step_id,
            attempt=attempt,
            parent=parent,
            keep=len(parent.items) if parent else 0,
            reason="the next step" if before else "a fresh start" if attempt > 1 else "the first step",
        )

    def _is_first(self, step_run: StepRun) -> bool:
        others = (other for other in self.run.state.steps.values() if other is not step_run)
        return step_run.attempt == 1 and not any(other.attempt for other in others)

    def _take_over(self, survey: Conversation, step_run: StepRun) -> Conversation:
        """Open the first step's conversation at the turn that has both the plan and calls behind it."""
        conversation = self._dialogue.start(
            self._tools,
            (),
            step_id=step_run.step.id,
            attempt=step_run.attempt,
            parent=survey,
            keep=len(survey.items),
            reason="calls behind the plan",
        )
        self._survey.hand_over(survey, conversation)
        return conversation

    def _step_before(self, step_run: StepRun) -> Conversation | None:
        """Return the conversation of the step before, if this one can continue it."""
        state = self.run.state
        if step_run.attempt > 1 or step_run.failures or len(state.running) > 1:
            return None
        for conversation in reversed(state.conversations.values()):
            other = state.steps.get(conversation.step_id)
            if other is None or conversation.attempt != other.attempt:
                continue
            short = conversation.prompt_tokens < min(CONTINUE_BELOW_TOKENS, self._window_size // 2)
            return conversation if other.status is StepStatus.SUCCEEDED and short else None
        return None

    @cached_property
    def _tools(self) -> tuple[Any, ...]:
        return specifications(self.run.toolbox, self.run.usable_tools())

    # -- the window ------------------------------------------------------------------------------------------------

    @property
    def _window_size(self) -> int:
        return self._window or self.run.model.traits.context_tokens

    async def _make_room(self, conversation: Conversation, step_run: StepRun) -> Conversation:
        """Mask old results if the conversation grows long; beyond that, go on in a new window."""
        self._mask(conversation)
        items = self._dialogue.items(conversation)
        room = self._window_size - self.run.model.traits.output_limit
        if not window.needs_new_window(conversation, items, max(room, self._window_size // 2)):
            return conversation
        self._dialogue.append(conversation, [Message(role="user", content=HANDOFF)])
        handoff = (await self._dialogue.ask(conversation, Purpose.ACT)).content
        return self._new_window(conversation, step_run, items, handoff)

    def _mask(self, conversation: Conversation, *, force: bool = False) -> bool:
        items = self._dialogue.items(conversation)
        positions = window.to_mask(conversation, items, self._window_size, force=force)
        if positions:
            self.run.note(e.ConversationMasked(conversation=conversation.id, positions=positions))
        return bool(positions)

    def _new_window(
        self, conversation: Conversation, step_run: StepRun, items: Sequence[Item], handoff: str
    ) -> Conversation:
        parts = [facts(self.run, step_run), step_start(self.run, step_run)]
        parts += [f"# Your notes from the window before\n{handoff}"] if handoff else []
        text = Message(role="user", content="\n\n".join(filter(None, parts)))
        return self._dialogue.start(
            self._tools,
            [text, *window.tail(items, conversation.prefix, self._window_size)],
            step_id=step_run.step.id,
            attempt=step_run.attempt,
            parent=conversation,
            keep=conversation.prefix,
            reason="a new window",
        )

    async def _ask(self, conversation: Conversation, step_run: StepRun, purpose: Purpose) -> AssistantTurn:
        """Ask. If the request turns out to be too long, shorten it and ask again."""
        try:
            return await self._dialogue.ask(conversation, purpose)
        except ContextOverflow as error:
            self._window = (
                error.limit or min(self._window_size, conversation.prompt_tokens or self._window_size) * 3 // 4
            )
            if self._mask(conversation, force=True):
                return await self._dialogue.ask(conversation, purpose)
            items = self._dialogue.items(conversation)
            shorter = self._new_window(conversation, step_run, items, "")
            return await self._dialogue.ask(shorter, purpose)

    # -- after a failure -------------------------------------------------------------------------------------------

    async def diagnose(self, step_run: StepRun, failure: Failure) -> ReflectionDraft:
        question = (
            f"This attempt has ended: {failure.message}\n{failure.evidence}\nSay why with diagnose, and nothing else."
        )
        turn = await self._ask_after_failure(step_run, question, Purpose.REFLECT)
        for call in turn.calls:
            if call.name == Verb.DIAGNOSE and not call.problem:
                try:
                    return ReflectionDraft.model_validate(call.arguments)
                except ValidationError as error:
                    raise UnreadableAnswer(f"the diagnosis cannot be read: {error}", answer=turn.content) from error
        return ReflectionDraft(root_cause=turn.content.strip()[:400] or failure.message)

    async def repair_step(self, step_run: StepRun, failed: str) -> StepDraft:
        """Ask for the step in another form. A model that gives none still starts afresh and is told what failed."""
        step = step_run.step
        question = (
            f"{failed}\n\nPlan this one step ({step.id}) again, differently: call change_steps, and nothing else."
        )
        turn = await self._ask_after_failure(step_run, question, Purpose.REPAIR)
        for call in turn.calls:
            if call.name == Verb.CHANGE_STEPS and not call.problem:
                with suppress(ValidationError):
                    return ChangeStepsDraft.model_validate(call.arguments).steps[0]
        return StepDraft(name=step.name, description=step.description, type=step.step_type)

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

    async def _ask_after_failure(self, step_run: StepRun, question: str, purpose: Purpose) -> AssistantTurn:
        """Ask once more in the conversation of the attempt that failed. The calls of the answer are not carried out."""
        conversation = self._conversation(step_run)
        answers = [*self._dialogue.settled(conversation), Message(role="user", content=question)]
        self._dialogue.append(conversation, answers)
        return await self._ask(conversation, step_run, purpose)
