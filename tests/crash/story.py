"""A run to be killed: edits, commands, two steps that fail at first, and their rollbacks, with a model that answers by
what it is asked, so that it can go on in another process. Everything but the model is real.

What was carried out is also written to a ledger outside the workspace, which no rollback reaches.
"""

import asyncio
import os
import re
import shutil
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw

from surefoot.config.model import ExecutionConfig
from surefoot.core.plan import CommandCheck
from surefoot.core.task import Task
from surefoot.engine.loop import resume_run, start_run
from surefoot.engine.runtime.services import Services
from surefoot.history.undo import undo
from surefoot.journal import events as e
from surefoot.journal.state import RunState
from surefoot.journal.store.sqlite import SqliteJournal
from surefoot.models.testing.scripted import Rule, ScriptedModel
from surefoot.workspace.workspace import Workspace

_write = os.write  # itself, before anyone counts writes or lets them fail
TASK = "Extend log.txt, write lib/adder.py, pack both into pack/ and remove old.txt."
PROVEN = "grep -q 'a + b' pack/deep/adder.py && test ! -e old.txt"


@dataclass(frozen=True)
class Story:
    """One folder that holds the workspace, Surefoot's home and the ledger."""

    folder: Path
    replans: bool = False
    """Failing steps are not retried but repaired, and then the task is planned anew."""

    def ends_in_the_same_state(self) -> bool:
        """Whether the state at the end does not depend on where it was killed."""
        return True

    @property
    def root(self) -> Path:
        return self.folder / "work"

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def ledger(self) -> Path:
        return self.folder / "ledger"

    @property
    def acknowledged(self) -> Path:
        return self.folder / "acknowledged"

    def put_up(self) -> None:
        for folder in (self.root, self.home, self.root / "docs"):
            folder.mkdir(parents=True)
        (self.root / "log.txt").write_text("begun\n")
        (self.root / "old.txt").write_text("old\n")
        (self.root / "docs/spec.md").write_text("add(a, b) adds.\n")
        (self.root / "run.sh").write_text("#!/bin/sh\n")
        (self.root / "run.sh").chmod(0o755)
        self.ledger.touch()

    def put_up_again(self) -> None:
        shutil.rmtree(self.folder)
        self.put_up()

    # -- driving it -----------------------------------------------------------------------------------------------

    def begin_or_go_on(self) -> None:
        """What a person does who finds the machine rebooted: resume, or start again if nothing was begun."""
        asyncio.run(self._drive())

    async def _drive(self) -> None:
        journal = SqliteJournal(self.home / "journal.sqlite")
        _tell_what_is_acknowledged(journal, self.acknowledged)
        services = Services(journal, ScriptedModel(self._answers()), self.home)
        try:
            run_id = self.run_id(journal)
            if run_id:
                await resume_run(services, run_id)
            else:
                await start_run(services, self._task(), self._config())
        finally:
            # SQLite checkpoints on closing and does not mind if it cannot; it is told here only by the test disk.
            with suppress(apsw.Error):
                await journal.aclose()

    def undo(self) -> None:
        async def work() -> None:
            journal = SqliteJournal(self.home / "journal.sqlite")
            try:
                assert await undo(journal, self.home, self.run_id(journal))
            finally:
                await journal.aclose()

        asyncio.run(work())

    def next_command(self) -> None:
        """Whatever works in the workspace next begins like this."""
        Workspace(self.root, self.home).finish_restore()

    def _task(self) -> Task:
        check = CommandCheck(command=PROVEN, origin="user")
        return Task(text=TASK, workspace=str(self.root), checks=(check,))

    def _config(self) -> ExecutionConfig:
        limits: dict[str, Any] = {"backoff_seconds": 0}
        if self.replans:
            limits |= {"max_step_retries": 0, "max_single_step_repairs": 1, "max_task_replanning_attempts": 1}
        return ExecutionConfig.model_validate({"sandbox": "off", "reflection": limits, "max_parallel_steps": 1})

    # -- what the model says --------------------------------------------------------------------------------------

    def _answers(self) -> list[Rule]:
        pack = "mkdir -p pack/deep && cp lib/adder.py log.txt pack/deep/ && ln -s ../log.txt pack/link && rm old.txt"
        spoil = "rm -r docs; chmod 600 run.sh; echo junk > junk.txt; mkdir empty; exit 3"
        better = _step("Pack it better", "command_execution", "", "file_exists", "pack/link")
        at_last = _step("Pack at last", "command_execution", "", "file_exists", "pack/link")
        adder = "content of `lib/adder.py`"
        return [
            Rule("Say what the task wants", _UNDERSTANDING),
            Rule("Choose how to do it", _APPROACH),
            Rule(_all("Make a plan of at most", "Already done"), {"steps": [at_last], "success_criteria": ["packed"]}),
            Rule("Make a plan of at most", self._plan()),
            Rule("Find the cause", {"category": "parameter_error", "root_cause": "spoilt", "fix": "do it well"}),
            Rule(_all("Plan this one step again", "Write adder.py"), {**_ADDER_STEP, "name": "Write adder.py well"}),
            Rule("Plan this one step again", better),
            # The first step: one command after the other.
            Rule(_all("# Step\nExtend the log", "(nothing yet)"), self._command("echo one >> log.txt", "one")),
            Rule("# Step\nExtend the log", self._command("echo two >> log.txt && touch full", "two")),
            # The second: wrong, wrong again, and right after the rollback.
            Rule(_all(adder, "return a + b"), _adder("a + b")),
            Rule(_all(adder, "start afresh"), _adder("a + b")),
            Rule(_all(adder, "It fails now"), _adder("a * b")),
            Rule(adder, _adder("a - b")),
            # The third: commands that spoil what they can, and the right one after the rollbacks.
            Rule("# Step\nPack at last", self._command(pack, "pack")),
            Rule(_all("# Step\nPack it better", "(nothing yet)"), self._command(f"touch more; {spoil}", "spoil-more")),
            Rule(_all("# Step\nPack\n", "Learnt from"), self._command(pack, "pack")),
            Rule(_all("# Step\nPack\n", "(nothing yet)"), self._command(spoil, "spoil")),
            Rule("# Step\nPack", {"decision": "done", "reason": "it looks done"}),
        ]

    def _plan(self) -> dict[str, Any]:
        return {
            "steps": [
                _step("Extend the log", "command_execution", "", "file_exists", "full"),
                {**_ADDER_STEP, "after": [1]},
                _step("Pack", "command_execution", "", "file_exists", "pack/link", 2),
            ],
            "success_criteria": ["pack/deep/adder.py is there"],
        }

    def _command(self, command: str, name: str) -> dict[str, Any]:
        return {
            "thought": name,
            "decision": "act",
            "tool": "run_command",
            "arguments": {"command": f"echo {name} >> {self.ledger}; {command}"},
        }

    # -- what came of it ------------------------------------------------------------------------------------------

    def run_id(self, journal: SqliteJournal | None = None) -> str:
        own = journal or SqliteJournal(self.home / "journal.sqlite", read_only=True)
        runs = own.summaries(2)
        if own is not journal:
            own.close()
        assert len(runs) < 2, "a run was begun twice"
        return runs[0].run_id if runs else ""

    def records(self) -> list[e.Record]:
        run_id = self.run_id()
        if not run_id:
            return []
        journal = SqliteJournal(self.home / "journal.sqlite", read_only=True)
        try:
            return list(journal.read(run_id))
        finally:
            journal.close()

    def carried_out(self) -> Counter[str]:
        return Counter(self.ledger.read_text().split())

    def last_acknowledged(self) -> int:
        numbers = self.acknowledged.read_text().split() if self.acknowledged.exists() else []
        return max(map(int, numbers), default=0)


