"""Find tool calls that a model wrote as text: in the text protocol, or where a server's own parser missed them.

These forms are read, with or without their closing tags:

    <tool_call>{"name": "read_file", "arguments": {"path": "a.py"}}</tool_call>
    <tool_call><function=read_file><parameter=path>a.py</parameter></function></tool_call>
    <invoke name="read_file"><parameter name="path">a.py</parameter></invoke>

and, for models without tools, fenced JSON with the name of a known tool.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from surefoot.models.items import ToolSpec
from surefoot.models.parsing.arguments import resolve
from surefoot.models.parsing.calls import find_tool

_FUNCTION = re.compile(
    r"<(?:function=(?P<name>[^\s>]+)|(?:function|invoke)\s+name=[\"'](?P<quoted>[^\"'>]+)[\"'])\s*>"
    r"(?P<body>.*?)(?:</(?:function|invoke)>|(?=<function[=\s]|<invoke\s|</?tool_call>|</?function_calls>)|\Z)",
    re.DOTALL,
)
_PARAMETER = re.compile(
    r"<parameter(?:=(?P<name>[^\s>]+)|\s+name=[\"'](?P<quoted>[^\"'>]+)[\"'])\s*>(?P<value>.*?)"
    r"(?:</parameter>(?=\s*(?:<parameter[=\s]|</|<tool_call>|\Z))|(?=\n?<parameter[=\s])|\Z)",
    re.DOTALL,
)
_TAGGED = re.compile(r"<(tool_call|function_call|tool_use)>(?P<body>.*?)(?:</\1>|(?=<\1>)|\Z)", re.DOTALL)
_FENCED = re.compile(r"```[ \t]*(?P<label>\w*)[ \t]*\n(?P<body>.*?)\n?```", re.DOTALL)
_WRAPPERS = re.compile(r"</?(?:tool_call|tool_calls|function_calls|function_call|tool_use)>")
_NAMES = ("name", "tool", "tool_name", "function")
_ARGUMENTS = ("arguments", "parameters", "args", "input", "tool_input")


@dataclass(frozen=True, slots=True)
class WrittenCall:
    name: str
    arguments: str | dict[str, Any]


def find_calls(text: str, tools: Sequence[ToolSpec], *, fences: bool = False) -> tuple[tuple[WrittenCall, ...], str]:
    """The calls in `text`, in order, and the text without them. `fences`: also read fenced JSON."""
    spans: list[tuple[int, int, WrittenCall]] = []
    for match in _FUNCTION.finditer(text):
        name = match["name"] or match["quoted"]
        spans.append((match.start(), match.end(), WrittenCall(name, _parameters(name, match["body"], tools))))
    if not spans:
        for match in _TAGGED.finditer(text):
            if call := _from_json(match["body"].strip()):
                spans.append((match.start(), match.end(), call))
    if not spans and fences:
        for match in _FENCED.finditer(text):
            call = _from_json(match["body"].strip())
            known = call is not None and find_tool(call.name, tools) is not None
            if call and (known or match["label"] in ("tool_call", "tool")):
                spans.append((match.start(), match.end(), call))
    if not spans and fences and (call := _from_json(text.strip())) and find_tool(call.name, tools):
        spans.append((0, len(text), call))
    if not spans:
        return (), text
    rest, position = [], 0
    for start, end, _ in spans:
        rest.append(text[position:start])
        position = end
    rest.append(text[position:])
    return tuple(call for *_, call in spans), _WRAPPERS.sub("", "".join(rest)).strip()


def _parameters(name: str, body: str, tools: Sequence[ToolSpec]) -> str | dict[str, Any]:
    tool = find_tool(name, tools)
    root = tool.parameters if tool else {}
    values: dict[str, Any] = {}
    for match in _PARAMETER.finditer(body):
        key = match["name"] or match["quoted"]
        values[key] = _value(match["value"], root.get("properties", {}).get(key, {}), root)
    if not values and body.strip().startswith("{"):
        return body.strip()
    return values


def _value(text: str, schema: dict[str, Any], root: dict[str, Any]) -> Any:
    """The value of a parameter: for a string the text without the line breaks next to its tags, else JSON."""
    text = text.removeprefix("\r").removeprefix("\n").removesuffix("\n")
    kinds = resolve(schema, root).get("type", "string")
    if "string" in ([kinds] if isinstance(kinds, str) else kinds):
        return text
    try:
        return json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return text.strip()


def _from_json(text: str) -> WrittenCall | None:
    try:
        value, _ = json.JSONDecoder(strict=False).raw_decode(text)
    except (ValueError, RecursionError):
        return _from_broken_json(text)
    if isinstance(value, dict) and isinstance(value.get("function"), dict):
        value = value["function"]
    if not isinstance(value, dict):
        return None
    name = next((value[key] for key in _NAMES if isinstance(value.get(key), str)), "")
    arguments = next((value[key] for key in _ARGUMENTS if isinstance(value.get(key), dict | str)), None)
    if not name or arguments is None:
        return None
    return WrittenCall(name, arguments)


def _from_broken_json(text: str) -> WrittenCall | None:
    """Return a call whose name can be read. `read_arguments` repairs its arguments or reports the problem."""
    head = re.match(r'\{\s*"name"\s*:\s*"([^"]+)"\s*,\s*"(?:arguments|parameters)"\s*:\s*(?=\{)', text)
    if head is None:
        return None
    # The last brace belongs to the outer object.
    rest = text[head.end() :].rstrip()
    return WrittenCall(head.group(1), rest[:-1] if rest.endswith("}}") else rest)
