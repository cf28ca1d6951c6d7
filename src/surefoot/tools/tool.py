"""Tools: a typed function, a JSON schema for the model, and a declaration of what the function may change."""

import asyncio
import functools
import inspect
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol, overload

from surefoot.core.values import Value
from surefoot.errors import ToolError
from surefoot.tools.arguments import Adapters, read_signature, signature_text
from surefoot.tools.context import ToolContext

THREAD_GRACE_SECONDS = 5.0
"""How long a cancelled call waits for a thread that may still be writing."""

PathsIn = Callable[[Mapping[str, Any]], Sequence[str]]

_NAME = re.compile(r"^[A-Za-z_][A-Za-z0-9_-]{0,63}$")


class Writes(StrEnum):
    """What a tool may change in the workspace."""

    NONE = "none"
    DECLARED = "declared"
    """Only the paths in its arguments."""
    FREE = "free"
    """Any file, as a shell command may."""


class ToolResult(Value):
    ok: bool
    summary: str
    """The text that the model is shown."""
    output: str = ""
    """The full output."""
    data: Any = None
    command: str = ""
    temporary: bool = False


class Consent(Protocol):
    """Checks that a tool is still the one that a person agreed to. For tools of other programs, which may change."""

    async def question(self) -> str:
        """Return what to ask a person before the tool is used, whatever the rules allow; empty if nothing."""
        ...

    def given(self) -> None:
        """Record that the person said yes to the last question."""
        ...


