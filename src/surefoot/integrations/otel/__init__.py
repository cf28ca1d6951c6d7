"""OpenTelemetry: the events of runs as spans and metrics. The engine does not know about it."""