def done_once(records: list[e.Record]) -> set[str]:
    """The names of the commands whose result is recorded."""
    started = {r.event.action_id: r.event for r in records if isinstance(r.event, e.ActionStarted)}
    return {
        started[r.event.action_id].arguments["command"].split()[1]
        for r in records
        if isinstance(r.event, e.ActionFinished) and "command" in started[r.event.action_id].arguments
    }


def _tell_what_is_acknowledged(journal: SqliteJournal, file: Path) -> None:
    """After each append, up to which event the engine was told that all is safe."""
    append = journal.append
    sink = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    async def telling(run_id: str, events: Any) -> Any:
        records = await append(run_id, events)
        if records:
            _write(sink, f"{records[-1].seq}\n".encode())
        return records

    journal.append = telling  # type: ignore[method-assign]


def _all(*parts: str) -> Any:
    return lambda request: all(part in request.messages[-1].content for part in parts)


def _step(name: str, kind: str, file: str, check: str, value: str, after: int = 0) -> dict[str, Any]:
    return {
        "name": name,
        "description": f"{name}, as the task says.",
        "type": kind,
        "file": file,
        "after": [after] if after else [],
        "check": {"kind": check, "value": value},
    }


_ADDER_STEP = _step("Write adder.py", "code_generation", "lib/adder.py", "text_matches", r"a \+ b")


