"""The HTTP interface: the same runs and the same verbs as over the socket. `openapi` describes it."""

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from surefoot._version import __version__
from surefoot.core.values import what_is_wrong
from surefoot.errors import SurefootError, UnknownRun, UsageError
from surefoot.history.stats.values import Statistics
from surefoot.server.commands import CommandRequest, Commands, StartRequest
from surefoot.server.content import Content, StatisticsSource
from surefoot.server.hub import Hub
from surefoot.server.security import error_answer
from surefoot.server.tokens import Scope, Tokens
from surefoot.view.fold import snapshot
from surefoot.view.making import run_row
from surefoot.view.rows import PROTOCOL, Accepted, ErrorAnswer, Queued, Refused, RunRow, RunSnapshot

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute

    Endpoint = Callable[[Request], Awaitable[Response]]

MAX_LIMIT = 500
B = TypeVar("B", bound=BaseModel)


class Api:
    def __init__(self, hub: Hub, commands: Commands, tokens: Tokens, cwd: Path, models: list[str]) -> None:
        self._hub, self._commands, self._tokens = hub, commands, tokens
        self._content = Content(hub)
        self._cwd, self._models = cwd, models
        self._statistics = StatisticsSource(hub)

    def routes(self) -> "list[BaseRoute]":
        from starlette.routing import Route

        table: list[tuple[str, str, Any]] = [
            ("GET", "/api/info", self._info),
            ("GET", "/api/openapi.json", self._openapi),
            ("GET", "/api/runs", self._list),
            ("POST", "/api/runs", self._start),
            ("GET", "/api/stats", self._stats),
            ("GET", "/api/runs/{run}", self._run),
            ("GET", "/api/runs/{run}/events", self._events),
            ("GET", "/api/runs/{run}/diff", self._diff),
            ("GET", "/api/runs/{run}/steps/{step}", self._step),
            ("GET", "/api/runs/{run}/conversation", self._conversation),
            ("GET", "/api/runs/{run}/plan", self._plan),
            ("GET", "/api/runs/{run}/report", self._report),
            ("GET", "/api/runs/{run}/blobs/{hash}", self._blob),
            ("POST", "/api/runs/{run}/commands", self._command),
            ("POST", "/api/tokens/{scope}/revoke", self._revoke),
        ]
        return [Route(path, _guarded(endpoint), methods=[method]) for method, path, endpoint in table]

    async def _info(self, request: "Request") -> "Response":
        return _json(
            {
                "version": __version__,
                "protocol": PROTOCOL,
                "scope": request.state.token_scope,
                "cwd": str(self._cwd),
                "models": self._models,
                "locale_hint": request.headers.get("accept-language", "").partition(",")[0],
            }
        )

    async def _openapi(self, request: "Request") -> "Response":
        return _json(openapi())

    async def _list(self, request: "Request") -> "Response":
        limit, before = max(_number(request, "limit", 50), 1), request.query_params.get("before", "")
        folder, state = request.query_params.get("folder"), request.query_params.get("state")
        summaries = self._hub.summaries(10_000 if before else limit + 1, [folder] if folder else None)
        ids = [summary.run_id for summary in summaries]
        ids = ids[ids.index(before) + 1 :] if before in ids else ids
        rows = [run_row(await self._hub.view(run_id)) for run_id in ids[:limit]]
        rows = [row for row in rows if not state or row["status"] == state]
        return _json({"runs": rows, "next": ids[limit - 1] if len(ids) > limit else None})

    async def _start(self, request: "Request") -> "Response":
        answer = await self._commands.start(await _body(request, StartRequest))
        return _json(answer, 409 if "refused" in answer else 202)

    async def _stats(self, request: "Request") -> "Response":
        query = request.query_params
        return _json(await self._statistics.read(query.get("since", ""), query.get("folder", "")))

    async def _run(self, request: "Request") -> "Response":
        view = await self._hub.view(request.path_params["run"])
        return _json({"v": PROTOCOL, "run": view.state.run_id, "seq": view.state.seq, "rows": snapshot(view)})

    async def _events(self, request: "Request") -> "Response":
        run_id, limit = request.path_params["run"], _number(request, "limit", 200)
        return _json(await self._content.events(run_id, _number(request, "after", 0, 2**31), max(limit, 1)))

    async def _diff(self, request: "Request") -> "Response":
        return _json(await self._content.diff(request.path_params["run"], request.query_params.get("step", "")))

    async def _step(self, request: "Request") -> "Response":
        view = await self._hub.view(request.path_params["run"])
        return _json(await self._content.step(view, request.path_params["step"]))

    async def _conversation(self, request: "Request") -> "Response":
        after = _number(request, "after", 0, 2**31)
        return _json(await self._content.conversation(request.path_params["run"], after))

    async def _plan(self, request: "Request") -> "Response":
        """The remaining steps as text, to be changed and sent back with the command `edit`."""
        from surefoot.engine.planner.plan_toml import as_text

        view = await self._hub.view(request.path_params["run"])
        if view.state.plan is None:
            raise UsageError("the run has no plan yet")
        return _json({"plan": as_text(view.state)})

    async def _report(self, request: "Request") -> "Response":
        from starlette.responses import Response

        from surefoot.report.write import CONTENT_TYPES, file_name, report_format

        view = await self._hub.view(request.path_params["run"])
        kind = report_format(request.query_params.get("format") or "html")
        data = await self._content.report(view, kind)
        headers = {"content-disposition": f'attachment; filename="{file_name(view.state.run_id, kind)}"'}
        return Response(data, media_type=CONTENT_TYPES[kind], headers=headers)

    async def _blob(self, request: "Request") -> "Response":
        from starlette.responses import Response

        view = await self._hub.view(request.path_params["run"])
        digest = request.path_params["hash"]
        data = await self._content.blob(view, digest)
        name = "".join(letter for letter in digest if letter.isalnum())[:16]
        headers = {"content-disposition": f'attachment; filename="{name}.bin"'}
        return Response(data, media_type="application/octet-stream", headers=headers)

    async def _command(self, request: "Request") -> "Response":
        command = await _body(request, CommandRequest)
        answer = await self._commands.execute(request.path_params["run"], command)
        return _json(answer, 409 if "refused" in answer else 202 if "queued" in answer else 200)

    async def _revoke(self, request: "Request") -> "Response":
        """Replace a token. Sockets that were opened with the old one are closed."""
        scope = request.path_params["scope"]
        if scope not in ("control", "view"):
            raise UsageError("there are two tokens, control and view")
        chosen: Scope = scope
        self._tokens.revoke(chosen)
        return _json({"revoked": scope})


