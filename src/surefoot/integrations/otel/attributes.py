"""The attributes of spans. Pure."""

from typing import Any

from surefoot.integrations.otel import names as n
from surefoot.integrations.otel.content import Content
from surefoot.journal import events as e


def tool_attributes(tool: str, call_id: str, arguments: dict[str, Any], content: Content) -> dict[str, Any]:
    return {
        n.OPERATION: n.EXECUTE_TOOL,
        n.TOOL_NAME: tool,
        n.TOOL_TYPE: "function",
        n.TOOL_CALL: call_id,
        **content.json(n.TOOL_ARGUMENTS, arguments),
    }


def call_attributes(event: e.ModelAnswered, cost_usd: float | None, content: Content) -> dict[str, Any]:
    """The attributes of one model call, except for the names of the model and the run."""
    return {
        n.TEMPERATURE: event.temperature,
        n.FINISH_REASONS: (event.finish_reason,),
        n.INPUT_TOKENS: event.prompt_tokens,
        n.OUTPUT_TOKENS: event.output_tokens,
        n.CACHED_TOKENS: event.cached_tokens,
        n.PURPOSE: str(event.purpose),
        n.READABLE: not event.unreadable,
        **({n.COST: cost_usd} if cost_usd is not None else {}),
        **({n.STEP: event.step_id} if event.step_id else {}),
        **content.messages(event.prompt, event.answer, event.finish_reason),
    }


def error_attributes(error: str) -> dict[str, str]:
    return {n.ERROR_TYPE: error} if error else {}


def split_model(name: str) -> tuple[str, str]:
    """The names of the model and its provider, without the address of a server or the file of a script."""
    if name.startswith("scripted:"):
        name = "scripted"
    model, at, _ = name.partition(" at ")
    if at:
        return model, "openai_compatible"
    provider, slash, model = name.partition("/")
    return (model, provider) if slash else (name, name)
