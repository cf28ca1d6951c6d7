"""The verbs by which a model talks to the engine in a conversation, and the drafts of their arguments."""

from enum import StrEnum

from pydantic import Field

from surefoot.prompting.drafts.full import (
    FullApproachDraft,
    FullChangeDraft,
    FullPlanDraft,
    FullReflectionDraft,
    FullStepDraft,
    FullUnderstandingDraft,
)
from surefoot.prompting.drafts.short import Draft


class Verb(StrEnum):
    SUBMIT_UNDERSTANDING = "submit_understanding"
    SUBMIT_APPROACH = "submit_approach"
    SUBMIT_PLAN = "submit_plan"
    CHECK = "check"
    FINISH_STEP = "finish_step"
    REPLAN = "replan"
    ADD_STEPS = "add_steps"
    CHANGE_STEPS = "change_steps"
    REMOVE_STEPS = "remove_steps"
    CANNOT = "cannot"
    DIAGNOSE = "diagnose"


class Nothing(Draft):
    pass


class FinishDraft(Draft):
    summary: str = ""


class ReasonDraft(Draft):
    reason: str = Field(min_length=1)


class AddStepsDraft(Draft):
    steps: list[FullStepDraft] = Field(min_length=1)
    reason: str = ""


class ChangeStepsDraft(Draft):
    steps: list[FullChangeDraft] = Field(min_length=1)
    reason: str = ""


class RemoveStepsDraft(Draft):
    steps: list[str] = Field(min_length=1, description="their ids")
    reason: str = ""


DRAFTS: dict[str, type[Draft]] = {
    Verb.SUBMIT_UNDERSTANDING: FullUnderstandingDraft,
    Verb.SUBMIT_APPROACH: FullApproachDraft,
    Verb.SUBMIT_PLAN: FullPlanDraft,
    Verb.CHECK: Nothing,
    Verb.FINISH_STEP: FinishDraft,
    Verb.REPLAN: ReasonDraft,
    Verb.ADD_STEPS: AddStepsDraft,
    Verb.CHANGE_STEPS: ChangeStepsDraft,
    Verb.REMOVE_STEPS: RemoveStepsDraft,
    Verb.CANNOT: ReasonDraft,
    Verb.DIAGNOSE: FullReflectionDraft,
}