def _guarded(endpoint: "Endpoint") -> "Endpoint":
    from starlette.responses import Response

    async def answering(request: "Request") -> "Response":
        try:
            return await endpoint(request)
        except ValidationError as error:
            message, remedy, status = what_is_wrong(error, 1), "", 422
        except UnknownRun as error:
            message, remedy, status = str(error), error.remedy, 404
        except UsageError as error:
            message, remedy, status = str(error), error.remedy, 400
        except SurefootError as error:
            message, remedy, status = str(error), error.remedy, 500
        code = {422: "invalid", 404: "not_found", 400: "usage"}.get(status, "error")
        return Response(error_answer(code, message, remedy), status, media_type="application/json")

    return answering


def _json(value: Any, status: int = 200) -> "Response":
    from starlette.responses import Response

    return Response(json.dumps(value, ensure_ascii=False), status, media_type="application/json")


async def _body(request: "Request", kind: type[B]) -> B:
    return kind.model_validate_json(await request.body())


def _number(request: "Request", name: str, default: int, most: int = MAX_LIMIT) -> int:
    text = request.query_params.get(name, "")
    if not text:
        return default
    if not text.isascii() or not text.isdecimal() or len(text) > 12:
        raise UsageError(f"{name} must be a number")
    return min(int(text), most)


