"""Reads the facts of runs from a journal. A run that cannot be read is listed, and the others are still counted."""

import re
import time
from collections.abc import Collection
from datetime import datetime
from typing import TypeAlias

from surefoot.core.values import error_in_words
from surefoot.errors import JournalError, UsageError
from surefoot.history.stats.compute import compute
from surefoot.history.stats.facts import BODIES, RunFacts, facts_of
from surefoot.history.stats.values import Statistics, UnreadableRun
from surefoot.journal.store.base import DamagedRun, Reader

Known: TypeAlias = dict[str, tuple[int, str, RunFacts]]
"""A cache: facts by run, with the number of its last event and the state of its undo in the list of runs. Only runs
that have changed since are read again."""

_AGO = re.compile(r"(\d+)([mhdw])")
_UNITS = {"m": 60, "h": 3_600, "d": 86_400, "w": 604_800}


def read_statistics(
    reader: Reader,
    *,
    since: float | None = None,
    workspaces: Collection[str] | None = None,
    folder: str | None = None,
    known: Known | None = None,
) -> Statistics:
    """The statistics of the runs in these workspaces; None for all. `folder` is the name of the workspaces in the
    result. `known` is updated."""
    facts: list[RunFacts] = []
    unreadable: list[UnreadableRun] = []
    known = {} if known is None else known
    for summary in reader.summaries_since(since or 0.0, workspaces):
        if isinstance(summary, DamagedRun):
            unreadable.append(UnreadableRun(run_id=summary.run_id, problem=summary.problem))
            continue
        cached = known.get(summary.run_id)
        if cached is None or cached[:2] != (summary.events, summary.undone):
            try:
                cached = (summary.events, summary.undone, facts_of(summary, reader.scan(summary.run_id, BODIES)))
            except JournalError as error:
                unreadable.append(UnreadableRun(run_id=summary.run_id, problem=str(error)))
                continue
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                problem = f"an event has an unknown form ({error_in_words(error)})"
                unreadable.append(UnreadableRun(run_id=summary.run_id, problem=problem))
                continue
            known[summary.run_id] = cached
        facts.append(cached[2])
    return compute(facts, at=time.time(), since=since, folder=folder, unreadable=unreadable)


def parse_since(text: str, now: float | None = None) -> float:
    """Parse a time: `90m`, `24h`, `7d` or `4w` ago, or a local date or time such as 2026-11-01 or 2026-11-01T09:30."""
    text = text.strip()
    if match := _AGO.fullmatch(text.lower()):
        return (time.time() if now is None else now) - int(match[1]) * _UNITS[match[2]]
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError, OSError) as error:
        raise UsageError(f"{text!r} is not a time", remedy="write 24h, 7d, 4w or a date such as 2026-11-01") from error
