"""A run in the foreground: opens the services, shows progress, handles Ctrl-C, and prints the result.

This is where the command line meets the engine.
"""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from surefoot.cli.report.hiding import hide_with, safe
from surefoot.cli.session.ending import Display, report_end, report_interruption
from surefoot.cli.session.hang import end_process
from surefoot.cli.session.person import TerminalPerson
from surefoot.cli.session.resources import open_journal
from surefoot.cli.session.signals import on_stop_signals
from surefoot.cli.session.watching import choose_watcher, subscribe
from surefoot.cli.views.watcher import Watcher
from surefoot.config import paths
from surefoot.config.integrations import Integrations
from surefoot.config.mcp import ConfiguredServer
from surefoot.config.model import AlertSettings, ModelSettings
from surefoot.core.task import Task
from surefoot.engine.runtime.services import Services
from surefoot.engine.runtime.stop import StopReason
from surefoot.errors import LeaseLost, NoModel, UsageError, WeightsError
from surefoot.history.requests import send_control
from surefoot.integrations.attach import attached, equipped, secrets_of
from surefoot.journal.events import Record
from surefoot.journal.reducers import fold
from surefoot.journal.state import RunState
from surefoot.models.base import LanguageModel
from surefoot.models.select import choose_model, require_reachable


@dataclass(frozen=True, slots=True)
class EndedRun:
    """The state of a run after its review and its commit."""

    state: RunState
    records: Sequence[Record] = ()
    """The events recorded since the run ended."""
    exit_code: int = 0
    """The exit code of the process if that of the run is 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedRun:
    """A run that is ready to be started, resumed or retried."""

    run_id: str
    drive: Callable[..., Awaitable[RunState]]
    """`start_run`, `resume_run` or `retry_step` with all arguments except the services. `start_run` also accepts a
    `branch`."""
    model_spec: str | None
    model_settings: ModelSettings
    alerts: AlertSettings
    integrations: Integrations
    display: Display
    records: Sequence[Record] = ()
    """The events of the run so far."""
    before: Callable[[], None] | None = None
    """Called before the engine starts, once a model is available."""
    after: Callable[[], None] | None = None
    """Called after the result was printed, if the run has begun."""
    review_and_commit: Callable[[RunState], Awaitable[EndedRun]] | None = None
    """Called after the run has ended and before its result is printed, for the review and the commit."""
    task: Task | None = None
    """The task of a new run."""
    folder: Path
    """The folder in which the run works."""
    mcp_servers: Sequence[ConfiguredServer] = ()


async def run_in_foreground(prepared: PreparedRun) -> int:
    """Drive a run until it ends, waits or is interrupted. Returns the exit code."""
    display = prepared.display
    watcher = choose_watcher(
        live=display.live,
        as_json=display.as_json,
        verbose=display.verbose,
        isolation=display.isolation,
        asking=sys.stdin.isatty() and not display.yes,
    )
    try:
        with _cancel_on_signals(watcher):
            async with watcher, _open_services(prepared, watcher) as services:
                subscribe(services.bus, watcher, prepared.records)
                watcher.accept_keys(partial(send_control, services.journal))
                if prepared.before is not None:
                    prepared.before()
                async with equipped(services, prepared.mcp_servers, prepared.folder, partial(_notify, watcher)):
                    state = await prepared.drive(services)
    except Exception as error:
        run_id = watcher.follower.state.run_id or (fold(prepared.records).run_id if prepared.records else "")
        if run_id and not isinstance(error, LeaseLost):
            error.add_note(f"then continue with: surefoot resume {run_id}")
        raise
    except (asyncio.CancelledError, KeyboardInterrupt):
        code = report_interruption(watcher, display)
    else:
        ended = await prepared.review_and_commit(state) if prepared.review_and_commit is not None else EndedRun(state)
        if display.as_json:
            for record in ended.records:
                watcher.on_record(record)
        code = report_end(ended.state, watcher, display, if_zero=ended.exit_code)
    if prepared.after is not None and watcher.follower.state.run_id:
        prepared.after()
    return code


@contextlib.asynccontextmanager
async def _open_services(prepared: PreparedRun, watcher: Watcher) -> AsyncIterator[Services]:
    display = prepared.display
    async with contextlib.AsyncExitStack() as stack:
        journal = open_journal()
        stack.push_async_callback(journal.aclose)
        model = await _choose_model(prepared)
        stack.push_async_callback(model.aclose)
        if display.cassette:
            model = _recording(model, Path(display.cassette))
        person = TerminalPerson(sys.stdin, watcher.suspended, yes=display.yes)
        services = Services(
            journal=journal,
            model=model,
            home=paths.state_home(),
            person=person,
            alerts=prepared.alerts,
            end_process=partial(end_process, watcher.abandon, as_json=display.as_json),
            secrets=secrets_of(prepared.mcp_servers),
        )
        hide_with(services.redactor)
        await stack.enter_async_context(attached(services, prepared.integrations, partial(_notify, watcher)))
        yield services


def _notify(watcher: Watcher, message: str) -> None:
    watcher.notify(safe(message))


async def _choose_model(prepared: PreparedRun) -> LanguageModel:
    """The model to use. Raises NoModel if it is not available, such as a script that the journal knows only by name."""
    try:
        model = await choose_model(prepared.model_spec, prepared.model_settings)
        await require_reachable(model)
        return model
    except (NoModel, WeightsError) as error:
        previous = fold(prepared.records).model if prepared.records else ""
        if not previous:
            raise
        remedy = f" ({error.remedy})" if isinstance(error, WeightsError) else ""
        raise NoModel(
            f"the run used the model {previous}, which is not available now: {error}{remedy}",
            remedy="name the model to continue with: -m MODEL, or -m scripted:FILE for a script or cassette; "
            "for the page: surefoot serve -m MODEL",
        ) from error


def _recording(model: LanguageModel, path: Path) -> LanguageModel:
    from surefoot.models.testing.cassette import RecordingModel

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.open("a").close()
    except OSError as error:
        raise UsageError(
            f"the cassette {path} cannot be written: {error.strerror}", remedy="name another file with --record"
        ) from error
    return RecordingModel(model, path)


@contextlib.contextmanager
def _cancel_on_signals(watcher: Watcher) -> Iterator[None]:
    """Cancel the current task on the first Ctrl-C, SIGTERM or SIGHUP, and kill the process on the second."""
    task = asyncio.current_task()
    assert task is not None
    received = 0

    def stop(number: signal.Signals) -> None:
        nonlocal received
        received += 1
        if received > 1:
            watcher.abandon()
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGINT)
        watcher.notify("stopping; press Ctrl-C again to stop immediately")
        by = "with Ctrl-C" if number is signal.SIGINT else f"by the signal {number.name}"
        task.cancel(StopReason(f"stopped {by}"))

    with on_stop_signals(stop):
        yield
