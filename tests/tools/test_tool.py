"""Tools from typed functions: their schemas, how arguments are read, how results and errors are converted."""

import asyncio
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from support.calling import Run
from surefoot.errors import (
    PathOutsideWorkspace,
    SandboxUnavailable,
    ToolError,
    ToolTimeout,
    ToolUnavailable,
)
from surefoot.tools import Tool, ToolContext, ToolResult, Writes, call, tool


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


class Point(BaseModel):
    x: int
    y: int = 0


@dataclass
class Size:
    width: int


@tool
def paint(
    name: str,
    count: int = 1,
    colour: Colour = Colour.RED,
    at: Point | None = None,
    tags: Annotated[list[str], Field(description="words")] = [],  # noqa: B006
    how: Literal["fast", "slow"] = "slow",
    ratio: float = 1.0,
    wet: bool = False,
) -> dict[str, Any]:
    """Paint a thing.

    This paragraph is not part of the description.
    """
    return {"name": name, "count": count, "colour": colour, "at": at, "tags": tags, "how": how, "r": ratio, "wet": wet}


class TestDecorator:
    def test_schema_and_description_are_derived_from_the_function(self) -> None:
        assert paint.name == "paint"
        assert paint.description == "Paint a thing."
        assert paint.parameters["required"] == ["name"]
        assert paint.parameters["properties"]["count"] == {"type": "integer"}
        assert paint.parameters["properties"]["tags"]["description"] == "words"
        assert paint.signature == "paint(name, count?, colour?, at?, tags?, how?, ratio?, wet?)"

    def test_a_decorated_function_can_still_be_called(self) -> None:
        assert paint("wall")["name"] == "wall"

    def test_writes_option(self) -> None:
        def save(path: str, other: str) -> None: ...

        assert tool(save).writes is Writes.NONE
        declared = tool(writes=("path", "other"))(save)
        assert (declared.writes, declared.path_arguments) == (Writes.DECLARED, ("path", "other"))
        assert tool(writes="path")(save).path_arguments == ("path",)
        assert tool(writes=Writes.FREE)(save).writes is Writes.FREE

    @pytest.mark.parametrize(
        "options", [{"writes": Writes.DECLARED}, {"writes": ("nothing",)}, {"body_argument": "x"}, {"name": "a b"}]
    )
    def test_invalid_options_name_the_tool(self, options: dict[str, Any]) -> None:
        def save(path: str) -> None: ...

        with pytest.raises(ToolError) as caught:
            tool(**options)(save)
        assert caught.value.tool in {"save", "a b"}
        assert caught.value.remedy

    def test_invalid_functions_name_the_tool_and_the_argument(self) -> None:
        def untyped(a: int, b) -> None: ...  # type: ignore[no-untyped-def]
        def many(*values: int) -> None: ...
        def positional(a: int, /) -> None: ...
        def callback(a: int, b: Callable[[threading.Lock], None]) -> None: ...
        def strange(lock: threading.Thread) -> None: ...
        def unknown(a: "NotDefinedAnywhere") -> None: ...  # type: ignore[name-defined]  # noqa: F821

        invalid: list[tuple[Callable[..., Any], str]] = [
            (untyped, "b"),
            (many, "values"),
            (positional, "a"),
            (strange, "lock"),
            (unknown, ""),
        ]
        for function, argument in invalid:
            with pytest.raises(ToolError) as caught:
                tool(function)
            assert caught.value.tool == function.__name__
            assert caught.value.argument == argument
            assert caught.value.remedy
        with pytest.raises(ToolError, match="callback"):
            tool(callback)


