"""Converts the result of an MCP call to a `ToolResult`: text and data. Images and resources are only named."""

import json
from typing import TYPE_CHECKING, Any

from surefoot.journal.redact import neutralise
from surefoot.tools.context import ToolContext
from surefoot.tools.tool import ToolResult

if TYPE_CHECKING:
    import mcp_types

MAX_OUTPUT = 400_000
"""How many characters of a result are kept: of a longer one, the beginning and the end."""
MAX_DATA = 20_000
"""Structured content is kept as data for other steps up to this many characters of JSON."""


def tool_result(name: str, context: ToolContext, result: "mcp_types.CallToolResult") -> ToolResult:
    data = result.structured_content
    text = "\n".join(filter(None, map(_as_text, result.content)))
    if not text.strip() and data is not None:
        text = json.dumps(data, ensure_ascii=False, indent=1)
    output = _bounded(neutralise(text)) or f"{name}: {'failed' if result.is_error else 'done'}, without a result"
    return ToolResult(
        ok=not result.is_error,
        summary=context.summary(output, failed=result.is_error),
        output=output,
        data=_small(data),
    )


def _as_text(block: "mcp_types.ContentBlock") -> str:
    match block.type:
        case "text":
            return block.text
        case "image" | "audio":
            return f"[{block.type}, {_short(block.mime_type)}, {len(block.data) * 3 // 4:,} bytes, not shown]"
        case "resource_link":
            return f"[resource {_short(str(block.uri))}, {_short(block.name)}, not read]"
        case "resource":
            return f"[resource {_short(str(block.resource.uri))}, not shown]"


def _short(text: str) -> str:
    return " ".join(text.split())[:300]


def _bounded(text: str) -> str:
    if len(text) <= MAX_OUTPUT:
        return text
    half = MAX_OUTPUT // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half:,} characters were left out ...]\n{text[-half:]}"


def _small(data: Any) -> Any:
    return data if data is not None and len(json.dumps(data, ensure_ascii=False)) <= MAX_DATA else None