@dataclass(frozen=True)
class Tool:
    name: str
    description: str
    parameters: dict[str, Any]
    run: Callable[..., Awaitable[Any]] = field(repr=False)
    """Called with the context, then the arguments by name."""
    writes: Writes = Writes.NONE
    path_arguments: tuple[str, ...] = ()
    """The arguments that name the paths it writes."""
    paths_in: PathsIn | None = field(default=None, repr=False, compare=False)
    """Finds the paths it writes, for a tool whose arguments contain them."""
    network: bool = False
    """True if it needs the network. It counts as external, and is refused if the run may not use the network."""
    external: bool = False
    """True if it may have effects outside the workspace, which rolling back files does not undo."""
    alternatives: tuple[str, ...] = ()
    compensate: str | None = None
    """The tool that undoes the external effects of this one."""
    body_argument: str = ""
    """The argument whose value comes in a fenced block, outside the JSON."""
    instead_of_body: tuple[str, ...] = ()
    """Arguments that may replace the body. They are accepted, but not offered to models."""
    adapters: Adapters | None = field(default=None, repr=False, compare=False)
    """Validates each argument; with None, `parameters` is used as a JSON schema."""
    function: Callable[..., Any] | None = field(default=None, repr=False, compare=False)
    consent: Consent | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not _NAME.match(self.name):
            raise ToolError(
                f"{self.name!r} is not a valid name for a tool",
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
        """Call the decorated function directly, as if it had not been decorated."""
        if self.function is None:
            raise TypeError(f"the tool {self.name} has no function of its own: use surefoot.tools.call")
        return self.function(*args, **kwargs)

    @property
    def is_read_only(self) -> bool:
        """Whether a call has no effects, so that repeating or skipping it changes nothing."""
        return self.writes is Writes.NONE and not self.external and not self.network

    @property
    def signature(self) -> str:
        """The tool as shown to a model: `read_file(path, start_line?, end_line?)`. The body has a star."""
        offered = {k: v for k, v in self.parameters.get("properties", {}).items() if k not in self.instead_of_body}
        return signature_text(self.name, {**self.parameters, "properties": offered}, self.body_argument)

    def written_paths(self, arguments: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the paths that a call declares to write. Arguments of the wrong type name none: such a call fails.

        Raises ToolError if the tool's own function for it does.
        """
        if self.paths_in is not None:
            try:
                return tuple(map(str, self.paths_in(arguments)))
            except Exception as error:
                raise ToolError(
                    f"it is not known what {self.name} would write: {error}",
                    tool=self.name,
                    remedy="check the types of the arguments",
                ) from error
        values = [arguments.get(name) for name in self.path_arguments]
        paths = [path for value in values for path in (value if isinstance(value, list | tuple) else [value])]
        return tuple(str(path) for path in paths if isinstance(path, str | Path))

    def needs_body(self, arguments: Mapping[str, Any]) -> bool:
        """Whether the body is still missing from `arguments` and must come in a fenced block."""
        return bool(self.body_argument) and not any(
            arguments.get(name) for name in (self.body_argument, *self.instead_of_body)
        )


@overload
def tool(fn: Callable[..., Any], /) -> Tool: ...


@overload
def tool(
    *,
    name: str | None = None,
    writes: Writes | str | Sequence[str] | PathsIn = Writes.NONE,
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
    writes: Writes | str | Sequence[str] | PathsIn = Writes.NONE,
    network: bool = False,
    external: bool = False,
    alternatives: Sequence[str] = (),
    compensate: str | None = None,
    body_argument: str = "",
    instead_of_body: Sequence[str] = (),
) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """Turn a typed function into a tool: `@tool`, or `@tool(writes=("path",))`.

    `writes` declares what the function may change in the workspace: nothing (the default), the files named by the
    listed parameters, those that a function finds in the arguments, or any file (`Writes.FREE`). A function that is not
    async runs in a thread.
    """

    def make(function: Callable[..., Any]) -> Tool:
        tool_name: str = name or str(getattr(function, "__name__", ""))
        takes_context, parameters, adapters = read_signature(tool_name, function, ToolContext)
        kind, paths = (Writes.DECLARED, ()) if callable(writes) else parse_writes(tool_name, writes)
        return Tool(
            name=tool_name,
            description=_first_paragraph(function) or tool_name.replace("_", " "),
            parameters=parameters,
            run=_runner(function, takes_context, wait_on_cancel=kind != Writes.NONE),
            writes=kind,
            path_arguments=paths,
            paths_in=writes if callable(writes) else None,
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


def parse_writes(name: str, writes: Writes | str | Sequence[str]) -> tuple[Writes, tuple[str, ...]]:
    """Read a declaration of what a tool writes: the kind, and the parameters that name paths."""
    if writes == Writes.DECLARED or not writes:
        raise ToolError(
            f"the tool {name} does not say what it writes",
            tool=name,
            remedy='name the parameters that are paths it writes: writes=("path",)',
        )
    if isinstance(writes, Writes):
        return writes, ()
    return Writes.DECLARED, (writes,) if isinstance(writes, str) else tuple(writes)


def _runner(
    function: Callable[..., Any], takes_context: bool, *, wait_on_cancel: bool
) -> Callable[..., Awaitable[Any]]:
    is_async = inspect.iscoroutinefunction(function)

    def run(context: ToolContext, /, **kwargs: Any) -> Awaitable[Any]:
        bound = functools.partial(function, *((context,) if takes_context else ()), **kwargs)
        return bound() if is_async else run_in_thread(bound, wait_on_cancel=wait_on_cancel)

    return run


async def run_in_thread(work: Callable[[], Any], *, wait_on_cancel: bool) -> Any:
    """Do blocking work in a thread. With `wait_on_cancel`, a cancelled call waits up to `THREAD_GRACE_SECONDS`."""

    # Exceptions are carried over as values: a future cannot hold a StopIteration (its awaiter would wait for ever),
    # and a SystemExit in a task would end the whole program.
    def guarded() -> tuple[Any, BaseException | None]:
        try:
            return work(), None
        except BaseException as error:
            return None, error

    running = asyncio.ensure_future(asyncio.to_thread(guarded))
    try:
        value, error = await asyncio.shield(running)
    except asyncio.CancelledError:
        # A thread cannot be stopped. Wait, so that a rollback does not race with its writes.
        if wait_on_cancel:
            await asyncio.wait({running}, timeout=THREAD_GRACE_SECONDS)
        raise
    if error is not None:
        raise error
    return value


def _first_paragraph(function: Callable[..., Any]) -> str:
    text = inspect.getdoc(function) or ""
    return " ".join(text.strip().split("\n\n")[0].split())
