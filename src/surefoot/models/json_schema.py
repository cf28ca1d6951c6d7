"""Walks over JSON schemas: replaces references, and changes every part."""

from collections.abc import Callable
from typing import Any

_MAX_DEPTH = 32
_BY_NAME = ("properties", "patternProperties", "$defs", "definitions")
"""Keywords whose value has a schema for each name. A name may be that of a keyword."""
_NESTED = ("items", "prefixItems", "additionalProperties", "anyOf", "oneOf", "allOf", "not")

Schema = dict[str, Any]


def map_schema(schema: Any, change: Callable[[Schema], Schema]) -> Any:
    """Return the schema with every schema in it changed, the inner ones first. `true` and `false` stay."""
    if isinstance(schema, list):
        return [map_schema(part, change) for part in schema]
    if not isinstance(schema, dict):
        return schema
    return change({key: _inside(key, value, change) for key, value in schema.items()})


def _inside(key: str, value: Any, change: Callable[[Schema], Schema]) -> Any:
    if key in _BY_NAME and isinstance(value, dict):
        return {name: map_schema(part, change) for name, part in value.items()}
    return map_schema(value, change) if key in _NESTED else value


def schemas_in(schema: Schema) -> list[Schema]:
    """Return the schema and every schema inside it."""
    found: list[Schema] = []

    def note(part: Schema) -> Schema:
        found.append(part)
        return part

    map_schema(schema, note)
    return found


def without_references(schema: Schema) -> Schema:
    """The schema with its `$ref`s replaced by what they refer to. A recursive part becomes an object of any form."""
    definitions = {**schema.get("definitions", {}), **schema.get("$defs", {})}
    inlined = _inline({k: v for k, v in schema.items() if k not in ("$defs", "definitions")}, definitions, ())
    assert isinstance(inlined, dict)
    return inlined


def _inline(part: Any, definitions: dict[str, Any], inside: tuple[str, ...]) -> Any:
    if isinstance(part, list):
        return [_inline(item, definitions, inside) for item in part]
    if not isinstance(part, dict):
        return part
    reference = part.get("$ref")
    if not isinstance(reference, str):
        return {key: _inline(value, definitions, inside) for key, value in part.items()}
    name = reference.rpartition("/")[2]
    if name in inside or name not in definitions or len(inside) > _MAX_DEPTH:
        return {"type": "object"}
    beside = {key: value for key, value in part.items() if key != "$ref"}
    return {**_inline(definitions[name], definitions, (*inside, name)), **beside}
