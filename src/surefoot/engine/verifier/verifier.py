"""Runs checks and keeps their results as proofs. The engine runs them, never the model.

A proof is a result with a hash of its inputs. It is reused while the inputs are unchanged. A check of one file depends
on the file. A command depends on the files that it declares to read, or else on the whole workspace, because nothing
outside a process sees all that it reads. A command that a model put into its plan as a check runs on a copy of the
workspace, because it may do more than read. A tool call that may have had effects outside the snapshots drops the
proofs of all commands. The final pass runs everything.
"""

import asyncio
import json
import os
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from surefoot.config.model import ExecutionConfig
from surefoot.core.outcome import CheckResult
from surefoot.core.plan import Check, CommandCheck, ExpressionCheck
from surefoot.core.policy.rules import rule_on
from surefoot.core.values import error_in_words
from surefoot.engine.runtime.recorder import Recorder
from surefoot.engine.scheduler.conditions import evaluate
from surefoot.engine.verifier.file_checks import OneFile, problem_with, see
from surefoot.engine.verifier.proofs import Proof, RecordedReads, declared, depends_on, recorded_proof, sources
from surefoot.engine.verifier.scratch import Place, Scratch
from surefoot.engine.verifier.suite.report import read_report
from surefoot.journal import events as e
from surefoot.journal.bus import Source
from surefoot.journal.redacted_stream import RedactedStream
from surefoot.tools.builtin.python import run_python
from surefoot.tools.builtin.shell import run_command
from surefoot.tools.registry import Toolbox
from surefoot.tools.text.summary import summarise
from surefoot.tools.tool import Tool, Writes
from surefoot.workspace.errors import as_text
from surefoot.workspace.process.process import Limits, command_env, run_process, shell_argv
from surefoot.workspace.sandbox.bubblewrap import Bubblewrap
from surefoot.workspace.snapshots.tree_state import TreeState
from surefoot.workspace.workspace import Workspace

QUIET_ENV = {
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTEST_ADDOPTS": "-p no:cacheprovider",
    "RUFF_NO_CACHE": "true",
}
"""Keeps checks from leaving files behind."""
_NO_CACHE = {"MYPY_CACHE_DIR": os.devnull}
"""Keeps final checks, and checks on copies, from using the cache of earlier commands. Others are faster with it."""

PATIENCE = 10
MIN_SECONDS = 30
"""The time limit of a command on a copy is `PATIENCE` times the longest time that it has taken, and at least
`MIN_SECONDS`. A candidate with an endless loop therefore does not hold up the others."""
HUNG_SECONDS = 10
"""Replaces `MIN_SECONDS` for a command that has run into its limit once. The same limit then applies in the workspace
on a tree where that happened."""


