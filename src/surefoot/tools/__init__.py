"""Tools that a step can call. `@tool` turns a typed function into one; a `Toolbox` holds the tools of a run."""

from surefoot.tools.context import ToolContext
from surefoot.tools.invoke import call
from surefoot.tools.registry import Toolbox, default_toolbox
from surefoot.tools.text.summary import stable, summarise
from surefoot.tools.tool import Tool, ToolResult, Writes, tool

__all__ = [
    "Tool",
    "ToolContext",
    "ToolResult",
    "Toolbox",
    "Writes",
    "call",
    "default_toolbox",
    "stable",
    "summarise",
    "tool",
]
