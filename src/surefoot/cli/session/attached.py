"""Follows a run of another process through the journal, with the same views as for a run of this process."""

import asyncio
import contextlib
from functools import partial
from typing import Any

from surefoot.cli.session.ending import Display, report_end, report_interruption
from surefoot.cli.session.watching import choose_watcher
from surefoot.cli.views.error_line import INTERRUPTED, stop_with
from surefoot.cli.views.watcher import Watcher
from surefoot.config import paths
from surefoot.history.requests import send_control
from surefoot.history.status import is_live
from surefoot.journal.live_text import listening
from surefoot.journal.state import RunState
from surefoot.journal.store.base import Journal, RunHeads
from surefoot.journal.store.opening import open_heads

LOOK_SECONDS = 0.1
LIVENESS_LOOKS = 20
"""After this many looks without a new event, check whether a process still drives the run."""


async def watch_run(journal: Journal, run_id: str, *, live: bool | None, as_json: bool) -> int:
    """Show a run until it ends, waits, or loses its process. Returns its exit code."""
    watcher = choose_watcher(live=live, as_json=as_json)
    display = Display(live=live, as_json=as_json)
    heads = open_heads(paths.state_home())
    try:
        async with watcher:
            with listening(paths.state_home(), run_id, partial(_show_text, watcher)):
                state = await _follow(journal, heads, run_id, watcher)
    except (asyncio.CancelledError, KeyboardInterrupt):
        stopped = INTERRUPTED._replace(message="stopped watching; the run goes on")
        return stop_with(stopped, as_json=as_json)
    finally:
        with contextlib.suppress(Exception):
            heads.close()
    as_asked = state.interruption is not None and state.interruption.as_asked
    if state.in_progress and not as_asked:
        return report_interruption(watcher, display)
    return report_end(state, watcher, display)


async def _follow(journal: Journal, heads: RunHeads, run_id: str, watcher: Watcher) -> RunState:
    """Pass new events to the watcher until the run ends, waits, or loses its process. A remote run gets another."""
    watcher.accept_keys(partial(send_control, journal))
    quiet = 0
    while True:
        changed = heads.changed()
        if run_id in changed or quiet == 0:
            for record in journal.read(run_id, watcher.follower.state.seq):
                watcher.on_record(record)
        quiet = 0 if run_id in changed else quiet + 1
        state = watcher.follower.state
        if _is_at_rest(state) or (quiet % LIVENESS_LOOKS == LIVENESS_LOOKS - 1 and not _is_driven(state, heads)):
            return state
        await asyncio.sleep(LOOK_SECONDS)


def _show_text(watcher: Watcher, message: dict[str, Any]) -> None:
    """Show the text that the model or a command of the run is writing now. Text that was lost on the way is missing."""
    if message["kind"] == "call":
        tool, _, subject = message["text"].partition(" ")
        watcher.on_call(tool, subject)
    else:
        watcher.on_text(message["text"])


def _is_at_rest(state: RunState) -> bool:
    # A remote run that was interrupted is taken up by another worker.
    interrupted = state.interruption is not None and not state.remote
    return interrupted or not state.in_progress


def _is_driven(state: RunState, heads: RunHeads) -> bool:
    if state.remote:
        # It may be queued, or between two workers.
        return True
    assert state.task is not None
    return is_live(state.run_id, state.task.folder, paths.state_home(), heads.driven([state.run_id]))
