"""After a failed step: reflect, ask the ladder for a rung, undo what the try left behind, carry the rung out."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from surefoot import events as e
from surefoot.asking import ask_for
from surefoot.context import briefing, step_text
from surefoot.drafts import ReflectionDraft, StepDraft
from surefoot.errors import ModelError, UsageError
from surefoot.ladder import Facts, next_rung
from surefoot.machine import Rung, Stage, StepStatus
from surefoot.mending import step_from
from surefoot.outcome import (
    ErrorCategory,
    ExecutionStatus,
    Failure,
    FailureKind,
    StepExecutionOutput,
    StepReflection,
    Verdict,
)
from surefoot.phases.approach import alternatives_left
from surefoot.phases.step import take_back
from surefoot.plan import Condition
from surefoot.project import list_files
from surefoot.prompts import render
from surefoot.reflection import lesson, reflect_by_rules
from surefoot.run import Run, Stopped
from surefoot.state import RunState, StepRun
from surefoot.tools.registry import Toolbox


async def recover(run: Run) -> None:
    """Takes the run from RECOVERY to wherever the chosen rung leads."""
    step_id = run.state.failed[0]
    mine = run.state.steps[step_id]
    failure = mine.failures[-1]
    # Resuming in the middle must not reflect twice on the same failure.
    if len(mine.reflections) < len(mine.failures):
        await run.record(e.Reflected(step_id=step_id, reflection=await _reflect(run, mine, failure)))
    reflection = mine.reflections[-1]
    rung, why = next_rung(_facts(run, mine, failure, reflection))
    await run.record(e.RungChosen(step_id=step_id, rung=rung, why=why))
    await _roll_back(run, mine)
    await _carry_out(run, mine, rung, failure, reflection)


async def _reflect(run: Run, mine: StepRun, failure: Failure) -> StepReflection:
    modules = frozenset(path.split("/")[0].removesuffix(".py") for path in list_files(run.root) if path.endswith(".py"))
    reflection = reflect_by_rules(failure, modules)
    if reflection is not None:
        return reflection
    prompt = render("reflect", step=step_text(mine.step), failure=f"{failure.message}\n{failure.evidence}")
    try:
        draft = await ask_for(run, "reflect", briefing(run) + "\n\n" + prompt, ReflectionDraft, step_id=mine.step.id)
    except ModelError:
        # Not knowing why is no reason to stop: the ladder has a way for unknown causes.
        return StepReflection(category=ErrorCategory.UNKNOWN, root_cause=failure.message, confidence=0.1)
    return StepReflection(
        category=ErrorCategory(draft.category),
        root_cause=draft.root_cause or failure.message,
        recoverable=draft.recoverable,
        suggested_fix=draft.fix,
        adjusted_parameters=draft.parameters if mine.step.tool else {},
        confidence=0.5,
        evidence=failure.evidence[:800],
        decided_by="model",
    )


def _facts(run: Run, mine: StepRun, failure: Failure, reflection: StepReflection) -> Facts:
    assert run.state.plan is not None
    step = mine.step
    return Facts(
        limits=run.config.reflection,
        category=reflection.category,
        recoverable=reflection.recoverable,
        temporary=failure.temporary,
        retries=mine.retries,
        temporary_retries=mine.temporary_retries,
        repairs=mine.repairs,
        replans=run.state.replans,
        consecutive_failures=run.state.consecutive_failures,
        has_alternative_tool=bool(_alternative_tools(run, mine)),
        critical=step.critical,
        has_fallback=step.fallback is not None,
        has_failure_branch=any(
            d.depends_on == step.id and d.condition is not Condition.SUCCESS for d in run.state.plan.dependencies
        ),
        alternatives_left=alternatives_left(run),
        may_replan=run.config.dynamic,
    )


def _alternative_tools(run: Run, mine: StepRun) -> Sequence[str]:
    used = mine.tool or mine.step.tool
    if not used or used not in run.toolbox:
        return ()
    return [name for name in run.toolbox.get(used).alternatives if name in run.toolbox]


async def _roll_back(run: Run, mine: StepRun) -> None:
    """The workspace as it was before the step's attempt: exactly, whatever made the change.

    A step that only the final tree refuted is left in place: later steps have built on it."""
    refuted = mine.failures[-1].kind is FailureKind.REFUTED
    if not run.config.enable_auto_rollback or not mine.snapshot or refuted:
        return
    report = await take_back(run, mine.step.id, mine.snapshot, known=mine.after)
    paths = tuple(path for path in (*report.removed, *report.written, *report.adjusted) if path != ".")
    await run.record(e.RolledBack(step_id=mine.step.id, snapshot=mine.snapshot, paths=paths))


async def _carry_out(run: Run, mine: StepRun, rung: Rung, failure: Failure, reflection: StepReflection) -> None:
    step_id = mine.step.id
    match rung:
        case Rung.RETRY_LATER:
            await asyncio.sleep(run.config.reflection.backoff_seconds * 2 ** (mine.temporary_retries - 1))
            await _again(run, mine, rung, "")
        case Rung.ADJUST_PARAMETERS:
            await _again(run, mine, rung, lesson(failure, reflection), parameters=reflection.adjusted_parameters)
        case Rung.ALTERNATIVE_TOOL:
            await _again(run, mine, rung, "", tool=_alternative_tools(run, mine)[0])
        case Rung.REPAIR_STEP:
            await _repair(run, mine, failure, reflection)
        case Rung.SKIP_STEP:
            await _settle(run, mine, StepStatus.SKIPPED, f"skipped: {reflection.root_cause}")
        case Rung.FALLBACK:
            await _settle(run, mine, StepStatus.DEGRADED, "stand-in result, declared in the plan")
        case Rung.FAILURE_BRANCH:
            await run.enter(Stage.EXECUTION, f"'{mine.step.name}' failed; going on with the steps for that")
        case Rung.REPLAN_TASK:
            await run.enter(Stage.PLANNING, f"replanning: {reflection.root_cause}")
        case Rung.NEXT_APPROACH:
            await run.enter(Stage.APPROACH, f"next approach: {reflection.root_cause}")
        case Rung.GIVE_UP:
            circles = failure.kind in (FailureKind.LOOP, FailureKind.NO_PROGRESS)
            verdict = Verdict.LOOP if circles else Verdict.FAILED
            raise Stopped(verdict, f"the step '{mine.step.name}' ({step_id}) failed: {failure.message}")


async def _again(
    run: Run, mine: StepRun, rung: Rung, note: str, *, parameters: dict[str, object] | None = None, tool: str = ""
) -> None:
    await run.record(
        e.StepReset(step_id=mine.step.id, rung=rung, note=note, parameters=parameters or {}, tool=tool),
        e.StageEntered(stage=Stage.EXECUTION, reason=rung.value),
    )


async def _repair(run: Run, mine: StepRun, failure: Failure, reflection: StepReflection) -> None:
    """The one step is planned again, under its id; the others stay as they are."""
    failed = "\n".join([failure.message, failure.evidence[:800], f"Cause: {reflection.root_cause}", *mine.notes[-3:]])
    prompt = render("repair", step=step_text(mine.step), failed=failed)
    try:
        draft = await ask_for(
            run, "repair", briefing(run) + "\n\n" + prompt, StepDraft, step_id=mine.step.id, temperature=0.3
        )
    except ModelError:
        repaired = mine.step
    else:
        repaired = step_from(draft, mine.step, run.state.protected)
    if repaired != mine.step:
        await run.record(e.PlanRevised(by="engine", reason=f"repair: {reflection.root_cause}", changed=(repaired,)))
    await _again(run, mine, Rung.REPAIR_STEP, lesson(failure, reflection))


async def _settle(run: Run, mine: StepRun, status: StepStatus, reason: str) -> None:
    degraded = status is StepStatus.DEGRADED
    output = StepExecutionOutput(
        step_id=mine.step.id,
        status=ExecutionStatus.PARTIAL_SUCCESS if degraded else ExecutionStatus.SKIPPED,
        outputs={"result": mine.step.fallback} if degraded else {},
        logs=(reason,),
        degraded=degraded,
    )
    await run.record(
        e.StepFinished(step_id=mine.step.id, status=status, attempt=mine.attempt, output=output),
        e.StageEntered(stage=Stage.EXECUTION, reason=reason),
    )


# -- a person asks for a step again ------------------------------------------------------------------------------------


def overridden(
    state: RunState, toolbox: Toolbox, step_id: str, parameters: Mapping[str, Any], tool: str
) -> list[e.Event]:
    """What gives the step another try as a person wants it; refuses what cannot be."""
    if state.stage is Stage.COMPLETED:
        remedy = f"carry its plan out once more: surefoot run --based-on {state.run_id} --from-phase execution"
        raise UsageError(f"run {state.run_id} is finished, so its steps stay as they are", remedy=remedy)
    if step_id not in state.steps:
        known = ", ".join(state.steps) or "it has none yet"
        raise UsageError(f"run {state.run_id} has no step {step_id!r}", remedy=f"its steps: {known}")
    mine = state.steps[step_id]
    if mine.status is StepStatus.PENDING:
        raise UsageError(
            f"the step {step_id!r} waits for its turn", remedy=f"go on with: surefoot resume {state.run_id}"
        )
    rung = Rung.ALTERNATIVE_TOOL if tool else Rung.ADJUST_PARAMETERS
    reset = e.StepReset(step_id=step_id, rung=rung, by="user", parameters=dict(parameters), tool=tool)
    blocked = [e.StepReset(step_id=s, rung=Rung.RETRY_LATER, by="user") for s in _blocked_by(state, step_id)]
    if not parameters and not tool:
        return [reset, *blocked]
    named = tool or mine.tool or mine.step.tool
    if not named:
        raise UsageError(f"the step {step_id!r} names no tool, so it has no parameters", remedy="name the tool as well")
    takes = toolbox.get(named).parameters.get("properties", {})
    if unknown := [name for name in parameters if name not in takes]:
        raise UsageError(f"{named} has no parameter {unknown[0]!r}", remedy=f"it has: {', '.join(takes) or 'none'}")
    if not tool:
        return [reset, *blocked]
    # Another tool takes what it knows of the step's parameters. A step that a model decided on becomes this one call.
    fitting = {name: value for name, value in mine.step.parameters.items() if name in takes}
    call = mine.step.with_(tool=tool, parameters=fitting)
    return [e.PlanRevised(by="user", reason=f"a person chose {tool}", changed=(call,)), reset, *blocked]


def _blocked_by(state: RunState, step_id: str) -> list[str]:
    """Steps that could not run because of this one, directly or through others."""
    assert state.plan is not None
    found: list[str] = []
    reached = [step_id]
    while reached:
        above = reached.pop()
        below = [d.step_id for d in state.plan.dependencies if d.depends_on == above]
        new = [s for s in below if state.steps[s].status is StepStatus.BLOCKED and s not in found]
        found += new
        reached += new
    return found
