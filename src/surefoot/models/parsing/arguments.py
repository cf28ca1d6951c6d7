"""Read the arguments of a tool call, and repair them where only one meaning is possible.

Faults in the notation are repaired: control characters and unknown escapes in strings, markup after the last brace, a
missing last brace, JSON inside a string. So are faults that the tool's schema reveals: lists and numbers written as
strings, strings split into lists, other names for a parameter. Everything else is reported; nothing is guessed.
"""

import ast
import json
import re
from typing import Any

Schema = dict[str, Any]

_SYNONYMS = (
    ("path", "file_path", "filePath", "filepath", "filename", "file_name", "file", "target_file", "absolute_path"),
    ("paths", "file_paths", "filePaths", "files"),
    ("command", "cmd", "shell_command", "script"),
    ("old", "old_string", "oldString", "old_str", "old_text", "search", "before"),
    ("new", "new_string", "newString", "new_str", "new_text", "replace", "after"),
    ("content", "contents", "file_text", "text", "body"),
    ("pattern", "query", "regex", "search_pattern"),
    ("start", "start_line", "startLine", "offset", "from_line"),
    ("end", "end_line", "endLine", "to_line"),
    ("patch", "input", "diff"),
)
"""Names for one parameter. A name is replaced only if the schema has exactly one other name of its row."""
_TAIL = re.compile(r"(?:[\s}\]`;,]|</?[\w:|=.-]*>|<\|[^|>]*\|>|<[|/][\w|]*\Z)*")
"""Text after the arguments that has no meaning: closing brackets, fences, tags of chat templates."""
_BAD_ESCAPE = re.compile(r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})|(\\)', re.DOTALL)
_PYTHON_STRING = re.compile(r"""'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*\"""")
_INTEGER = re.compile(r"\s*[-+]?\d{1,18}\s*")
_NUMBER = re.compile(r"\s*[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?\s*")
_MAX_SCHEMA_DEPTH = 8


class BadArguments(ValueError):
    """The arguments cannot be read. The message tells the model why."""


def read_arguments(raw: str, schema: Schema, *, truncated: bool = False) -> tuple[dict[str, Any], bool]:
    """Return the arguments, and whether they differ from what the model wrote. Raises `BadArguments`."""
    value, exact = _decode(raw, truncated=truncated)
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict):
        value, exact = value[0], False
    if not isinstance(value, dict):
        raise BadArguments(f"the arguments must be a JSON object, not {_kind(value)}")
    fitted = fit_arguments(value, schema)
    return fitted, not exact or fitted != value or _types(fitted) != _types(value)


def fit_arguments(arguments: dict[str, Any], schema: Schema) -> dict[str, Any]:
    """Change names and types to those of the schema where that is safe."""
    return _fit_object(arguments, schema, schema, 0)


def _decode(raw: str, *, truncated: bool) -> tuple[Any, bool]:
    if not raw.strip():
        return {}, True
    try:
        value, exact = json.loads(raw), True
    except (ValueError, RecursionError):
        value, exact = _decode_faulty(raw.strip(), truncated=truncated), False
    if isinstance(value, str):
        # The model encoded the JSON twice.
        try:
            return json.loads(value, strict=False), False
        except (ValueError, RecursionError):
            return value, exact
    return value, exact


def _decode_faulty(raw: str, *, truncated: bool) -> Any:
    if truncated:
        raise BadArguments("the arguments were cut off at the output limit; make the call smaller, or split it")
    fault: ValueError | None = None
    for text in dict.fromkeys((raw, _escaped(raw))):
        try:
            value, end = json.JSONDecoder(strict=False).raw_decode(text)
        except RecursionError:
            raise BadArguments("the arguments are nested too deeply") from None
        except ValueError as error:
            fault = fault or error
            continue
        if _TAIL.fullmatch(text, end):
            return value
        raise BadArguments(f"there is text after the arguments, at character {end}: {text[end : end + 40]!r}")
    for text in (raw, _escaped(raw)):
        if (value := _with_missing_braces(text)) is not None:
            return value
    if (value := _from_python(raw)) is not None:
        return value
    raise BadArguments(f"the arguments are not valid JSON: {fault}")


def _from_python(text: str) -> dict[str, Any] | None:
    """Read a dict literal of Python; None if it is not one, holds more than JSON can, or joins adjacent strings."""
    try:
        tree = ast.parse(text, mode="eval")
        value = ast.literal_eval(tree)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    texts = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    whole = all(_PYTHON_STRING.fullmatch(ast.get_source_segment(text, node) or "") for node in texts)
    return value if whole and isinstance(value, dict) and _is_json(value) else None


def _with_missing_braces(text: str) -> Any:
    """Return the value if only closing brackets are missing, outside any string; else None."""
    closers: list[str] = []
    in_string = escaped = False
    for char in text:
        if in_string:
            in_string = escaped or char != '"'
            escaped = char == "\\" and not escaped
        elif char == '"':
            in_string = True
        elif char in "{[":
            closers.append("}" if char == "{" else "]")
        elif char in "}]" and (not closers or closers.pop() != char):
            return None
    if in_string or not closers or text[-1:] not in '"}]0123456789el':
        return None
    try:
        return json.loads(text + "".join(reversed(closers)), strict=False)
    except (ValueError, RecursionError):
        return None


def _escaped(text: str) -> str:
    r"""Double the backslashes of unknown escapes, such as `\d`, which can only mean themselves."""
    return _BAD_ESCAPE.sub(lambda match: "\\\\" if match.group(1) else match.group(), text)


