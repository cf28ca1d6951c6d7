"""A step and answers for tests of candidates: several answers to one question, of which the checks choose one."""

from support.kit import Bench, fenced
from surefoot.core.plan import ExecutionStep
from surefoot.journal import events as e

SUM = ExecutionStep(id="s", name="sum", description="write the sum of 2 and 3", writes=("sum.txt",))
CHECK = "grep -qx 5 sum.txt"
WRONG = [fenced(f"{number}\n", "") for number in range(100, 200)]
RIGHT = fenced("5\n", "")
TWO_RETRIES = {"max_step_retries": 2, "max_single_step_repairs": 0, "max_task_replanning_attempts": 0, "candidates": 3}
FAILED_ATTEMPTS = WRONG[:4]
"""Answers of the two attempts before candidates are tried: each attempt has one correction."""


def candidates_of(bench: Bench) -> list[e.CandidateTried]:
    return bench.events(e.CandidateTried)


def rungs_of(bench: Bench) -> list[str]:
    return [event.rung for event in bench.events(e.RungChosen)]
