"""Ends the process of a run that hangs: its time is up, and its event loop does not answer or does not stop."""

import asyncio
import contextlib
import os
import sys
import threading
from collections.abc import Callable

from surefoot.cli.session.resources import open_journal
from surefoot.cli.views.error_line import Problem, write_problem
from surefoot.core.outcome import EXIT_CODES, Verdict
from surefoot.journal.events import RunInterrupted

RECORD_SECONDS = 5.0
"""The time limit for recording the end: the part that hangs may hold the journal."""


def end_process(restore_terminal: Callable[[], None], run_id: str, reason: str, *, as_json: bool = False) -> None:
    """Record that the run was interrupted, if the journal allows it, and end the process at once.

    The commands of the run end too, because their supervisors end with the process. The run can be resumed like one
    that was killed.
    """
    recording = threading.Thread(target=_record, args=(run_id, f"out of time: {reason}"), daemon=True)
    recording.start()
    recording.join(RECORD_SECONDS)
    with contextlib.suppress(Exception):
        restore_terminal()
    with contextlib.suppress(OSError, ValueError):
        print(f"surefoot: the time limit is over and {reason}", file=sys.stderr)
        print(f"          continue with: surefoot resume {run_id}", file=sys.stderr, flush=True)
    if as_json:
        remedy = f"continue with: surefoot resume {run_id}"
        write_problem(Problem(f"the time limit is over and {reason}", remedy, "hung", EXIT_CODES[Verdict.TIME]))
    os._exit(EXIT_CODES[Verdict.TIME])


def _record(run_id: str, reason: str) -> None:
    """Record the end over a new connection, because that of the run belongs to the thread that hangs."""
    with contextlib.suppress(Exception):
        journal = open_journal()
        asyncio.run(journal.append(run_id, [RunInterrupted(reason=reason)]))
        journal.close()
