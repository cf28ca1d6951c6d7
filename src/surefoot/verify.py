"""Runs checks and keeps their results. The engine runs them, never the model.

A result with what it was found on is a proof. It is used again while that is unchanged and dropped when it changes:
for a check of one file that is the file's content, for a command what it says it reads, or else the whole workspace,
because no look from outside is sure to see everything that a process reads. A command that a model has put into its
plan as a check is run on a copy of the workspace: it may do more than look. What a process may have changed where
nobody looks, outside the workspace or in what snapshots leave out, drops the proofs of all commands. The last pass over
the final tree runs everything.
"""

import asyncio
import hashlib
import json
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from surefoot import events as e
from surefoot.consent import rule_on
from surefoot.copies import Place, a_copy, can_be_copied
from surefoot.expressions import evaluate
from surefoot.filechecks import OneFile, problem_with, see
from surefoot.outcome import CheckResult
from surefoot.plan import Check, CommandCheck, ExpressionCheck
from surefoot.run import Run
from surefoot.tools.base import Tool, Writes
from surefoot.tools.results import summarise
from surefoot.workspace.bubblewrap import Bubblewrap
from surefoot.workspace.faults import as_text
from surefoot.workspace.look import Look
from surefoot.workspace.process import Limits, command_env, run_process, shell_argv

QUIET_ENV = {"PYTHONDONTWRITEBYTECODE": "1", "PYTEST_ADDOPTS": "-p no:cacheprovider"}
"""A check looks; it should leave nothing behind."""

PATIENCE = 10
LEAST_SECONDS = 30
"""On a copy a command is waited for so many times as long as it has ever taken here, but not less than this: what goes
round in circles there keeps nothing else from being tried."""

_Proof = tuple[str, str]
"""The key of a check, and a hash of all that its result depends on."""


class Verifier:
    """One for a run: remembers what was found on what."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._known: dict[_Proof, CheckResult] = {}
        self._longest: dict[str, float] = {}
        """How long each command has taken at most, in seconds."""

    async def check(
        self, checks: Sequence[Check], when: Literal["before", "during", "after", "final"], step_id: str = ""
    ) -> tuple[CheckResult, ...]:
        """Results in the order of `checks`; equal checks are run once. The final pass trusts nothing it remembers."""
        if not checks:
            return ()
        look = await asyncio.to_thread(self._run.workspace.look)
        results: dict[str, CheckResult] = {}
        for check in checks:
            if check.key not in results:
                results[check.key] = await self._result(check, look, step_id, trusting=when != "final")
        found = tuple(results.values())
        changed = await self._remember_commands(found, look, step_id)
        await self._run.record(e.ChecksRan(step_id=step_id, when=when, results=found, changed=changed))
        return found

    async def judge(self, checks: Sequence[Check], place: Place) -> tuple[CheckResult, ...]:
        """Results on another tree than the workspace's own. They prove nothing here: not recorded, not remembered."""
        found = []
        for check in checks:
            match check:
                case CommandCheck():
                    patience = max(self._longest.get(check.key, 0.0) * PATIENCE, LEAST_SECONDS)
                    found.append(await self._command(check, place, patience))
                case ExpressionCheck():
                    found.append(self._expression(check))
                case _:
                    problem = problem_with(check, see(place.root, check))
                    found.append(CheckResult(check=check, passed=not problem, detail=problem))
        return tuple(found)

    def after_call(self, tool: Tool) -> None:
        """A call may have had effects where nobody looks: then a command may tell something else on the same files."""
        free = tool.writes is Writes.FREE
        confined = isinstance(self._run.sandbox, Bubblewrap) and not self._run.config.network
        if tool.external or tool.network or (free and not confined):
            self._known = {key: r for key, r in self._known.items() if not isinstance(r.check, CommandCheck)}

    async def _result(self, check: Check, look: Look, step_id: str, *, trusting: bool) -> CheckResult:
        started = time.perf_counter()
        match check:
            case CommandCheck():
                proof = depends_on(check, look)
                if trusting and proof is not None and (known := self._known.get(proof)):
                    return known.with_(tree=look.tree, reused=True)
                if check.origin == "plan":
                    async with a_copy(self._run, f"{step_id or 'final'}.check") as place:
                        result = await self._command(check, place)
                else:
                    result = await self._command(check, Place(self._run.root, self._run.sandbox))
                result = result.with_(inputs=declared(check, look) or {})
            case ExpressionCheck():
                result = self._expression(check)
            case _:
                result = self._one_file(check, trusting=trusting)
        return result.with_(tree=look.tree, duration_ms=round((time.perf_counter() - started) * 1000))

    def _one_file(self, check: OneFile, *, trusting: bool) -> CheckResult:
        sight = see(self._run.root, check)
        proof = (check.key, json.dumps(sight.inputs))
        if trusting and sight.inputs and (known := self._known.get(proof)):
            return known.with_(reused=True)
        problem = problem_with(check, sight)
        result = CheckResult(check=check, passed=not problem, detail=problem, inputs=sight.inputs)
        if sight.inputs:
            self._known[proof] = result
        return result

    def _expression(self, check: ExpressionCheck) -> CheckResult:
        """Results of steps are small and at hand: nothing is remembered about them."""
        looked = _Noted(self._run.artifacts)
        try:
            value = evaluate(check.expression, {"outputs": looked})
        except Exception as error:
            detail = f"{type(error).__name__}: {error}"
            return CheckResult(check=check, passed=False, detail=detail, inputs=looked.inputs)
        detail = "" if value else f"is {value!r}"
        return CheckResult(check=check, passed=bool(value), detail=detail, inputs=looked.inputs)

    async def _command(self, check: CommandCheck, place: Place, patience: float | None = None) -> CheckResult:
        run = self._run
        timeout = min(run.config.command_timeout_seconds, patience or run.config.command_timeout_seconds)
        started = time.monotonic()
        done = await run_process(
            shell_argv(check.command),
            cwd=place.root,
            env={**command_env(), **QUIET_ENV},
            limits=Limits(
                timeout=timeout,
                memory_bytes=run.config.command_memory_bytes,
                processes=run.config.command_processes,
            ),
            sandbox=place.sandbox,
            network=run.config.network,
        )
        if not done.timed_out:
            self._longest[check.key] = max(self._longest.get(check.key, 0.0), time.monotonic() - started)
        passed = done.exit_code == check.expect_exit
        detail = "" if passed else summarise(_without_noise(done.output, place.root), failed=True)
        if passed and ran_no_test(check.command, done.output):
            passed, detail = False, f"it ended with {done.exit_code}, but no test was run"
        if done.timed_out:
            detail = f"no end after {timeout:g} s\n{detail}"
        elif not passed and not detail:
            detail = f"exit code {done.exit_code}, no output"
        blob = run.services.journal.put_blob(done.output.encode())
        return CheckResult(check=check, passed=passed, detail=detail, exit_code=done.exit_code, output_hash=blob)

    async def _remember_commands(self, found: Sequence[CheckResult], before: Look, step_id: str) -> tuple[str, ...]:
        """Commands should only look. What one of them, or a step beside it, has changed meanwhile is told; what was
        found on something that changed while it was looked at is no proof of anything."""
        ran = [r for r in found if isinstance(r.check, CommandCheck) and not r.reused]
        if not ran:
            return ()
        after = await asyncio.to_thread(self._run.workspace.look)
        for result in ran:
            assert isinstance(result.check, CommandCheck)
            proof = depends_on(result.check, before)
            # One that was ended by us or by a signal may do better the next time.
            steady = result.exit_code is not None and result.exit_code < 128
            if proof is not None and steady and proof == depends_on(result.check, after):
                self._known[proof] = result
        if after.tree == before.tree:
            return ()
        mine = self._run.state.steps.get(step_id)
        if mine is None or not mine.snapshot or mine.shared:
            return (".",)
        return tuple(
            as_text(change.path) for change in await asyncio.to_thread(self._run.workspace.changes, mine.snapshot)
        )


