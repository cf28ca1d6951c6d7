"""Run a few eval tasks with recorded answers of the embedded model: agents, gateway and checkers together.

After a change to the prompts, record the answers again: `make eval-smoke`.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from evals.agents import AGENTS
from evals.catalog import load
from evals.gateway import Gateway, Recording
from evals.runner import Caps, Result, run_one

pytestmark = pytest.mark.slow

SMOKE = Path(__file__).parents[2] / "evals" / "smoke.jsonl"

EXPECTED = {
    ("dial", "oneshot"): (True, "done"),
    ("dial", "surefoot"): (True, "verified"),
    ("day_ranges", "oneshot"): (False, "done"),
    ("day_ranges", "surefoot"): (False, "failed"),
}


@pytest.fixture(scope="module")
def gateway() -> Iterator[Gateway]:
    with Gateway(Recording(SMOKE)) as running:
        yield running


@pytest.mark.req("X4", "X5")
@pytest.mark.parametrize(("task", "agent"), EXPECTED)
def test_recorded_answers_give_the_recorded_result(task: str, agent: str, gateway: Gateway, tmp_path: Path) -> None:
    (loaded,) = load([task])
    result = run_one(loaded, AGENTS[agent], 0, gateway, Caps(), tmp_path)
    assert "not recorded" not in (tmp_path / f"{task}-{agent}" / "errors.txt").read_text(), "run: make eval-smoke"
    assert result.replayed == result.calls > 0
    assert (result.right, result.claim) == EXPECTED[task, agent]
    assert_honest(result)


def assert_honest(result: Result) -> None:
    assert not result.false_success
    assert result.agent != "surefoot" or not result.left_changed, "failed work is undone"
