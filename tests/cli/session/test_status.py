"""Whether a run may be resumed while its process ends."""

import time
from pathlib import Path

import pytest

from surefoot.cli.session import status
from surefoot.cli.session.status import require_free
from surefoot.config.model import ExecutionConfig
from surefoot.core.questions import Question
from surefoot.core.task import Task
from surefoot.core.transitions import Stage
from surefoot.errors import WorkspaceLocked
from surefoot.journal import events as e
from surefoot.journal.state import RunState
from surefoot.journal.store.sqlite import SqliteJournal
from surefoot.workspace.lock import WorkspaceLock

RUN = "1118-194350-f729"


@pytest.fixture
def lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> WorkspaceLock:
    """The lock of the run's process."""
    monkeypatch.setenv("SUREFOOT_HOME", str(tmp_path / "home"))
    (tmp_path / "project").mkdir()
    return WorkspaceLock(tmp_path / "project", tmp_path / "home", RUN)


def run_in(tmp_path: Path, **fields: object) -> RunState:
    state = RunState(run_id=RUN, task=Task(text="a task", workspace=str(tmp_path / "project")))
    for name, value in fields.items():
        setattr(state, name, value)
    return state


def while_waiting(monkeypatch: pytest.MonkeyPatch, lock: WorkspaceLock) -> list[float]:
    """Let the process end at the third look. Returns the pauses between the looks."""
    pauses: list[float] = []

    def sleep(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 3:
            lock.release()

    monkeypatch.setattr(time, "sleep", sleep)
    return pauses


@pytest.mark.req("P14", "A8")
@pytest.mark.parametrize(
    "halted",
    [{"interruption": e.RunInterrupted(reason="cancelled")}, {"stage": Stage.WAITING}],
    ids=["interrupted", "paused"],
)
def test_a_run_that_halted_may_be_resumed_once_its_process_has_ended(
    tmp_path: Path, lock: WorkspaceLock, monkeypatch: pytest.MonkeyPatch, halted: dict[str, object]
) -> None:
    with lock:
        pauses = while_waiting(monkeypatch, lock)
        require_free(run_in(tmp_path, **halted))
    assert len(pauses) == 3


@pytest.mark.req("P14")
def test_a_process_that_does_not_end_is_not_waited_for_without_limit(
    tmp_path: Path, lock: WorkspaceLock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(status, "HALT_TIMEOUT", 0.2)
    with lock, pytest.raises(WorkspaceLocked, match="is in progress in process"):
        require_free(run_in(tmp_path, interruption=e.RunInterrupted(reason="cancelled")))


@pytest.mark.req("P12", "P14")
async def test_a_run_at_work_or_asking_is_refused_at_once(
    tmp_path: Path, lock: WorkspaceLock, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = Task(text="a task", workspace=str(tmp_path / "project"))
    journal = SqliteJournal(tmp_path / "home" / "journal.sqlite")
    await journal.append(RUN, [e.RunCreated(run_id=RUN, task=task, config=ExecutionConfig(), model="m", surefoot="1")])
    await journal.aclose()
    question = Question(id="q1", kind="clarification", text="Which one?", options=(), step_id="", subject="")
    with lock:
        pauses = while_waiting(monkeypatch, lock)
        for state in (
            run_in(tmp_path, stage=Stage.EXECUTION),
            run_in(tmp_path, stage=Stage.WAITING, questions={"q1": question}),
        ):
            with pytest.raises(WorkspaceLocked, match="is in progress in process"):
                require_free(state)
    assert not pauses
