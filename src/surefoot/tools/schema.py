"""Reduce a JSON schema to the subset that every server with constrained decoding supports.

The grammars of local servers and the strict mode of hosted ones share a small subset: closed objects whose properties
are all required, homogeneous arrays, enumerations, `anyOf`, and null for optional values. A parameter outside of it
becomes a string that holds JSON, which is parsed when the tool is called.
"""

from collections.abc import Mapping
from typing import Any

_SCALARS = frozenset({"string", "integer", "number", "boolean", "null"})
_STRING: dict[str, Any] = {"type": "string"}


class _Unsupported(Exception):
    pass


def closed_object(schema: Mapping[str, Any], omit: frozenset[str] = frozenset()) -> dict[str, Any]:
    """Return the schema of an object in the common subset, without the properties in `omit`."""
    definitions = schema.get("$defs", {})
    required = schema.get("required", ())
    properties = {}
    for name, full in schema.get("properties", {}).items():
        if name in omit:
            continue
        try:
            reduced = _reduce(full, definitions, ())
        except _Unsupported:
            reduced = _STRING
        properties[name] = reduced if name in required else _or_null(reduced)
    return _object(properties)


def _reduce(schema: Mapping[str, Any], definitions: Mapping[str, Any], enclosing: tuple[str, ...]) -> dict[str, Any]:
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[-1]
        if name in enclosing or name not in definitions:
            raise _Unsupported(name)
        return _reduce(definitions[name], definitions, (*enclosing, name))
    if "const" in schema:
        return _enum([schema["const"]])
    if "enum" in schema:
        return _enum(schema["enum"])
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return _any_of([_reduce(option, definitions, enclosing) for option in schema[key]])
    kind = schema.get("type")
    if isinstance(kind, list):
        return _any_of([_reduce({**schema, "type": single}, definitions, enclosing) for single in kind])
    if kind in _SCALARS:
        return {"type": kind}
    if kind == "array" and "items" in schema and "prefixItems" not in schema:
        return {"type": "array", "items": _reduce(schema["items"], definitions, enclosing)}
    if kind == "object" and schema.get("properties") and not isinstance(schema.get("additionalProperties"), dict):
        required = schema.get("required", ())
        return _object(
            {
                name: reduced if name in required else _or_null(reduced)
                for name, reduced in (
                    (name, _reduce(part, definitions, enclosing)) for name, part in schema["properties"].items()
                )
            }
        )
    raise _Unsupported(str(kind))


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _enum(values: list[Any]) -> dict[str, Any]:
    if all(isinstance(value, str) for value in values):
        return {"type": "string", "enum": list(values)}
    if all(isinstance(value, int) and not isinstance(value, bool) for value in values):
        return {"type": "integer", "enum": list(values)}
    raise _Unsupported("mixed values")


def _any_of(options: list[dict[str, Any]]) -> dict[str, Any]:
    types: list[str] = []
    for option in options:
        kinds = option.get("type")
        if set(option) != {"type"}:
            break
        types += kinds if isinstance(kinds, list) else [str(kinds)]
    else:
        unique = list(dict.fromkeys(types))
        return {"type": unique if len(unique) > 1 else unique[0]}
    return {"anyOf": options}


def _or_null(schema: dict[str, Any]) -> dict[str, Any]:
    if "anyOf" in schema:
        null = {"type": "null"}
        return schema if null in schema["anyOf"] else {"anyOf": [*schema["anyOf"], null]}
    return _any_of([schema, {"type": "null"}])
