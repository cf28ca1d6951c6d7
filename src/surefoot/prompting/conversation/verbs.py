"""The tools through which a model talks to the engine, and the specification of all tools of a conversation."""

from enum import StrEnum
from typing import Any

from pydantic import Field

from surefoot.models.items import ToolSpec
from surefoot.prompting.conversation.submissions import FullApproachDraft, FullPlanDraft, tool_schema
from surefoot.prompting.schemas import (
    ChangeDraft,
    Draft,
    ReflectionDraft,
    StepDraft,
    UnderstandingDraft,
)
from surefoot.tools.registry import Toolbox
from surefoot.tools.tool import Tool


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
    summary: str = Field(default="", description="what was done, in one or two sentences")


class ReasonDraft(Draft):
    reason: str = Field(min_length=1)


class AddStepsDraft(Draft):
    steps: list[StepDraft] = Field(min_length=1)
    reason: str = ""


class ChangeStepsDraft(Draft):
    steps: list[ChangeDraft] = Field(min_length=1)
    reason: str = ""


class RemoveStepsDraft(Draft):
    steps: list[str] = Field(min_length=1, description="ids of steps that have not begun")
    reason: str = ""


_VERBS: dict[Verb, tuple[type[Draft], str]] = {
    Verb.SUBMIT_UNDERSTANDING: (UnderstandingDraft, "Before work starts: say what the task wants."),
    Verb.SUBMIT_APPROACH: (
        FullApproachDraft,
        "Before work starts: say how it will be done, and name another way. Not needed for a simple task.",
    ),
    Verb.SUBMIT_PLAN: (
        FullPlanDraft,
        "Before work starts: submit the steps. Most tasks need one; use several where parts can be checked "
        "separately. Also used to submit a new plan after a failure.",
    ),
    Verb.CHECK: (Nothing, "Run the checks of the current step now, without finishing it."),
    Verb.FINISH_STEP: (
        FinishDraft,
        "Say that the current step is done. The checks are run; if one fails, you get its output and go on.",
    ),
    Verb.REPLAN: (ReasonDraft, "The plan does not work: end this step and plan what is left anew."),
    Verb.ADD_STEPS: (AddStepsDraft, "Add steps after the current one."),
    Verb.CHANGE_STEPS: (ChangeStepsDraft, "Change steps that have not begun."),
    Verb.REMOVE_STEPS: (RemoveStepsDraft, "Remove steps that have not begun."),
    Verb.CANNOT: (
        ReasonDraft,
        "The task cannot be done as asked: something is missing, or what is asked contradicts itself. Say what, with "
        "evidence. Better than a pretended result.",
    ),
    Verb.DIAGNOSE: (ReflectionDraft, "Only when asked: say why an attempt failed and what to do differently."),
}
DRAFTS: dict[str, type[Draft]] = {verb.value: draft for verb, (draft, _) in _VERBS.items()}


def specifications(toolbox: Toolbox, names: tuple[str, ...]) -> tuple[ToolSpec, ...]:
    """Return all tools of a conversation by name. The list stays the same from the first request to the last, because
    servers cache requests from their beginning."""
    verbs = [
        ToolSpec(name=verb.value, description=text, parameters=tool_schema(draft))
        for verb, (draft, text) in _VERBS.items()
    ]
    tools = [specification(toolbox.get(name)) for name in names]
    return tuple(sorted((*verbs, *tools), key=lambda spec: spec.name))


def specification(tool: Tool) -> ToolSpec:
    """Return a tool as a conversation offers it: with its body as an ordinary argument."""
    parameters: dict[str, Any] = dict(tool.parameters)
    if tool.instead_of_body:
        # A body of search/replace blocks is for models that write JSON badly.
        properties = {k: v for k, v in parameters.get("properties", {}).items() if k != tool.body_argument}
        required = [*(n for n in parameters.get("required", ()) if n != tool.body_argument), *tool.instead_of_body[:2]]
        parameters |= {"properties": properties, "required": list(dict.fromkeys(required))}
    return ToolSpec(name=tool.name, description=_DESCRIPTIONS.get(tool.name, tool.description), parameters=parameters)


_DESCRIPTIONS = {
    "read_file": "Read a text file, or the lines start_line to end_line of it. Shows up to 2,000 lines at once.",
    "edit_file": (
        "Replace `search` by `replace` in a file. `search` must be text as it is in the file and occur exactly once: "
        "add lines around it until it does, or set replace_all. An empty `replace` deletes it. If only the indentation "
        "or spacing of `search` differs, it still matches, and the file's own indentation is kept. Returns the diff."
    ),
    "write_file": "Create a file, or overwrite all of it. To change a part of a file, use edit_file.",
    "search": "Find a regular expression or plain text in the files, with line numbers. At most 100 matches are shown.",
    "run_command": (
        "Run a shell command in the folder's root, for tests, git, and whatever has no tool. `timeout` is in seconds. "
        "Of a long output the "
        "beginning and the end are shown; read_result shows the rest."
    ),
    "read_result": "Read the whole output of an earlier call by the id that its result names, or some lines of it.",
    "ask_user": "Ask the user something that neither the folder nor the task can tell. Work waits for the answer.",
}
"""Descriptions for models that call tools. The tools' own are for small models: shorter."""