def _fit_object(value: dict[str, Any], schema: Schema, root: Schema, depth: int) -> dict[str, Any]:
    schema = resolve(schema, root)
    properties = schema.get("properties")
    if not isinstance(properties, dict) or not properties or depth > _MAX_SCHEMA_DEPTH:
        return value
    required = schema.get("required", ())
    fitted: dict[str, Any] = {}
    for name, part in _renamed(value, properties).items():
        expected = properties.get(name)
        if not isinstance(expected, dict):
            fitted[name] = part
            continue
        part = _fit(part, expected, root, depth + 1)
        if part is None and name not in required and "null" not in _allowed(expected, root):
            continue
        fitted[name] = part
    return fitted


def _renamed(value: dict[str, Any], properties: dict[str, Any]) -> dict[str, Any]:
    if value.keys() <= properties.keys():
        return value
    renamed: dict[str, Any] = {}
    for name, part in value.items():
        row = next((row for row in _SYNONYMS if name in row), ()) if name not in properties else ()
        targets = [other for other in row if other in properties]
        free = len(targets) == 1 and targets[0] not in value and targets[0] not in renamed
        renamed[targets[0] if free else name] = part
    return renamed


def _fit(value: Any, schema: Schema, root: Schema, depth: int) -> Any:
    schema = resolve(schema, root)
    allowed = _allowed(schema, root)
    if not allowed or depth > _MAX_SCHEMA_DEPTH:
        return value
    if isinstance(value, dict) and "object" in allowed:
        return _fit_object(value, schema, root, depth)
    if isinstance(value, list) and "array" in allowed:
        items = schema.get("items")
        return [_fit(item, items, root, depth + 1) for item in value] if isinstance(items, dict) else value
    if _kind(value) in allowed or (isinstance(value, int) and "number" in allowed and not isinstance(value, bool)):
        return value
    if isinstance(value, str):
        return _from_text(value, schema, root, allowed, depth)
    if isinstance(value, list) and "string" in allowed:
        return _joined(value)
    if isinstance(value, float) and "integer" in allowed and value.is_integer():
        return int(value)
    if isinstance(value, int) and not isinstance(value, bool) and allowed == {"string"}:
        return str(value)
    return value


def _from_text(value: str, schema: Schema, root: Schema, allowed: set[str], depth: int) -> Any:
    """Convert a string to another type that the schema allows, or return it unchanged."""
    if "integer" in allowed and _INTEGER.fullmatch(value):
        return int(value)
    if "number" in allowed and _NUMBER.fullmatch(value):
        return float(value) if not _INTEGER.fullmatch(value) else int(value)
    if "boolean" in allowed and value.strip().lower() in ("true", "false"):
        return value.strip().lower() == "true"
    if "null" in allowed and value.strip().lower() in ("null", "none"):
        return None
    if allowed & {"array", "object"}:
        try:
            decoded = json.loads(value, strict=False)
        except (ValueError, RecursionError):
            decoded = None
        if isinstance(decoded, list | dict) and _kind(decoded) in allowed:
            return _fit(decoded, schema, root, depth + 1)
        items = schema.get("items")
        if isinstance(items, dict) and _allowed(items, root) == {"string"} and value.strip()[:1] not in "[{":
            return [value]
    return value


def _joined(pieces: list[Any]) -> Any:
    """Join a string that was split into pieces. A list of lines without line ends is not one, and is kept."""
    if not pieces or not all(isinstance(piece, str) for piece in pieces):
        return pieces
    return "".join(pieces) if len(pieces) == 1 or any("\n" in piece for piece in pieces) else pieces


def resolve(schema: Schema, root: Schema) -> Schema:
    """Follow local references, and reduce `anyOf` and `oneOf` to their only option besides null."""
    for _ in range(_MAX_SCHEMA_DEPTH):
        reference = schema.get("$ref")
        if not isinstance(reference, str) or not reference.startswith("#/"):
            break
        target: Any = root
        for name in reference[2:].split("/"):
            target = target.get(name.replace("~1", "/").replace("~0", "~"), {}) if isinstance(target, dict) else {}
        schema = target if isinstance(target, dict) else {}
    options = [option for key in ("anyOf", "oneOf") for option in schema.get(key, ()) if isinstance(option, dict)]
    useful = [option for option in options if option.get("type") != "null"]
    if "type" not in schema and len(useful) == 1:
        # An optional value: its own schema, with null allowed as well.
        inner = resolve(useful[0], root)
        kinds = inner.get("type", ())
        if len(options) > 1 and kinds:
            return {**inner, "type": [*([kinds] if isinstance(kinds, str) else kinds), "null"]}
        return inner
    return schema


def _allowed(schema: Schema, root: Schema) -> set[str]:
    """The types that the schema names; empty if it names none."""
    schema = resolve(schema, root)
    kinds = schema.get("type")
    if isinstance(kinds, str):
        return {kinds}
    if isinstance(kinds, list):
        return {kind for kind in kinds if isinstance(kind, str)}
    options = [option for key in ("anyOf", "oneOf") for option in schema.get(key, ())]
    types = [_allowed(option, root) for option in options if isinstance(option, dict)]
    return set().union(*types) if types and all(types) else set()


def _kind(value: Any) -> str:
    kinds = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}
    return kinds.get(type(value), "null")


def _types(value: Any) -> Any:
    """The types of a value at every depth: 1, 1.0 and True compare equal, but are different arguments."""
    if isinstance(value, dict):
        return {key: _types(part) for key, part in value.items()}
    return [_types(part) for part in value] if isinstance(value, list) else type(value)


def _is_json(value: Any) -> bool:
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_json(part) for key, part in value.items())
    if isinstance(value, list):
        return all(map(_is_json, value))
    return value is None or isinstance(value, str | int | float)
