"""Converts questions of a run to questions of the protocol (elicitation), and reads their answers."""

import json
from typing import TYPE_CHECKING, Any

from surefoot.core.questions import Question
from surefoot.journal.redact import neutralise
from surefoot.view.questions import question_options

if TYPE_CHECKING:
    import mcp_types as types
    from mcp.server.context import ServerRequestContext

_MAX_TEXT = 8_000


def can_elicit(context: "ServerRequestContext[Any, Any]") -> bool:
    """Whether the client can show its user a form."""
    capabilities = context.session.client_capabilities
    elicitation = capabilities.elicitation if capabilities else None
    return elicitation is not None and (elicitation.form is not None or elicitation.url is None)


def ends_with_question(context: "ServerRequestContext[Any, Any]") -> bool:
    """Whether a question ends the request, which the client then sends again with the answer (since 2026-07-28)."""
    from mcp_types.version import MODERN_PROTOCOL_VERSIONS

    return context.protocol_version in MODERN_PROTOCOL_VERSIONS


def as_request(run_id: str, question: Question) -> "types.InputRequiredResult":
    import mcp_types as types

    options = [option["value"] for option in question_options(question) if option["label"] != "edit"]
    answer: dict[str, Any] = {"type": "string", "title": "Answer"}
    if options:
        answer["enum"] = options
    schema = {"type": "object", "properties": {"answer": answer}, "required": ["answer"]}
    text = neutralise(question.text)[:_MAX_TEXT]
    params = types.ElicitRequestFormParams(message=text, requested_schema=schema)
    state = json.dumps({"run": run_id, "question": question.id})
    return types.InputRequiredResult(
        input_requests={question.id: types.ElicitRequest(params=params)}, request_state=state
    )


def answer_in(response: Any) -> str | None:
    """The answer of the client's user; None if the user gave none, so that the run goes on waiting."""
    content = getattr(response, "content", None) or {}
    text = content.get("answer") if getattr(response, "action", "") == "accept" else None
    return text if isinstance(text, str) and text.strip() else None
