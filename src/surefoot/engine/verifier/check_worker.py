"""Judges the content of one file by a check, as a function or as a program in a process of its own.

Patterns and schemas come from models, and matching some of them never ends. A process can be killed; a thread cannot.
As a program it reads one JSON request from stdin and writes one JSON answer to stdout.
"""

import ast
import json
import re
import sys
import tomllib
from pathlib import PurePath
from typing import Any


def problem_of(request: dict[str, Any]) -> str:
    """Return why the content fails the check; empty if it passes. Raises ValueError for an unknown kind of check."""
    text = request["text"]
    try:
        match request["kind"]:
            case "text_matches":
                match = re.search(request["pattern"], text, re.MULTILINE)
                return "" if match else f"nothing in {request['path']} matches /{request['pattern']}/"
            case "json_schema":
                return _schema_problem(json.loads(text), request["schema"])
            case "parses":
                return _parse(PurePath(request["path"]), text)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    raise ValueError(f"there is no check of the kind {request['kind']!r}")


def _parse(name: PurePath, text: str) -> str:
    if not text.strip() and name.name != "__init__.py":
        return "the file is empty"
    match name.suffix:
        case ".py":
            ast.parse(text, filename=name.name)
        case ".json":
            json.loads(text)
        case ".toml":
            tomllib.loads(text)
    return ""


def _schema_problem(value: Any, schema: dict[str, Any]) -> str:
    import jsonschema
    from referencing import Registry

    # An empty registry: by default a `$ref` to another address would be fetched.
    registry: Any = Registry()
    validator = jsonschema.Draft202012Validator(schema, registry=registry)
    error = next(iter(validator.iter_errors(value)), None)
    return f"{error.json_path}: {error.message}" if error else ""


if __name__ == "__main__":
    json.dump({"problem": problem_of(json.load(sys.stdin))}, sys.stdout)
