"""The specification of all tools of a conversation: the verbs, and the tools of the toolbox."""

from copy import deepcopy
from functools import cache
from typing import Any

from pydantic import BaseModel

from surefoot.models.items import ToolSpec
from surefoot.models.json_schema import map_schema, without_references
from surefoot.prompting.drafts.verbs import DRAFTS, Verb
from surefoot.tools.registry import Toolbox
from surefoot.tools.text.patch import EXAMPLE
from surefoot.tools.tool import Tool

_VERBS: dict[Verb, str] = {
    Verb.SUBMIT_UNDERSTANDING: "Before work: say what the task wants.",
    Verb.SUBMIT_APPROACH: "Before work: say how it will be done, where there is a choice.",
    Verb.SUBMIT_PLAN: "Before work: the steps. Most tasks need one; use several where parts can be checked separately.",
    Verb.CHECK: "Run the step's checks now, without finishing it.",
    Verb.FINISH_STEP: "The step is done: run its checks. If one fails, you get its output and go on.",
    Verb.REPLAN: "The plan does not work: end this step and plan the remaining work again.",
    Verb.ADD_STEPS: "Add steps after the current one, in this order.",
    Verb.CHANGE_STEPS: "Change steps that have not begun; of the current one only its checks, with the reason.",
    Verb.REMOVE_STEPS: "Remove steps that have not begun.",
    Verb.CANNOT: (
        "The task cannot be done as asked: something is missing or contradictory. Say what, with evidence. "
        "Better than a pretended result."
    ),
    Verb.DIAGNOSE: "Only when asked: why an attempt failed, and what to change.",
}
_STEP = {"name": {"type": "string"}, "description": {"type": "string"}}
_OPEN_OBJECT = {"type": "object", "additionalProperties": True}
_ADDED = {**_OPEN_OBJECT, "properties": _STEP, "required": ["name"]}
_CHANGED = {**_OPEN_OBJECT, "properties": {"step": {"type": "string", "description": "its id"}, **_STEP}}
_AT_THE_END = {**_OPEN_OBJECT, "properties": {"value": {"type": "string"}}}
_BRIEF: dict[Verb, dict[str, Any]] = {
    Verb.SUBMIT_PLAN: {"checks": {"type": "array", "description": "at the end, like a step's", "items": _AT_THE_END}},
    Verb.ADD_STEPS: {"steps": {"type": "array", "description": "as in submit_plan", "items": _ADDED}},
    Verb.CHANGE_STEPS: {
        "steps": {"type": "array", "description": "fields as in submit_plan; others stay", "items": _CHANGED}
    },
}
"""Short schemas that refer to another tool's, because all schemas are part of every request."""
_LEFT_OUT = frozenset({"title", "default", "minLength", "minItems", "minimum", "additionalProperties"})


def specifications(toolbox: Toolbox, names: tuple[str, ...]) -> tuple[ToolSpec, ...]:
    """Return all tools of a conversation by name. The list stays the same from the first request to the last, because
    servers cache requests from their beginning."""
    verbs = [ToolSpec(name=verb.value, description=text, parameters=_parameters(verb)) for verb, text in _VERBS.items()]
    tools = [specification(toolbox.get(name)) for name in names]
    return tuple(sorted((*verbs, *tools), key=lambda spec: spec.name))


def _parameters(verb: Verb) -> dict[str, Any]:
    schema = tool_schema(DRAFTS[verb])
    if verb in _BRIEF:
        schema["properties"] |= _BRIEF[verb]
    return schema


def tool_schema(draft: type[BaseModel]) -> dict[str, Any]:
    """Return the JSON schema of a draft as the parameters of a tool, short because it is part of every request: without
    references, and without constraints that the engine checks anyway."""
    return deepcopy(_tool_schema(draft))


@cache
def _tool_schema(draft: type[BaseModel]) -> dict[str, Any]:

    def plain(node: dict[str, Any]) -> dict[str, Any]:
        kept = {key: value for key, value in node.items() if key not in _LEFT_OUT}
        if not isinstance(fields := node.get("properties"), dict):
            return kept
        kept["properties"] = {key: value for key, value in fields.items() if not value.get("brief")}
        kept.pop("description", None)
        if seldom := [_named(key, value) for key, value in fields.items() if value.get("brief")]:
            # Constrained decoding writes only the fields that a schema names, unless it allows others.
            kept |= {"description": f"Also: {', '.join(seldom)}", "additionalProperties": True}
        return kept

    schema = map_schema(without_references(draft.model_json_schema()), plain)
    assert isinstance(schema, dict)
    schema.setdefault("properties", {})
    return schema


def _named(name: str, schema: dict[str, Any]) -> str:
    """Describe a field in a few words: `rollback_steps[] (commands that undo effects outside the folder)`."""
    about = f" ({schema['description']})" if "description" in schema else ""
    return name + ("[]" if schema.get("type") == "array" else "") + about


def specification(tool: Tool) -> ToolSpec:
    """Return a tool as a conversation offers it: with its body as an ordinary argument."""
    parameters: dict[str, Any] = dict(tool.parameters)
    required, properties = list(parameters.get("required", ())), dict(parameters.get("properties", {}))
    if tool.instead_of_body:
        # A body of search/replace blocks is for models that write JSON badly.
        properties.pop(tool.body_argument, None)
        required = [name for name in required if name != tool.body_argument]
        required = list(dict.fromkeys([*required, *tool.instead_of_body[:2]]))
    parameters["properties"] = {name: _without_null(schema) for name, schema in properties.items()}
    parameters["required"] = required
    parameters.pop("additionalProperties", None)
    if not required:
        parameters.pop("required")
    return ToolSpec(name=tool.name, description=_DESCRIPTIONS.get(tool.name, tool.description), parameters=parameters)


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Remove null from the types of an argument: it can be left out instead."""
    options = [option for option in schema.get("anyOf", ()) if option != {"type": "null"}]
    rest = {key: value for key, value in schema.items() if key != "anyOf"}
    return {**rest, **options[0]} if len(options) == 1 else schema


_DESCRIPTIONS = {
    "read_file": "Read a text file, or its lines start_line to end_line. A long file comes in parts.",
    "edit_file": (
        "Replace `search` by `replace` in a file. `search` must be there exactly once: add lines around it until it "
        "is, or set replace_all. Differences in spacing are forgiven. Returns the diff."
    ),
    "apply_patch": (
        "Change, add, delete and move files by one patch, all of it or nothing. Example:\n" + EXAMPLE + "\nLines of an "
        "update begin with a space (stays), - (removed) or + (added). @@ may name a line above, such as a function's "
        "header. *** Move to: PATH below *** Update File renames. Returns the diffs."
    ),
    "write_file": "Create a file, or overwrite all of it.",
    "list_files": "List the files of the workspace or a folder, or those matching a glob such as *.py.",
    "search": "Find a regular expression or plain text in the files, with line numbers; up to 100 matches.",
    "run_command": (
        "Run a shell command in the workspace's root, for tests, git, and what has no tool. `timeout`: seconds. Long "
        "output is cut in the middle."
    ),
    "http_get": "Fetch a web page or file as text.",
    "read_result": "Read an earlier call's output by the id in its result, whole or some lines.",
    "ask_user": "Ask the user what neither workspace nor task can tell, and wait for the answer.",
}
"""Descriptions for models that call tools. The tools' own are for small models."""