class TestArguments:
    async def test_variants_written_by_small_models_are_converted(self, run: Run) -> None:
        data = (
            await run(
                paint,
                {
                    "name": 5,
                    "count": "3",
                    "colour": "blue",
                    "at": '{"x": "1"}',
                    "tags": "one",
                    "ratio": "0.5",
                    "wet": "true",
                },
                how=None,
            )
        ).data
        assert data == {
            "name": "5",
            "count": 3,
            "colour": "blue",
            "at": {"x": 1, "y": 0},
            "tags": ["one"],
            "how": "slow",
            "r": 0.5,
            "wet": True,
        }

    async def test_null_and_empty_values_mean_not_given(self, run: Run) -> None:
        data = (await run(paint, {"name": "", "count": "", "colour": None, "ratio": "null", "tags": None})).data
        assert (data["name"], data["count"], data["colour"], data["r"]) == ("", 1, "red", 1.0)

    @pytest.mark.parametrize(
        ("arguments", "argument", "message"),
        [
            ({}, "name", "needs the argument 'name'"),
            ({"name": None}, "name", "needs the argument 'name'"),
            ({"name": "a", "count": "many"}, "count", "valid integer"),
            ({"name": "a", "colour": "green"}, "colour", "'red' or 'blue'"),
            ({"name": "a", "at": {"y": 1}}, "at", "x: Field required"),
            ({"name": "a", "size": 1}, "size", "has no argument 'size'"),
        ],
    )
    async def test_invalid_arguments_are_named(
        self, run: Run, arguments: dict[str, Any], argument: str, message: str
    ) -> None:
        with pytest.raises(ToolError) as caught:
            await run(paint, arguments)
        assert (caught.value.tool, caught.value.argument) == ("paint", argument)
        assert message in str(caught.value)
        assert caught.value.remedy

    async def test_a_similar_argument_name_is_suggested(self, run: Run) -> None:
        @tool
        def open_it(path: str, start_line: int = 1) -> str:
            return path

        for wrong, right in [
            ("file_path", "path"),
            ("filename", "path"),
            ("file", "path"),
            ("startLine", "start_line"),
        ]:
            with pytest.raises(ToolError) as caught:
                await run(open_it, {wrong: "1"})
            assert f"did you mean {right!r}?" in caught.value.remedy
            assert "its arguments: path, start_line?" in caught.value.remedy

    async def test_a_body_may_be_a_list_of_lines(self, run: Run) -> None:
        @tool(body_argument="content")
        def save(content: str) -> str:
            return content

        assert (await run(save, content=["a", "b\n"])).output == "a\nb\n"

    async def test_a_tool_with_only_a_json_schema(self, context: ToolContext) -> None:
        async def run(context: ToolContext, /, **arguments: Any) -> str:
            return f"{arguments}"

        foreign = Tool(
            name="foreign",
            description="From another program.",
            parameters={
                "type": "object",
                "properties": {"n": {"type": "integer"}, "s": {"type": "string"}},
                "required": ["n"],
            },
            run=run,
        )
        assert (await call(foreign, context, {"n": "4", "s": None})).output == "{'n': 4}"
        for wrong in ({"n": "x"}, {"n": 1, "z": 1}, {}):
            with pytest.raises(ToolError, match="foreign"):
                await call(foreign, context, wrong)
        with pytest.raises(TypeError):
            foreign(n=1)


