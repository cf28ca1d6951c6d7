"""An OTLP receiver on loopback, over real HTTP. It can refuse, hang, and be stopped."""

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


def _value(value: Any) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_value(item) for item in value.array_value.values]
    return getattr(value, kind) if kind else None


def attributes_of(items: Any) -> dict[str, Any]:
    return {item.key: _value(item.value) for item in items}


@dataclass
class Span:
    name: str
    trace: str
    id: str
    parent: str
    start: int
    end: int
    error: bool
    kind: int
    attributes: dict[str, Any]
    events: list[tuple[str, dict[str, Any]]]
    links: list[tuple[str, str, dict[str, Any]]]


@dataclass
class Receiver:
    address: str = ""
    status: int = 200
    hold: threading.Event | None = None
    """Requests are answered when this is set."""
    requests: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)

    @property
    def paths(self) -> list[str]:
        return [path for path, _, _ in self.requests]

    @property
    def variables(self) -> dict[str, str]:
        return {"OTEL_EXPORTER_OTLP_ENDPOINT": self.address}

    def resources(self) -> list[dict[str, Any]]:
        return [attributes_of(part.resource.attributes) for part in self._traces()]

    def schemas(self) -> set[str]:
        return {scope.schema_url for part in self._traces() for scope in part.scope_spans}

    def spans(self, name: str = "") -> list[Span]:
        """All spans whose names begin so, in the order in which they started."""
        found = [
            Span(
                span.name,
                span.trace_id.hex(),
                span.span_id.hex(),
                span.parent_span_id.hex(),
                span.start_time_unix_nano,
                span.end_time_unix_nano,
                span.status.code == 2,
                span.kind,
                attributes_of(span.attributes),
                [(event.name, attributes_of(event.attributes)) for event in span.events],
                [(link.trace_id.hex(), link.span_id.hex(), attributes_of(link.attributes)) for link in span.links],
            )
            for part in self._traces()
            for scope in part.scope_spans
            for span in scope.spans
        ]
        return sorted((span for span in found if span.name.startswith(name)), key=lambda span: span.start)

    def points(self, metric: str) -> list[tuple[dict[str, Any], float, int]]:
        """The attributes, the sum and the number of each point in the last report of a metric."""
        for path, _, body in reversed(self.requests):
            if path != "/v1/metrics":
                continue
            request = ExportMetricsServiceRequest.FromString(body)
            for part in request.resource_metrics:
                for scope in part.scope_metrics:
                    for found in scope.metrics:
                        if found.name == metric:
                            return _points(found)
        return []

    def bytes_sent(self) -> bytes:
        return b"".join(body for _, _, body in self.requests)

    def _traces(self) -> Iterator[Any]:
        for path, _, body in self.requests:
            if path == "/v1/traces":
                yield from ExportTraceServiceRequest.FromString(body).resource_spans


def _points(metric: Any) -> list[tuple[dict[str, Any], float, int]]:
    if metric.WhichOneof("data") == "histogram":
        return [(attributes_of(p.attributes), p.sum, p.count) for p in metric.histogram.data_points]
    return [(attributes_of(p.attributes), p.as_int, p.as_int) for p in metric.sum.data_points]


@contextmanager
def receiving(status: int = 200, hold: threading.Event | None = None) -> Iterator[Receiver]:
    receiver = Receiver(status=status, hold=hold)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            if self.headers.get("content-encoding") == "gzip":
                body = gzip.decompress(body)
            receiver.requests.append((self.path, dict(self.headers), body))
            if receiver.hold is not None:
                receiver.hold.wait()
            self.send_response(receiver.status)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *arguments: Any) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: Any, client_address: Any) -> None:
            """A client that has gone away is part of the tests."""

    server = Server(("127.0.0.1", 0), Handler)
    receiver.address = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        if hold is not None:
            hold.set()
        server.shutdown()
        server.server_close()
        thread.join()
