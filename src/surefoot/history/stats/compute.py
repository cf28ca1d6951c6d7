"""Computes statistics from the facts of runs. Pure."""

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict

from surefoot.core.transitions import Rung
from surefoot.history.stats.facts import SUCCESSES, Result, RunFacts, UsageCount
from surefoot.history.stats.values import (
    Attempts,
    CheckUse,
    Day,
    DurationBucket,
    Failures,
    ModelUse,
    Named,
    Results,
    RungUse,
    Spread,
    Statistics,
    UnreadableRun,
    Usage,
)

BUCKETS: tuple[float | None, ...] = (10, 30, 60, 300, 900, 3_600, None)
MAX_CHECKS = 10
_TIMED: frozenset[Result] = SUCCESSES | {"failed", "undone", "partly_undone"}


def compute(
    runs: Sequence[RunFacts],
    *,
    at: float,
    since: float | None = None,
    folder: str | None = None,
    unreadable: Sequence[UnreadableRun] = (),
) -> Statistics:
    seconds = [run.seconds for run in runs if run.result in _TIMED]
    return Statistics(
        at=at,
        since=since,
        folder=folder,
        runs=len(runs),
        unreadable=tuple(unreadable),
        results=_results(runs),
        failed_by=_named(Counter(str(run.verdict) for run in runs if run.result == "failed")),
        seconds=spread(seconds),
        durations=_buckets(seconds),
        attempts=Attempts(
            steps=sum(run.steps for run in runs),
            retries=sum(run.retries for run in runs),
            model_retries=sum(run.model_retries for run in runs),
        ),
        rungs=_rungs(runs),
        usage=_usage(count for run in runs for count in run.usage.values()),
        checks=_checks(runs),
        failures=_failures(runs),
        models=_models(runs),
        days=_days(runs),
    )


def spread(values: Sequence[float]) -> Spread:
    """The distribution of values. Percentiles are by nearest rank, so that each is a measured value."""
    if not values:
        return Spread()
    ordered = sorted(values)
    return Spread(
        count=len(ordered),
        median=round(_rank(ordered, 50), 3),
        p90=round(_rank(ordered, 90), 3),
        longest=round(ordered[-1], 3),
        total=round(sum(ordered), 3),
    )


def _rank(ordered: Sequence[float], percent: int) -> float:
    """The percentile by nearest rank: the smallest value that at least `percent` percent of all do not exceed."""
    return ordered[max(-(-len(ordered) * percent // 100), 1) - 1]


def _results(runs: Iterable[RunFacts]) -> Results:
    return Results.model_validate(Counter(run.result for run in runs))


def _buckets(seconds: Sequence[float]) -> tuple[DurationBucket, ...]:
    counts: Counter[float | None] = Counter()
    for value in seconds:
        counts[next((limit for limit in BUCKETS if limit is not None and value < limit), None)] += 1
    return tuple(DurationBucket(up_to=limit, runs=counts[limit]) for limit in BUCKETS)


def _rungs(runs: Iterable[RunFacts]) -> tuple[RungUse, ...]:
    taken: Counter[str] = Counter()
    healed: Counter[str] = Counter()
    for run in runs:
        taken += run.taken
        healed += run.healed
    order = [*Rung, *sorted(taken.keys() - set(Rung))]
    return tuple(RungUse(rung=str(rung), taken=taken[rung], healed=healed[rung]) for rung in order if taken[rung])


def _usage(counts: Iterable[UsageCount]) -> Usage:
    total = UsageCount()
    for count in counts:
        total.add(count)
    return Usage(**{**asdict(total), "cost_usd": round(total.cost_usd, 6)})


def _checks(runs: Iterable[RunFacts]) -> tuple[CheckUse, ...]:
    by_command: dict[str, list[float]] = {}
    for run in runs:
        for command, milliseconds in run.checks:
            by_command.setdefault(command, []).append(milliseconds / 1000)
    uses = [CheckUse(command=c, times=len(times), seconds=spread(times)) for c, times in by_command.items()]
    return tuple(sorted(uses, key=lambda use: (-(use.seconds.median or 0), use.command))[:MAX_CHECKS])


def _failures(runs: Iterable[RunFacts]) -> Failures:
    kinds: Counter[str] = Counter()
    categories: Counter[str] = Counter()
    for run in runs:
        kinds += run.kinds
        categories += run.categories
    return Failures(attempts=kinds.total(), kinds=_named(kinds), categories=_named(categories))


def _named(counter: Counter[str]) -> tuple[Named, ...]:
    ordered = sorted(counter.items(), key=lambda item: (-item[1], item[0]))
    return tuple(Named(name=name, count=count) for name, count in ordered)


def _models(runs: Sequence[RunFacts]) -> tuple[ModelUse, ...]:
    usage: dict[str, list[UsageCount]] = {}
    for run in runs:
        for model, count in run.usage.items():
            usage.setdefault(model, []).append(count)
    by_model: dict[str, list[RunFacts]] = {model: [] for model in usage}
    for run in runs:
        by_model.setdefault(run.model, []).append(run)
    uses = [
        ModelUse(
            model=model,
            runs=len(own),
            results=_results(own),
            seconds=spread([run.seconds for run in own if run.result in _TIMED]),
            usage=_usage(usage.get(model, ())),
        )
        for model, own in by_model.items()
    ]
    return tuple(sorted(uses, key=lambda use: (-use.runs, use.model)))


def _days(runs: Iterable[RunFacts]) -> tuple[Day, ...]:
    by_day: dict[str, list[RunFacts]] = {}
    for run in runs:
        by_day.setdefault(time.strftime("%Y-%m-%d", time.localtime(run.created_at)), []).append(run)
    return tuple(
        Day(day=day, results=_results(own), usage=_usage(count for run in own for count in run.usage.values()))
        for day, own in sorted(by_day.items())
    )
