"""What a failed step did outside the workspace is undone by other actions: the compensation that a tool declares, for
every action that succeeded, the last one first; then the plan's own rollback commands.

Each is done once. Its intent is in the journal before its effect, it needs consent like any action, and one that was
cut off is not repeated unless a person says so. What cannot be undone is told, in the outcome too.
"""

import asyncio
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

from surefoot import events as e
from surefoot.phases.approving import not_allowed
from surefoot.phases.performing import call_tool, changed_by
from surefoot.phases.proposal import Proposal
from surefoot.phases.taking_back import was_done
from surefoot.run import Run
from surefoot.state import Action, Compensation, StepRun
from surefoot.tools.base import Writes
from surefoot.workspace.faults import as_path


class _Undoing(NamedTuple):
    undoes: str
    """The action as a person would write it, or a rollback command of the plan."""
    tool: str
    arguments: dict[str, Any]


async def compensate(run: Run, mine: StepRun, *, may_ask: bool = True) -> None:
    """Undoes what the step's current attempt did outside. Without `may_ask`, what needs a person's word is left."""
    for undoing in list(_undoings(run, mine)):
        begun = next((c for c in reversed(mine.compensations) if c.undoes == undoing.undoes), None)
        if begun is None:
            await _undo(run, mine, undoing, may_ask)
        elif begun.ok is None and may_ask:
            await _settle_interrupted(run, mine, begun, undoing)


def _undoings(run: Run, mine: StepRun) -> Iterator[_Undoing]:
    for action in reversed(mine.actions):
        tool = run.toolbox.get(action.tool) if action.tool in run.toolbox else None
        if tool is None or not action.ok:
            continue
        if tool.compensate:
            yield _Undoing(_shown(action), tool.compensate, _arguments(run, action, tool.compensate))
        elif tool.external and not mine.step.rollback_steps:
            yield _Undoing(_shown(action), "", {})
    if any(_may_reach_out(run, action) for action in mine.actions):
        for command in mine.step.rollback_steps:
            yield _Undoing(command, "run_command", {"command": command})


def _shown(action: Action) -> str:
    arguments = ", ".join(f"{name}={value!r}" for name, value in action.arguments.items())
    return f"{action.tool}({arguments[:200]}) [{action.id}]"


def _may_reach_out(run: Run, action: Action) -> bool:
    """A command that failed may have done half of its work, so it need not have succeeded."""
    if action.tool not in run.toolbox:
        return False
    tool = run.toolbox.get(action.tool)
    return tool.external or tool.network or tool.writes is Writes.FREE


def _arguments(run: Run, action: Action, compensation: str) -> dict[str, Any]:
    """What the compensation takes, by name: of the action's own arguments, of what it gave, or that as a whole."""
    given = action.data if isinstance(action.data, dict) else {}
    known = {"result": action.summary if action.data is None else action.data, **given, **action.arguments}
    takes = run.toolbox.get(compensation).parameters.get("properties", {})
    return {name: known[name] for name in takes if name in known}


async def _undo(run: Run, mine: StepRun, undoing: _Undoing, may_ask: bool) -> None:
    reason = "its tool declares no compensation"
    if undoing.tool:
        proposal = Proposal("act", undoing.tool, undoing.arguments, thought=f"undo {undoing.undoes}")
        reason = await not_allowed(run, mine.step.id, proposal, may_ask=may_ask)
    if not reason:
        await _perform(run, mine, undoing)
        return
    said = f"{undoing.undoes}: not undone, because {reason}"
    await run.record(e.LeftOutside(step_id=mine.step.id, undoes=undoing.undoes, what=said))


async def _perform(run: Run, mine: StepRun, undoing: _Undoing) -> None:
    """No budget is looked at: what was spent on doing it must not keep it from being undone."""
    tool = run.toolbox.get(undoing.tool)
    snapshot = await run.snapshot() if tool.writes is not Writes.NONE else ""
    begun = e.CompensationStarted(
        compensation_id=f"{mine.step.id}.c{run.state.tool_calls + 1}",
        step_id=mine.step.id,
        undoes=undoing.undoes,
        tool=tool.name,
        arguments=undoing.arguments,
    )
    await run.record(begun)
    started = time.perf_counter()
    result = await call_tool(run, tool, begun.compensation_id, undoing.arguments, "")
    changed = await changed_by(run, tool, undoing.arguments, snapshot)
    await run.record(
        e.CompensationFinished(
            compensation_id=begun.compensation_id,
            step_id=mine.step.id,
            ok=result.ok,
            summary=result.summary,
            duration_ms=round((time.perf_counter() - started) * 1000),
            changed=changed,
            after=await _now(run, mine, changed),
        )
    )


async def _now(run: Run, mine: StepRun, changed: tuple[str, ...]) -> str:
    """The workspace as the step left it, but for what the compensation changed: whatever else differs is other
    people's, and a rollback must still see that."""
    if not changed or not mine.after:
        return ""
    paths = [as_path(path) for path in changed]
    return await asyncio.to_thread(run.workspace.with_paths_from, mine.after, await run.snapshot(), paths)


async def _settle_interrupted(run: Run, mine: StepRun, begun: Compensation, undoing: _Undoing) -> None:
    arguments = ", ".join(f"{name}={value!r}" for name, value in begun.arguments.items())
    call = f"{begun.tool}({arguments[:500]}), which undoes {begun.undoes},"
    if await was_done(run, call, mine.step.id, begun.id):
        said = "It was interrupted, and a person says that it was done."
        finished = e.CompensationFinished(compensation_id=begun.id, step_id=mine.step.id, ok=True, summary=said)
        await run.record(finished)
        return
    await _perform(run, mine, undoing)
