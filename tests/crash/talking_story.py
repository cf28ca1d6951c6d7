"""A conversation to be killed: a survey, several calls in a reply, a red end of a step, a fresh start, the right work.

The model decides by what it is shown alone, so that it can go on in another process. Every request that it gets is
written to a log outside the workspace.
"""

import os
from collections.abc import Sequence
from typing import Any

from crash.story import Story, _tell_what_is_acknowledged
from support.talk import Call, TalkingModel, submit
from surefoot.config.model import ExecutionConfig
from surefoot.core.plan import CommandCheck
from surefoot.core.task import Task
from surefoot.engine.loop import resume_run, start_run
from surefoot.engine.runtime.services import Services
from surefoot.journal import events as e
from surefoot.journal.store.sqlite import SqliteJournal
from surefoot.models.base import ModelReply, ModelRequest, OnText
from surefoot.models.items import AssistantTurn, Item, ToolResultMessage
from surefoot.prompting.results import INTERRUPTED

_write = os.write
PROVEN = "grep -q 'a + b' lib/adder.py && grep -q two log.txt"
RED = "an earlier attempt at this step failed"


class TalkingStory(Story):
    @property
    def asked(self) -> Any:
        return self.folder / "asked"

    async def _drive(self) -> None:
        journal = SqliteJournal(self.home / "journal.sqlite")
        _tell_what_is_acknowledged(journal, self.acknowledged)
        log = os.open(self.asked, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        services = Services(journal, _Talker(log, str(self.ledger)), self.home)
        try:
            run_id = self.run_id(journal)
            if run_id:
                await resume_run(services, run_id)
            else:
                check = CommandCheck(command=PROVEN, origin="user")
                task = Task(text="Extend log.txt and write lib/adder.py.", workspace=str(self.root), checks=(check,))
                settings = {"sandbox": "off", "reflection": {"backoff_seconds": 0}, "max_parallel_steps": 1}
                await start_run(services, task, ExecutionConfig.model_validate(settings))
        finally:
            await journal.aclose()

    def requests(self) -> list[str]:
        """The fingerprints of all requests that the model got, in order."""
        return self.asked.read_text().split() if self.asked.exists() else []

    def answered(self) -> list[str]:
        """The fingerprints of the requests whose answers are recorded, in order."""
        return [record.event.request for record in self.records() if isinstance(record.event, e.ModelAnswered)]

    def was_interrupted(self) -> bool:
        """Whether a call of the model was begun and not finished, so that it was told so."""
        return any(isinstance(record.event, e.ActionInterrupted) for record in self.records())

    def ends_in_the_same_state(self) -> bool:
        return not self.was_interrupted()


class _Talker(TalkingModel):
    """Refuses, as its parent does, a request in which a call has not exactly one result."""

    def __init__(self, log: int, ledger: str) -> None:
        super().__init__([])
        self._log, self._ledger = log, ledger

    async def complete(self, request: ModelRequest, on_text: OnText | None = None) -> ModelReply:
        _write(self._log, f"{request.fingerprint()}\n".encode())
        self._script = [self._turn(request.messages)]
        return await super().complete(request, on_text)

    def _turn(self, items: Sequence[Item]) -> list[Call] | str:
        starts = [at for at, item in enumerate(items) if item.role == "user" and "# Step " in item.content]
        done = _done(items[starts[-1] :] if starts else items)
        if "Say why with diagnose" in items[-1].content:
            return [("diagnose", {"category": "parameter_error", "root_cause": "it subtracts", "fix": "add"})]
        if not starts:
            looks: list[Call] = [("read_file", {"path": "log.txt"}), ("list_files", {})]
            plan = ({"name": "Extend the log"}, {"name": "Write adder.py", "after": [1]})
            return looks if not done else submit(*plan)
        step = items[starts[-1]].content
        if "Extend the log" in step.split("# Step ")[-1].splitlines()[0]:
            return self._first_step(done)
        return self._second_step(done, fresh=RED in step.lower())

    def _first_step(self, done: list[str]) -> list[Call]:
        wanted = [self._command("echo one >> log.txt", "one"), self._command("echo two >> log.txt", "two")]
        left = [call for call in wanted if call[1]["command"] not in done]
        return [("read_file", {"path": "docs/spec.md"}), *left] if left else [("finish_step", {"summary": "extended"})]

    def _second_step(self, done: list[str], *, fresh: bool) -> list[Call]:
        sign = "+" if fresh else "-"
        content = f"def add(a, b):\n    return a {sign} b\n"
        if "lib/adder.py" not in done:
            spoil = [] if fresh else [self._command("rm -r docs; echo junk > junk.txt", "spoil")]
            return [("write_file", {"path": "lib/adder.py", "content": content}), *spoil]
        return [("finish_step", {"summary": "written"})]

    def _command(self, command: str, name: str) -> Call:
        return ("run_command", {"command": f"echo {name} >> {self._ledger}; {command}"})


def _done(items: Sequence[Item]) -> list[str]:
    """The commands and paths of the calls that worked."""
    calls = {call.id: call for item in items if isinstance(item, AssistantTurn) for call in item.calls}
    good = [item for item in items if isinstance(item, ToolResultMessage) and item.ok and item.text != INTERRUPTED]
    found = [calls[item.call_id].arguments for item in good if item.call_id in calls]
    return [str(arguments.get("command") or arguments.get("path") or "") for arguments in found]
