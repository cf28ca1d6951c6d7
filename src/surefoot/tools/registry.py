"""The tools of a run by name, and their descriptions and schemas for a model."""

import difflib
from collections.abc import Iterable, Iterator
from typing import Any

from surefoot.errors import ToolError, UnknownTool
from surefoot.tools.context import ToolContext
from surefoot.tools.schema import closed_object
from surefoot.tools.tool import Tool

# Names from other tool sets, for suggestions when a model uses one of them.
_SUGGESTED_FOR: dict[str, tuple[str, ...]] = {
    "read_file": ("cat", "open", "open_file", "view", "view_file", "get_file", "read"),
    "write_file": ("create_file", "create", "save_file", "save", "write", "new_file", "overwrite_file"),
    "edit_file": (
        "edit",
        "str_replace",
        "replace",
        "patch",
        "apply_patch",
        "modify_file",
        "update_file",
        "replace_in_file",
    ),
    "list_files": ("ls", "list", "list_dir", "list_directory", "tree", "dir", "find_files", "glob"),
    "search": ("grep", "rg", "ripgrep", "search_files", "find", "grep_search", "search_text", "find_in_files"),
    "run_command": (
        "bash",
        "shell",
        "sh",
        "cmd",
        "command",
        "execute",
        "execute_command",
        "run",
        "terminal",
        "run_tests",
    ),
    "run_python": ("python", "python3", "exec", "execute_python", "python_repl"),
    "http_get": ("curl", "wget", "fetch", "fetch_url", "web_fetch", "http", "get_url", "browse"),
    "ask_user": ("ask", "question", "clarify", "ask_human", "input"),
    "delete_file": ("rm", "remove", "remove_file", "delete", "unlink"),
    "move_file": ("mv", "move", "rename", "rename_file"),
    "read_result": ("result", "get_result", "read_output", "show_result"),
}
_REPLACED_BY_PATCH = frozenset({"edit_file", "delete_file", "move_file"})
_BODY_NOTE = "* goes in a fenced block after the JSON, not into it"


class Toolbox:
    """An immutable set of tools. A tool that another one refers to must be in it too."""

    def __init__(self, tools: Iterable[Tool]) -> None:
        self._tools: dict[str, Tool] = {}
        for tool in tools:
            if tool.name in self._tools:
                raise ToolError(
                    f"there are two tools named {tool.name}", tool=tool.name, remedy="give one of them another name"
                )
            self._tools[tool.name] = tool
        for tool in self._tools.values():
            for reference in (*tool.alternatives, *filter(None, [tool.compensate])):
                if reference not in self._tools:
                    raise UnknownTool(
                        f"the tool {tool.name} refers to a tool {reference!r}, which is not in the toolbox",
                        tool=tool.name,
                        remedy=f"add {reference} as well, or remove the reference",
                    )

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._tools)

    def with_(self, *tools: Tool) -> "Toolbox":
        """Return a new toolbox with these tools added."""
        return Toolbox([*self, *tools])

    def get(self, name: str) -> Tool:
        if name in self._tools:
            return self._tools[name]
        match = self._closest(name)
        suggestion = f"did you mean {match}? " if match else ""
        raise UnknownTool(
            f"there is no tool {name!r}", tool=name, remedy=f"{suggestion}the tools are: {', '.join(self._tools)}"
        )

    def usable(self, context: ToolContext) -> tuple[str, ...]:
        """Return the names of the tools that work in this run: some need the network, or a user who can be asked.

        A model edits files with `edit_file`, or with `apply_patch` if it was trained to.
        """
        by_patch = context.edit_format == "apply_patch" and "apply_patch" in self
        left_out = _REPLACED_BY_PATCH if by_patch else {"apply_patch"}
        return tuple(
            tool.name
            for tool in self
            if tool.name not in left_out
            and (context.network or not tool.network)
            and (context.ask is not None or tool.name != "ask_user")
        )

    def describe(self, names: Iterable[str] | None = None) -> str:
        """Return one line per tool, for a prompt."""
        tools = self._select(names)
        lines = [f"{tool.signature} - {tool.description}" for tool in tools]
        return "\n".join([*lines, _BODY_NOTE] if any(tool.body_argument for tool in tools) else lines)

    def schema(self, names: Iterable[str] | None = None) -> dict[str, Any]:
        """Return the JSON schema of a decision for one of these tools: `{"tool": ..., "arguments": {...}}`."""
        options = []
        for tool in self._select(names):
            omitted = frozenset({tool.body_argument, *tool.instead_of_body})
            options.append(
                {
                    "type": "object",
                    "properties": {
                        "tool": {"type": "string", "enum": [tool.name]},
                        "arguments": closed_object(tool.parameters, omitted),
                    },
                    "required": ["tool", "arguments"],
                    "additionalProperties": False,
                }
            )
        return {"anyOf": options}

    def _select(self, names: Iterable[str] | None) -> list[Tool]:
        return list(self) if names is None else [self.get(name) for name in names]

    def _closest(self, name: str) -> str:
        normalized = name.strip().lower().replace("-", "_").replace(" ", "_")
        for known in self._tools:
            if normalized == known.lower() or normalized in _SUGGESTED_FOR.get(known, ()):
                return known
        return next(iter(difflib.get_close_matches(normalized, self._tools, n=1)), "")


def default_toolbox() -> Toolbox:
    """Return a toolbox with all built-in tools."""
    from surefoot.tools.builtin.edit import edit_file
    from surefoot.tools.builtin.files import delete_file, list_files, move_file, read_file, write_file
    from surefoot.tools.builtin.http import http_get
    from surefoot.tools.builtin.patch import apply_patch
    from surefoot.tools.builtin.python import run_python
    from surefoot.tools.builtin.recall import ask_user, read_result
    from surefoot.tools.builtin.search import search
    from surefoot.tools.builtin.shell import run_command

    return Toolbox(
        [
            *(read_file, write_file, edit_file, list_files, search, run_command, run_python),
            *(delete_file, move_file, apply_patch, read_result, ask_user, http_get),
        ]
    )
