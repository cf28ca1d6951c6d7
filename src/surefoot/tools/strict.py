"""A JSON schema cut down to what every server that constrains its output understands.

Grammars of local servers and the strict mode of hosted ones share a small subset: closed objects whose properties are
all required, arrays of one kind, enumerations, `anyOf`, and null for what may be left out. A parameter that does not
fit becomes text holding JSON, which is read back when the tool is called.
"""

from collections.abc import Mapping
from typing import Any

_PLAIN = frozenset({"string", "integer", "number", "boolean", "null"})
_TEXT: dict[str, Any] = {"type": "string"}


class _DoesNotFit(Exception):
    pass


def closed_object(schema: Mapping[str, Any], leave_out: frozenset[str] = frozenset()) -> dict[str, Any]:
    """The schema of an object in the common subset, without the properties in `leave_out`."""
    definitions = schema.get("$defs", {})
    required = schema.get("required", ())
    properties = {}
    for name, given in schema.get("properties", {}).items():
        if name in leave_out:
            continue
        try:
            simple = _simple(given, definitions, ())
        except _DoesNotFit:
            simple = _TEXT
        properties[name] = simple if name in required else _or_null(simple)
    return _object(properties)


def _simple(schema: Mapping[str, Any], definitions: Mapping[str, Any], inside: tuple[str, ...]) -> dict[str, Any]:
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[-1]
        if name in inside or name not in definitions:
            raise _DoesNotFit(name)
        return _simple(definitions[name], definitions, (*inside, name))
    if "const" in schema:
        return _choice([schema["const"]])
    if "enum" in schema:
        return _choice(schema["enum"])
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return _any_of([_simple(option, definitions, inside) for option in schema[key]])
    kind = schema.get("type")
    if isinstance(kind, list):
        return _any_of([_simple({**schema, "type": one}, definitions, inside) for one in kind])
    if kind in _PLAIN:
        return {"type": kind}
    if kind == "array" and "items" in schema and "prefixItems" not in schema:
        return {"type": "array", "items": _simple(schema["items"], definitions, inside)}
    if kind == "object" and schema.get("properties") and not isinstance(schema.get("additionalProperties"), dict):
        required = schema.get("required", ())
        return _object(
            {
                name: simple if name in required else _or_null(simple)
                for name, simple in (
                    (name, _simple(part, definitions, inside)) for name, part in schema["properties"].items()
                )
            }
        )
    raise _DoesNotFit(str(kind))


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _choice(values: list[Any]) -> dict[str, Any]:
    if all(isinstance(value, str) for value in values):
        return {"type": "string", "enum": list(values)}
    if all(isinstance(value, int) and not isinstance(value, bool) for value in values):
        return {"type": "integer", "enum": list(values)}
    raise _DoesNotFit("mixed values")


def _any_of(options: list[dict[str, Any]]) -> dict[str, Any]:
    plain: list[str] = []
    for option in options:
        kinds = option.get("type")
        if set(option) != {"type"}:
            break
        plain += kinds if isinstance(kinds, list) else [str(kinds)]
    else:
        unique = list(dict.fromkeys(plain))
        return {"type": unique if len(unique) > 1 else unique[0]}
    return {"anyOf": options}


def _or_null(schema: dict[str, Any]) -> dict[str, Any]:
    if "anyOf" in schema:
        null = {"type": "null"}
        return schema if null in schema["anyOf"] else {"anyOf": [*schema["anyOf"], null]}
    return _any_of([schema, {"type": "null"}])
