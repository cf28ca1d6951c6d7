"""The survey: the model looks around, then submits understanding, approach and plan in one read-only conversation.

The gate's verdict is the result of a submission. A submission stays an open call until the engine has judged it, so a
killed process finds it again.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from pydantic import ValidationError

from surefoot.config.model import PhasePolicy
from surefoot.core.phases import PhaseResult, TaskComplexity
from surefoot.core.purpose import Purpose
from surefoot.core.values import what_is_wrong
from surefoot.errors import NothingSubmitted, TaskImpossible, UnreadableAnswer
from surefoot.journal.state import Conversation, StepRun
from surefoot.models.items import AssistantTurn, Item, Message, ToolCall, ToolResultMessage
from surefoot.prompting.context import approach_text, step_to_replan
from surefoot.prompting.conversation.dialogue import Dialogue
from surefoot.prompting.conversation.earlier import beginning
from surefoot.prompting.conversation.room import Room
from surefoot.prompting.conversation.specifications import specifications
from surefoot.prompting.conversation.texts import facts, what_failed
from surefoot.prompting.drafts.full import FullApproachDraft, FullPlanDraft
from surefoot.prompting.drafts.short import Draft, UnderstandingDraft
from surefoot.prompting.drafts.verbs import DRAFTS, Verb
from surefoot.prompting.run_context import RunContext
from surefoot.prompting.strategy import Refusal

D = TypeVar("D", bound=Draft)

MAX_TURNS = 40
"""How many turns a survey may have before it has to end."""
MAX_SILENT_TURNS = 3
"""How many turns in a row end a conversation if they have no call or, in the survey, no useful call."""

_PHASES: Mapping[Verb, str] = {
    Verb.SUBMIT_UNDERSTANDING: "understanding",
    Verb.SUBMIT_APPROACH: "approach",
    Verb.SUBMIT_PLAN: "planning",
}
_NOUNS = {
    Verb.SUBMIT_UNDERSTANDING: "an understanding",
    Verb.SUBMIT_APPROACH: "an approach",
    Verb.SUBMIT_PLAN: "a plan",
}
_READ_AS: Mapping[Verb, type[Draft]] = {
    Verb.SUBMIT_UNDERSTANDING: UnderstandingDraft,
    Verb.SUBMIT_APPROACH: FullApproachDraft,
    Verb.SUBMIT_PLAN: FullPlanDraft,
}
_PURPOSES = {
    Verb.SUBMIT_UNDERSTANDING: Purpose.UNDERSTAND,
    Verb.SUBMIT_APPROACH: Purpose.APPROACH,
    Verb.SUBMIT_PLAN: Purpose.PLAN,
}
NOT_YET = "Not executed: work begins when a plan is accepted."
ACCEPTED = "Accepted."
REFUSED = "Refused:"
NOT_SUBMITTED = "the model did not submit"
UNUSABLE = "This cannot be used: {problem}"
KEPT = "Kept. It is looked at when what comes before it is accepted; you need not send it again."
WAY_OUT = f"If the task cannot be done, call {Verb.CANNOT.value} and say why."
MISSING = (
    "Still missing: {verbs}. Look at what you have not seen yet, or call it now; work begins after that. " + WAY_OUT
)
GO_ON = "Go on by calling a tool: look at what you still need, or call {verbs}. " + WAY_OUT


class PlanAlone(Exception):
    """The model has submitted a plan without an understanding."""


class Survey:
    def __init__(self, run: RunContext, dialogue: Dialogue, room: Room) -> None:
        self._run = run
        self._dialogue = dialogue
        self._room = room

    def has(self, verb: Verb) -> bool:
        """Whether a submission of this kind waits to be judged."""
        conversation = self._dialogue.newest()
        return conversation is not None and self._submitted(conversation, verb) is not None

    async def understanding(self, refusal: Refusal) -> UnderstandingDraft | None:
        """Return the understanding that the model submits; None if it submits a plan alone.

        After a refused understanding, a plan alone is not enough: it would evade the gate.
        """
        try:
            return await self.submission(Verb.SUBMIT_UNDERSTANDING, UnderstandingDraft, refusal)
        except PlanAlone:
            return None

    async def submission(self, verb: Verb, into: type[D], refusal: Refusal) -> D:
        """Continue the survey until the model makes this submission. Calls that only read are carried out.

        Raises `NothingSubmitted` if it does not, and `UnreadableAnswer` for a submission that cannot be read. The gate
        counts the latter as a refused attempt, and the model finds the reason in the result of its call.
        """
        conversation = self._open()
        refused = bool(refusal.messages)
        was_judged = any(NOT_SUBMITTED not in message for message in refusal.messages)
        if replanning := verb is Verb.SUBMIT_PLAN and step_to_replan(self._run.state) is not None and not refused:
            conversation = self._reopen(conversation)
        fruitless = 0
        judged = refused or replanning
        while True:
            await self._look(conversation)
            call = None if refused or replanning else self._submitted(conversation, verb)
            if call is not None:
                return self._read(conversation, call, into)
            if verb is Verb.SUBMIT_UNDERSTANDING and not was_judged and self._has_plan_alone(conversation):
                raise PlanAlone
            # Otherwise the last question was not answered: a process ended before that, and it is asked again as it is.
            spoke = isinstance(self._dialogue.items(conversation)[-1], AssistantTurn)
            silent = spoke and not self._dialogue.open_calls(conversation)
            useful = judged or not spoke or self._brings_something(conversation, verb)
            results = self._results_of_open_calls(conversation, verb, refusal if refused else Refusal())
            if not useful:
                fruitless += 1
                text = (GO_ON if silent else MISSING).format(verbs=self._missing(conversation, verb))
                results.append(Message(role="user", content=text))
            else:
                fruitless = 0
            if fruitless >= MAX_SILENT_TURNS or self._turns() >= MAX_TURNS:
                reason = "called no tool" if silent else "made calls that bring nothing"
                reason = reason if fruitless >= MAX_SILENT_TURNS else f"had {MAX_TURNS} turns"
                raise NothingSubmitted(f"{NOT_SUBMITTED} {_NOUNS[verb]}: it {reason}")
            self._dialogue.append(conversation, results)
            refused = replanning = judged = False
            await self._room.ask(conversation, _PURPOSES[verb], lambda: self._restart(verb))
            conversation = self._open()

    def _brings_something(self, conversation: Conversation, wanted: Verb) -> bool:
        """Whether the last turn has a new call that is useful: one that reads, or a submission that can be used."""
        before = [call for turn in self._dialogue.own_turns(conversation)[:-1] for call in turn.calls]
        earlier_calls = {_call_key(call) for call in before}
        submitted = {call.name for call in before}
        for call in self._dialogue.open_calls(conversation):
            if call.name in _PHASES:
                is_usable = call.name not in submitted and not self._unreadable(call)
                if is_usable or self._verdict(Verb(call.name), wanted, Refusal())[1].startswith(ACCEPTED):
                    return True
            elif call.name == Verb.CANNOT and conversation.resumed_after == conversation.turns:
                return True  # A person has answered it by resuming the run.
            elif self._is_look(call) and _call_key(call) not in earlier_calls:
                return True
        return False

    def _unreadable(self, call: ToolCall) -> str:
        """Say why a submission cannot be read; empty if it can."""
        try:
            if call.problem:
                raise ValueError(call.problem)
            _READ_AS[Verb(call.name)].model_validate(call.arguments)
        except (ValidationError, ValueError) as error:
            return _problem(error)
        return ""

    def _turns(self) -> int:
        """The number of the model's turns in the survey, in all its windows."""
        return sum(c.turns for c in self._run.state.conversations.values() if not c.step_id)

    def _restart(self, wanted: Verb) -> str:
        """Tell a new window what was accepted, what failed, and what is still wanted."""
        failed = step_to_replan(self._run.state)
        parts = [_new_plan(self._run, failed)] if failed is not None else []
        accepted = [verb for verb in _PHASES if self._verdict(verb, wanted, Refusal())[1].startswith(ACCEPTED)]
        parts += [f"Accepted so far: {', '.join(accepted)}."] if accepted and failed is None else []
        return "\n\n".join([*parts, f"Look at what you still need, then call {wanted.value}."])

    def _open(self) -> Conversation:
        if (conversation := self._dialogue.newest()) is not None:
            return conversation
        run = self._run
        tools = specifications(run.toolbox, run.usable_tools())
        begun = beginning(run, tools)
        return self._dialogue.start(tools, begun.items, reason="survey", earlier=begun.earlier)

    def _reopen(self, conversation: Conversation) -> Conversation:
        """Continue the survey for a new plan. Earlier submissions are accepted, and the model is told what failed."""
        failed = step_to_replan(self._run.state)
        assert failed is not None
        self._dialogue.append(conversation, self._results_of_open_calls(conversation, Verb.SUBMIT_PLAN, Refusal()))
        text = f"{_new_plan(self._run, failed)}\n\n"
        text += f"{approach_text(self._run.state).strip()}\n\n" if self._run.state.approach_index else ""
        text += "Look at what you need, then submit a plan of what is still to be done with submit_plan. "
        text += WAY_OUT
        self._dialogue.append(conversation, [Message(role="user", content=text)])
        return conversation

    def _submitted(self, conversation: Conversation, verb: Verb) -> ToolCall | None:
        """Return the submission that waits to be judged: from the last turn, or kept from an earlier one."""
        calls = self._dialogue.open_calls(conversation)
        submission = next((call for call in calls if call.name == verb and call.id not in conversation.results), None)
        return submission or self._kept(conversation, verb)

    def _kept(self, conversation: Conversation, verb: Verb) -> ToolCall | None:
        items = self._dialogue.items(conversation)
        kept_ids: set[str] = set()
        for item in items:
            if isinstance(item, ToolResultMessage) and item.text == KEPT:
                kept_ids.add(item.call_id)
            elif isinstance(item, Message) and item.content.startswith(f"{verb.value}: {REFUSED}"):
                # What was kept has been judged since. It is not judged again.
                kept_ids.clear()
        turns = reversed(self._dialogue.own_turns(conversation))
        calls = [call for turn in turns for call in turn.calls if call.name == verb]
        return calls[0] if calls and calls[0].id in kept_ids and calls[0].id not in conversation.results else None

    def _read(self, conversation: Conversation, call: ToolCall, into: type[D]) -> D:
        """Read a submission. If it cannot be read, the call's result says why."""
        try:
            if call.problem:
                raise ValueError(call.problem)
            return into.model_validate(call.arguments)
        except (ValidationError, ValueError) as error:
            problem = _problem(error)
            self._dialogue.answer(conversation, call, UNUSABLE.format(problem=problem), ok=False)
            raise UnreadableAnswer(problem, answer=str(call.arguments)) from error

    async def _look(self, conversation: Conversation) -> None:
        """Carry out the calls that only read, and refuse the others until the plan is accepted."""
        calls = self._dialogue.open_calls(conversation)
        with_plan = any(call.name == Verb.SUBMIT_PLAN and not call.problem for call in calls)
        # A kept plan is judged as soon as the submission before it is there; work after that submission waits for it.
        with_plan = with_plan or self._kept(conversation, Verb.SUBMIT_PLAN) is not None
        with_plan = with_plan or self._needs_no_plan(conversation)
        for call in calls:
            if call.name in _PHASES or call.id in conversation.results or (with_plan and self._is_work(call)):
                continue
            if call.problem:
                self._dialogue.answer(conversation, call, call.problem, ok=False)
            elif call.name == Verb.CANNOT and conversation.resumed_after == conversation.turns:
                self._dialogue.answer(conversation, call, self._dialogue.resumed(conversation))
            elif call.name == Verb.CANNOT:
                raise TaskImpossible(str(call.arguments.get("reason", "")) or "the model gave no reason")
            elif call.name in DRAFTS:
                self._dialogue.answer(conversation, call, NOT_YET, ok=False)
            else:
                ok, text = await self._run.call_read_only(call.name, call.arguments)
                self._dialogue.answer(conversation, call, text, ok=ok)

    def _needs_no_plan(self, conversation: Conversation) -> bool:
        """Whether the last turn submits an understanding that makes the task one step."""
        if self._run.config.phases is PhasePolicy.FULL or step_to_replan(self._run.state) is not None:
            return False
        calls = self._dialogue.open_calls(conversation)
        understandings = [call for call in calls if call.name == Verb.SUBMIT_UNDERSTANDING]
        return any(
            not self._unreadable(call)
            and UnderstandingDraft.model_validate(call.arguments).complexity is TaskComplexity.SIMPLE
            for call in understandings
        )

    def _has_plan_alone(self, conversation: Conversation) -> bool:
        """Whether a plan was submitted that can be read, and the understanding may be left out."""
        plan = self._submitted(conversation, Verb.SUBMIT_PLAN)
        return self._run.config.phases is not PhasePolicy.FULL and plan is not None and not self._unreadable(plan)

    def _missing(self, conversation: Conversation, wanted: Verb) -> str:
        """Name the submissions that work waits for. An approach is needed only where there is a choice."""
        plan = Verb.SUBMIT_PLAN
        also = plan is not wanted and self._submitted(conversation, plan) is None
        return f"{wanted.value} and {plan.value}" if also else wanted.value

    def _is_look(self, call: ToolCall) -> bool:
        return call.name in self._run.toolbox and not call.problem and not self._is_work(call)

    def _is_work(self, call: ToolCall) -> bool:
        """Whether a call belongs to a step. After a plan in the same turn, it waits until the plan is accepted."""
        if call.problem or call.name == Verb.CANNOT:
            return False
        if call.name in DRAFTS:
            return True
        return call.name in self._run.toolbox and not self._run.toolbox.get(call.name).is_read_only

    def _results_of_open_calls(self, conversation: Conversation, wanted: Verb, refusal: Refusal) -> list[Item]:
        """Return one result for each open call. Submissions are answered by their gates."""
        results: list[Item] = []
        for call in self._dialogue.open_calls(conversation):
            known = self._dialogue.result_of(conversation, call)
            if known is None and call.name in _PHASES:
                ok, text = self._verdict(Verb(call.name), wanted, refusal)
                if text == KEPT and (problem := self._unreadable(call)):
                    ok, text = False, UNUSABLE.format(problem=problem)
                known = ToolResultMessage(call_id=call.id, text=text, ok=ok)
            results.append(known or ToolResultMessage(call_id=call.id, text=NOT_YET, ok=False))
        if refusal.messages and not any(call.name == wanted for call in self._dialogue.open_calls(conversation)):
            # A submission that was kept from an earlier turn has its result already.
            results.append(Message(role="user", content=f"{wanted.value}: {_refused(refusal)}"))
        return results

    def _verdict(self, verb: Verb, wanted: Verb, refusal: Refusal) -> tuple[bool, str]:
        state = self._run.state
        if verb is wanted and refusal.messages:
            return False, _refused(refusal)
        accepted: dict[Verb, PhaseResult[Any] | None] = {
            Verb.SUBMIT_UNDERSTANDING: state.understanding,
            Verb.SUBMIT_APPROACH: state.approach,
            Verb.SUBMIT_PLAN: state.planning,
        }
        if (result := accepted[verb]) is not None:
            return True, "\n".join([ACCEPTED, *(f"- {note}" for note in _notes(result))])
        return True, KEPT

    def accepted(self, conversation: Conversation) -> list[Item]:
        """Return the results of the calls that ended the survey, for a step that branches off it."""
        return self._results_of_open_calls(conversation, Verb.SUBMIT_PLAN, Refusal())

    def hand_over(self, survey: Conversation, step: Conversation) -> None:
        """Answer the submissions in the conversation of the first step, which carries out the calls after the plan."""
        for call in self._dialogue.open_calls(survey):
            if call.name in _PHASES and call.id not in survey.results:
                ok, text = self._verdict(Verb(call.name), Verb.SUBMIT_PLAN, Refusal())
                self._dialogue.answer(step, call, text, ok=ok)

    def has_work(self, conversation: Conversation) -> bool:
        """Whether the model made calls after its accepted plan, in the same turn."""
        return bool(self._dialogue.not_begun(conversation)) and any(
            self._is_work(call) for call in self._dialogue.not_begun(conversation)
        )


def _call_key(call: ToolCall) -> tuple[str, str]:
    return call.name, json.dumps(call.arguments, sort_keys=True)


def _notes(result: PhaseResult[Any]) -> Sequence[str]:
    """Return what the engine has changed in an accepted submission, and what it doubts."""
    return result.validation.warnings if result.validation else ()


def _new_plan(run: RunContext, failed: StepRun) -> str:
    return f"A new plan is needed.\n\n# What failed\n{what_failed(failed)}\n\n{facts(run, failed, failure_told=True)}"


def _refused(refusal: Refusal) -> str:
    reasons = "\n".join(f"- {message}" for message in refusal.messages)
    return f"{REFUSED}\n{reasons}\nFix exactly these points and submit it again."


def _problem(error: ValueError) -> str:
    return what_is_wrong(error) if isinstance(error, ValidationError) else str(error)
