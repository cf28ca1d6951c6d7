"""Alerts of a run: recorded with its end and sent after it, or by the next process if this one is killed before.

Nothing here changes the outcome. Delivery is at least once: if a process is killed between sending an alert and
recording the delivery, the next one sends the same document again, with the same id.
"""

import asyncio
import json
import secrets
from contextlib import suppress

from surefoot.config.model import AlertOccasion, shown_target
from surefoot.core.outcome import Outcome, Verdict
from surefoot.core.values import error_in_words
from surefoot.engine.alerts.delivery import Delivered, Pace, deliver
from surefoot.engine.alerts.document import alert_document
from surefoot.engine.runtime.run import Run
from surefoot.errors import JournalError
from surefoot.journal import events as e

PACE = Pace()
_OCCASIONS: dict[Verdict, AlertOccasion] = {
    Verdict.VERIFIED: "done",
    Verdict.UNVERIFIED: "done",
    Verdict.FAILED: "failure",
    Verdict.BLOCKED: "failure",
    Verdict.BUDGET: "failure",
    Verdict.LOOP: "failure",
    Verdict.TIME: "failure",
    Verdict.WAITING: "waiting",
}
"""The occasion of each verdict. Cancelled and interrupted runs have none: whoever stopped the run knows about it."""


def alert_on(run: Run, outcome: Outcome) -> tuple[e.AlertStarted, ...]:
    """Return the event to record together with the end of a run; none if the user wants no alert about it."""
    occasion = _OCCASIONS.get(outcome.verdict)
    target = run.alerts.target(occasion) if occasion else None
    if occasion is None or target is None:
        return ()
    alert_id = f"{run.state.run_id}-{secrets.token_hex(6)}"
    try:
        document = alert_document(
            run.state, outcome, occasion, run.redactor, alert_id=alert_id, at=run.clock(), page=run.alerts.page
        )
        digest = run.journal.put_blob(json.dumps(document, ensure_ascii=False).encode())
    except Exception as error:
        # A fault in an alert must not change how the run ends.
        run.recorder.warn(f"no alert could be made: {error_in_words(error)}")
        return ()
    return (e.AlertStarted(alert_id=alert_id, on=occasion, target=shown_target(target), document=digest),)


async def send_alerts(run: Run) -> None:
    """Send the alerts that are neither delivered nor given up, and record how it went."""
    for started in list(run.state.alerts.values()):
        delivered = await _send(run, started)
        finished = e.AlertFinished(
            alert_id=started.alert_id,
            ok=delivered.ok,
            attempts=delivered.attempts,
            target=started.target,
            problem=delivered.problem,
        )
        # If this cannot be recorded, the alert stays open, and the next process sends it again.
        with suppress(JournalError):
            await run.record(finished)


async def send_after_end(run: Run) -> None:
    """Send the alerts of a run that has ended.

    A cancellation, such as Ctrl-C, leaves them to the next process. The run does not count as interrupted.
    """
    try:
        await send_alerts(run)
    except asyncio.CancelledError:
        task = asyncio.current_task()
        assert task is not None
        task.uncancel()
        run.recorder.warn("an alert is not delivered yet; resuming the run sends it")


async def _send(run: Run, started: e.AlertStarted) -> Delivered:
    target = run.alerts.target(started.on)
    if target is None:
        return Delivered(False, 0, f"alerts.on_{started.on} is no longer set")
    try:
        body = run.journal.get_blob(started.document)
    except JournalError as error:
        return Delivered(False, 0, str(error))
    return await deliver(target, body, started.alert_id, workspace=run.root, home=run.home, pace=PACE)
