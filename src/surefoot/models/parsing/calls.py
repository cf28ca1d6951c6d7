"""Read a tool call: find the intended tool and read its arguments.

`read_call` never fails. A call that cannot be understood has a `problem`, which becomes its result.
"""

import re
from collections.abc import Sequence
from typing import Any

from surefoot.models.items import ToolCall, ToolSpec
from surefoot.models.parsing.arguments import BadArguments, fit_arguments, read_arguments

_ALIASES = {
    "run_command": ("bash", "shell", "execute", "execute_bash", "execute_command", "exec_command", "terminal", "run"),
    "run_python": ("python", "ipython", "execute_python", "execute_ipython_cell"),
    "edit_file": ("str_replace", "edit", "replace", "str_replace_editor", "replace_in_file", "search_replace"),
    "read_file": ("view", "cat", "read", "open_file", "view_file", "open"),
    "write_file": ("write", "create", "create_file", "write_to_file", "save_file"),
    "list_files": ("ls", "list", "list_dir", "list_directory", "tree"),
    "search": ("grep", "rg", "ripgrep", "search_files", "grep_search", "search_codebase", "search_file_content"),
    "apply_patch": ("patch", "apply_diff"),
    "finish_step": ("finish", "submit", "done", "complete", "attempt_completion"),
}
"""Other names under which models call these tools. They apply only if the tool exists and the alias does not."""
_PREFIX = re.compile(r"^(?:functions?[.:]|tools?[.:]|default_api[.:]|multi_tool_use[.:])+")
_TAIL = re.compile(r"[\s<>{}()=:\"'`|].*", re.DOTALL)
MAX_NAME_CHARS = 64


def read_call(
    name: str,
    raw: str | dict[str, Any],
    tools: Sequence[ToolSpec],
    *,
    call_id: str,
    truncated: bool = False,
    extra: dict[str, Any] | None = None,
) -> ToolCall:
    """Read one call. `raw` is the text of the arguments, or the arguments if the server has parsed them itself."""
    import json

    text = raw if isinstance(raw, str) else json.dumps(raw, ensure_ascii=False)
    fields: dict[str, Any] = {"id": call_id, "raw": text, "extra": extra or {}}
    tool = find_tool(name, tools)
    if tool is None:
        plain_name = clean_name(name)
        names = ", ".join(sorted(tool.name for tool in tools))
        problem = f"there is no tool {plain_name!r}; " + (
            f"the tools are {names}" if names else "no tools are available"
        )
        return ToolCall(name=plain_name or "unknown", problem=problem, **fields)
    try:
        if isinstance(raw, str):
            arguments, repaired = read_arguments(raw, tool.parameters, truncated=truncated)
        else:
            arguments = fit_arguments(raw, tool.parameters)
            repaired = json.dumps(arguments, sort_keys=True) != json.dumps(raw, sort_keys=True)
    except BadArguments as error:
        return ToolCall(name=tool.name, problem=str(error), **fields)
    return ToolCall(name=tool.name, arguments=arguments, repaired=repaired or tool.name != name, **fields)


def find_tool(name: str, tools: Sequence[ToolSpec]) -> ToolSpec | None:
    """The tool with this name, ignoring case, prefixes and trailing markup, or with this alias. None if ambiguous."""
    by_name = {tool.name: tool for tool in tools}
    if name in by_name:
        return by_name[name]
    cleaned = clean_name(name)
    if cleaned in by_name:
        return by_name[cleaned]
    folded = _folded(cleaned)
    same = [tool for tool in tools if _folded(tool.name) == folded]
    if len(same) == 1:
        return same[0]
    targets = [target for target, aliases in _ALIASES.items() if folded in map(_folded, aliases) and target in by_name]
    return by_name[targets[0]] if len(targets) == 1 else None


def clean_name(name: str) -> str:
    """The name without prefixes and markup, in the alphabet that every provider accepts."""
    cleaned = _TAIL.sub("", _PREFIX.sub("", name.strip()))
    return re.sub(r"[^A-Za-z0-9_-]", "_", cleaned)[:MAX_NAME_CHARS]


def _folded(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "")
