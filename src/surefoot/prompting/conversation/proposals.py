"""Turn the calls of a model into proposals for the engine."""

from pydantic import ValidationError

from surefoot.core.values import what_is_wrong
from surefoot.errors import UnknownTool
from surefoot.models.items import ToolCall
from surefoot.prompting.drafts.full import Revision
from surefoot.prompting.drafts.short import Draft
from surefoot.prompting.drafts.verbs import (
    DRAFTS,
    AddStepsDraft,
    ChangeStepsDraft,
    RemoveStepsDraft,
    Verb,
)
from surefoot.prompting.proposal import Proposal
from surefoot.tools.registry import Toolbox
from surefoot.tools.text.patch import calls_apply_patch, patch_in_command

PATCH_ALONE = (
    "Not executed: apply_patch is no program here. Call the tool apply_patch with the patch, or a command that is "
    "nothing but apply_patch with a here-document; run the rest by itself."
)


def proposal_of(call: ToolCall, toolbox: Toolbox, thought: str) -> Proposal:
    """Return what a call asks for: an action, or a request to the engine. With a problem, the proposal is invalid."""
    problem = call.problem
    if not problem and call.name in DRAFTS:
        return _request(call, thought)
    try:
        tool = toolbox.get(call.name)
    except UnknownTool as error:
        problem = problem or f"{error}. {error.remedy}"
    if problem:
        return Proposal("invalid", call.name, thought=problem, call_id=call.id)
    if tool.name == "run_command" and "apply_patch" in toolbox:
        command = str(call.arguments.get("command", ""))
        if (patch := patch_in_command(command)) is not None:
            return Proposal("act", "apply_patch", {"patch": patch}, "", thought, call.id)
        if calls_apply_patch(command):
            return Proposal("invalid", call.name, thought=PATCH_ALONE, call_id=call.id)
    arguments, body = dict(call.arguments), ""
    if tool.body_argument and arguments.get(tool.body_argument):
        body = str(arguments.pop(tool.body_argument))
    return Proposal("act", tool.name, arguments, body, thought, call.id)


def _request(call: ToolCall, thought: str) -> Proposal:
    """Turn a call to the engine into a proposal."""
    try:
        draft = DRAFTS[call.name].model_validate(call.arguments)
    except ValidationError as error:
        return Proposal("invalid", call.name, thought=f"This cannot be used: {what_is_wrong(error)}", call_id=call.id)
    match Verb(call.name):
        case Verb.FINISH_STEP:
            return Proposal("done", call.name, thought=call.arguments.get("summary", "") or thought, call_id=call.id)
        case Verb.CHECK:
            return Proposal("check", call.name, call_id=call.id)
        case Verb.REPLAN:
            return Proposal("replan", call.name, thought=call.arguments["reason"], call_id=call.id)
        case Verb.CANNOT:
            return Proposal("cannot", call.name, thought=call.arguments["reason"], call_id=call.id)
        case Verb.ADD_STEPS | Verb.CHANGE_STEPS | Verb.REMOVE_STEPS:
            return Proposal("revise", call.name, thought=thought, call_id=call.id, revision=_revision(draft))
    problem = "The plan is accepted and this step is under way. Use replan, add_steps, change_steps or remove_steps."
    return Proposal("invalid", call.name, thought=problem, call_id=call.id)


def _revision(draft: Draft) -> Revision:
    match draft:
        case AddStepsDraft():
            return Revision(reason=draft.reason, add_steps=draft.steps)
        case ChangeStepsDraft():
            return Revision(reason=draft.reason, change_steps=draft.steps)
        case RemoveStepsDraft():
            return Revision(reason=draft.reason, remove_steps=draft.steps)
    raise TypeError(type(draft).__name__)
