"""The interface between the engine and the strategies that drive a model.

The engine calls a strategy to produce a phase's output, to propose the next actions of a step, and to recover from a
failure. It judges, records and carries out the results. `choose.py` picks the strategy for a model.
"""

from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from surefoot.core.outcome import CheckResult, Failure
from surefoot.core.plan import ExecutionStep, StepKind
from surefoot.journal.events import PhaseName
from surefoot.journal.state import StepRun
from surefoot.prompting.drafts.full import AnyChangeDraft, AnyPlanDraft
from surefoot.prompting.drafts.short import (
    ApproachDraft,
    CallDraft,
    ReflectionDraft,
    StepDecision,
    UnderstandingDraft,
)
from surefoot.prompting.profile import Profile
from surefoot.prompting.proposal import Proposal


@dataclass(frozen=True, slots=True)
class Turn:
    """One answer inside a step."""

    proposals: Sequence[Proposal]
    """The proposed actions, in order. Empty only if there is a revision."""
    revision: StepDecision | None = None
    """The changes to the plan that came with the answer, if any."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why the last output of a phase was refused by its gate, and how often that has happened."""

    messages: Sequence[str] = field(default_factory=tuple)
    attempt: int = 0


class Strategy(Protocol):
    """One instance serves one run. Methods raise `ModelError`s; `UnreadableAnswer` if an answer cannot be used."""

    @property
    def profile(self) -> Profile: ...

    def understand(self, refusal: Refusal) -> Awaitable[UnderstandingDraft | None]:
        """Say what the task wants. None: the model has submitted a plan alone, so the words of the task are enough."""
        ...

    def approach(self, refusal: Refusal) -> Awaitable[ApproachDraft]:
        """Choose how to do it."""
        ...

    def plan(self, refusal: Refusal) -> Awaitable[AnyPlanDraft]:
        """Plan the steps, or what is left of them after a failure."""
        ...

    def has_submitted(self, phase: PhaseName) -> bool:
        """Whether the model has already given the output of a phase, together with that of an earlier one."""
        ...

    def step_kind(self, step: ExecutionStep) -> StepKind:
        """Decide how a step without a tool is carried out. The engine asks when an attempt starts, and records it."""
        ...

    def next_actions(self, step_run: StepRun, results: Sequence[CheckResult]) -> Awaitable[Turn]:
        """Propose what to do next in a step, given the newest results of its checks."""
        ...

    def answer(self, step_run: StepRun, proposal: Proposal, text: str, *, ok: bool) -> None:
        """Tell the model the result of a proposal that is not an action (refused, invalid, a request to the engine)."""
        ...

    def candidate(self, step_run: StepRun, temperature: float) -> Awaitable[Sequence[Proposal]]:
        """Propose one of several answers to a one-answer step, without regard to what the last attempt did."""
        ...

    def open_branch(self, step_run: StepRun, number: int, of: int) -> None:
        """Start or continue a candidate of a conversation step. The next actions are those of the candidate."""
        ...

    def was_told_done(self, step_run: StepRun) -> bool:
        """Whether the model was already told that the step is done, and the process ended before that was recorded."""
        ...

    def done_in_branch(self, step_run: StepRun) -> Sequence[Proposal]:
        """Return the successful calls of the candidate so far that may have changed something, in order."""
        ...

    def diagnose(self, step_run: StepRun, failure: Failure) -> Awaitable[ReflectionDraft]:
        """Find the cause of a failure that rules could not explain."""
        ...

    def repair_step(self, step_run: StepRun, failed: str) -> Awaitable[AnyChangeDraft]:
        """Plan one failed step differently."""
        ...

    def repair_call(self, step_run: StepRun, failed: str) -> Awaitable[CallDraft]:
        """Choose another call for a failed step that is one tool call."""
        ...
