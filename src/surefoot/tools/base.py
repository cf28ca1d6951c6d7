"""What a tool is: a typed function, a schema for the model, and what it may touch."""

import asyncio
import functools
import inspect
import json
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from pydantic_core import PydanticSerializationError, to_json

from surefoot.errors import SurefootError, ToolError, ToolTimeout, ToolUnavailable
from surefoot.tools.arguments import Adapters, read_arguments, read_signature, signature_text
from surefoot.tools.paths import resolve
from surefoot.tools.results import summarise
from surefoot.values import Value, unchecked

if TYPE_CHECKING:
    from surefoot.workspace.sandbox import Sandbox

# How long a cancelled call waits for a thread that may still be writing.
THREAD_GRACE_SECONDS = 5.0

_NAME = re.compile(r"^[A-Za-z_][A-Za-z0-9_-]{0,63}$")


class Writes(StrEnum):
    NONE = "none"
    DECLARED = "declared"
    """Only the paths in its arguments."""
    FREE = "free"
    """Anything in the workspace: commands."""


def _no_blobs(key: str) -> bytes:
    raise KeyError(key)


def _no_file(path: str) -> bool:
    return False


@dataclass
class ToolContext:
    """What a tool may know and use while it runs."""

    root: Path
    protected: frozenset[str] = frozenset()
    """Relative paths that may be read and not changed."""
    may_rewrite: Callable[[str], bool] = _no_file
    """Whether a file may be changed by hand that says of itself that a program makes it."""
    sandbox: "Sandbox | None" = None
    network: bool = False
    command_timeout: float = 120.0
    command_processes: int | None = None
    command_memory_bytes: int | None = None
    redact: Callable[[str], str] = str
    """What a model is shown has no secrets in it, so what it writes may lack them."""
    read_blob: Callable[[str], bytes] = _no_blobs
    results: Mapping[str, str] = field(default_factory=dict)
    """Action id to the blob with its whole output."""
    step_outputs: Mapping[str, Any] = field(default_factory=dict)
    ask: Callable[[str], Awaitable[str]] | None = None
    on_output: Callable[[str], None] | None = None
    action_id: str = ""
    """Under which `read_result` finds the whole output of this call later."""
    summary_chars: int = 2_400
    read_chars: int = 8_000
    """How much of a file `read_file` shows at once."""

    def path(self, path: str, *, for_writing: bool = False, follow: bool = True) -> Path:
        """The real place of a path that a model gave, inside the workspace or refused."""
        return resolve(self.root, path, for_writing=for_writing, protected=self.protected, follow=follow)

    def for_action(self, action_id: str) -> "ToolContext":
        new = object.__new__(ToolContext)
        new.__dict__.update(self.__dict__, action_id=action_id)
        return new

    def summary(self, output: str, *, failed: bool = False) -> str:
        return summarise(output, limit=self.summary_chars, failed=failed, result_id=self.action_id)


class ToolResult(Value):
    ok: bool
    summary: str
    """What the model is shown."""
    output: str = ""
    """The whole."""
    data: Any = None
    command: str = ""
    temporary: bool = False


_result = unchecked(ToolResult)


