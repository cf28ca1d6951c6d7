"""The workflow of a run: drive it, wait, drive it again, until it has ended.

Temporal repeats these lines from its record whenever a worker takes the workflow up, after months and with other
versions of Surefoot. So they know nothing of runs and import nothing but names. What a run does is in its journal. A
test replays recorded workflows with the lines below; `names` says what to do if they have to change.
"""

from contextlib import suppress
from datetime import timedelta
from typing import Any

from temporalio import workflow
from temporalio.common import RetryPolicy

from surefoot.integrations.temporal.names import DRIVE, WAKE, WORKFLOW

LONGEST_DRIVE = timedelta(days=365)
"""Temporal wants a limit. The limits of a run are in its own settings."""
LOOK_AGAIN = timedelta(minutes=10)
"""A waiting run is looked at this often, in case somebody who answered could not reach Temporal."""


@workflow.defn(name=WORKFLOW, sandboxed=False)
class RunWorkflow:
    def __init__(self) -> None:
        self._wakes = 0
        self._seen_seq = 0

    @workflow.signal(name=WAKE)
    def wake(self, seen_seq: int = 0) -> None:
        """Look at the run again. `seen_seq` is the number of the last event that the sender has seen, if a run that has
        ended or waits is to go on: it does unless it halted after that event."""
        self._wakes += 1
        self._seen_seq = max(self._seen_seq, seen_seq)

    @workflow.run
    async def run(self, order: dict[str, Any]) -> dict[str, Any]:
        """`order` has run_id, heartbeat_seconds and, as `after`, a `seen_seq`: Temporal stores these keys."""
        self._seen_seq = max(self._seen_seq, order["after"])
        while True:
            wakes, seen_seq = self._wakes, self._seen_seq
            found: dict[str, Any] = await workflow.execute_activity(
                DRIVE,
                {"run_id": order["run_id"], "after": seen_seq},
                result_type=dict,
                start_to_close_timeout=LONGEST_DRIVE,
                heartbeat_timeout=timedelta(seconds=order["heartbeat_seconds"]),
                retry_policy=RetryPolicy(
                    initial_interval=timedelta(seconds=1), backoff_coefficient=2, maximum_interval=timedelta(minutes=1)
                ),
            )
            if found["ended"] and self._seen_seq == seen_seq:
                return found
            if not found["ended"]:
                await self._wait(wakes, found["seconds"])
            if workflow.info().is_continue_as_new_suggested():
                workflow.continue_as_new({**order, "after": self._seen_seq})

    async def _wait(self, wakes: int, seconds: float | None) -> None:
        """Wait for a signal that came since the run was looked at, or until a question of the run times out."""
        longest = LOOK_AGAIN.total_seconds()
        timeout = longest if seconds is None else min(max(seconds, 0.0), longest)
        with suppress(TimeoutError):
            await workflow.wait_condition(lambda: self._wakes > wakes, timeout=timeout)
