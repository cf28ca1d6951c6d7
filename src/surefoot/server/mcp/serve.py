"""The MCP server: tools over standard streams, with progress, cancellation, and questions to the client's user."""

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError

from surefoot._version import __version__
from surefoot.core.questions import Question
from surefoot.core.values import error_in_words
from surefoot.errors import SurefootError, UsageError
from surefoot.journal.redact import neutralise
from surefoot.server.hub import Hub
from surefoot.server.mcp import documents as d
from surefoot.server.mcp.questions import answer_in, as_request, can_elicit, ends_with_question
from surefoot.server.mcp.runs import Runs
from surefoot.view.making import run_row
from surefoot.view.state import RunView

if TYPE_CHECKING:
    import mcp_types as types
    from mcp.server import Server
    from mcp.server.context import ServerRequestContext

    Result = types.CallToolResult | types.InputRequiredResult
    Context = ServerRequestContext[Any, Any]

INSTRUCTIONS = (
    "Surefoot carries out coding and data tasks in one folder and proves the result with checks that it runs itself. "
    "Start a run with `run`. Report the level of proof with the result: A is verified, B is proven by the run's own "
    "tests, C is not verified."
)
_READS, _WRITES = {"read_only_hint": True, "open_world_hint": False}, {"read_only_hint": False}


async def serve(home: Path, folder: Path, model: str = "", *, approvals: bool = True) -> None:
    """Serve the runs of a folder over the standard streams, until the client closes them."""
    import anyio
    from mcp.server.stdio import stdio_server
    from mcp.shared.message import SessionMessage

    async with Hub(home) as hub:
        door = Door(Runs(hub, folder, model, approvals=approvals))
        server = door.server()
        async with stdio_server() as (incoming, outgoing), anyio.create_task_group() as tasks:
            passed_on, receive = anyio.create_memory_object_stream[SessionMessage | Exception](0)

            async def pass_on() -> None:
                async with passed_on:
                    async for message in incoming:
                        await passed_on.send(message)
                    # Requests are cancelled next, but not by the client, so its runs continue.
                    door.is_open = False

            tasks.start_soon(pass_on)
            await server.run(receive, outgoing, server.create_initialization_options())
            tasks.cancel_scope.cancel()


