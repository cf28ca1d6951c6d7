"""Derive a JSON schema from a function's signature, and convert the arguments of a model to fit it."""

import contextlib
import difflib
import inspect
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NoReturn, get_type_hints

from pydantic import TypeAdapter, ValidationError
from pydantic.errors import PydanticInvalidForJsonSchema, PydanticSchemaGenerationError, PydanticUserError

from surefoot.core.values import wrong_fields
from surefoot.errors import ToolError

Adapters = Mapping[str, "TypeAdapter[Any]"]

# Argument names from other tool sets, for suggestions when a model uses one of them.
_SUGGESTED_FOR: dict[str, tuple[str, ...]] = {
    "path": ("file", "filename", "file_name", "file_path", "filepath", "folder", "directory", "dir", "target_file"),
    "content": ("contents", "text", "body", "data", "code", "file_content", "file_text"),
    "command": ("cmd", "shell", "bash", "script", "commands"),
    "code": ("python", "script", "source", "snippet", "content"),
    "pattern": ("query", "regex", "regexp", "search", "text", "keyword", "term"),
    "search": ("old", "old_str", "old_string", "old_text", "find", "original"),
    "replace": ("new", "new_str", "new_string", "new_text", "replacement", "updated"),
    "edits": ("edit", "changes", "diff", "patch", "blocks"),
    "start_line": ("start", "from", "first", "from_line", "line", "offset", "begin"),
    "end_line": ("end", "to", "last", "to_line", "until", "stop"),
    "source": ("from", "src", "old_path", "path"),
    "target": ("to", "dst", "dest", "destination", "new_path"),
    "glob": ("include", "file_pattern", "filter", "files", "pattern"),
    "question": ("text", "message", "prompt", "query"),
    "url": ("uri", "link", "address"),
    "timeout": ("seconds", "timeout_seconds", "time_limit"),
    "action_id": ("id", "result_id", "action", "result"),
}


def read_signature(
    name: str, function: Callable[..., Any], context_type: type
) -> tuple[bool, dict[str, Any], Adapters]:
    """Return whether the function takes the context, the JSON schema of its other parameters, and their adapters."""
    hints = _hints(name, function)
    adapters: dict[str, TypeAdapter[Any]] = {}
    required: list[str] = []
    takes_context = False
    for position, parameter in enumerate(inspect.signature(function).parameters.values()):
        if position == 0 and hints.get(parameter.name) is context_type:
            takes_context = True
            continue
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            _reject_parameter(
                name, parameter.name, "cannot be given by name", "a tool's parameters are plain named ones"
            )
        if parameter.name not in hints:
            _reject_parameter(name, parameter.name, "has no type", f"write {parameter.name}: str, or what it is")
        try:
            adapters[parameter.name] = TypeAdapter(hints[parameter.name])
        except (PydanticSchemaGenerationError, PydanticUserError) as error:
            _reject_parameter(name, parameter.name, "has a type that cannot come from JSON", _first_line(error))
        if parameter.default is parameter.empty:
            required.append(parameter.name)
    return takes_context, _schema(name, adapters, required), adapters


def convert_arguments(
    tool: str,
    parameters: Mapping[str, Any],
    adapters: Adapters | None,
    values: Mapping[str, Any],
    body_argument: str = "",
) -> dict[str, Any]:
    """Validate and convert `values` to keyword arguments.

    Null means that an argument was not given. Common variants, such as numbers in quotes, are accepted.
    """
    known: dict[str, Any] = parameters.get("properties", {})
    required = parameters.get("required", ())
    if not parameters.get("additionalProperties", False):
        _refuse_unknown(tool, known, required, values)
    arguments: dict[str, Any] = {}
    for name, schema in known.items():
        value = values.get(name)
        check = _by_adapter(adapters[name]) if adapters else _by_schema(schema, parameters)
        if value is None and name not in required:
            continue
        if value is None and (name not in values or not _accepts(check, None)):
            raise ToolError(
                f"{tool} needs the argument {name!r}",
                tool=tool,
                argument=name,
                remedy=f"give {name}; {signature_text(tool, parameters)}",
            )
        arguments[name] = _read_value(tool, name, value, check, name in required, name == body_argument)
        if arguments[name] is _OMITTED:
            del arguments[name]
    return arguments | {name: value for name, value in values.items() if name not in known}


def signature_text(tool: str, parameters: Mapping[str, Any], body_argument: str = "") -> str:
    """Return the signature as shown to a model: `read_file(path, start_line?, end_line?)`."""
    required = parameters.get("required", ())
    words = [
        name + ("*" if name == body_argument else "" if name in required else "?")
        for name in parameters.get("properties", {})
    ]
    return f"{tool}({', '.join(words)})"


