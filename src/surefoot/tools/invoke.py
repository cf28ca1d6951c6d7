"""Call a tool: validate the arguments and paths, run it, convert its result or its error."""

import json
import re
from collections.abc import Mapping
from typing import Any

from pydantic_core import PydanticSerializationError, to_json

from surefoot.core.values import unchecked
from surefoot.errors import SurefootError, ToolError, ToolTimeout, ToolUnavailable
from surefoot.tools.arguments import convert_arguments
from surefoot.tools.context import ToolContext
from surefoot.tools.tool import Tool, ToolResult

_unchecked_result = unchecked(ToolResult)


async def call(tool: Tool, context: ToolContext, arguments: Mapping[str, Any]) -> ToolResult:
    """Run a tool with the arguments that a model gave.

    Failures are raised as `ToolError`, or as another `SurefootError` that the tool raised, such as SandboxUnavailable.
    """
    kwargs = convert_arguments(tool.name, tool.parameters, tool.adapters, arguments, tool.body_argument)
    if tool.network and not context.network:
        raise ToolError(
            f"{tool.name} needs the network, which is off for this run",
            tool=tool.name,
            remedy="work without it, or let the user allow it: network = true in the configuration",
        )
    if tool.paths_in is not None:
        # A call whose writes are unknown is not carried out, because it could not be undone.
        tool.written_paths(arguments)
    argument = ""
    try:
        for argument in tool.path_arguments:
            for path in tool.written_paths({argument: kwargs.get(argument, ())}):
                context.path(path, for_writing=True)
        argument = ""
        return _as_result(tool, context, await tool.run(context, **kwargs))
    except ToolError as error:
        error.tool = error.tool or tool.name
        error.argument = argument or error.argument
        raise
    except SurefootError:
        raise
    except (Exception, SystemExit) as error:
        raise _as_tool_error(tool, error) from error


def _as_result(tool: Tool, context: ToolContext, value: Any) -> ToolResult:
    """Convert a returned value to a result that can be stored as JSON."""
    if isinstance(value, ToolResult):
        changes = {"summary": _encodable(value.summary), "output": _encodable(value.output)}
        return value.model_copy(update={**changes, "data": _as_json(tool, value.data)})
    if value is None:
        return ToolResult(ok=True, summary=f"{tool.name}: done")
    if isinstance(value, str):
        return _unchecked_result(ok=True, summary=context.summary(value), output=_encodable(value))
    data = _as_json(tool, value)
    text = json.dumps(data, ensure_ascii=False, indent=1 if isinstance(data, list | dict) else None)
    return ToolResult(ok=True, summary=context.summary(text), output=text, data=data)


def _as_json(tool: Tool, value: Any) -> Any:
    try:
        return json.loads(to_json(value, inf_nan_mode="null"))
    except (PydanticSerializationError, ValueError) as error:
        raise ToolError(
            f"{tool.name} returned a {type(value).__name__}, which JSON cannot express: {error}",
            tool=tool.name,
            remedy="return text, numbers, lists, dicts, a dataclass or a pydantic model",
        ) from error


def _encodable(text: str) -> str:
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _as_tool_error(tool: Tool, error: BaseException) -> ToolError:
    prefix = f"{tool.name} failed with {type(error).__name__}"
    text = _error_text(error)
    message = f"{prefix}: {text}" if text else prefix
    if isinstance(error, TimeoutError):
        return ToolTimeout(message, tool=tool.name, remedy="try again, or do less at once")
    if isinstance(error, ConnectionError):
        return ToolUnavailable(message, tool=tool.name, remedy="try again when the other side answers")
    has_reason = text != NO_REASON and _HAS_WORDS.search(text)
    if isinstance(error, _CRASHES) or isinstance(error.__cause__, StopIteration) or not has_reason:
        return ToolUnavailable(message, tool=tool.name, remedy="try again: the tool broke, and blames no argument")
    return ToolError(message, tool=tool.name, remedy="try other arguments or another tool")


_CRASHES = (BaseExceptionGroup, MemoryError, RecursionError, StopIteration, StopAsyncIteration, SystemExit)
"""Errors of the tool itself. They say nothing about its arguments, so the same call may work the next time."""
NO_REASON = "(it cannot say why)"
_HAS_WORDS = re.compile(r"[^\W\d_]{3,}")


def _error_text(error: BaseException) -> str:
    try:
        return _encodable(str(error))
    except Exception:
        return NO_REASON