def openapi() -> dict[str, Any]:
    """The OpenAPI description of the interface, generated from the types."""
    kinds: dict[str, TypeAdapter[Any]] = {
        "RunSnapshot": TypeAdapter(RunSnapshot),
        "RunRow": TypeAdapter(RunRow),
        "Statistics": TypeAdapter(Statistics),
        "StartRequest": TypeAdapter(StartRequest),
        "CommandRequest": TypeAdapter(CommandRequest),
        "Accepted": TypeAdapter(Accepted),
        "Queued": TypeAdapter(Queued),
        "Refused": TypeAdapter(Refused),
        "Error": TypeAdapter(ErrorAnswer),
    }
    inputs = [(name, "validation", adapter) for name, adapter in kinds.items()]
    schemas_of_inputs, shared = TypeAdapter.json_schemas(inputs, ref_template="#/components/schemas/{model}")  # type: ignore[arg-type]
    schemas = {**shared.get("$defs", {}), **{name: schema for (name, _), schema in schemas_of_inputs.items()}}
    paths: dict[str, Any] = {}
    for method, path, summary, input_type, answers in _OPERATIONS:
        operation: dict[str, Any] = {"summary": summary, "responses": {}}
        names = [part[1:-1] for part in path.split("/") if part.startswith("{")]
        text = {"type": "string"}
        operation["parameters"] = [{"name": n, "in": "path", "required": True, "schema": text} for n in names]
        if input_type:
            operation["requestBody"] = {"required": True, "content": _content_of(input_type)}
        for status, kind in {**answers, "401": "Error"}.items():
            operation["responses"][status] = {"description": kind or "JSON", "content": _content_of(kind)}
        paths.setdefault(path, {})[method.lower()] = operation
    return {
        "openapi": "3.1.0",
        "info": {"title": "Surefoot", "version": f"{PROTOCOL}"},
        "security": [{"token": []}],
        "paths": paths,
        "components": {"schemas": schemas, "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
    }


def _content_of(kind: str) -> dict[str, Any]:
    schema: dict[str, Any] = {"$ref": f"#/components/schemas/{kind}"} if kind else {"type": "object"}
    return {"application/json": {"schema": schema}}


_OPERATIONS: tuple[tuple[str, str, str, str, dict[str, str]], ...] = (
    ("GET", "/api/info", "Version, protocol, and what the token may do", "", {"200": ""}),
    ("GET", "/api/openapi.json", "This description", "", {"200": ""}),
    ("GET", "/api/runs", "Runs, newest first: folder, state, limit, before", "", {"200": ""}),
    ("POST", "/api/runs", "Start a run", "StartRequest", {"202": "", "409": "Refused"}),
    ("GET", "/api/stats", "Statistics over runs: since (24h, 7d, 4w or a date), folder", "",
     {"200": "Statistics", "400": "Error"}),
    ("GET", "/api/runs/{run}", "All rows of a run", "", {"200": "RunSnapshot", "404": "Error"}),
    ("GET", "/api/runs/{run}/events", "Events of the journal: after, limit", "", {"200": ""}),
    ("GET", "/api/runs/{run}/diff", "What the run or one step changed: step", "", {"200": ""}),
    ("GET", "/api/runs/{run}/steps/{step}", "A step in detail", "", {"200": ""}),
    ("GET", "/api/runs/{run}/conversation", "The conversation with the model: after", "", {"200": ""}),
    ("GET", "/api/runs/{run}/plan", "The steps to come, as text for the command edit", "", {"200": ""}),
    ("GET", "/api/runs/{run}/report", "A report as a file: format (html, md, json)", "", {"200": "", "404": "Error"}),
    ("GET", "/api/runs/{run}/blobs/{hash}", "A stored content, as a download", "", {"200": ""}),
    ("POST", "/api/runs/{run}/commands", "Send a command to a run", "CommandRequest",
     {"200": "Accepted", "202": "Queued", "409": "Refused"}),
    ("POST", "/api/tokens/{scope}/revoke", "Replace a token and close its sockets", "", {"200": ""}),
)  # fmt: skip
