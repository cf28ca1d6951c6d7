"""What model calls cost: every view of a run says the same, also of calls recorded before calls had a cost."""

from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest

from support.recorded import created, records
from surefoot.cli.report.usage import usage_of, usage_of_state
from surefoot.cli.views.plain import verbose_lines
from surefoot.config.flat_price import FlatRates, flat_price_of, recorded_cost
from surefoot.core.purpose import Purpose
from surefoot.history.stats.read import read_statistics
from surefoot.integrations.otel import names as n
from surefoot.integrations.otel.content import Content
from surefoot.integrations.otel.trace import RunTrace
from surefoot.journal import events as e
from surefoot.journal.reducers import fold
from surefoot.journal.store.reading import JournalReader
from surefoot.journal.store.sqlite import SqliteJournal
from surefoot.report.facts import usage
from surefoot.view.fold import view_of
from surefoot.view.making import run_row


def answered(cost_usd: float | None = None) -> e.ModelAnswered:
    return e.ModelAnswered(
        purpose=Purpose.PLAN, answer="a", prompt="p", prompt_tokens=1_000_000, output_tokens=100_000, cost_usd=cost_usd,
    )  # fmt: skip


START = created()
"""At 2.5 dollars per million prompt tokens, and 10 per million output tokens."""
DEARER = e.RunResumed(
    model="scripted",
    surefoot="1",
    config=START.config.with_(budget=START.config.budget.with_(usd_per_million_prompt_tokens=5)),
)
RUNS: dict[str, tuple[list[e.Event], float]] = {
    "recorded cost": ([START, answered(1.25), answered(0.5)], 1.75),
    "no cost recorded": ([START, answered(), answered(0.5)], 4.0),
    "another price since": ([START, answered(), DEARER, answered()], 9.5),
}


def traced_cost(events: list[e.Record]) -> float:
    """The cost on the spans of model calls."""
    trace: RunTrace | None = None
    kit = MagicMock(content=Content(False, str, lambda digest: b""))
    for at, record in enumerate(events):
        if trace is None or isinstance(record.event, e.RunResumed):
            trace = RunTrace(kit, START.run_id, record, events[:at])
        else:
            trace.on_record(record)
    given: list[dict[str, Any]] = [call.kwargs["attributes"] for call in kit.tracer.start_span.call_args_list]
    return float(sum(attributes.get(n.COST, 0.0) for attributes in given))


@pytest.mark.parametrize("run", RUNS)
async def test_all_views_of_a_run_agree_about_its_cost(tmp_path: Path, run: str) -> None:
    events, cost = RUNS[run]
    journal = SqliteJournal(tmp_path / "journal.sqlite")
    stored = await journal.append(START.run_id, events)
    journal.close()
    reader = JournalReader(tmp_path / "journal.sqlite", 5.0)
    listed = usage_of(reader, [START.run_id])[START.run_id]
    counted = read_statistics(reader)
    reader.close()
    state = fold(stored)
    assert state.cost_usd == pytest.approx(cost)
    assert listed == usage_of_state(state)
    assert counted.usage.cost_usd == pytest.approx(cost)
    assert sum(row["cost_usd"] or 0 for row in usage(stored)) == pytest.approx(cost)
    assert run_row(view_of(stored))["cost_usd"] == pytest.approx(cost)
    assert traced_cost(list(stored)) == pytest.approx(cost)


def test_a_verbose_line_has_the_cost_of_its_call() -> None:
    state = fold(records([START]))
    (line,) = verbose_lines(answered(), state)
    assert "$3.50" in line


def test_a_price_that_is_not_known_is_not_zero() -> None:
    assert flat_price_of({"budget": {"max_tokens": 5}}) is None
    assert flat_price_of({}) is None
    assert flat_price_of({"budget": {"usd_per_million_output_tokens": 3}}) == FlatRates(0, 3)
    assert recorded_cost(None, 5, 5, None) is None
    assert recorded_cost(0.0, 5, 5, FlatRates(1, 1)) == 0.0