def may_run(run: Run, check: Check) -> bool:
    """Whatever a model calls a check is a command of its own: rules that deny it hold, and where the same command would
    have to be asked for as an action, it is run only where it cannot reach beyond the copy."""
    if not isinstance(check, CommandCheck) or check.origin != "plan":
        return True
    config = run.config
    allow = (*config.allow, *run.state.allowed)
    ruling = rule_on("command", "run_command", {"command": check.command}, config.approve, allow, config.deny)
    return (ruling == "allow" or (ruling == "ask" and run.sandbox is not None)) and can_be_copied(run, often=True)


def depends_on(check: CommandCheck, look: Look) -> _Proof | None:
    """None where something that it depends on can change unseen."""
    if check.reads:
        inputs = declared(check, look)
        return (check.key, json.dumps(inputs)) if inputs is not None else None
    return (check.key, look.exactly) if look.exactly is not None else None


def declared(check: CommandCheck, look: Look) -> dict[str, str] | None:
    """What the check says it reads, as it is in the tree; None where the tree cannot tell."""
    parts = {pattern: look.part(pattern) for pattern in check.reads}
    known = {pattern: part for pattern, part in parts.items() if part is not None}
    return known if len(known) == len(parts) else None


def expired(result: CheckResult, root: Path, look: Look) -> list[str]:
    """What has changed since, of all that a result was found on: as long as there is nothing, it still holds."""
    match result.check:
        case CommandCheck() if result.inputs:
            return [pattern for pattern, digest in result.inputs.items() if look.part(pattern) != digest]
        case CommandCheck():
            return [] if look.tree == result.tree else ["the workspace"]
        case ExpressionCheck():
            return []
        case _:
            now = see(root, result.check).inputs
            return [path for path, digest in result.inputs.items() if now.get(path) != digest]


class _Noted(Mapping[str, Any]):
    """Results of steps, with a note of which ones were looked at."""

    def __init__(self, outputs: Mapping[str, Any]) -> None:
        self._outputs = outputs
        self.inputs: dict[str, str] = {}

    def __getitem__(self, step_id: str) -> Any:
        value = self._outputs[step_id]
        content = json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)
        self.inputs[f"outputs.{step_id}"] = hashlib.sha256(content.encode()).hexdigest()
        return value

    def __iter__(self) -> Iterator[str]:
        return iter(self._outputs)

    def __len__(self) -> int:
        return len(self._outputs)


def ran_no_test(command: str, output: str) -> bool:
    """A test runner that ends well without having run a test, because it was cut short or replaced, proves nothing."""
    if ">" in command:
        return False  # its words go elsewhere
    if _named("unittest", command):
        return re.search(r"^Ran [1-9]\d* test", output, re.MULTILINE) is None
    if _named(r"pytest|py\.test", command):
        return re.search(r"[1-9]\d* passed|^[.sxX]+(\s|$)", output, re.MULTILINE) is None
    return False


def _named(program: str, command: str) -> bool:
    """As a word of its own, with or without its folder: `/tmp/pytest-1/x` names no program."""
    return re.search(rf"(?:^|[\s;&|(/])(?:{program})(?=$|[\s;&|)])", command) is not None


def _without_noise(output: str, root: Path) -> str:
    """Output for a prompt: without what differs each time and tells nothing, so that equal failures look equal."""
    output = output.replace(f"{root.resolve()}/", "").replace(f"{root}/", "")
    return re.sub(r"\bin \d+\.\d+ ?s(?:econds)?\b", "", output)
