"""Checks of one file. Their result depends only on its bytes, so it can be reused while the bytes are the same."""

import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from surefoot.core.plan import FileCheck, JsonSchemaCheck, ParsesCheck, TextCheck
from surefoot.engine.verifier import check_worker
from surefoot.errors import SurefootError
from surefoot.tools.fs.fileio import read_bytes
from surefoot.tools.fs.paths import relative, resolve
from surefoot.workspace.process.launch import own_python
from surefoot.workspace.process.process import Limits, command_env, run_process

OneFile = FileCheck | ParsesCheck | TextCheck | JsonSchemaCheck
EXISTS = "there"
"""Stands for the hash of a file whose content does not matter."""
JUDGE_SECONDS = 10.0
"""How long judging one file may take. Matching some patterns and schemas of models never ends."""

_SMALL_BYTES = 200_000
_REPEATS = re.compile(r"[*+?{]")
_MEMORY_BYTES = 4_000_000_000


@dataclass(frozen=True, slots=True)
class Sight:
    """A file as a check found it."""

    inputs: dict[str, str]
    """Its path with the hash of its content; the hash is empty if the file does not exist."""
    content: bytes | None = None
    problem: str = ""
    """Why it cannot be checked."""


def see(root: Path, check: OneFile) -> Sight:
    try:
        path = resolve(root, check.path, for_writing=False)
        name = relative(root, path)
        if not path.exists():
            return Sight({name: ""}, problem=f"{check.path} does not exist")
        if isinstance(check, FileCheck):
            return Sight({name: EXISTS})
        if not path.is_file():
            return Sight({name: EXISTS}, problem=f"{check.path} is not a regular file")
        content = read_bytes(root, path)
    except (OSError, SurefootError) as error:
        return Sight({}, problem=str(error))
    return Sight({name: hashlib.sha256(content).hexdigest()}, content)


async def problem_with(check: OneFile, sight: Sight) -> str:
    """Return why the check fails; empty if it passes."""
    if sight.problem or sight.content is None:
        return sight.problem
    try:
        request = _request(check, sight.content)
    except UnicodeDecodeError as error:
        return f"UnicodeDecodeError: {error}"
    if len(sight.content) <= _SMALL_BYTES and _surely_ends(check):
        return check_worker.problem_of(request)
    return await _judge_in_process(check, request)


def _request(check: OneFile, content: bytes) -> dict[str, Any]:
    request: dict[str, Any] = {"kind": check.kind, "path": check.path}
    match check:
        case TextCheck():
            text = content.decode("utf-8", errors="replace").replace("\r\n", "\n").replace("\r", "\n")
            return {**request, "pattern": check.pattern, "text": text}
        case JsonSchemaCheck():
            return {**request, "schema": check.json_schema, "text": content.decode("utf-8")}
    return {**request, "text": content.decode("utf-8")}


def _surely_ends(check: OneFile) -> bool:
    """Whether a small file is judged quickly: it is only parsed, or its pattern has nothing that repeats."""
    match check:
        case TextCheck():
            return _REPEATS.search(check.pattern) is None
        case JsonSchemaCheck():
            return False
    return True


async def _judge_in_process(check: OneFile, request: dict[str, Any]) -> str:
    result = await run_process(
        [own_python(), "-I", "-W", "ignore", check_worker.__file__],
        cwd=Path("/"),
        env=command_env(),
        limits=Limits(timeout=JUDGE_SECONDS, memory_bytes=_MEMORY_BYTES),
        stdin=json.dumps(request).encode(),
    )
    if result.timed_out:
        return f"{check.label}: not decided within {JUDGE_SECONDS:g} seconds; use a simpler check"
    try:
        return str(json.loads(result.output)["problem"])
    except (ValueError, KeyError, TypeError):
        return f"{check.label}: the check broke: {result.output[-300:]}"