class Verifier:
    """Runs the checks of one run and remembers their proofs."""

    def __init__(
        self,
        recorder: Recorder,
        workspace: Workspace,
        place: Place,
        artifacts: Mapping[str, Any],
        scratch: Scratch,
    ) -> None:
        self._recorder = recorder
        self._workspace = workspace
        self._place = place
        self._artifacts = artifacts
        self._scratch = scratch
        self._known: dict[Proof, CheckResult] = {}
        self._longest: dict[str, float] = {}
        """The longest time that each command has taken, in seconds."""
        self._hung: dict[str, dict[str, CheckResult]] = {}
        """The commands that ran into their time limit, with the result by tree."""

    @property
    def _config(self) -> ExecutionConfig:
        return self._recorder.state.config

    async def check(self, checks: Sequence[Check], when: e.CheckTime, step_id: str = "") -> tuple[CheckResult, ...]:
        """Run checks, equal ones once, and record their results, in order. The final pass reuses no proof."""
        if not checks:
            return ()
        tree_state = await asyncio.to_thread(self._workspace.tree_state)
        results: dict[str, CheckResult] = {}
        for check in checks:
            if check.key not in results:
                results[check.key] = await self._result(check, tree_state, step_id, trusting=when != "final")
        all_results = tuple(results.values())
        changed = await self._remember_commands(all_results, tree_state, step_id)
        await self._recorder.record(e.ChecksRan(step_id=step_id, when=when, results=all_results, changed=changed))
        return all_results

    async def check_at(self, checks: Sequence[Check], place: Place) -> tuple[CheckResult, ...]:
        """Run checks on another tree than the workspace. The results are neither recorded nor remembered."""
        results = []
        for check in checks:
            match check:
                case CommandCheck():
                    results.append(await self._command(check, place))
                case ExpressionCheck():
                    results.append(self._expression(check))
                case _:
                    problem = await problem_with(check, see(place.root, check))
                    results.append(CheckResult(check=check, passed=not problem, detail=problem))
        return tuple(results)

    def _time_limit(self, check: CommandCheck, tree: str) -> float:
        """Return the time limit of a command: the configured one in the workspace, unless it has hung on that tree."""
        most = self._config.command_timeout_seconds
        hung = self._hung.get(check.key)
        if tree and tree not in (hung or {}):
            return most
        least = MIN_SECONDS if hung is None else HUNG_SECONDS
        return min(most, max(self._longest.get(check.key, 0.0) * PATIENCE, least))

    def after_call(self, tool: Tool) -> None:
        """Drop the proofs of commands if a call may have had effects outside the workspace's snapshots.

        A tool of the user's own runs in this process, outside any sandbox.
        """
        free = tool.writes is Writes.FREE
        sandboxed = tool in (run_command, run_python) and isinstance(self._place.sandbox, Bubblewrap)
        confined = sandboxed and not self._config.network
        if tool.external or tool.network or (free and not confined):
            self._forget_commands()

    def recall(self, records: Iterable[e.Record], toolbox: Toolbox) -> None:
        """Take over the proofs of earlier processes of this run.

        Failures are not taken over, because a cause outside the workspace may have been fixed since.
        """
        tools: dict[str, str] = {}
        for record in records:
            match record.event:
                case e.ChecksRan(changed=()) as ran:
                    for result in ran.results:
                        if result.passed and not result.reused and (proof := recorded_proof(result)):
                            self._known[proof] = result
                case (
                    e.ActionStarted(action_id=call, tool=tool) | e.CompensationStarted(compensation_id=call, tool=tool)
                ):
                    tools[call] = tool
                case e.ActionFinished(action_id=call) | e.CompensationFinished(compensation_id=call):
                    if (name := tools.get(call, "")) in toolbox:
                        self.after_call(toolbox.get(name))
                case e.ActionInterrupted():
                    self._forget_commands()

    def _forget_commands(self) -> None:
        self._known = {key: r for key, r in self._known.items() if not isinstance(r.check, CommandCheck)}

    def may_run(self, check: Check) -> bool:
        """Whether a check may be run.

        A command that a model put into its plan as a check obeys the deny rules. Where the same action would need
        approval, it runs only if it is confined to the copy.
        """
        if not isinstance(check, CommandCheck) or check.origin != "plan":
            return True
        config, allowed = self._config, self._recorder.state.allowed
        arguments = {"command": check.command}
        ruling = rule_on("command", "run_command", arguments, config.approve, (*config.allow, *allowed), config.deny)
        confined = self._place.sandbox is not None
        permitted = ruling == "allow" or (ruling == "ask" and confined)
        return permitted and self._scratch.can_copy(often=True) and (confined or not self._scratch.leads_out())

    async def _result(self, check: Check, tree_state: TreeState, step_id: str, *, trusting: bool) -> CheckResult:
        started = time.perf_counter()
        match check:
            case CommandCheck():
                proof = depends_on(check, tree_state)
                if trusting and proof is not None and (known := self._known.get(proof)):
                    return known.with_(tree=tree_state.tree, reused=True)
                if check.origin == "plan":
                    async with self._scratch.copy(f"{step_id or 'final'}.check") as place:
                        result = await self._command(check, place, tree=tree_state.tree)
                else:
                    result = await self._command(check, self._place, tree=tree_state.tree, may_use_caches=trusting)
                result = result.with_(inputs=declared(check, tree_state) or {}, exact_tree=sources(tree_state) or "")
            case ExpressionCheck():
                result = self._expression(check)
            case _:
                result = await self._one_file(check, trusting=trusting)
        return result.with_(tree=tree_state.tree, duration_ms=round((time.perf_counter() - started) * 1000))

    async def _one_file(self, check: OneFile, *, trusting: bool) -> CheckResult:
        sight = see(self._place.root, check)
        proof = (check.key, json.dumps(sight.inputs))
        if trusting and sight.inputs and (known := self._known.get(proof)):
            return known.with_(reused=True)
        problem = await problem_with(check, sight)
        result = CheckResult(check=check, passed=not problem, detail=problem, inputs=sight.inputs)
        if sight.inputs:
            self._known[proof] = result
        return result

    def _expression(self, check: ExpressionCheck) -> CheckResult:
        """Evaluate an expression. No proof is kept, because results of steps are small and at hand."""
        outputs = RecordedReads(self._artifacts)
        try:
            value = evaluate(check.expression, {"outputs": outputs})
        except Exception as error:
            detail = error_in_words(error)
            return CheckResult(check=check, passed=False, detail=detail, inputs=outputs.inputs)
        detail = "" if value else f"is {value!r}"
        return CheckResult(check=check, passed=bool(value), detail=detail, inputs=outputs.inputs)

    async def _command(
        self, check: CommandCheck, place: Place, tree: str = "", *, may_use_caches: bool = False
    ) -> CheckResult:
        """Run a command. `tree` is the hash of the workspace that it checks; empty for any other tree."""
        config = self._config
        timeout = self._time_limit(check, tree)
        started = time.monotonic()
        self._recorder.bus.checking(check.label)
        stream = RedactedStream(self._recorder.redactor, self._recorder.bus.writer(Source("output")))
        process = await run_process(
            shell_argv(check.command),
            cwd=place.root,
            env={**command_env(), **QUIET_ENV, **({} if may_use_caches else _NO_CACHE)},
            limits=Limits(
                timeout=timeout,
                memory_bytes=config.command_memory_bytes,
                processes=config.command_processes,
            ),
            sandbox=place.sandbox,
            network=config.network,
            on_output=stream.feed,
        )
        stream.flush()
        if place is self._place:  # what a command does to a copy is gone with it
            for warning in process.warnings:
                self._recorder.warn(warning)
        if not process.timed_out:
            self._longest[check.key] = max(self._longest.get(check.key, 0.0), time.monotonic() - started)
        passed = process.exit_code == check.expect_exit
        # Redacted before it is shortened: half of a secret that is cut in two would remain.
        output = self._recorder.redactor.redact(process.output)
        detail = "" if passed else summarise(_without_noise(output, place.root), failed=True)
        if passed and ran_no_test(check.command, process.output):
            passed, detail = False, f"it ended with {process.exit_code}, but no test was run"
        if process.timed_out:
            detail = f"did not end within {timeout:g} s: an endless loop, or it waits for something\n{detail}"
        elif not passed and not detail:
            detail = f"exit code {process.exit_code}, no output"
        blob = self._recorder.journal.put_blob(output.encode())
        result = CheckResult(
            check=check,
            passed=passed,
            detail=detail,
            exit_code=process.exit_code,
            output_hash=blob,
            counts=read_report(process.output).counts,
        )
        if not process.timed_out:
            return result
        trees = self._hung.setdefault(check.key, {})
        # The first run on a tree had the longest limit, so its result says most.
        return trees.setdefault(tree, result) if tree else result

    async def _remember_commands(
        self, results: Sequence[CheckResult], before: TreeState, step_id: str
    ) -> tuple[str, ...]:
        """Keep the proofs of commands whose inputs did not change while they ran.

        Returns the paths that changed, because checks should only read.
        """
        ran = [r for r in results if isinstance(r.check, CommandCheck) and not r.reused]
        if not ran:
            return ()
        after = await asyncio.to_thread(self._workspace.tree_state)
        for result in ran:
            assert isinstance(result.check, CommandCheck)
            proof = depends_on(result.check, before)
            # A command that a signal ended may succeed the next time.
            steady = result.exit_code is not None and result.exit_code < 128
            if proof is not None and steady and proof == depends_on(result.check, after):
                self._known[proof] = result
        if after.tree == before.tree:
            return ()
        step_run = self._recorder.state.steps.get(step_id)
        if step_run is None or not step_run.snapshot or step_run.shared:
            return (".",)
        return tuple(
            as_text(change.path) for change in await asyncio.to_thread(self._workspace.changes, step_run.snapshot)
        )


