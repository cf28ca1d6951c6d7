"""Chooses the view of a run, and connects it to the run's events. A view that fails never breaks the run."""

import os
import sys
import traceback
from collections.abc import Callable, Iterable
from typing import Any

from surefoot.cli.options import is_debugging
from surefoot.cli.report.hiding import redactor, safe
from surefoot.cli.report.symbols import marks_for
from surefoot.cli.views.jsonl import JsonLines
from surefoot.cli.views.live import LiveView
from surefoot.cli.views.plain import PlainLines
from surefoot.cli.views.watcher import Watcher
from surefoot.errors import UsageError
from surefoot.journal import events as e
from surefoot.journal.bus import Bus


def choose_watcher(
    *, live: bool | None, as_json: bool, verbose: bool = False, isolation: str = "", asking: bool = False
) -> Watcher:
    """The requested view; by default the live view if both output streams are terminals, else plain lines."""
    if as_json:
        if live is not None:
            raise UsageError("--json cannot be combined with --live or --plain", remedy="leave out --live and --plain")
        return JsonLines(sys.stdout)
    able = sys.stderr.isatty() and os.environ.get("TERM", "dumb") not in ("", "dumb")
    if live and not able:
        raise UsageError("--live needs a terminal that can move its cursor", remedy="leave it out for plain lines")
    if live or (live is None and able and sys.stdout.isatty()):
        return LiveView(sys.stderr, sys.stdin, isolation)
    marks = marks_for(sys.stderr.encoding)
    return PlainLines(sys.stderr, marks, verbose=verbose, isolation=isolation, asking=asking)


def subscribe(bus: Bus, watcher: Watcher, records: Iterable[e.Record] = ()) -> Callable[[], None]:
    """Replay earlier records to a watcher, then subscribe it. Returns the function that ends the subscription."""
    guard = _Guard(watcher)
    guard.call(watcher.follower.replay, records)
    return bus.subscribe(
        lambda record: guard.call(watcher.on_record, record),
        lambda piece: guard.call(watcher.on_text, piece),
        lambda tool, subject: guard.call(watcher.on_call, tool, subject),
        on_check=lambda label: guard.call(watcher.on_check, label),
    )


class _Guard:
    """Reports the first error of a watcher and stops calling it, so that the run continues."""

    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher
        self._broken = False

    def call(self, function: Callable[..., None], *arguments: Any) -> None:
        if self._broken:
            return
        try:
            function(*arguments)
        except Exception as error:
            self._broken = True
            if is_debugging():
                print(redactor().redact(traceback.format_exc()), end="", file=sys.stderr)
            self._watcher.notify(safe(f"the display failed, the run continues: {type(error).__name__}: {error}"))