Check = Callable[[Any], Any]
"""Returns the converted value, or raises a ValueError that names the problem."""

_OMITTED = object()
_NULL_WORDS = frozenset({"", "null", "none", "undefined"})


def _read_value(tool: str, name: str, value: Any, check: Check, required: bool, is_body: bool) -> Any:
    problem = ""
    for variant in _variants(value, is_body):
        try:
            return check(variant)
        except ValueError as error:
            problem = problem or str(error)
    if isinstance(value, str) and value.strip().lower() in _NULL_WORDS and not required:
        return _OMITTED
    value_text = repr(value) if len(repr(value)) <= 80 else repr(value)[:77] + "..."
    raise ToolError(
        f"{tool}: the argument {name!r} is wrong: {problem} (got {value_text})",
        tool=tool,
        argument=name,
        remedy=f"give {name} in the form that is asked for",
    )


def _variants(value: Any, is_body: bool) -> Iterator[Any]:
    """Yield the value itself, then the values that a small model may have meant by it."""
    yield value
    if is_body and isinstance(value, list) and all(isinstance(line, str) for line in value):
        yield "\n".join(line.rstrip("\n") for line in value) + "\n"
    if isinstance(value, str):
        with contextlib.suppress(ValueError, RecursionError):
            yield json.loads(value)
        yield value.strip()
    elif isinstance(value, bool):
        yield str(value).lower()
    elif isinstance(value, int | float):
        yield str(value)
    if not isinstance(value, list | dict):
        yield [value]


def _by_adapter(adapter: "TypeAdapter[Any]") -> Check:
    def check(value: Any) -> Any:
        try:
            return adapter.validate_python(value)
        except ValidationError as error:
            where, problem = wrong_fields(error)[0]
            raise ValueError(f"{where}: {problem}" if where else problem) from None

    return check


def _by_schema(schema: Mapping[str, Any], parameters: Mapping[str, Any]) -> Check:
    """Return a check for tools that have only a JSON schema, such as those of another program."""
    from jsonschema import Draft202012Validator

    whole = {**schema, "$defs": parameters.get("$defs", {})}

    def check(value: Any) -> Any:
        try:
            problem = next(Draft202012Validator(whole).iter_errors(value), None)
        except RecursionError as error:
            raise ValueError("it is nested too deeply to be checked") from error
        if problem is not None:
            raise ValueError(problem.message)
        return value

    return check


def _accepts(check: Check, value: Any) -> bool:
    try:
        check(value)
    except ValueError:
        return False
    return True


def _refuse_unknown(tool: str, known: Mapping[str, Any], required: Any, values: Mapping[str, Any]) -> None:
    for name in values:
        if name in known:
            continue
        match = _closest(name, [candidate for candidate in known if candidate not in values])
        suggestion = f"did you mean {match!r}? " if match else ""
        names = ", ".join(candidate if candidate in required else candidate + "?" for candidate in known) or "none"
        raise ToolError(
            f"{tool} has no argument {name!r}", tool=tool, argument=name, remedy=f"{suggestion}its arguments: {names}"
        )


def _closest(name: str, candidates: list[str]) -> str:
    normalized = name.lower().replace("-", "_")
    for candidate in candidates:
        if normalized == candidate or normalized in _SUGGESTED_FOR.get(candidate, ()):
            return candidate
    return next(iter(difflib.get_close_matches(normalized, candidates, n=1)), "")


def _hints(name: str, function: Callable[..., Any]) -> dict[str, Any]:
    try:
        return get_type_hints(function, include_extras=True)
    except (NameError, TypeError, AttributeError) as error:
        raise ToolError(
            f"the types of the tool {name} cannot be read: {error}",
            tool=name,
            remedy="import its types where the module can see them",
        ) from error


def _schema(name: str, adapters: Adapters, required: list[str]) -> dict[str, Any]:
    try:
        by_name, shared = TypeAdapter.json_schemas(
            [(parameter, "validation", adapter) for parameter, adapter in adapters.items()]
        )
    except PydanticInvalidForJsonSchema as error:
        raise ToolError(
            f"a parameter of the tool {name} has a type that JSON cannot express: {_first_line(error)}",
            tool=name,
            remedy="use str, int, float, bool, list, dict, an enum or a pydantic model",
        ) from error
    return {
        "type": "object",
        "properties": {parameter: by_name[parameter, "validation"] for parameter in adapters},
        "required": required,
        "additionalProperties": False,
        **{key: value for key, value in shared.items() if key == "$defs"},
    }


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0]


def _reject_parameter(tool: str, argument: str, problem: str, remedy: str) -> NoReturn:
    raise ToolError(
        f"the parameter {argument!r} of the tool {tool} {problem}", tool=tool, argument=argument, remedy=remedy
    )
