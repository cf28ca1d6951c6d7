"""After a failed step: reflect, ask the ladder for a rung, undo what the try left behind, carry the rung out."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from surefoot import events as e
from surefoot.asking import ask_for
from surefoot.context import briefing, step_text
from surefoot.drafts import CallDraft, ReflectionDraft, StepDraft
from surefoot.errors import ModelError
from surefoot.gates import decisive, worth_keeping
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
from surefoot.phases.candidates import can_choose
from surefoot.phases.fingerprints import fingerprint
from surefoot.phases.performing import tool_context
from surefoot.phases.rolling_back import roll_back
from surefoot.phases.second_look import passes_now
from surefoot.plan import Check, Condition, ExecutionStep
from surefoot.project import list_files
from surefoot.prompts import render
from surefoot.reflection import lesson, reflect_by_rules
from surefoot.run import Run, Stopped
from surefoot.state import StepRun

_FUSES = {
    FailureKind.LOOP: Verdict.LOOP,
    FailureKind.NO_PROGRESS: Verdict.LOOP,
    FailureKind.MAX_ACTIONS: Verdict.LOOP,
    FailureKind.TIMEOUT: Verdict.TIME,
}
"""What ends a step that would not end by itself ends the run with a verdict, and an exit code, of its own."""


async def recover(run: Run) -> None:
    """Takes the run from RECOVERY to wherever the chosen rung leads."""
    mine = _half_way(run)
    if mine is None:
        mine = run.state.steps[run.state.failed[0]]
        if await passes_now(run, mine):
            return
        await _choose(run, mine)
    await roll_back(run, mine)
    await _carry_out(run, mine, Rung(mine.rungs[-1]), mine.failures[-1], mine.reflections[-1])


def _half_way(run: Run) -> StepRun | None:
    """The step whose rung was chosen, and counted, before a process that then ended: that rung is carried out first."""
    state = run.state
    mine = state.steps.get(state.recovering)
    if mine is None or mine.status is not StepStatus.FAILED or state.recovering in state.failed:
        return None
    # A step whose failure has a branch of its own stays failed, and nothing more is to be done about it.
    return None if mine.rungs[-1] == Rung.FAILURE_BRANCH and state.failed else mine


async def _choose(run: Run, mine: StepRun) -> None:
    step_id, failure = mine.step.id, mine.failures[-1]
    # Resuming in the middle must not reflect twice on the same failure.
    if len(mine.reflections) < len(mine.failures):
        reflection = await _reflect(run, mine, failure)
        others = _alternative_tools(run, mine) if reflection.category is ErrorCategory.TOOL_ERROR else ()
        keep = worth_keeping(mine.baseline, mine.checks)
        found = reflection.with_(keep=keep, alternative_tool=next(iter(others), ""))
        await run.record(e.Reflected(step_id=step_id, reflection=found))
    rung, why = next_rung(_facts(run, mine, failure, mine.reflections[-1]))
    await run.record(e.RungChosen(step_id=step_id, rung=rung, why=why))


async def _reflect(run: Run, mine: StepRun, failure: Failure) -> StepReflection:
    modules = frozenset(path.split("/")[0].removesuffix(".py") for path in list_files(run.root) if path.endswith(".py"))
    reflection = reflect_by_rules(failure, modules, frozenset(mine.step.writes))
    if reflection is not None:
        return reflection
    unknown = StepReflection(category=ErrorCategory.UNKNOWN, root_cause=failure.message, confidence=0.1)
    # What a small model thinks of its failure is worth no more than what it did: rather it tries something else.
    is_at_its_best = run.model.traits.small and can_choose(run, mine)
    if not run.config.reflection.enable_step_level_reflection or is_at_its_best:
        return unknown
    prompt = render("reflect", step=step_text(mine.step), failure=f"{failure.message}\n{failure.evidence}")
    try:
        draft = await ask_for(run, "reflect", briefing(run) + "\n\n" + prompt, ReflectionDraft, step_id=mine.step.id)
    except ModelError:
        # Not knowing why is no reason to stop: the ladder has a way for unknown causes.
        return unknown
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
        would_repeat=_tried(mine, _tool_of(mine), reflection.adjusted_parameters),
        critical=step.critical,
        has_fallback=step.fallback is not None,
        has_failure_branch=any(
            d.depends_on == step.id and d.condition is not Condition.SUCCESS for d in run.state.plan.dependencies
        ),
        can_choose=can_choose(run, mine),
        small_model=run.model.traits.small,
        has_chosen=Rung.CANDIDATES in mine.rungs and any(c.origin != "plan" for c in _red(mine)),
        alternatives_left=alternatives_left(run),
        may_replan=run.config.dynamic,
    )


def _red(mine: StepRun) -> list[Check]:
    return [result.check for result in decisive(mine.checks or mine.baseline) if not result.passed]


def _tool_of(mine: StepRun) -> str:
    return mine.tool or mine.step.tool


def _alternative_tools(run: Run, mine: StepRun) -> Sequence[str]:
    """Other tools for the same job that have not failed at it yet."""
    used = [name for name in (_tool_of(mine), mine.step.tool) if name in run.toolbox]
    named = dict.fromkeys(other for name in used for other in run.toolbox.get(name).alternatives)
    return [name for name in named if name in run.toolbox and not _tried(mine, name)]


def _tried(mine: StepRun, tool: str, changes: Mapping[str, Any] | None = None) -> bool:
    """Whether the step is one fixed call, and exactly this one has failed before."""
    arguments = {**mine.step.parameters, **mine.parameters, **(changes or {})}
    return bool(mine.step.tool) and fingerprint(tool, arguments, "") in mine.failed_fingerprints


async def _carry_out(run: Run, mine: StepRun, rung: Rung, failure: Failure, reflection: StepReflection) -> None:
    step_id = mine.step.id
    match rung:
        case Rung.RETRY_LATER:
            await asyncio.sleep(run.config.reflection.backoff_seconds * 2 ** (mine.temporary_retries - 1))
            await _again(run, mine, rung, "")
        case Rung.ADJUST_PARAMETERS | Rung.CANDIDATES:
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
            verdict = _FUSES.get(failure.kind, Verdict.FAILED)
            raise Stopped(verdict, f"the step '{mine.step.name}' ({step_id}) failed: {failure.message}")


async def _again(
    run: Run, mine: StepRun, rung: Rung, note: str, *, parameters: dict[str, Any] | None = None, tool: str = ""
) -> None:
    await run.record(
        e.StepReset(step_id=mine.step.id, rung=rung, note=note, parameters=parameters or {}, tool=tool),
        e.StageEntered(stage=Stage.EXECUTION, reason=rung.value),
    )


async def _repair(run: Run, mine: StepRun, failure: Failure, reflection: StepReflection) -> None:
    """The one step is planned again, under its id; the others stay as they are."""
    failed = "\n".join([failure.message, failure.evidence[:800], f"Cause: {reflection.root_cause}", *mine.notes[-3:]])
    try:
        repaired = await (_other_call if mine.step.tool else _other_way)(run, mine, failed)
    except ModelError:
        repaired = mine.step
    if repaired != mine.step:
        await run.record(e.PlanRevised(by="engine", reason=f"repair: {reflection.root_cause}", changed=(repaired,)))
    # What earlier tries changed about the call must not get the better of the repair.
    await _again(
        run,
        mine,
        Rung.REPAIR_STEP,
        lesson(failure, reflection),
        parameters=repaired.parameters,
        tool=repaired.tool,
    )


async def _other_way(run: Run, mine: StepRun, failed: str) -> ExecutionStep:
    prompt = briefing(run) + "\n\n" + render("repair", step=step_text(mine.step), failed=failed)
    draft = await ask_for(run, "repair", prompt, StepDraft, step_id=mine.step.id, temperature=0.3)
    return step_from(draft, mine.step, run.state.protected)


async def _other_call(run: Run, mine: StepRun, failed: str) -> ExecutionStep:
    """A step that is one call is repaired by choosing another one."""
    tools = run.toolbox.describe(run.toolbox.usable(tool_context(run)))
    asked = render("repair_call", step=step_text(mine.step), failed=failed, tools=tools)
    prompt = briefing(run) + "\n\n" + asked
    draft = await ask_for(run, "repair", prompt, CallDraft, step_id=mine.step.id, temperature=0.3)
    if draft.tool not in run.toolbox:
        return mine.step
    return mine.step.with_(tool=draft.tool, parameters=draft.arguments)


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
