"""A few tasks of the evals, done with answers that the embedded model really gave: agents, gateway, checkers and report
together, the same on every machine. After a change to the prompts: `make eval-smoke`."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from evals.agents import AGENTS
from evals.catalog import load
from evals.gateway import Gateway, Record
from evals.runner import Caps, Result, run_one

SMOKE = Path(__file__).parents[1] / "evals" / "smoke.jsonl"

EXPECTED = {
    ("dial", "oneshot"): (True, "done"),
    ("dial", "surefoot"): (True, "verified"),
    ("day_ranges", "oneshot"): (False, "done"),
    ("day_ranges", "surefoot"): (False, "failed"),
}


@pytest.fixture(scope="module")
def gateway() -> Iterator[Gateway]:
    with Gateway(Record(SMOKE)) as made:
        yield made


@pytest.mark.req("X4", "X5")
@pytest.mark.parametrize(("task", "agent"), EXPECTED)
def test_recorded_answers_come_to_the_same_end(task: str, agent: str, gateway: Gateway, tmp_path: Path) -> None:
    (chosen,) = load([task])
    result = run_one(chosen, AGENTS[agent], 0, gateway, Caps(), tmp_path)
    assert "not recorded" not in (tmp_path / f"{task}-{agent}" / "errors.txt").read_text(), "run: make eval-smoke"
    assert result.replayed == result.calls > 0
    assert (result.right, result.claim) == EXPECTED[task, agent]
    assert_honest(result)


def assert_honest(result: Result) -> None:
    assert not result.false_success
    assert result.agent != "surefoot" or not result.left_changed, "what failed is undone"
