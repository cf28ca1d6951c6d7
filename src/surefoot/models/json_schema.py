"""Transform JSON schemas: map every subschema, and inline references."""

from collections.abc import Callable
from typing import Any

_MAX_DEPTH = 32
_BY_NAME = ("properties", "patternProperties", "$defs", "definitions")
"""Keywords whose value maps names to schemas. Such a name may look like a keyword."""
_NESTED = ("items", "prefixItems", "additionalProperties", "anyOf", "oneOf", "allOf", "not")

Schema = dict[str, Any]


def map_schema(schema: Any, change: Callable[[Schema], Schema]) -> Any:
    """Return the schema with `change` applied to every subschema, inner ones first. `true` and `false` are kept."""
    if isinstance(schema, list):
        return [map_schema(part, change) for part in schema]
    if not isinstance(schema, dict):
        return schema
    return change({key: _map_keyword(key, value, change) for key, value in schema.items()})


def _map_keyword(key: str, value: Any, change: Callable[[Schema], Schema]) -> Any:
    if key in _BY_NAME and isinstance(value, dict):
        return {name: map_schema(part, change) for name, part in value.items()}
    return map_schema(value, change) if key in _NESTED else value


def schemas_in(schema: Schema) -> list[Schema]:
    """Return the schema and every schema inside it."""
    parts: list[Schema] = []

    def collect(part: Schema) -> Schema:
        parts.append(part)
        return part

    map_schema(schema, collect)
    return parts


def without_references(schema: Schema) -> Schema:
    """Return the schema with every `$ref` inlined. A recursive or unknown one becomes `{"type": "object"}`."""
    definitions = {**schema.get("definitions", {}), **schema.get("$defs", {})}
    inlined = _inline({k: v for k, v in schema.items() if k not in ("$defs", "definitions")}, definitions, ())
    assert isinstance(inlined, dict)
    return inlined


def _inline(part: Any, definitions: dict[str, Any], ancestors: tuple[str, ...]) -> Any:
    if isinstance(part, list):
        return [_inline(item, definitions, ancestors) for item in part]
    if not isinstance(part, dict):
        return part
    reference = part.get("$ref")
    if not isinstance(reference, str):
        return {key: _inline(value, definitions, ancestors) for key, value in part.items()}
    name = reference.rpartition("/")[2]
    if name in ancestors or name not in definitions or len(ancestors) > _MAX_DEPTH:
        return {"type": "object"}
    siblings = {key: value for key, value in part.items() if key != "$ref"}
    return {**_inline(definitions[name], definitions, (*ancestors, name)), **siblings}
