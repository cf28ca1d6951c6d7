"""Tools: what a step can do. `@tool` makes one of a typed function, `Toolbox` holds those of a run."""

from surefoot.tools.base import Tool, ToolContext, ToolResult, Writes, call, tool
from surefoot.tools.registry import Toolbox, default_toolbox
from surefoot.tools.results import stable, summarise

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
