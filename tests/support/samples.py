"""Sample events for tests of journals, and Python processes that write them."""

import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from surefoot.config.model import ExecutionConfig
from surefoot.core.task import Task
from surefoot.journal.events import ActionFinished, Event, Record, RunCreated, Warned
from surefoot.journal.store.base import Journal

TESTS = Path(__file__).parents[1]


def created(
    run_id: str, text: str = "make it work", workspace: str = "/somewhere", model: str = "scripted"
) -> RunCreated:
    return RunCreated(
        run_id=run_id,
        task=Task(text=text, workspace=workspace),
        config=ExecutionConfig(),
        model=model,
        surefoot="0.0.0",
    )


def warned(message: str) -> Warned:
    return Warned(message=message)


def finished_with(digest: str) -> ActionFinished:
    """An event that refers to content."""
    return ActionFinished(action_id="a", step_id="s", ok=True, summary="long", output=digest)


def messages(records: Iterable[Record]) -> list[str]:
    return [record.event.message for record in records if isinstance(record.event, Warned)]


def events(journal: Journal, run_id: str) -> list[Event]:
    return [record.event for record in journal.read(run_id)]


def seqs(records: Iterable[Record]) -> list[int]:
    return [record.seq for record in records]


def worker(script: str, *arguments: str | Path) -> subprocess.Popen[str]:
    """Start a Python process that runs a script."""
    return subprocess.Popen(
        [sys.executable, "-c", script, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])},
    )


def output_of(*processes: subprocess.Popen[str]) -> Iterator[str]:
    """The output of each process, after it has ended with exit code 0."""
    for process in processes:
        out, err = process.communicate(timeout=300)
        assert process.returncode == 0, err
        yield out
