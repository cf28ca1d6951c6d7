"""The definition of a tool by its server, and the form in which it is shown to a model.

Names, descriptions and schemas come from the server. They are untrusted text: invisible characters are made visible,
lengths are limited, and nothing in a schema can make Surefoot fetch an address or run a slow pattern.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

from surefoot.core.values import Value
from surefoot.journal.redact import neutralise

MAX_NAME = 64
MAX_DESCRIPTION = 1_000
MAX_PARAMETER_DESCRIPTION = 300
MAX_SCHEMA = 20_000
"""The length of a schema in JSON, above which only the names of the parameters are shown."""
MAX_PARAMETERS = 60
_MAX_DEPTH = 12
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")
_PARAMETER = re.compile(r"[A-Za-z_$][\w.$-]{0,63}", re.ASCII)
_LEFT_OUT = frozenset({"$schema", "$id", "$anchor", "$dynamicRef", "$dynamicAnchor", "$comment", "$vocabulary"})
_SLOW = frozenset({"pattern", "patternProperties", "format", "contentMediaType", "contentEncoding"})
"""Matching a pattern of a server could take forever. The server checks these keywords itself."""
_MAPS = frozenset({"properties", "$defs", "definitions", "dependentSchemas"})


class ToolDefinition(Value):
    """A tool as the server describes it, unchanged."""

    name: str
    description: str = ""
    input_schema: dict[str, Any]
    read_only: bool = False
    """The server's hint that the tool changes nothing. A hint is no proof."""
    idempotent: bool = False
    """The server's hint that a repeated call has no further effect."""

    @property
    def digest(self) -> str:
        """A hash of everything that a person agreed to: name, description, schema, hints."""
        return hashlib.sha256(json.dumps(self.model_dump(), sort_keys=True).encode()).hexdigest()


def full_name(server: str, tool: str) -> str:
    """Return the name of a tool in Surefoot. It begins with the server's name, so that no server can take the name of a
    built-in tool or of another server's."""
    plain = _NOT_IN_NAMES.sub("_", tool)
    name = f"{server}__{plain}"
    if plain == tool and len(name) <= MAX_NAME:
        return name
    # Keeps names apart that differ only in characters that were replaced or cut off.
    mark = hashlib.sha256(tool.encode("utf-8", "replace")).hexdigest()[:6]
    return f"{name[: MAX_NAME - 7]}_{mark}"


def shown_description(server: str, definition: ToolDefinition) -> str:
    """Return the description for a model, marked as text of the server."""
    text = _one_line(definition.description, MAX_DESCRIPTION) or "no description"
    return f"[tool of the MCP server {server}] {text}"


def shown_parameters(definition: ToolDefinition) -> dict[str, Any] | None:
    """Return the cleaned schema of the arguments; None if a required parameter has a name that cannot be used."""
    schema = definition.input_schema
    properties = schema.get("properties")
    properties = properties if isinstance(properties, dict) else {}
    required = [name for name in _list(schema.get("required")) if isinstance(name, str)]
    usable = [name for name in properties if _PARAMETER.fullmatch(name)][:MAX_PARAMETERS]
    if not set(required) <= set(usable):
        return None
    definitions = _definitions(schema)
    cleaned = {name: _clean(properties[name], definitions, 0) for name in usable}
    result: dict[str, Any] = {"type": "object", "properties": cleaned, "required": required}
    result["additionalProperties"] = False
    if definitions:
        result["$defs"] = {name: _clean(part, definitions, 0) for name, part in definitions.items()}
    if len(json.dumps(result)) > MAX_SCHEMA or not _is_checkable(result):
        names: dict[str, Any] = {name: {} for name in usable}
        return {"type": "object", "properties": names, "required": required, "additionalProperties": False}
    return result


