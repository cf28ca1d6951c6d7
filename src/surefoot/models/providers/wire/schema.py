"""JSON schemas in the forms that servers accept."""

import hashlib
import json
from typing import Any

from surefoot.models.json_schema import schemas_in

_STRICT_KEYWORDS = frozenset(
    (
        *("type", "properties", "required", "additionalProperties", "items", "anyOf", "enum", "const"),
        *("description", "title", "$ref", "$defs", "definitions", "minItems", "maxItems", "minimum", "maximum"),
    )
)
"""Keywords of strict mode. Some servers refuse others, such as `default`, `minLength`, `oneOf` and `allOf`."""
_TYPE_KEYWORDS = ("type", "anyOf", "enum", "const", "$ref")


def fits_strict_mode(schema: dict[str, Any]) -> bool:
    """Whether strict mode accepts a schema: at every depth it gives the type of the value, with keywords of strict mode
    only, and objects are closed, with all their properties required."""
    return schema.get("type") == "object" and all(map(_is_strict, schemas_in(schema)))


def _is_strict(part: dict[str, Any]) -> bool:
    if not part.keys() <= _STRICT_KEYWORDS or not any(key in part for key in _TYPE_KEYWORDS):
        return False
    if part.get("type") != "object" and "properties" not in part:
        return True
    all_required = set(part.get("required", ())) == set(part.get("properties", {}))
    return all_required and part.get("additionalProperties") is False


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
