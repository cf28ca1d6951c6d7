"""The workflow of a run: drives it, waits, and drives it again, until it has ended.

Temporal replays this code from its history whenever a worker picks up the workflow, even after months and with another
version of Surefoot. So the code knows nothing about runs, and imports only names. The state of a run is in its journal.
A test replays recorded workflows with this code; `names` says what to do if it has to change.
"""

from contextlib import suppress
from datetime import timedelta
from typing import Any

from temporalio import workflow
from temporalio.common import RetryPolicy

from surefoot.integrations.temporal.names import DRIVE, WAKE, WORKFLOW

LONGEST_DRIVE = timedelta(days=365)
"""Temporal requires a limit. The limits of a run are in its own settings."""
LOOK_AGAIN = timedelta(minutes=10)
"""How often a waiting run is polled, in case an answer arrived while Temporal was unreachable."""


@workflow.defn(name=WORKFLOW, sandboxed=False)
class RunWorkflow:
    def __init__(self) -> None:
        self._wakes = 0
        self._seen_seq = 0

    @workflow.signal(name=WAKE)
    def wake(self, seen_seq: int = 0) -> None:
        """Look at the run again. `seen_seq` has the same meaning as in `hand_over` in `client.py`."""
        self._wakes += 1
        self._seen_seq = max(self._seen_seq, seen_seq)

    @workflow.run
    async def run(self, order: dict[str, Any]) -> dict[str, Any]:
        """Drive a run until it has ended. `order` has `run_id`, `heartbeat_seconds` and `after`, which is a `seen_seq`.

        Temporal stores these keys, so they never change.
        """
        self._seen_seq = max(self._seen_seq, order["after"])
        while True:
            wakes, seen_seq = self._wakes, self._seen_seq
            result: dict[str, Any] = await workflow.execute_activity(
                DRIVE,
                {"run_id": order["run_id"], "after": seen_seq},
                result_type=dict,
                start_to_close_timeout=LONGEST_DRIVE,
                heartbeat_timeout=timedelta(seconds=order["heartbeat_seconds"]),
                retry_policy=RetryPolicy(
                    initial_interval=timedelta(seconds=1), backoff_coefficient=2, maximum_interval=timedelta(minutes=1)
                ),
            )
            if result["ended"] and self._seen_seq == seen_seq:
                return result
            if not result["ended"]:
                await self._wait(wakes, result["seconds"])
            if workflow.info().is_continue_as_new_suggested():
                workflow.continue_as_new({**order, "after": self._seen_seq})

    async def _wait(self, wakes: int, seconds: float | None) -> None:
        """Wait for a signal since the run was looked at. Ends when a question times out, at the latest after
        `LOOK_AGAIN`."""
        longest = LOOK_AGAIN.total_seconds()
        timeout = longest if seconds is None else min(max(seconds, 0.0), longest)
        with suppress(TimeoutError):
            await workflow.wait_condition(lambda: self._wakes > wakes, timeout=timeout)