def differences(old: ToolDefinition, new: ToolDefinition) -> str:
    """Describe in a few lines what a server changed about a tool."""
    rows = []
    if old.description != new.description:
        rows += [f"  description before: {_one_line(old.description, 400)}"]
        rows += [f"  description now: {_one_line(new.description, 400)}"]
    if old.input_schema != new.input_schema:
        rows += [f"  parameters before: {_names(old)}", f"  parameters now: {_names(new)}"]
    if (old.read_only, old.idempotent) != (new.read_only, new.idempotent):
        rows += [f"  says now that it only reads: {'yes' if new.read_only else 'no'}"]
    return "\n".join(rows)


def summary(definition: ToolDefinition) -> str:
    return f"  description: {_one_line(definition.description, 400)}\n  parameters: {_names(definition)}"


def _names(definition: ToolDefinition) -> str:
    properties = definition.input_schema.get("properties")
    names = ", ".join(map(str, properties)) if isinstance(properties, dict) else ""
    digest = hashlib.sha256(json.dumps(definition.input_schema, sort_keys=True).encode()).hexdigest()[:8]
    return f"{_one_line(names, 300) or 'none'} (schema {digest})"


def _one_line(text: str, limit: int) -> str:
    text = " ".join(neutralise(text).split())
    return text if len(text) <= limit else text[: limit - 3] + "..."


def _definitions(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the shared parts of a schema, which are under either of two keys."""
    definitions: dict[str, Any] = {}
    for key in ("definitions", "$defs"):
        parts = schema.get(key)
        if isinstance(parts, dict):
            definitions |= {name: part for name, part in parts.items() if _PARAMETER.fullmatch(name)}
    return definitions


def _clean(schema: Any, definitions: Mapping[str, Any], depth: int) -> Any:
    """Return a part of a schema without keywords that are dangerous or not understood, which allows more values."""
    if not isinstance(schema, dict) or depth > _MAX_DEPTH:
        return {} if not isinstance(schema, bool) else schema
    if "$ref" in schema:
        name = str(schema["$ref"]).removeprefix("#/$defs/").removeprefix("#/definitions/")
        return {"$ref": f"#/$defs/{name}"} if name in definitions else {}
    cleaned: dict[str, Any] = {}
    for key, value in schema.items():
        if key in _LEFT_OUT or key in _SLOW or key in ("$defs", "definitions"):
            continue
        if key in _MAPS and isinstance(value, dict):
            cleaned[key] = {n: _clean(part, definitions, depth + 1) for n, part in value.items() if _is_name(n)}
        elif key in ("description", "title"):
            cleaned[key] = _one_line(str(value), MAX_PARAMETER_DESCRIPTION)
        elif isinstance(value, dict):
            cleaned[key] = _clean(value, definitions, depth + 1) if key not in ("default", "const") else value
        elif isinstance(value, list) and key in ("anyOf", "oneOf", "allOf", "prefixItems"):
            cleaned[key] = [_clean(part, definitions, depth + 1) for part in value]
        elif key != "examples" and not _has_invisible(value):
            cleaned[key] = value
    return cleaned


def _is_checkable(parameters: Mapping[str, Any]) -> bool:
    """Whether values can be checked with a schema: it is valid, and does not refer to itself without end."""
    from jsonschema import Draft202012Validator

    try:
        Draft202012Validator.check_schema(parameters)
        for schema in parameters["properties"].values():
            validator = Draft202012Validator({"allOf": [schema], "$defs": parameters.get("$defs", {})})
            for value in (None, "", 0, [None], {"a": None}):
                list(validator.iter_errors(value))
    except Exception:
        # A hostile schema can make the validator raise anything. The parameters are then offered without schemas.
        return False
    return True


def _has_invisible(value: Any) -> bool:
    """Whether a value, such as a list of choices, has invisible characters."""
    if isinstance(value, str):
        return neutralise(value) != value
    return isinstance(value, list) and any(map(_has_invisible, value))


def _is_name(name: str) -> bool:
    return _PARAMETER.fullmatch(name) is not None


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