@dataclass(frozen=True)
class Tool:
    name: str
    description: str
    parameters: dict[str, Any]
    run: Callable[..., Awaitable[Any]] = field(repr=False)
    """Called with the context and then the arguments by name."""
    writes: Writes = Writes.NONE
    path_arguments: tuple[str, ...] = ()
    """The arguments that are paths it writes."""
    network: bool = False
    external: bool = False
    """It may have effects outside the workspace, which no rollback of files undoes."""
    alternatives: tuple[str, ...] = ()
    compensate: str | None = None
    """The tool that undoes what this one did outside the workspace."""
    body_argument: str = ""
    """The argument whose value comes in a block of its own, outside the JSON."""
    instead_of_body: tuple[str, ...] = ()
    """Arguments that can stand in for the body. They are understood, but not offered to a model."""
    adapters: Adapters | None = field(default=None, repr=False, compare=False)
    """How to read each argument; None: `parameters` alone decides."""
    function: Callable[..., Any] | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not _NAME.match(self.name):
            raise ToolError(
                f"{self.name!r} is no name for a tool",
                tool=self.name,
                remedy="use letters, digits, _ and -, 64 at most",
            )
        for argument in (*self.path_arguments, *self.instead_of_body, *filter(None, [self.body_argument])):
            if argument not in self.parameters.get("properties", {}):
                raise ToolError(
                    f"the tool {self.name} has no parameter {argument!r}",
                    tool=self.name,
                    argument=argument,
                    remedy="name one of its parameters",
                )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The function itself: a decorated function can still be called as before."""
        if self.function is None:
            raise TypeError(f"the tool {self.name} has no function of its own: use surefoot.tools.call")
        return self.function(*args, **kwargs)

    @property
    def leaves_nothing(self) -> bool:
        """It only looks: done twice or not at all, the world is the same."""
        return self.writes is Writes.NONE and not self.external and not self.network

    @property
    def signature(self) -> str:
        """As a model is shown it: `read_file(path, start_line?, end_line?)`, the body with a star."""
        offered = {k: v for k, v in self.parameters.get("properties", {}).items() if k not in self.instead_of_body}
        return signature_text(self.name, {**self.parameters, "properties": offered}, self.body_argument)

    def needs_body(self, arguments: Mapping[str, Any]) -> bool:
        """Whether the body still has to come, in its own block."""
        return bool(self.body_argument) and not any(
            arguments.get(name) for name in (self.body_argument, *self.instead_of_body)
        )


@overload
def tool(fn: Callable[..., Any], /) -> Tool: ...


@overload
def tool(
    *,
    name: str | None = None,
    writes: Writes | str | Sequence[str] = Writes.NONE,
    network: bool = False,
    external: bool = False,
    alternatives: Sequence[str] = (),
    compensate: str | None = None,
    body_argument: str = "",
    instead_of_body: Sequence[str] = (),
) -> Callable[[Callable[..., Any]], Tool]: ...


def tool(
    fn: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    writes: Writes | str | Sequence[str] = Writes.NONE,
    network: bool = False,
    external: bool = False,
    alternatives: Sequence[str] = (),
    compensate: str | None = None,
    body_argument: str = "",
    instead_of_body: Sequence[str] = (),
) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """Make a tool of a typed function: `@tool`, or `@tool(writes=("path",))`.

    `writes` is what the function may change in the workspace: nothing (the default), the files named by the
    parameters it lists, or anything (`Writes.FREE`). A function that is not async runs in a thread.
    """

    def make(function: Callable[..., Any]) -> Tool:
        tool_name: str = name or str(getattr(function, "__name__", ""))
        takes_context, parameters, adapters = read_signature(tool_name, function, ToolContext)
        kind, paths = _what_it_writes(tool_name, writes)
        return Tool(
            name=tool_name,
            description=_first_paragraph(function) or tool_name.replace("_", " "),
            parameters=parameters,
            run=_runner(function, takes_context, waits=kind != Writes.NONE),
            writes=kind,
            path_arguments=paths,
            network=network,
            external=external,
            alternatives=tuple(alternatives),
            compensate=compensate,
            body_argument=body_argument,
            instead_of_body=tuple(instead_of_body),
            adapters=adapters,
            function=function,
        )

    return make if fn is None else make(fn)


async def call(tool: Tool, context: ToolContext, arguments: Mapping[str, Any]) -> ToolResult:
    """Run a tool with what a model gave for arguments. Everything that can go wrong is a `ToolError`."""
    kwargs = read_arguments(tool.name, tool.parameters, tool.adapters, arguments, tool.body_argument)
    if tool.network and not context.network:
        raise ToolError(
            f"{tool.name} needs the network, which is off for this run",
            tool=tool.name,
            remedy="work without it, or let the user allow it: network = true in the configuration",
        )
    argument = ""
    try:
        for argument in tool.path_arguments:
            value = kwargs.get(argument, ())
            for path in [value] if isinstance(value, str | Path) else value:
                context.path(str(path), for_writing=True)
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


def _what_it_writes(name: str, writes: Writes | str | Sequence[str]) -> tuple[Writes, tuple[str, ...]]:
    if writes == Writes.DECLARED or not writes:
        raise ToolError(
            f"the tool {name} does not say what it writes",
            tool=name,
            remedy='name the parameters that are paths it writes: writes=("path",)',
        )
    if isinstance(writes, Writes):
        return writes, ()
    return Writes.DECLARED, (writes,) if isinstance(writes, str) else tuple(writes)


def _runner(function: Callable[..., Any], takes_context: bool, *, waits: bool) -> Callable[..., Awaitable[Any]]:
    is_async = inspect.iscoroutinefunction(function)

    def run(context: ToolContext, /, **kwargs: Any) -> Awaitable[Any]:
        called = functools.partial(function, *((context,) if takes_context else ()), **kwargs)
        return called() if is_async else _in_thread(called, waits=waits)

    return run


async def _in_thread(work: Callable[[], Any], *, waits: bool) -> Any:
    # What was raised is carried over as a value: a future cannot hold a StopIteration (whoever waits for it would wait
    # for ever), and a SystemExit in a task of its own would end the whole program.
    def guarded() -> tuple[Any, BaseException | None]:
        try:
            return work(), None
        except BaseException as error:
            return None, error

    running = asyncio.ensure_future(asyncio.to_thread(guarded))
    try:
        value, error = await asyncio.shield(running)
    except asyncio.CancelledError:
        # A thread cannot be stopped. Let it finish before anyone undoes what it is still writing.
        if waits:
            await asyncio.wait({running}, timeout=THREAD_GRACE_SECONDS)
        raise
    if error is not None:
        raise error
    return value


def _as_result(tool: Tool, context: ToolContext, value: Any) -> ToolResult:
    """What the tool returned, in a form that can be written down whatever it was."""
    if isinstance(value, ToolResult):
        changes = {"summary": _encodable(value.summary), "output": _encodable(value.output)}
        return value.model_copy(update={**changes, "data": _as_json(tool, value.data)})
    if value is None:
        return ToolResult(ok=True, summary=f"{tool.name}: done")
    if isinstance(value, str):
        return _result(ok=True, summary=context.summary(value), output=_encodable(value))
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
    said = f"{tool.name} failed with {type(error).__name__}"
    text = _text_of(error)
    message = f"{said}: {text}" if text else said
    if isinstance(error, TimeoutError):
        return ToolTimeout(message, tool=tool.name, remedy="try again, or do less at once")
    if isinstance(error, ConnectionError):
        return ToolUnavailable(message, tool=tool.name, remedy="try again when the other side answers")
    return ToolError(message, tool=tool.name, remedy="try other arguments or another tool")


def _text_of(error: BaseException) -> str:
    try:
        return _encodable(str(error))
    except Exception:
        return "(it cannot say why)"


def _first_paragraph(function: Callable[..., Any]) -> str:
    text = inspect.getdoc(function) or ""
    return " ".join(text.strip().split("\n\n")[0].split())
