"""The status of a run: the list of runs and the folded run say the same."""

import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from support.recorded import asking, created, failed_run, only_planned, phases, records, whole_run
from surefoot.core.transitions import RunStatus, Stage
from surefoot.history.status import listed_statuses, live_runs, unread_answers
from surefoot.journal import events as e
from surefoot.journal.messages import AnswerMessage
from surefoot.journal.reducers import fold
from surefoot.journal.run_status import status_of
from surefoot.journal.store.reading import JournalReader
from surefoot.journal.store.sqlite import SqliteJournal
from surefoot.view.fold import view_of
from surefoot.view.making import run_row
from surefoot.workspace.lock import WorkspaceLock, current_holder

KILLED = e.RunInterrupted(reason="Ctrl-C")
RESUMED = e.RunResumed(model="m", surefoot="0")
ANSWERED = e.QuestionAnswered(question_id="q1", answer="yes")
PAUSED = e.StageEntered(stage=Stage.WAITING, reason="paused by ann")
UNDO = e.RolledBack(step_id="", snapshot="s1", towards="s0", scope="run", by="me", paths=("a",))


def of(run: list[e.Record]) -> list[e.Event]:
    return [record.event for record in run]


STORIES: dict[str, tuple[list[e.Event], RunStatus, RunStatus]] = {
    "working": (phases(), "running", "interrupted"),
    "interrupted": ([*phases(), KILLED], "interrupted", "interrupted"),
    "resumed": ([*phases(), KILLED, RESUMED], "running", "interrupted"),
    "stopped after a phase": ([*phases(), e.RunInterrupted(reason="as asked", as_asked=True)], "paused", "paused"),
    "asking": ([*phases(), *asking()], "waiting", "waiting"),
    "asking at a terminal": ([*phases(), *asking()[:1]], "waiting", "waiting"),
    "answered": ([*phases(), *asking(), ANSWERED], "running", "paused"),
    "asking again": ([*phases(), *asking(), ANSWERED, *asking()[:1]], "waiting", "waiting"),
    "paused": ([*phases(), PAUSED], "running", "paused"),
    "remote": ([created(remote=True)], "running", "queued"),
    "remote, interrupted": ([created(remote=True), KILLED], "queued", "queued"),
    "plan": (of(only_planned()), "plan", "plan"),
    "plan, undone": ([*of(only_planned()), UNDO], "plan", "plan"),
    "done": (of(whole_run()), "done", "done"),
    "failed": (of(failed_run()), "failed", "failed"),
    "resumed after failing": ([*of(failed_run()), RESUMED], "running", "interrupted"),
    "verdict missing": (of(whole_run())[:-1], "running", "interrupted"),
    "undone": ([*of(whole_run()), UNDO], "undone", "undone"),
}


@pytest.mark.parametrize("name", STORIES)
async def test_every_way_of_reading_a_run_gives_its_status(name: str, tmp_path: Path) -> None:
    events, driven, alone = STORIES[name]
    file = tmp_path / "journal.sqlite"
    journal = SqliteJournal(file)
    first = events[0]
    assert isinstance(first, e.RunCreated)
    await journal.append(first.run_id, events)
    await journal.aclose()
    reader = JournalReader(file, 5.0)
    (summary,) = reader.summaries()
    state = fold(records(events))
    view = view_of(records(events))
    for live, expected in ((True, driven), (False, alone)):
        assert status_of(state, live=live) == expected
        assert listed_statuses([summary], reader, {summary.run_id} if live else ()) == [expected]
        view.live = live
        assert run_row(view)["status"] == expected
    assert run_row(view)["exit_code"] == (0 if state.outcome and name != "failed" else 1 if name == "failed" else None)
    reader.close()


async def test_a_question_whose_answer_was_not_read_yet_is_not_open(tmp_path: Path) -> None:
    file, events = tmp_path / "journal.sqlite", [*phases(), *asking()]
    journal = SqliteJournal(file)
    run_id = created().run_id
    await journal.append(run_id, events)
    journal.send(run_id, AnswerMessage(question_id="q1", answer="yes", by="ann", at=time.time()))
    await journal.aclose()
    reader = JournalReader(file, 5.0)
    (summary,) = reader.summaries()
    answered = unread_answers(reader, run_id)
    assert answered == {"q1"}
    assert status_of(fold(records(events)), live=False, answered=answered) == "paused"
    assert listed_statuses([summary], reader, ()) == ["paused"]
    reader.close()


async def test_a_fork_and_a_run_that_plans_again_do_not_carry_a_plan_out(tmp_path: Path) -> None:
    file = tmp_path / "journal.sqlite"
    journal = SqliteJournal(file)
    plan = created().with_(run_id="plan")
    await journal.append("plan", [plan])
    for run_id, fields in (
        ("fork", {"based_on": "plan", "starts_at": Stage.EXECUTION, "copied": 3}),
        ("again", {"based_on": "plan", "starts_at": Stage.PLANNING}),
        ("first", {"based_on": "plan", "starts_at": Stage.EXECUTION}),
        ("other", {"based_on": "plan2", "starts_at": Stage.EXECUTION}),
        ("second", {"based_on": "plan", "starts_at": Stage.EXECUTION}),
    ):
        await journal.append(run_id, [plan.with_(run_id=run_id, **fields)])
    await journal.aclose()
    reader = JournalReader(file, 5.0)
    assert reader.carried_out_by("plan") == ["first", "second"]
    reader.close()


def hold(root: Path, home: Path, run_id: str) -> tuple[int, Callable[[], None]]:
    """A process that holds the lock of a folder until the returned function kills it. It is not reaped then."""
    ready, say_ready = os.pipe()
    child = os.fork()
    if child == 0:
        WorkspaceLock(root, home, run_id).acquire()
        os.write(say_ready, b"!")
        signal.pause()
        os._exit(0)
    os.close(say_ready)
    assert os.read(ready, 1) == b"!"
    os.close(ready)

    def kill() -> None:
        os.kill(child, signal.SIGKILL)
        os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)

    return child, kill


@pytest.mark.req("X2")
def test_only_a_process_that_holds_the_lock_drives_a_run(tmp_path: Path) -> None:
    root, home = tmp_path / "root", tmp_path / "home"
    root.mkdir()
    runs = {"r1": root, "r2": root}
    assert live_runs(runs, home) == set()
    child, kill = hold(root, home, "r1")
    holder = current_holder(root, home)
    assert holder is not None
    assert (holder.run_id, holder.pid) == ("r1", child)
    assert live_runs(runs, home) == {"r1"}
    (file,) = (home / "locks").iterdir()
    written = json.loads(file.read_text())
    kill()
    assert live_runs(runs, home) == set(), "a zombie drives nothing"
    os.waitpid(child, 0)
    assert live_runs(runs, home) == set()
    # The id of the process is used again, by this one: it did not start when the holder did.
    file.write_text(json.dumps({**written, "pid": os.getpid()}))
    assert live_runs(runs, home) == set()
    # It did, as after a restart of the machine. Then the kernel's lock tells.
    started = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
    file.write_text(json.dumps({**written, "pid": os.getpid(), "started": started}))
    assert live_runs(runs, home) == set()
    with WorkspaceLock(root, home, "r2"):
        assert live_runs(runs, home) == {"r2"}
