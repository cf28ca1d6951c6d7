"""OpenTelemetry: the events of runs as spans and metrics. The engine knows nothing of it."""
