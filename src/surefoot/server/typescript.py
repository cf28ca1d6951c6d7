"""Writes the types of the protocol as TypeScript: `python -m surefoot.server.typescript > web/src/lib/protocol.ts`."""

import types
from enum import StrEnum
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from typing_extensions import is_typeddict

from surefoot.core.phases import PhaseStatus
from surefoot.core.transitions import RunStatus, StepStatus
from surefoot.report import document
from surefoot.view import documents, rows

_HEAD = "// Written by `python -m surefoot.server.typescript` from src/surefoot/view and report. Do not edit."
_NAMES = {str: "string", int: "number", float: "number", bool: "boolean", type(None): "null", Any: "unknown"}
_MODULES = (rows, documents, document)
_ALIASES: dict[str, Any] = {
    "RunStatus": RunStatus,
    "PhaseStatusName": PhaseStatus,
    "StepStatusName": StepStatus,
    "Colour": rows.Colour,
    "Row": rows.Row,
    "Omitted": document.Omitted,
}


def as_typescript() -> str:
    """All types of rows and messages, and of the document of a report, as one module."""
    parts = [_HEAD, f"export const PROTOCOL = {rows.PROTOCOL};"]
    named = {
        name: value
        for module in _MODULES
        for name, value in vars(module).items()
        if not name.startswith("_") and is_typeddict(value)
    }
    parts += [_interface(name, kind) for name, kind in named.items()]
    parts += [f"export type {name} = {_type(alias, top=True)};" for name, alias in _ALIASES.items()]
    return "\n\n".join(parts) + "\n"


def _interface(name: str, kind: type) -> str:
    lines = [f"  {field}: {_type(hint)};" for field, hint in get_type_hints(kind).items()]
    return "\n".join([f"export interface {name} {{", *lines, "}"])


def _type(hint: Any, *, top: bool = False) -> str:
    if not top:
        for name, alias in _ALIASES.items():
            if hint == alias:
                return name
    origin, arguments = get_origin(hint), get_args(hint)
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return " | ".join(_literal(member.value) for member in hint)
    if origin is Literal:
        return " | ".join(_literal(value) for value in arguments)
    if origin in (Union, types.UnionType):
        return " | ".join(_type(part) for part in arguments)
    if origin is list:
        inner = _type(arguments[0])
        return f"({inner})[]" if " " in inner else f"{inner}[]"
    if origin is dict:
        return f"Record<{_type(arguments[0])}, {_type(arguments[1])}>"
    if is_typeddict(hint):
        return str(hint.__name__)
    return _NAMES[hint]


def _literal(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value).lower()


if __name__ == "__main__":
    print(as_typescript(), end="")
