"""Sends spans and metrics of the runs on a bus, made from their events. Errors here never affect a run."""

import asyncio
import contextlib
import os
import threading
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING

from surefoot._version import __version__
from surefoot.config.integrations import TelemetrySettings
from surefoot.engine.runtime.services import Services
from surefoot.integrations.otel import names as n
from surefoot.integrations.otel.content import Content
from surefoot.integrations.otel.metrics import Metrics
from surefoot.integrations.otel.providers import Providers, make_providers, quiet
from surefoot.integrations.otel.trace import Kit, RunTrace
from surefoot.integrations.routing import by_run
from surefoot.journal import events as e

if TYPE_CHECKING:
    from surefoot.journal.store.base import Journal

Tell = Callable[[str], None]


@contextlib.asynccontextmanager
async def telemetry(services: Services, settings: TelemetrySettings, tell: Tell) -> AsyncIterator[None]:
    """Send telemetry of every run of these services while the context is active, if it is switched on.

    At the end, pending telemetry delays the caller by at most `flush_seconds`. `tell` gets one message if something was
    lost.
    """
    providers = make_providers(os.environ, settings.flush_seconds) if settings.enabled else None
    if providers is None:
        yield
        return
    traces = Traces(providers, services.journal, _content(services, settings))
    unsubscribe = services.bus.subscribe(by_run(traces.on_record))
    try:
        yield
    finally:
        unsubscribe()
        traces.close()
        delivered = await _shut_down(providers, settings.flush_seconds)
        providers.close_log()
        if problem := _problem(providers, delivered, settings.flush_seconds, traces.failure):
            tell(services.redactor.redact(problem))


def _content(services: Services, settings: TelemetrySettings) -> Content:
    return Content(settings.content, services.redactor.redact, services.journal.get_blob)


class Traces:
    """The traces of all runs on a bus. After the first internal error, which is in `failure`, records are ignored."""

    def __init__(self, providers: Providers, journal: "Journal", content: Content) -> None:
        tracer = providers.tracers.get_tracer(n.SCOPE, __version__, schema_url=n.SCHEMA_URL)
        meter = providers.meters.get_meter(n.SCOPE, __version__, schema_url=n.SCHEMA_URL)
        self._kit = Kit(tracer, providers.tracers.sampler, providers.ids, Metrics(meter), content)
        self._journal = journal
        self._runs: dict[str, RunTrace] = {}
        self.failure = ""

    def on_record(self, run_id: str, record: e.Record) -> None:
        if self.failure:
            return
        try:
            with quiet():
                self._advance(run_id, record)
        except Exception as error:
            self.failure = f"{type(error).__name__}: {error}"

    def _advance(self, run_id: str, record: e.Record) -> None:
        event = record.event
        if isinstance(event, e.RunCreated | e.RunResumed):
            if (before := self._runs.pop(run_id, None)) is not None:
                before.close()
            earlier = self._journal.read(run_id) if isinstance(event, e.RunResumed) else ()
            self._runs[run_id] = RunTrace(self._kit, run_id, record, earlier)
        elif (trace := self._runs.get(run_id)) is not None:
            trace.on_record(record)
            if not trace.is_open:
                del self._runs[run_id]

    def close(self) -> None:
        """End the spans of runs that stopped before their end, such as after a requested phase."""
        for trace in self._runs.values():
            with contextlib.suppress(Exception):
                trace.close()
        self._runs.clear()


async def _shut_down(providers: Providers, seconds: float) -> bool:
    """Shut the providers down. Returns False if that takes longer than `seconds`.

    This happens in a daemon thread, so that a receiver that hangs delays nothing, not even the end of the process.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[None] = loop.create_future()

    def finish() -> None:
        if not done.done():
            done.set_result(None)

    def shut_down() -> None:
        with contextlib.suppress(Exception):
            providers.shut_down()
        with contextlib.suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(finish)

    threading.Thread(target=shut_down, name="surefoot-telemetry", daemon=True).start()
    try:
        async with asyncio.timeout(seconds):
            await done
    except TimeoutError:
        return False
    return True


def _problem(providers: Providers, delivered: bool, seconds: float, failure: str) -> str:
    problems = providers.problems
    if failure:
        return f"telemetry stopped, the run did not: {failure}"
    if not delivered:
        return f"telemetry was not delivered within {seconds:g} seconds; the run is complete in the journal"
    if problems.spans or problems.metrics:
        what = f"{problems.spans} spans" if problems.spans else "metrics"
        reason = f": {problems.reason}" if problems.reason else ""
        return f"telemetry was not delivered ({what} lost){reason}"
    return ""
