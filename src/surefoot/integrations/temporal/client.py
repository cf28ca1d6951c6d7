"""Talks to a Temporal server: connects, and hands runs over to workers."""

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING

from surefoot.config.extras import install_remedy
from surefoot.config.workers import TEMPORAL_REMEDY, Workers, read_workers
from surefoot.errors import ConfigError, WorkersUnreachable
from surefoot.integrations.temporal.names import WAKE, WORKFLOW, workflow_id

if TYPE_CHECKING:
    from temporalio.client import Client

ANSWER_SECONDS = 15.0


def require_library() -> None:
    try:
        import temporalio.client  # noqa: F401
    except ImportError as error:
        raise ConfigError(
            f"workers need temporalio, which is not installed or does not load: {error}",
            remedy=install_remedy("temporal"),
        ) from error


async def connect(workers: Workers) -> "Client":
    """Connect to the server. Namespace, TLS and key come from Temporal's own variables and profile."""
    require_library()
    from temporalio.client import Client
    from temporalio.envconfig import ClientConfig

    config = ClientConfig.load_client_connect_config()
    address = workers.temporal or config.get("target_host")
    if not address:
        raise ConfigError("no Temporal server is configured", remedy=TEMPORAL_REMEDY)
    config["target_host"] = address
    try:
        return await asyncio.wait_for(Client.connect(**config), ANSWER_SECONDS)
    except (RuntimeError, TimeoutError) as error:
        raise _unreachable(address, error) from error


async def hand_over(run_id: str, *, seen_seq: int = 0, workers: Workers | None = None) -> None:
    """Have a worker look at a run. This is how a run is started and resumed, and how it learns of an answer.

    To continue a run that has ended or waits, pass the number of the last event that the caller has seen as `seen_seq`.
    The run continues unless it has halted again after that event. With 0, a worker only checks for work, such as an
    answer.
    """
    from temporalio.service import RPCError

    workers = workers or read_workers()
    client = await connect(workers)
    order = {"run_id": run_id, "after": seen_seq, "heartbeat_seconds": workers.heartbeat_seconds}
    try:
        # A workflow that is running only gets the signal. One that has ended or was never started is started too.
        await client.start_workflow(
            WORKFLOW,
            order,
            id=workflow_id(run_id),
            task_queue=workers.queue,
            start_signal=WAKE,
            start_signal_args=[seen_seq],
            rpc_timeout=timedelta(seconds=ANSWER_SECONDS),
        )
    except RPCError as error:
        raise _unreachable(workers.temporal or "Temporal", error) from error


def _unreachable(address: str, error: Exception) -> WorkersUnreachable:
    return WorkersUnreachable(
        f"Temporal at {address} does not answer: {' '.join(str(error).split()) or type(error).__name__}",
        remedy="see that it runs and can be reached from here; what the journal has is kept",
    )