class TestCalling:
    async def test_return_values_of_every_type(self, run: Run) -> None:
        async def returned(value: Any) -> ToolResult:
            @tool
            def give() -> Any:
                return value

            return await run(give)

        assert (await returned("text")).output == "text"
        assert await returned(None) == ToolResult(ok=True, summary="give: done")
        given = ToolResult(ok=False, summary="no")
        assert await returned(given) == given
        assert (await returned({"a": (1, 2)})).data == {"a": [1, 2]}
        assert (await returned(Point(x=1))).data == {"x": 1, "y": 0}
        assert (await returned(Size(3))).summary == '{\n "width": 3\n}'
        assert (await returned(5)).output == "5"
        for value in (
            threading.Lock(),
            {"a": threading.Lock()},
            ToolResult(ok=True, summary="", data=threading.Lock()),
        ):
            with pytest.raises(ToolError, match="which JSON cannot express"):
                await returned(value)

    async def test_every_result_can_be_serialised(self, run: Run) -> None:
        values: list[Any] = [
            "\ud800",
            {"a": float("nan"), "b": {1, 2}},
            ToolResult(ok=True, summary="\ud800", data=(1,)),
        ]
        for value in values:

            @tool
            def give(value: Any = value) -> Any:
                return value

            result = await run(give)
            assert ToolResult.model_validate_json(result.model_dump_json()) == result

    async def test_async_and_sync_functions_with_and_without_context(self, run: Run, root: Path) -> None:
        @tool
        async def in_loop(context: ToolContext, word: str) -> str:
            return f"{word} {context.root}"

        @tool
        def in_thread(context: "ToolContext") -> str:
            return threading.current_thread().name

        assert (await run(in_loop, word="in")).output == f"in {root}"
        assert (await run(in_thread)).output != threading.current_thread().name
        assert "context" not in in_loop.parameters["properties"]

    @pytest.mark.parametrize(
        ("error", "kind", "temporary"),
        [
            (ValueError("bad value"), ToolError, False),
            (TimeoutError("slow"), ToolTimeout, True),
            (ConnectionRefusedError("closed"), ToolUnavailable, True),
            (SystemExit(3), ToolUnavailable, True),
            (StopIteration(), ToolUnavailable, True),
        ],
    )
    @pytest.mark.parametrize("sync", [True, False])
    async def test_exceptions_become_tool_errors(
        self, run: Run, error: BaseException, kind: type[ToolError], temporary: bool, sync: bool
    ) -> None:
        def broken_sync() -> None:
            raise error

        async def broken_async() -> None:
            raise error

        with pytest.raises(kind) as caught:
            await run(tool(name="broken")(broken_sync if sync else broken_async))
        assert type(caught.value) is kind
        assert caught.value.tool == "broken"
        assert caught.value.temporary is temporary
        assert caught.value.remedy
        if not isinstance(error, StopIteration):
            assert f"{type(error).__name__}: {error}" in str(caught.value)

    async def test_surefoot_errors_pass_unchanged(self, run: Run) -> None:
        @tool
        def broken() -> None:
            raise SandboxUnavailable("no sandbox")

        with pytest.raises(SandboxUnavailable):
            await run(broken)

    async def test_a_network_tool_is_refused_without_network(self, root: Path) -> None:
        @tool(network=True)
        def fetch() -> str:
            return "fetched"

        with pytest.raises(ToolError, match="needs the network") as caught:
            await call(fetch, ToolContext(root=root), {})
        assert "network = true" in caught.value.remedy
        assert (await call(fetch, ToolContext(root=root, network=True), {})).output == "fetched"

    async def test_declared_paths_are_checked_before_the_tool_runs(self, run: Run) -> None:
        targets = []

        @tool(writes=("target", "more"))
        def save(target: str, more: list[str] = []) -> None:  # noqa: B006
            targets.append(target)

        await run(save, target="inside")
        for arguments, argument in [
            ({"target": "../outside"}, "target"),
            ({"target": "a", "more": ["b", "/etc/x"]}, "more"),
        ]:
            with pytest.raises(PathOutsideWorkspace) as caught:
                await run(save, arguments)
            assert (caught.value.tool, caught.value.argument) == ("save", argument)
        assert targets == ["inside"]

    async def test_cancellation_waits_for_a_thread_that_may_write(self, context: ToolContext) -> None:
        loop, started, finished = asyncio.get_running_loop(), asyncio.Event(), threading.Event()

        @tool(writes=Writes.FREE)
        def slow() -> None:
            loop.call_soon_threadsafe(started.set)
            time.sleep(0.3)
            finished.set()

        task = asyncio.create_task(call(slow, context, {}))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert finished.is_set()