def ran_no_test(command: str, output: str) -> bool:
    """Whether a test runner succeeded without running a test, because it was cut short or replaced."""
    if ">" in command:
        return False  # its output goes elsewhere
    if _named("unittest", command):
        ran = sum(int(count) for count in re.findall(r"^Ran (\d+) tests?\b", output, re.MULTILINE))
        # A skipped test has not run, even if the code that it tests skips it.
        return ran <= sum(int(count) for count in re.findall(r"\bskipped=(\d+)", output))
    if _named(r"pytest|py\.test", command):
        return re.search(r"[1-9]\d* (?:passed|xpassed)|^[sxXE]*\.[.sxXE]*(\s|$)", output, re.MULTILINE) is None
    return False


def _named(program: str, command: str) -> bool:
    """Whether a command names a program, with or without its folder. `/tmp/pytest-1/x` names none."""
    return re.search(rf"(?:^|[\s;&|(/])(?:{program})(?=$|[\s;&|)])", command) is not None


def _without_noise(output: str, root: Path) -> str:
    """Remove paths and times that differ from run to run, so that equal failures look equal."""
    output = output.replace(f"{root.resolve()}/", "").replace(f"{root}/", "")
    return re.sub(r"\bin \d+\.\d+ ?s(?:econds)?\b", "", output)
