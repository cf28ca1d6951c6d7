"""The metrics of runs: durations, tokens, rungs, retries of the model."""

from typing import TYPE_CHECKING

from surefoot.integrations.otel import names as n

if TYPE_CHECKING:
    from opentelemetry.metrics import Histogram, Meter
    from opentelemetry.util.types import Attributes

_CALL_SECONDS = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
"""The bucket boundaries that the conventions give for the durations of calls."""
_TOKENS = (1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864)
"""The bucket boundaries that the conventions give for numbers of tokens."""
_WORK_SECONDS = (0.1, 0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200)


class Metrics:
    def __init__(self, meter: "Meter") -> None:
        def seconds(name: str, description: str, boundaries: tuple[float, ...] = _WORK_SECONDS) -> "Histogram":
            return meter.create_histogram(name, "s", description, explicit_bucket_boundaries_advisory=boundaries)

        self._call = seconds(n.OPERATION_DURATION, "GenAI operation duration.", _CALL_SECONDS)
        self._tokens = meter.create_histogram(
            n.TOKEN_USAGE,
            "{token}",
            "Number of input and output tokens used.",
            explicit_bucket_boundaries_advisory=_TOKENS,
        )
        self._run = seconds(n.RUN_DURATION, "Work on a run by one process.")
        self._phase = seconds(n.PHASE_DURATION, "A phase of a run.")
        self._step = seconds(n.STEP_DURATION, "An attempt of a step.")
        self._action = seconds(n.ACTION_DURATION, "A call of a tool.", _CALL_SECONDS)
        self._rungs = meter.create_counter(n.RUNGS, "{rung}", "Recoveries from failed steps.")
        self._retries = meter.create_counter(n.MODEL_RETRIES, "{retry}", "Calls of the model that were repeated.")

    def model_call(self, seconds: float, prompt: int, output: int, attributes: "Attributes") -> None:
        self._call.record(seconds, attributes)
        for kind, number in (("input", prompt), ("output", output)):
            self._tokens.record(number, {**(attributes or {}), n.TOKEN_TYPE: kind})

    def run(self, seconds: float, attributes: "Attributes") -> None:
        self._run.record(seconds, attributes)

    def phase(self, seconds: float, phase: str) -> None:
        self._phase.record(seconds, {n.PHASE: phase})

    def step(self, seconds: float, attributes: "Attributes") -> None:
        self._step.record(seconds, attributes)

    def action(self, seconds: float, attributes: "Attributes") -> None:
        self._action.record(seconds, attributes)

    def rung(self, rung: str) -> None:
        self._rungs.add(1, {n.RUNG: rung})

    def model_retry(self) -> None:
        self._retries.add(1)
