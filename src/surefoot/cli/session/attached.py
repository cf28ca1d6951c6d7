"""Follows a run of another process through the journal, with the same views as a run of this one."""

import asyncio
import contextlib
import sys
from functools import partial

from surefoot.cli.session.ending import Display, report_end, report_interruption
from surefoot.cli.session.watching import choose_watcher
from surefoot.config import paths
from surefoot.core.transitions import WORKING
from surefoot.history.requests import send_control
from surefoot.journal.state import RunState
from surefoot.journal.store.heads import Heads
from surefoot.journal.store.sqlite import SqliteJournal
from surefoot.workspace.lock import running_in

LOOK_SECONDS = 0.1
LIVENESS_LOOKS = 20
"""After so many looks without a new event it is looked whether a process still drives the run."""


async def watch_run(journal: SqliteJournal, run_id: str, *, live: bool | None, as_json: bool) -> int:
    """Show a run until it ends, waits, or loses its process. Returns its exit code."""
    watcher = choose_watcher(live=live, as_json=as_json)
    display = Display(live=live, as_json=as_json)
    heads = Heads(paths.journal_file(paths.state_home()))
    try:
        async with watcher:
            watcher.accept_keys(partial(send_control, journal))
            quiet = 0
            while True:
                changed = heads.changed()
                if run_id in changed or quiet == 0:
                    for record in journal.read(run_id, watcher.follower.state.seq):
                        watcher.on_record(record)
                quiet = 0 if run_id in changed else quiet + 1
                state = watcher.follower.state
                if _is_at_rest(state) or (quiet % LIVENESS_LOOKS == LIVENESS_LOOKS - 1 and not _is_driven(state)):
                    break
                await asyncio.sleep(LOOK_SECONDS)
    except (asyncio.CancelledError, KeyboardInterrupt):
        print("stopped watching; the run goes on", file=sys.stderr)
        return 130
    finally:
        with contextlib.suppress(Exception):
            heads.close()
    if state.outcome is None and state.stage in WORKING:
        return report_interruption(watcher, display)
    return report_end(state, watcher, display)


def _is_at_rest(state: RunState) -> bool:
    return state.outcome is not None or state.stage not in WORKING


def _is_driven(state: RunState) -> bool:
    return state.task is not None and running_in(state.task.folder, paths.state_home()) == state.run_id
