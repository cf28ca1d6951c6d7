"""Checks that look at one file. What they find is a function of its bytes, so equal bytes need no second look."""

import ast
import hashlib
import json
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from surefoot.errors import SurefootError
from surefoot.plan import Check, FileCheck, JsonSchemaCheck, ParsesCheck, TextCheck
from surefoot.tools.paths import relative, resolve

OneFile = FileCheck | ParsesCheck | TextCheck | JsonSchemaCheck
THERE = "there"
"""In place of a hash, where the content does not matter."""


@dataclass(frozen=True, slots=True)
class Sight:
    """A file as a check found it."""

    inputs: dict[str, str]
    """Its path, with the hash of what is in it; empty when it is not there."""
    content: bytes | None = None
    problem: str = ""
    """Why it cannot be looked at."""


def see(root: Path, check: OneFile) -> Sight:
    try:
        path = resolve(root, check.path, for_writing=False)
        name = relative(root, path)
        if not path.exists():
            return Sight({name: ""}, problem=f"{check.path} does not exist")
        if isinstance(check, FileCheck):
            return Sight({name: THERE})
        if not path.is_file():
            # Reading a pipe would wait for somebody to write into it.
            return Sight({name: THERE}, problem=f"{check.path} is no ordinary file")
        content = path.read_bytes()
    except (OSError, SurefootError) as error:
        return Sight({}, problem=f"{type(error).__name__}: {error}")
    return Sight({name: hashlib.sha256(content).hexdigest()}, content)


def problem_with(check: OneFile, sight: Sight) -> str:
    """Why the check fails; empty when it passes."""
    if sight.problem or sight.content is None:
        return sight.problem
    try:
        return _judged(check, sight.content)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def _judged(check: Check, content: bytes) -> str:
    match check:
        case ParsesCheck():
            return _parse(check.path, content.decode("utf-8"))
        case TextCheck():
            text = content.decode("utf-8", errors="replace").replace("\r\n", "\n").replace("\r", "\n")
            found = re.search(check.pattern, text, re.MULTILINE)
            return "" if found else f"nothing in {check.path} matches /{check.pattern}/"
        case JsonSchemaCheck():
            return _schema_problem(json.loads(content.decode("utf-8")), check.json_schema)
    return ""


def _parse(path: str, text: str) -> str:
    name = Path(path)
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

    error = next(iter(jsonschema.Draft202012Validator(schema).iter_errors(value)), None)
    return f"{error.json_path}: {error.message}" if error else ""
