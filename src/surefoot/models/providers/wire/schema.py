"""JSON schemas in the forms that servers accept."""

import hashlib
import json
from typing import Any

_MAX_DEPTH = 32


def fits_strict_mode(schema: Any) -> bool:
    """Strict mode requires at every depth that objects are closed and all their properties required."""
    if isinstance(schema, list):
        return all(fits_strict_mode(part) for part in schema)
    if not isinstance(schema, dict):
        return True
    if schema.get("type") == "object" or "properties" in schema:
        properties = schema.get("properties", {})
        if schema.get("additionalProperties") is not False or set(schema.get("required", ())) != set(properties):
            return False
    # Only values are visited, because a property itself may be called "properties" or "type".
    named = [part for key in ("properties", "$defs", "definitions") for part in schema.get(key, {}).values()]
    nested = [schema[key] for key in ("items", "prefixItems", "anyOf", "oneOf", "allOf", "not") if key in schema]
    return fits_strict_mode(named + nested)


def has_shape(answer: str, schema: dict[str, Any]) -> bool:
    """Whether a server that enforces the schema could have given this answer.

    Checks only the type and the required properties, because some servers ignore lengths and patterns.
    """
    try:
        value = json.loads(answer)
    except ValueError:
        return False
    if schema.get("type") != "object":
        return True
    return isinstance(value, dict) and set(schema.get("required", ())) <= value.keys()


def schema_key(schema: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(schema, sort_keys=True).encode()).hexdigest()


def without_references(schema: dict[str, Any]) -> dict[str, Any]:
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
