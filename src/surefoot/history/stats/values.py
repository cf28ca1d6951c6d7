"""The statistics that `surefoot stats --json` and `GET /api/stats` return. `stats_schema` describes them."""

from typing import Any, Literal

from pydantic import Field

from surefoot.core.values import Value, Wording

SCHEMA_VERSION: Literal[1] = 1
"""Fields may be added to a version; anything else needs a new one."""


class Results(Value):
    """The number of runs by result. A run has exactly one result, so the sum is the number of runs."""

    verified: int = Field(default=0, description="proof A: a given check failed before and passes now")
    own_test: int = Field(default=0, description="proof B: a test that the run wrote failed before and passes now")
    done: int = Field(
        default=0, description="proof C: all steps are done or skipped, nothing that failed before passes now"
    )
    failed: int = Field(default=0, description="ended without success; `failed_by` has the verdicts")
    waiting: int = Field(default=0, description="waits for a person")
    undone: int = Field(default=0, description="succeeded, and all its changes were undone")
    partly_undone: int = Field(default=0, description="succeeded, and a part of its changes was undone")
    cancelled: int = Field(default=0, description="cancelled by a person")
    planned: int = Field(default=0, description="only a plan was asked for, and made")
    unfinished: int = Field(default=0, description="runs now, was interrupted or killed, or stopped after a phase")


class Usage(Value):
    prompt_tokens: int = 0
    cached_tokens: int = Field(default=0, description="the part of the prompt tokens that came from a cache")
    output_tokens: int = 0
    calls: int = Field(default=0, description="model calls")
    cost_usd: float = Field(default=0.0, description="the cost of the calls whose price is known")
    unpriced_calls: int = Field(default=0, description="calls whose price is unknown")


class Spread(Value):
    """The distribution of durations, in seconds. `median`, `p90` and `longest` are null if there are none."""

    count: int = 0
    median: float | None = None
    p90: float | None = Field(default=None, description="nine out of ten are at most this")
    longest: float | None = None
    total: float = 0.0


class DurationBucket(Value):
    up_to: float | None = Field(description="the exclusive upper bound in seconds; null in the last bucket")
    runs: int


class RungUse(Value):
    rung: str
    taken: int
    healed: int = Field(
        description="after it the step succeeded, or fell back as declared; a new plan healed if the run then succeeded"
    )


class CheckUse(Value):
    command: Wording
    times: int = Field(description="how often it was run; reused results are not counted")
    seconds: Spread


class Named(Value):
    name: str
    count: int


class Failures(Value):
    """Failed attempts of steps."""

    attempts: int = 0
    kinds: tuple[Named, ...] = Field(default=(), description="what the engine saw, most frequent first")
    categories: tuple[Named, ...] = Field(default=(), description="the causes that reflections found")


class Attempts(Value):
    """How often steps were attempted, and model calls repeated."""

    steps: int = Field(default=0, description="attempts of steps")
    retries: int = Field(default=0, description="attempts after the first one of a step")
    model_retries: int = Field(default=0, description="model calls repeated after a temporary error")


class ModelUse(Value):
    model: Wording
    runs: int = Field(description="runs that began with it, or were last resumed with it")
    results: Results
    seconds: Spread
    usage: Usage


class Day(Value):
    day: str = Field(description="the local date on which the runs began, such as 2026-11-17")
    results: Results
    usage: Usage


class UnreadableRun(Value):
    run_id: str
    problem: str


class Statistics(Value):
    version: Literal[1] = SCHEMA_VERSION
    at: float = Field(description="when they were computed, in seconds since the epoch")
    since: float | None = Field(default=None, description="only runs that began then or later; null: all")
    folder: str | None = Field(default=None, description="only runs of this folder and its copies; null: all")
    runs: int = Field(description="the runs counted here; unreadable ones are not among them")
    unreadable: tuple[UnreadableRun, ...] = ()
    results: Results
    failed_by: tuple[Named, ...] = Field(default=(), description="the verdicts of failed runs")
    seconds: Spread = Field(description="working time of runs that succeeded or failed, without waiting for people")
    durations: tuple[DurationBucket, ...] = ()
    attempts: Attempts
    rungs: tuple[RungUse, ...] = Field(default=(), description="recoveries, cheapest first")
    usage: Usage
    checks: tuple[CheckUse, ...] = Field(default=(), description="the slowest commands by their median, at most 10")
    failures: Failures
    models: tuple[ModelUse, ...] = Field(default=(), description="most runs first")
    days: tuple[Day, ...] = Field(default=(), description="days with runs, oldest first")


def stats_schema() -> dict[str, Any]:
    """The JSON schema of `Statistics`. A newer version of Surefoot may add fields, so unknown ones are allowed."""
    schema = Statistics.model_json_schema(mode="serialization")
    for definition in (schema, *schema.get("$defs", {}).values()):
        definition.pop("additionalProperties", None)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": "surefoot stats --json",
        "version": SCHEMA_VERSION,
    }
