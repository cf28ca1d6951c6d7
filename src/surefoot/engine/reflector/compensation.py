"""Undoes the effects of a failed step outside the workspace by other actions.

Each action that succeeded, the last one first, is undone by the compensation that its tool declares. Then the rollback
commands of the plan are run. Each is done once. Its intent is recorded before its effect, and it needs approval like
any action. An interrupted compensation is not repeated unless a person says so. Effects that cannot be undone are
reported, also in the outcome.
"""

import asyncio
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

from surefoot.engine.executor.action import call_tool, changed_by
from surefoot.engine.executor.approval import refusal_of
from surefoot.engine.reflector.restore import ask_whether_done
from surefoot.engine.runtime.run import Run
from surefoot.journal import events as e
from surefoot.journal.state import Action, Compensation, StepRun
from surefoot.prompting.proposal import Proposal
from surefoot.tools.tool import Writes
from surefoot.workspace.errors import as_path


class _Undo(NamedTuple):
    undoes: str
    """The action, written as a call, or a rollback command of the plan."""
    tool: str
    """Empty if nothing can undo it."""
    arguments: dict[str, Any]


async def compensate(run: Run, step_run: StepRun, *, may_ask: bool = True) -> None:
    """Undo the external effects of the current attempt.

    Without `may_ask`, nobody is asked, and compensations that need approval are not carried out.
    """
    for undo in list(_undos(run, step_run)):
        earlier = next((c for c in reversed(step_run.compensations) if c.undoes == undo.undoes), None)
        if earlier is None:
            await _compensate(run, step_run, undo, may_ask)
        elif earlier.ok is None and may_ask:
            await _finish_interrupted(run, step_run, earlier, undo)


def _undos(run: Run, step_run: StepRun) -> Iterator[_Undo]:
    for action in reversed(step_run.actions):
        tool = run.toolbox.get(action.tool) if action.tool in run.toolbox else None
        if tool is None or not action.ok:
            continue
        if tool.compensate:
            yield _Undo(_as_call(action), tool.compensate, _arguments(run, action, tool.compensate))
        elif tool.external and not step_run.step.rollback_steps:
            yield _Undo(_as_call(action), "", {})
    if any(_may_reach_out(run, action) for action in step_run.actions):
        for command in step_run.step.rollback_steps:
            yield _Undo(command, "run_command", {"command": command})


def _as_call(action: Action) -> str:
    arguments = ", ".join(f"{name}={value!r}" for name, value in action.arguments.items())
    return f"{action.tool}({arguments[:200]}) [{action.id}]"


def _may_reach_out(run: Run, action: Action) -> bool:
    """Whether an action may have had external effects, even if it failed half-way."""
    if action.tool not in run.toolbox:
        return False
    tool = run.toolbox.get(action.tool)
    return tool.external or tool.network or tool.writes is Writes.FREE


def _arguments(run: Run, action: Action, compensation: str) -> dict[str, Any]:
    """Fill the compensation's parameters by name, from the action's arguments and its result."""
    data = action.data if isinstance(action.data, dict) else {}
    known = {"result": action.summary if action.data is None else action.data, **data, **action.arguments}
    parameters = run.toolbox.get(compensation).parameters.get("properties", {})
    return {name: known[name] for name in parameters if name in known}


async def _compensate(run: Run, step_run: StepRun, undo: _Undo, may_ask: bool) -> None:
    reason = "its tool declares no compensation"
    if undo.tool:
        proposal = Proposal("act", undo.tool, undo.arguments, thought=f"undo {undo.undoes}")
        reason = await refusal_of(run, step_run.step.id, proposal, may_ask=may_ask)
    if not reason:
        await _perform(run, step_run, undo)
        return
    what = f"{undo.undoes}: not undone, because {reason}"
    await run.record(e.LeftOutside(step_id=step_run.step.id, undoes=undo.undoes, what=what))


async def _perform(run: Run, step_run: StepRun, undo: _Undo) -> None:
    """Run one compensation, even if the budget is spent."""
    tool = run.toolbox.get(undo.tool)
    snapshot = await run.snapshot() if tool.writes is not Writes.NONE else ""
    intent = e.CompensationStarted(
        compensation_id=f"{step_run.step.id}.c{run.state.tool_calls + 1}",
        step_id=step_run.step.id,
        undoes=undo.undoes,
        tool=tool.name,
        arguments=undo.arguments,
    )
    await run.record(intent)
    started = time.perf_counter()
    result = await call_tool(run, tool, intent.compensation_id, undo.arguments, "")
    changed = await changed_by(run, tool, undo.arguments, snapshot)
    await run.record(
        e.CompensationFinished(
            compensation_id=intent.compensation_id,
            step_id=step_run.step.id,
            ok=result.ok,
            summary=result.summary,
            duration_ms=round((time.perf_counter() - started) * 1000),
            changed=changed,
            after=await _tree_after(run, step_run, changed),
        )
    )


async def _tree_after(run: Run, step_run: StepRun, changed: tuple[str, ...]) -> str:
    """Return the tree as the step left it, with the changes of the compensation; empty if it changed nothing.

    Other differences are edits of other people, and a rollback must still see them as such.
    """
    if not changed or not step_run.after:
        return ""
    paths = [as_path(path) for path in changed]
    return await asyncio.to_thread(run.workspace.with_paths_from, step_run.after, await run.snapshot(), paths)


async def _finish_interrupted(run: Run, step_run: StepRun, earlier: Compensation, undo: _Undo) -> None:
    arguments = ", ".join(f"{name}={value!r}" for name, value in earlier.arguments.items())
    call = f"{earlier.tool}({arguments[:500]}), which undoes {earlier.undoes},"
    if await ask_whether_done(run, call, step_run.step.id, earlier.id):
        summary = "It was interrupted, and a person says that it was done."
        await run.record(
            e.CompensationFinished(compensation_id=earlier.id, step_id=step_run.step.id, ok=True, summary=summary)
        )
        return
    await _perform(run, step_run, undo)
