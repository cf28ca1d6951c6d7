"""Converts tools and other runnables of LangChain and LangGraph to tools of Surefoot."""

import asyncio
import contextvars
import functools
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, get_type_hints

from pydantic import create_model
from pydantic.errors import PydanticUserError

from surefoot.errors import ToolError
from surefoot.integrations.langgraph.graph import require_langgraph
from surefoot.tools.context import ToolContext
from surefoot.tools.tool import Tool, Writes, parse_writes, run_in_thread

if TYPE_CHECKING:
    from langchain_core.runnables import Runnable

WORKSPACE = "surefoot_workspace"
"""The key of the run's folder in the `configurable` part of the config that a runnable is called with."""
_INPUT = "input"
"""The parameter of a runnable whose input is not an object."""


def as_tool(
    runnable: "Runnable[Any, Any]",
    *,
    name: str | None = None,
    description: str | None = None,
    writes: Writes | str | Sequence[str] = Writes.FREE,
    network: bool = False,
    external: bool = True,
    alternatives: Sequence[str] = (),
    compensate: str | None = None,
) -> Tool:
    """Make a Surefoot tool of a LangChain tool, a compiled graph or any other runnable.

    Surefoot cannot know what the runnable does, so by default it may change any file and have effects outside the
    folder. Declare less where possible: `writes=Writes.NONE, external=False` for one that only computes or reads.
    """
    require_langgraph()
    tool_name = name or re.sub(r"[^A-Za-z0-9_-]", "_", str(getattr(runnable, "name", "") or ""))[:64]
    kind, paths = parse_writes(tool_name, writes)
    schema = _schema(runnable)
    wrapped = not (schema.get("type") == "object" and "properties" in schema)
    parameters = (
        {"type": "object", "properties": {_INPUT: schema}, "required": [_INPUT]} if wrapped else _closed(schema)
    )
    return Tool(
        name=tool_name,
        description=" ".join((description or _description(runnable) or tool_name.replace("_", " ")).split()),
        parameters=parameters,
        run=_runner(tool_name, runnable, wrapped=wrapped, wait_on_cancel=kind is not Writes.NONE),
        writes=kind,
        path_arguments=paths,
        network=network,
        external=external,
        alternatives=tuple(alternatives),
        compensate=compensate,
    )


def _schema(runnable: Any) -> dict[str, Any]:
    """The JSON schema of the arguments. Arguments that LangGraph injects into a tool are left out."""
    from langchain_core.tools import BaseTool

    if not isinstance(runnable, BaseTool):
        try:
            return dict(runnable.get_input_jsonschema())
        except PydanticUserError:
            if not hasattr(runnable, "builder"):
                raise
            # Before Python 3.12, pydantic does not read the TypedDict of the standard library.
            return _schema_of_fields(runnable.builder.input_schema)
    schema: Any = runnable.tool_call_schema
    return dict(schema if isinstance(schema, Mapping) else schema.model_json_schema())


def _schema_of_fields(fields: Any) -> dict[str, Any]:
    """The JSON schema of a graph's input, from the types of its fields."""
    required: frozenset[str] = getattr(fields, "__required_keys__", frozenset())
    types: dict[str, Any] = {
        name: (kind, ...) if name in required else (kind | None, None) for name, kind in get_type_hints(fields).items()
    }
    return dict(create_model("Input", **types).model_json_schema())


def _closed(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The parts of a schema that a tool needs. The title and description of its class would only take room."""
    fields = {key: value for key, value in schema.items() if key in ("type", "properties", "required", "$defs")}
    return {"required": [], **fields}


def _description(runnable: Any) -> str:
    return str(getattr(runnable, "description", "") or "")


def _runner(tool: str, runnable: Any, *, wrapped: bool, wait_on_cancel: bool) -> Callable[..., Awaitable[Any]]:
    async def run(context: ToolContext, /, **arguments: Any) -> Any:
        from langchain_core.tools import ToolException

        input_value = arguments[_INPUT] if wrapped else arguments
        config = {"configurable": {WORKSPACE: str(context.root)}}
        own_context = _isolated_context()
        try:
            if _is_sync(runnable):
                call = functools.partial(own_context.run, runnable.invoke, input_value, config)
                result = await run_in_thread(call, wait_on_cancel=wait_on_cancel)
            else:
                work = runnable.ainvoke(input_value, config)
                result = await asyncio.get_running_loop().create_task(work, context=own_context)
        except ToolException as error:
            raise ToolError(str(error), tool=tool, remedy="try other arguments or another tool") from error
        return _plain(_finished(tool, result))

    return run


def _isolated_context() -> contextvars.Context:
    """A context without the surrounding graph.

    Otherwise a graph that is called as a tool would become part of the graph that Surefoot runs in: it would use the
    checkpoints of that graph, and its interrupts would end the node.
    """
    from langchain_core.runnables.config import var_child_runnable_config

    context = contextvars.copy_context()
    context.run(var_child_runnable_config.set, None)
    return context


def _is_sync(runnable: Any) -> bool:
    """Whether this is a tool without an async version. On cancellation, LangChain would leave its thread running."""
    from langchain_core.tools import BaseTool

    if not isinstance(runnable, BaseTool):
        return False
    if hasattr(runnable, "coroutine"):
        return runnable.coroutine is None
    return type(runnable)._arun is BaseTool._arun


def _finished(tool: str, result: Any) -> Any:
    if isinstance(result, Mapping) and (interrupts := result.get("__interrupt__")):
        asked = "; ".join(str(getattr(item, "value", item)) for item in interrupts)
        raise ToolError(
            f"{tool} stopped to ask: {asked}",
            tool=tool,
            remedy="a graph that is called as a tool cannot ask; find the answer first, or use another tool",
        )
    return result


def _plain(value: Any) -> Any:
    """The result with objects of LangChain converted to plain values."""
    from langchain_core.documents import Document
    from langchain_core.messages import BaseMessage

    if isinstance(value, BaseMessage):
        return {"role": value.type, "content": value.content} if not isinstance(value.content, str) else value.content
    if isinstance(value, Document):
        return {"content": value.page_content, "metadata": _plain(value.metadata)}
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value