class Door:
    """The tools of the server."""

    def __init__(self, runs: Runs) -> None:
        self._runs = runs
        self.is_open = True
        """Whether the client is connected."""
        self._cancelling: set[asyncio.Task[None]] = set()
        self._tools: dict[str, tuple[type[BaseModel], type[BaseModel], dict[str, bool], Callable[..., Any]]] = {
            "run": (d.RunArguments, d.RunResult, {**_WRITES, "destructive_hint": False}, self._run),
            "status": (d.StatusArguments, d.RunResult, _READS, self._status),
            "answer": (d.AnswerArguments, d.RunResult, {**_WRITES, "destructive_hint": True}, self._answer),
            "diff": (d.DiffArguments, d.DiffResult, _READS, self._diff),
            "undo": (d.UndoArguments, d.RunResult, {**_WRITES, "destructive_hint": True}, self._undo),
            "cancel": (d.CancelArguments, d.RunResult, {**_WRITES, "destructive_hint": True}, self._cancel),
            "list": (d.ListArguments, d.RunList, _READS, self._list),
        }

    def server(self) -> "Server[Any]":
        from mcp.server import Server

        return Server(
            "surefoot",
            version=__version__,
            instructions=INSTRUCTIONS,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
        )

    async def _list_tools(self, _: "Context", params: "types.PaginatedRequestParams | None") -> "types.ListToolsResult":
        import mcp_types as types

        tools = [
            types.Tool(
                name=name,
                description=" ".join((arguments.__doc__ or "").split()),
                input_schema=arguments.model_json_schema(),
                output_schema=result.model_json_schema(),
                annotations=types.ToolAnnotations(**hints),
            )
            for name, (arguments, result, hints, _) in self._tools.items()
        ]
        return types.ListToolsResult(tools=tools)

    async def _call_tool(self, context: "Context", params: "types.CallToolRequestParams") -> "Result":
        """Call a tool. A refusal is returned as an error result, which the client's model can read."""
        import mcp_types as types

        try:
            if params.name not in self._tools:
                raise UsageError(f"there is no tool {params.name!r}", remedy=f"tools: {', '.join(self._tools)}")
            arguments, _, _, function = self._tools[params.name]
            result = await function(context, params, arguments.model_validate(params.arguments or {}))
        except (SurefootError, OSError, ValidationError) as error:
            remedy = getattr(error, "remedy", "")
            text = neutralise(error_in_words(error) + (f" ({remedy})" if remedy else ""))
            return types.CallToolResult(content=[types.TextContent(text=text)], is_error=True)
        if isinstance(result, types.InputRequiredResult):
            return result
        data = result.model_dump(mode="json")
        text = json.dumps(data, ensure_ascii=False, indent=1)
        return types.CallToolResult(content=[types.TextContent(text=text)], structured_content=data)

    # -- the tools ---------------------------------------------------------------------------------------------------

    async def _run(self, context: "Context", params: "types.CallToolRequestParams", arguments: d.RunArguments) -> Any:
        if params.request_state is not None:
            # The client comes back with the answer to a question of the run that this call has started.
            return await self._go_on(context, params)
        started = self._runs.start(
            arguments.task, arguments.checks, plan_only=arguments.plan_only, continues=arguments.continues
        )
        starting = asyncio.ensure_future(started)
        try:
            run_id = await asyncio.shield(starting)
        except asyncio.CancelledError:
            self._in_background(self._cancel_started(starting))
            raise
        return await self._follow(context, run_id) if arguments.wait else await self._run_result(run_id)

    async def _answer(
        self, context: "Context", params: "types.CallToolRequestParams", arguments: d.AnswerArguments
    ) -> Any:
        if params.request_state is not None:
            return await self._go_on(context, params)
        view = await self._runs.view(arguments.run)
        run_id, question = view.state.run_id, _question(view, arguments.question)
        await self._runs.answer(run_id, question, arguments.answer, by_person=False)
        if not arguments.wait:
            return await self._run_result(run_id)
        return await self._follow(context, run_id, frozenset({question.id}))

    async def _status(self, _: "Context", params: object, arguments: d.StatusArguments) -> d.RunResult:
        return d.run_result(await self._runs.view(arguments.run))

    async def _diff(self, _: "Context", params: object, arguments: d.DiffArguments) -> d.DiffResult:
        view = await self._runs.view(arguments.run)
        text, truncated, tool_files = await self._runs.diff(view.state.run_id, arguments.step)
        return d.DiffResult(run=view.state.run_id, diff=text, truncated=truncated, tool_files=tool_files)

    async def _undo(self, _: "Context", params: object, arguments: d.UndoArguments) -> d.RunResult:
        view = await self._runs.view(arguments.run)
        await self._runs.undo(view.state.run_id, arguments.step)
        return await self._run_result(view.state.run_id)

    async def _cancel(self, _: "Context", params: object, arguments: d.CancelArguments) -> d.RunResult:
        view = await self._runs.view(arguments.run)
        await self._runs.cancel(view.state.run_id)
        return d.run_result(await self._runs.follow(view.state.run_id, _nothing))

    async def _list(self, _: "Context", params: object, arguments: d.ListArguments) -> d.RunList:
        rows = [run_row(view) for view in await self._runs.listed(arguments.limit)]
        runs = [
            d.ListedRun(
                run=row["id"],
                task=row["title"],
                status=row["status"],
                verdict=None if row["status"] == "undone" else row["verdict"],
                started_at=row["started_at"],
            )
            for row in rows
        ]
        return d.RunList(folder=str(self._runs.folder), runs=runs)

    # -- following a run ---------------------------------------------------------------------------------------------

    async def _run_result(self, run_id: str) -> d.RunResult:
        return d.run_result(await self._runs.view(run_id))

    async def _follow(
        self, context: "Context", run_id: str, answered: frozenset[str] = frozenset()
    ) -> "d.RunResult | types.InputRequiredResult":
        """Follow a run until it has ended or waits. Its questions are put to the client's user, if the client can."""

        async def on_progress(number: float, message: str) -> None:
            await context.session.report_progress(number, None, message)

        while True:
            try:
                view = await self._runs.follow(run_id, on_progress, answered)
            except asyncio.CancelledError:
                if self.is_open:
                    self._in_background(self._runs.cancel(run_id))
                raise
            question = next((q for q in view.state.open_questions if q.id not in answered), None)
            if question is None or not can_elicit(context):
                return d.run_result(view)
            if ends_with_question(context):
                return as_request(run_id, question)
            words = await self._elicit(context, question)
            if words is None:
                return d.run_result(view)
            await self._runs.answer(run_id, question, words, by_person=True)
            answered |= {question.id}

    async def _elicit(self, context: "Context", question: Question) -> str | None:
        """Ask the user during the request, as in older versions of the protocol. Returns None if there is no answer."""
        request = as_request("", question).input_requests
        assert request is not None
        params: Any = request[question.id].params
        result = await context.session.elicit_form(params.message, params.requested_schema, context.request_id)
        return answer_in(result)

    async def _go_on(self, context: "Context", params: "types.CallToolRequestParams") -> Any:
        """Take the answer from a repeated request, and follow the run again."""
        try:
            state = json.loads(params.request_state or "")
            run, question_id = str(state["run"]), str(state["question"])
        except (ValueError, KeyError, TypeError):
            raise UsageError("this is not the state of a request of this server") from None
        view = await self._runs.view(run)
        words = answer_in((params.input_responses or {}).get(question_id))
        if words is None:
            return d.run_result(view)
        await self._runs.answer(view.state.run_id, _question(view, question_id), words, by_person=True)
        return await self._follow(context, view.state.run_id, frozenset({question_id}))

    def _in_background(self, work: Awaitable[None]) -> None:
        """Run work that outlives a cancelled request."""

        async def doing() -> None:
            # It is refused if the run has ended meanwhile.
            with contextlib.suppress(SurefootError):
                await work

        task = asyncio.create_task(doing())
        self._cancelling.add(task)
        task.add_done_callback(self._cancelling.discard)

    async def _cancel_started(self, starting: "asyncio.Future[str]") -> None:
        if self.is_open:
            await self._runs.cancel(await starting)


def _question(view: RunView, question_id: str) -> Question:
    questions = view.state.open_questions
    matches = [q for q in questions if q.id == question_id] if question_id else questions
    if len(matches) == 1:
        return matches[0]
    ids = ", ".join(question.id for question in questions)
    raise UsageError(
        f"run {view.state.run_id} has {'several open questions' if matches else 'no such open question'}",
        remedy=f"open questions: {ids or 'none'}",
    )


async def _nothing(number: float, message: str) -> None:
    pass
