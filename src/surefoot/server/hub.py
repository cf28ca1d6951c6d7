"""Follows all runs of a journal, whichever process drives them, and tells listeners which runs have changed.

The journal is polled ten times a second (SQLite's commit counter, or one row of a database), once for all watchers.
Only runs with new events are read, and each is folded once, however many clients watch it.
"""

import asyncio
import contextlib
import os
import sys
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path

from surefoot.config.storage import Storage, read_storage
from surefoot.errors import JournalError, SurefootError
from surefoot.history.status import is_live
from surefoot.journal import events as e
from surefoot.journal.redact import Redactor
from surefoot.journal.redacted_values import redacted_for_display
from surefoot.journal.store.base import Reader, RunSummary
from surefoot.journal.store.opening import open_heads, open_reader
from surefoot.view.fold import advance
from surefoot.view.state import RunView

POLL_SECONDS = 0.1
LIVENESS_SECONDS = 1.0
MAX_VIEWS = 200
"""How many runs stay folded. Others are read again when they are requested."""

OnChange = Callable[[str], None]


class Hub:
    def __init__(self, home: Path, redactor: Redactor | None = None, storage: Storage | None = None) -> None:
        """`storage` is where the journal is; None for the place that the user's environment and settings name."""
        self.home, self.storage = home, storage or read_storage()
        self.redactor = redactor or Redactor.from_environment(os.environ)
        self.reader = self.open_reader()
        self._heads, self._liveness = (open_heads(home, self.storage) for _ in range(2))
        self._driven: frozenset[str] = frozenset()
        """The runs that have a lease in the database. Other machines may drive them."""
        self._views: OrderedDict[str, RunView] = OrderedDict()
        self._loading: dict[str, asyncio.Lock] = {}
        self._listeners: list[OnChange] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._unreadable = ""
        """Why the journal cannot be read at the moment; empty if it can."""
        self._reported: set[str] = set()

    async def __aenter__(self) -> "Hub":
        self._heads.changed()
        self._tasks = [asyncio.create_task(self._poll()), asyncio.create_task(self._watch_liveness())]
        return self

    async def __aexit__(self, *error: object) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.wait(self._tasks)
        self._heads.close()
        self._liveness.close()
        self.reader.close()

    def open_reader(self) -> Reader:
        """A reader of its own, for a thread."""
        return open_reader(self.home, self.storage)

    def subscribe(self, on_change: OnChange) -> Callable[[], None]:
        """Call `on_change` with the id of each run that has changed. Returns a function that ends the subscription."""
        self._listeners.append(on_change)
        return lambda: self._listeners.remove(on_change)

    def summaries(self, limit: int, workspaces: list[str] | None = None) -> list[RunSummary]:
        return self.reader.summaries(limit, workspaces)

    async def view(self, run_id: str) -> RunView:
        """The run up to its last durable event. Raises UnknownRun."""
        lock = self._loading.setdefault(run_id, asyncio.Lock())
        try:
            async with lock:
                view = self._views.get(run_id)
                if view is None:
                    view = await asyncio.to_thread(self._load, run_id)
                    self._views[run_id] = view
                    self._update_liveness(view)
                    while len(self._views) > MAX_VIEWS:
                        self._views.popitem(last=False)
                else:
                    self._catch_up(view)
                self._views.move_to_end(run_id)
        except Exception:
            # The view may have been updated with a part of an event.
            self._views.pop(run_id, None)
            raise
        finally:
            if not lock.locked():
                self._loading.pop(run_id, None)
        return view

    def _load(self, run_id: str) -> RunView:
        """Fold a run. Called in a thread, with a connection of its own, because a long run takes a while."""
        reader = self.open_reader()
        view = RunView()
        try:
            for record in reader.read(run_id, 0):
                self._advance(view, record)
        finally:
            reader.close()
        return view

    def _catch_up(self, view: RunView) -> bool:
        before = view.state.seq
        for record in self.reader.read(view.state.run_id, before):
            self._advance(view, record)
        return view.state.seq != before

    def _advance(self, view: RunView, record: e.Record) -> None:
        """Update a view with a record. Secrets are removed first, so that nothing made from the view has any."""
        advance(view, e.Record(record.seq, record.at, redacted_for_display(record.event, self.redactor)))

    async def _poll(self) -> None:
        while True:
            try:
                changed = await self._look()
                self._set_unreadable("")
            except SurefootError as error:
                changed = {}
                self._set_unreadable(f"the journal cannot be read: {error}")
            for run_id in changed:
                self._refresh(run_id)
                self._notify_listeners(run_id)
            await asyncio.sleep(POLL_SECONDS)

    async def _look(self) -> dict[str, int]:
        """The runs that have changed since the last call. A database may answer slowly, so a thread waits for it."""
        if self.storage.database is None:
            return self._heads.changed()
        return await asyncio.to_thread(self._heads.changed)

    def _refresh(self, run_id: str) -> None:
        """Bring a folded run up to date. One that cannot be read is dropped, and does not stop the others."""
        try:
            if view := self._views.get(run_id):
                self._catch_up(view)
                self._update_liveness(view)
        except Exception as error:
            self._views.pop(run_id, None)
            self.report(f"run {run_id} cannot be shown: {error}")

    def _set_unreadable(self, problem: str) -> None:
        if self._unreadable and not problem:
            print("the journal can be read again", file=sys.stderr, flush=True)
            self._reported.discard(self._unreadable)
        self._unreadable = problem
        if problem:
            self.report(problem)

    def report(self, problem: str) -> None:
        """Print a problem to stderr, once, for the person who runs the server."""
        if problem not in self._reported:
            self._reported.add(problem)
            print(self.redactor.redact(problem), file=sys.stderr, flush=True)

    def is_live(self, run_id: str) -> bool:
        """Whether a process drives the run, as far as is known without reading it."""
        view = self._views.get(run_id)
        return view is not None and view.live

    async def _watch_liveness(self) -> None:
        """Watch which runs have a process. A process that was killed writes nothing, so it has to be looked for."""
        while True:
            self._driven = await asyncio.to_thread(self._liveness.driven)
            for run_id, view in list(self._views.items()):
                if view.state.outcome is None and self._update_liveness(view):
                    self._notify_listeners(run_id)
            await asyncio.sleep(LIVENESS_SECONDS)

    def _update_liveness(self, view: RunView) -> bool:
        state = view.state
        ended = state.outcome is not None or state.task is None
        live = not ended and state.task is not None and self._is_driven(state.run_id, state.task.folder)
        changed = live != view.live
        view.live = live
        return changed

    def _is_driven(self, run_id: str, folder: Path) -> bool:
        return is_live(run_id, folder, self.home, self._driven)

    def _notify_listeners(self, run_id: str) -> None:
        for on_change in list(self._listeners):
            on_change(run_id)

    async def wait_for(self, run_id: str, met: Callable[[RunView], bool], seconds: float) -> bool:
        """Wait until a run meets a condition. Returns False if that takes too long, or if the run cannot be read."""
        with contextlib.suppress(TimeoutError, JournalError):
            async with asyncio.timeout(seconds):
                while not met(await self.view(run_id)):  # noqa: ASYNC110 - the events of another process
                    await asyncio.sleep(POLL_SECONDS / 2)
                return True
        return False