def _adder(expression: str) -> str:
    return f"```python\ndef add(a, b):\n    return {expression}\n```"


_UNDERSTANDING = {
    "understanding": "The log grows, the adder is written, both are packed",
    "requirements": ["the log has three lines", "add(a, b) adds", "both are packed"],
    "files": [],
    "task_type": "write_code",
    "complexity": "complex",
    "risks": [],
    "questions": [],
}
_APPROACH = {
    "approach": "Work with small commands, one after the other.",
    "tech_stack": ["sh", "python"],
    "architecture_pattern": "script",
    "key_decisions": [{"decision": "use the shell", "rationale": "it is there"}],
    "expected_outcomes": ["everything is packed"],
    "alternatives": [{"name": "python", "description": "do it all in Python"}],
}


OF_THE_KILL = re.compile(r"\w+ was cut off, and its changes were undone; ")
"""The warning that names what a resumed run put back. Only a run that was killed in an action has it."""


def essence(state: RunState) -> Any:
    """All of a state but ids, times, what was spent on it, and what it says about having been killed."""
    outcome = _plain(state.outcome)
    if outcome:
        outcome["warnings"] = _without_kill(outcome["warnings"])
    return {
        "stage": state.stage,
        "reason": state.stage_reason,
        "outcome": outcome,
        "phases": [_plain(p) for p in (state.understanding, state.approach, state.planning, state.validation)],
        "plan": _plain(state.plan),
        "history": [_plain(result) for result in state.history],
        "steps": {step_id: _step_essence(run) for step_id, run in state.steps.items()},
        "counters": (state.revisions, state.task_replan_count, state.approach_index, state.consecutive_failures),
        "refusals": (state.refusals, state.phase_attempts),
        "recovering": state.recovering,
        "tried": state.tried,
        "open": (list(state.open_actions), [q.text for q in state.open_questions]),
        "red at start": sorted(state.red_at_start),
        "warnings": _without_kill(state.warnings),
    }


def _without_kill(warnings: Iterable[str]) -> list[str]:
    return [warning for warning in warnings if not OF_THE_KILL.match(warning)]


def _step_essence(run: Any) -> Any:
    own = ("status", "attempt", "failures", "reflections", "rungs", "notes", "refused", "step_retry_count",
           "single_step_repair_count", "temporary_retries", "parameters", "tool", "step", "output",
           "results_before", "results")  # fmt: skip
    actions = [(a.tool, a.arguments, a.fingerprint, a.ok, a.summary, a.command) for a in run.actions]
    kept = {name: _plain(getattr(run, name)) for name in own}
    return {**kept, "actions": actions, "failed before": sorted(run.failed_fingerprints)}


# Whether a check had to be run for its result is what was spent on it.
_OF_TIME_AND_PLACE = {"duration_ms", "executed_at", "tree", "exact_tree", "output_hash", "snapshot", "reused"}


def _plain(value: Any) -> Any:
    if hasattr(value, "model_dump"):
        value = value.model_dump(mode="json")
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items() if key not in _OF_TIME_AND_PLACE}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value
