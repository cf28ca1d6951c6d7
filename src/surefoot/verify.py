"""Runs checks and keeps their results. The engine runs them, never the model, and a result holds only for the tree
it was got on: the same check on the same tree is not run twice, on another tree it is."""

import ast
import asyncio
import json
import re
import time
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from surefoot import events as e
from surefoot.expressions import evaluate
from surefoot.outcome import CheckResult
from surefoot.plan import (
    Check,
    CommandCheck,
    ExpressionCheck,
    FileCheck,
    JsonSchemaCheck,
    ParsesCheck,
    TextCheck,
)
from surefoot.run import Run
from surefoot.tools.paths import resolve
from surefoot.tools.results import summarise
from surefoot.workspace.process import Limits, command_env, run_process, shell_argv

QUIET_ENV = {"PYTHONDONTWRITEBYTECODE": "1", "PYTEST_ADDOPTS": "-p no:cacheprovider"}
"""A check looks; it should leave nothing behind."""


class Verifier:
    """One for a run: remembers what was found on which tree."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._known: dict[tuple[str, str], CheckResult] = {}

    async def check(
        self, checks: Sequence[Check], when: Literal["before", "during", "after", "final"], step_id: str = ""
    ) -> tuple[CheckResult, ...]:
        """Results in the order of `checks`; equal checks are run once. The final pass trusts nothing it remembers."""
        if not checks:
            return ()
        tree = await asyncio.to_thread(self._run.workspace.tree_hash)
        results: dict[str, CheckResult] = {}
        ran = False
        for check in checks:
            if check.key in results:
                continue
            known = self._known.get((check.key, tree)) if when != "final" else None
            ran = ran or known is None
            results[check.key] = known or await self._run_one(check, tree)
        found = tuple(results.values())
        changed = await self._left_behind(found, tree, step_id) if ran else ()
        if not changed:
            self._known.update({(r.check.key, tree): r for r in found if isinstance(r.check, CommandCheck)})
        await self._run.record(e.ChecksRan(step_id=step_id, when=when, results=found, changed=changed))
        return found

    async def _left_behind(self, found: Sequence[CheckResult], tree: str, step_id: str) -> tuple[str, ...]:
        """What commands that should only look have changed, or other steps while they ran: either way the results are
        of no one tree and are not remembered."""
        if not any(isinstance(result.check, CommandCheck) for result in found):
            return ()
        if await asyncio.to_thread(self._run.workspace.tree_hash) == tree:
            return ()
        mine = self._run.state.steps.get(step_id)
        if mine is None or not mine.snapshot or mine.shared:
            return (".",)
        return tuple(change.path for change in await asyncio.to_thread(self._run.workspace.changes, mine.snapshot))

    async def _run_one(self, check: Check, tree: str) -> CheckResult:
        started = time.perf_counter()
        match check:
            case CommandCheck():
                result = await self._command(check)
            case ExpressionCheck():
                result = self._expression(check)
            case _:
                result = _look_at(self._run.root, check)
        return result.with_(tree=tree, duration_ms=round((time.perf_counter() - started) * 1000))

    async def _command(self, check: CommandCheck) -> CheckResult:
        run = self._run
        done = await run_process(
            shell_argv(check.command),
            cwd=run.root,
            env={**command_env(), **QUIET_ENV},
            limits=Limits(timeout=run.config.command_timeout_seconds),
            sandbox=run.sandbox,
            network=run.config.network,
        )
        passed = done.exit_code == check.expect_exit
        detail = "" if passed else summarise(_without_noise(done.output, run.root), failed=True)
        if passed and ran_no_test(check.command, done.output):
            passed, detail = False, f"it ended with {done.exit_code}, but no test was run"
        if done.timed_out:
            detail = f"no end after {run.config.command_timeout_seconds:g} s\n{detail}"
        elif not passed and not detail:
            detail = f"exit code {done.exit_code}, no output"
        blob = run.services.journal.put_blob(done.output.encode())
        return CheckResult(check=check, passed=passed, detail=detail, exit_code=done.exit_code, output_hash=blob)

    def _expression(self, check: ExpressionCheck) -> CheckResult:
        try:
            value = evaluate(check.expression, {"outputs": self._run.artifacts})
        except Exception as error:
            return CheckResult(check=check, passed=False, detail=f"{type(error).__name__}: {error}")
        return CheckResult(check=check, passed=bool(value), detail="" if value else f"is {value!r}")


def ran_no_test(command: str, output: str) -> bool:
    """A test runner that ends well without having run a test, because it was cut short or replaced, proves nothing."""
    if ">" in command:
        return False  # its words go elsewhere
    if re.search(r"\bunittest\b", command):
        return re.search(r"^Ran [1-9]\d* test", output, re.MULTILINE) is None
    if re.search(r"\bpytest\b|\bpy\.test\b", command):
        return re.search(r"[1-9]\d* passed|^[.sxX]+(\s|$)", output, re.MULTILINE) is None
    return False


def _without_noise(output: str, root: Path) -> str:
    """Output for a prompt: without what differs each time and tells nothing, so that equal failures look equal."""
    output = output.replace(f"{root.resolve()}/", "").replace(f"{root}/", "")
    return re.sub(r"\bin \d+\.\d+ ?s(?:econds)?\b", "", output)


def _look_at(root: Path, check: Check) -> CheckResult:
    """Checks that only read a file."""
    assert isinstance(check, FileCheck | ParsesCheck | TextCheck | JsonSchemaCheck)
    try:
        path = resolve(root, check.path, for_writing=False)
        if not path.exists():
            return CheckResult(check=check, passed=False, detail=f"{check.path} does not exist")
        problem = _problem_with(path, check)
    except Exception as error:
        problem = f"{type(error).__name__}: {error}"
    return CheckResult(check=check, passed=not problem, detail=problem)


def _problem_with(path: Path, check: Check) -> str:
    match check:
        case ParsesCheck():
            return _parse(path)
        case TextCheck():
            text = path.read_text(encoding="utf-8", errors="replace")
            found = re.search(check.pattern, text, re.MULTILINE)
            return "" if found else f"nothing in {check.path} matches /{check.pattern}/"
        case JsonSchemaCheck():
            return _schema_problem(json.loads(path.read_text(encoding="utf-8")), check.json_schema)
    return ""


def _parse(path: Path) -> str:
    text = path.read_text(encoding="utf-8")
    if not text.strip() and path.name != "__init__.py":
        return "the file is empty"
    match path.suffix:
        case ".py":
            ast.parse(text, filename=path.name)
        case ".json":
            json.loads(text)
        case ".toml":
            tomllib.loads(text)
    return ""


def _schema_problem(value: Any, schema: dict[str, Any]) -> str:
    import jsonschema

    error = next(iter(jsonschema.Draft202012Validator(schema).iter_errors(value)), None)
    return f"{error.json_path}: {error.message}" if error else ""
