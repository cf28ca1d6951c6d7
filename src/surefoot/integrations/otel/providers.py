"""Sets up the SDK: providers of spans and metrics that send to an OTLP receiver, configured by the OTEL_* variables.

Errors while sending are counted, and reported once. They are not logged, because a log line would appear in the middle
of the live view.
"""

import contextlib
import logging
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from surefoot._version import __version__
from surefoot.config.extras import install_remedy
from surefoot.errors import ConfigError
from surefoot.integrations.otel import names as n
from surefoot.integrations.otel.ids import Ids

if TYPE_CHECKING:
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.trace import TracerProvider

_LOGGERS = (
    "opentelemetry.exporter.otlp.proto.http.trace_exporter",
    "opentelemetry.exporter.otlp.proto.http.metric_exporter",
    "opentelemetry.exporter.otlp.common.http",
    "opentelemetry.sdk._shared_internal",
    "opentelemetry.sdk.metrics._internal.export",
)
_PROTOCOL = "http/protobuf"


@dataclass
class Problems:
    """Counts what could not be delivered. Written by the sending threads."""

    spans: int = 0
    metrics: int = 0
    reason: str = ""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def lost(self, *, spans: int = 0, metrics: int = 0) -> None:
        with self._lock:
            self.spans += spans
            self.metrics += metrics

    def because(self, reason: str) -> None:
        self.reason = self.reason or reason


@dataclass(frozen=True, slots=True)
class Providers:
    tracers: "TracerProvider"
    meters: "MeterProvider"
    ids: Ids
    problems: Problems
    close_log: Callable[[], None]

    def shut_down(self) -> None:
        """Send everything that is pending, and stop. Blocks until it is delivered or dropped."""
        sending = threading.Thread(target=self.meters.shutdown, daemon=True)
        sending.start()
        self.tracers.shutdown()
        sending.join()


def make_providers(environ: Mapping[str, str], timeout: float) -> Providers | None:
    """Create the providers; None if OTEL_SDK_DISABLED is true. Raises ConfigError if packages are missing, or if a
    variable has a value that is not supported."""
    if environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return None
    traces, metrics = (_is_wanted(environ, signal) for signal in ("TRACES", "METRICS"))
    try:
        from opentelemetry.sdk.metrics import MeterProvider
        from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor

        problems = Problems()
        spans, measurements = _exporters(problems, environ, timeout)
    except ImportError as error:
        raise ConfigError(
            f"telemetry.enabled needs packages that are not installed: {error.name}",
            remedy=f"{install_remedy('otel')}; or set telemetry.enabled = false",
        ) from error
    # Several processes send the same metrics, and a receiver has to tell them apart.
    own = {"service.name": n.AGENT, "service.version": __version__, "service.instance.id": str(uuid.uuid4())}
    resource = Resource(own, n.SCHEMA_URL).merge(Resource.create())
    if environ.get("OTEL_SERVICE_NAME") is None and "service.name=" not in environ.get("OTEL_RESOURCE_ATTRIBUTES", ""):
        resource = resource.merge(Resource({"service.name": n.AGENT}))
    ids = Ids()
    tracers = TracerProvider(resource=resource, shutdown_on_exit=False, id_generator=cast("Any", ids))
    if traces:
        tracers.add_span_processor(BatchSpanProcessor(spans))
    readers = [PeriodicExportingMetricReader(measurements)] if metrics else []
    meters = MeterProvider(readers, resource=resource, shutdown_on_exit=False)
    return Providers(tracers, meters, ids, problems, _listen(problems))


def _is_wanted(environ: Mapping[str, str], signal: str) -> bool:
    exporter = environ.get(f"OTEL_{signal}_EXPORTER", "").strip() or "otlp"
    if exporter not in ("otlp", "none"):
        raise ConfigError(
            f"OTEL_{signal}_EXPORTER={exporter} is not supported", remedy="set it to otlp or none, or remove it"
        )
    name = f"OTEL_EXPORTER_OTLP_{signal}_PROTOCOL"
    name = name if environ.get(name) else "OTEL_EXPORTER_OTLP_PROTOCOL"
    protocol = environ.get(name, "").strip() or _PROTOCOL
    if exporter == "otlp" and protocol != _PROTOCOL:
        raise ConfigError(
            f"{name}={protocol} is not supported",
            remedy=f"set it to {_PROTOCOL}, and the endpoint to the HTTP port of the receiver, usually 4318",
        )
    return exporter == "otlp"


def _exporters(problems: Problems, environ: Mapping[str, str], timeout: float) -> tuple[Any, Any]:
    """The exporters of spans and metrics, which count what they lose. `timeout` is the default for one attempt."""
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.metrics.export import MetricExportResult
    from opentelemetry.sdk.trace.export import SpanExportResult

    class Spans(OTLPSpanExporter):
        def export(self, spans: Any) -> SpanExportResult:
            with quiet():
                result = super().export(spans)
            if result is not SpanExportResult.SUCCESS:
                problems.lost(spans=len(spans))
            return result

    class Measurements(OTLPMetricExporter):
        def export(self, *arguments: Any, **options: Any) -> MetricExportResult:
            with quiet():
                result = super().export(*arguments, **options)
            if result is not MetricExportResult.SUCCESS:
                problems.lost(metrics=1)
            return result

    limits = [None if environ.get(f"OTEL_EXPORTER_OTLP_{s}TIMEOUT") else timeout for s in ("", "TRACES_", "METRICS_")]
    try:
        return Spans(timeout=limits[0] and limits[1]), Measurements(timeout=limits[0] and limits[2])
    except ValueError as error:
        raise ConfigError(
            f"an OTEL_EXPORTER_OTLP_* variable cannot be used: {error}", remedy="correct it, or remove it"
        ) from error


# -- the log of the SDK --------------------------------------------------------------------------------------------

_own = threading.local()


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Mark what the SDK logs in this thread as being about our own telemetry, not that of the surrounding program."""
    _own.working = True
    try:
        yield
    finally:
        _own.working = False


class _Listener(logging.Filter):
    def __init__(self, problems: Problems) -> None:
        super().__init__()
        self._problems = problems

    def filter(self, record: logging.LogRecord) -> bool:
        if not getattr(_own, "working", False):
            return True
        if "Queue full" in str(record.msg):
            self._problems.lost(spans=1)
        self._problems.because(record.getMessage())
        return False


def _listen(problems: Problems) -> Callable[[], None]:
    listener = _Listener(problems)
    loggers = [logging.getLogger(name) for name in _LOGGERS]
    for logger in loggers:
        logger.addFilter(listener)

    def close() -> None:
        for logger in loggers:
            logger.removeFilter(listener)

    return close
