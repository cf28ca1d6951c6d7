"""Recovers from a failed step: diagnose, ask the ladder for a rung, undo the attempt, carry the rung out."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from surefoot.core.outcome import ErrorCategory, Failure, FailureKind, StepReflection, Verdict, decisive
from surefoot.core.phases import EXECUTION_STATUS, StepExecutionOutput
from surefoot.core.plan import Check, Condition, ExecutionStep
from surefoot.core.transitions import Rung, Stage, StepStatus
from surefoot.engine.planner.criteria import worth_keeping
from surefoot.engine.planner.normalize_full import changed_step
from surefoot.engine.reflector.candidates import can_try_candidates
from surefoot.engine.reflector.diagnose import diagnose_by_rules, diagnosed_by_model, lesson, tool_failed, weighed
from surefoot.engine.reflector.flaky import passes_now
from surefoot.engine.reflector.ladder import Facts, next_rung
from surefoot.engine.reflector.rollback import roll_back
from surefoot.engine.resume import resolve_conflict
from surefoot.engine.runtime.run import Run
from surefoot.engine.runtime.stop import VERDICTS, Stopped
from surefoot.errors import ModelError, RestoreConflict
from surefoot.journal import events as e
from surefoot.journal.state import Action, StepRun
from surefoot.project.folder import list_files
from surefoot.prompting.context import summarise_outputs
from surefoot.prompting.proposal import fingerprint


async def recover(run: Run) -> None:
    """Take the run from RECOVERY to wherever the chosen rung leads.

    If the failed step cannot be undone, because someone changed its files meanwhile, a person decides.
    """
    try:
        step_run = _interrupted_recovery(run)
        if step_run is None:
            step_run = run.state.steps[run.state.failed[0]]
            if await passes_now(run, step_run):
                return
            await _choose_rung(run, step_run)
        await roll_back(run, step_run)
        while not await _carry_out(run, step_run, Rung(step_run.rungs[-1]), step_run.failures[-1]):
            # The repair gave a call that has failed before, which must not be repeated unchanged.
            await _choose_rung(run, step_run)
            await roll_back(run, step_run)
    except RestoreConflict as conflict:
        await resolve_conflict(run, conflict)


def _interrupted_recovery(run: Run) -> StepRun | None:
    """Return the step whose rung was chosen and counted before an earlier process ended; None if there is none.

    That rung is carried out first.
    """
    state = run.state
    step_run = state.failed_step
    if step_run is None or state.recovering in state.failed:
        return None
    # A step with a failure branch stays failed, and needs no further recovery.
    return None if step_run.rungs[-1] == Rung.FAILURE_BRANCH and state.failed else step_run


async def _choose_rung(run: Run, step_run: StepRun) -> None:
    step_id, failure = step_run.step.id, step_run.failures[-1]
    # A resumed recovery must not diagnose the same failure twice.
    if len(step_run.reflections) < len(step_run.failures):
        reflection = await diagnose(run, step_run, failure)
        others = _alternative_tools(run, step_run) if reflection.category is ErrorCategory.TOOL_ERROR else ()
        keep = worth_keeping(step_run.results_before, step_run.results)
        reflection = reflection.with_(keep=keep, alternative_tool=next(iter(others), ""))
        await run.record(e.Reflected(step_id=step_id, reflection=reflection))
    rung, why = next_rung(_facts(run, step_run, failure, step_run.reflections[-1]))
    await run.record(e.RungChosen(step_id=step_id, rung=rung, why=why))


async def diagnose(run: Run, step_run: StepRun, failure: Failure, *, on_request: bool = False) -> StepReflection:
    """Find the cause of a failure by rules, or ask the model if no rule fits.

    `on_request`: ask the model even where a run would not.
    """
    if (last := _failed_action(step_run)) is not None and last.temporary and not step_run.step.tool:
        return weighed(tool_failed(failure, last.tool, last.summary), step_run.reflections)
    modules = frozenset(path.split("/")[0].removesuffix(".py") for path in list_files(run.root) if path.endswith(".py"))
    reflection = diagnose_by_rules(failure, modules, frozenset(step_run.step.writes))
    if reflection is not None:
        return weighed(reflection, step_run.reflections)
    unknown = StepReflection(category=ErrorCategory.UNKNOWN, root_cause=failure.message, confidence=0.1)
    candidates_instead = not run.profile.diagnose_before_candidates and can_try_candidates(run, step_run)
    if not on_request and (not run.config.reflection.enable_step_level_reflection or candidates_instead):
        return unknown
    try:
        draft = await run.strategy.diagnose(step_run, failure)
    except ModelError:
        # The ladder can handle unknown causes.
        return unknown
    category = ErrorCategory(draft.category)
    reflection = diagnosed_by_model(failure, category, draft.root_cause, draft.confidence, step_run.reflections)
    return reflection.with_(
        recoverable=draft.recoverable,
        suggested_fix=draft.fix,
        adjusted_parameters=draft.parameters if step_run.step.tool else {},
    )


def _facts(run: Run, step_run: StepRun, failure: Failure, reflection: StepReflection) -> Facts:
    step, state, profile = step_run.step, run.state, run.profile
    assert state.plan is not None
    later_plan = bool(state.task_replan_count or state.approach_index)
    return Facts(
        limits=run.config.reflection,
        category=reflection.category,
        recoverable=reflection.recoverable,
        confidence=reflection.confidence,
        temporary=failure.temporary,
        max_retries=step.max_retries,
        step_retry_count=step_run.step_retry_count,
        temporary_retries=step_run.temporary_retries,
        single_step_repair_count=step_run.single_step_repair_count,
        task_replan_count=state.task_replan_count,
        consecutive_failures=state.consecutive_failures,
        has_alternative_tool=bool(_alternative_tools(run, step_run)),
        would_repeat=_failed_before(step_run, _tool_of(step_run), reflection.adjusted_parameters),
        critical=step.critical,
        has_fallback=step.fallback is not None,
        has_failure_branch=any(
            d.depends_on == step.id and d.condition is not Condition.SUCCESS for d in state.plan.dependencies
        ),
        can_try_candidates=can_try_candidates(run, step_run),
        candidates_first=profile.candidates_first,
        candidates_failed=Rung.CANDIDATES in step_run.rungs and any(c.origin != "plan" for c in _red_checks(step_run)),
        candidates_in_earlier_plan=profile.candidates_first and state.had_candidates and later_plan,
        approach_index=state.approach_index,
        alternative_approaches=_approaches_to_try(run),
        replan_requested=failure.kind is FailureKind.REPLAN_REQUESTED,
        may_change_plan=run.config.dynamic,
    )


def _approaches_to_try(run: Run) -> int:
    """Count the alternative approaches that may be tried."""
    output = run.state.approach.output if run.state.approach else None
    limit = run.config.reflection.max_alternative_approaches
    most = run.profile.alternative_approaches if limit is None else limit
    return min(len(output.alternatives) if output else 0, most)


def _red_checks(step_run: StepRun) -> list[Check]:
    return [result.check for result in decisive(step_run.newest_results) if not result.passed]


def _failed_action(step_run: StepRun) -> Action | None:
    """Return the last action of the attempt, if it failed."""
    last = step_run.actions[-1] if step_run.actions else None
    return last if last is not None and last.ok is False else None


def _tool_of(step_run: StepRun) -> str:
    """Return the tool of the step's call; for a step in which a model chooses them, the one that failed last."""
    failed = _failed_action(step_run)
    return step_run.tool or step_run.step.tool or (failed.tool if failed else "")


def _alternative_tools(run: Run, step_run: StepRun) -> Sequence[str]:
    """Return other tools for the same job that have not failed at it yet."""
    used = [name for name in (_tool_of(step_run), step_run.step.tool) if name in run.toolbox]
    alternatives = dict.fromkeys(other for name in used for other in run.toolbox.get(name).alternatives)
    past = zip(step_run.reflections, step_run.rungs, strict=False)
    suggested = {reflection.alternative_tool for reflection, rung in past if rung == Rung.ALTERNATIVE_TOOL}
    usable = [name for name in alternatives if name in run.toolbox and not _failed_before(step_run, name)]
    return usable if step_run.step.tool else [name for name in usable if name not in suggested]


def _failed_before(step_run: StepRun, tool: str, changes: Mapping[str, Any] | None = None) -> bool:
    """Whether the step is one fixed call, and exactly this call has failed before."""
    arguments = {**step_run.step.parameters, **step_run.parameters, **(changes or {})}
    return bool(step_run.step.tool) and fingerprint(tool, arguments, "") in step_run.failed_fingerprints


async def _carry_out(run: Run, step_run: StepRun, rung: Rung, failure: Failure) -> bool:
    """Carry the rung out. Returns False if it led nowhere, so that the next one has to be chosen."""
    reflection = step_run.reflections[-1]
    match rung:
        case Rung.RETRY_LATER:
            await asyncio.sleep(run.config.reflection.wait_seconds(step_run.temporary_retries))
            await _retry(run, step_run, rung, "")
        case Rung.ADJUST_PARAMETERS | Rung.CANDIDATES:
            note = lesson(failure, reflection)
            await _retry(run, step_run, rung, note, parameters=reflection.adjusted_parameters)
        case Rung.ALTERNATIVE_TOOL:
            await _use_other_tool(run, step_run, failure, reflection)
        case Rung.REPAIR_STEP:
            return await _repair(run, step_run, failure, reflection)
        case Rung.SKIP_STEP:
            await _end_without_result(run, step_run, StepStatus.SKIPPED, f"skipped: {reflection.root_cause}")
        case Rung.FALLBACK:
            await _end_without_result(run, step_run, StepStatus.DEGRADED, "fallback result, declared in the plan")
        case Rung.FAILURE_BRANCH:
            await run.enter(Stage.EXECUTION, f"'{step_run.step.name}' failed; going on with the steps for that")
        case Rung.REPLAN_TASK:
            await run.enter(Stage.PLANNING, f"replanning: {reflection.root_cause}")
        case Rung.NEXT_APPROACH:
            await run.enter(Stage.APPROACH, f"next approach: {reflection.root_cause}")
        case Rung.GIVE_UP:
            step = step_run.step
            verdict = VERDICTS.get(failure.kind, Verdict.FAILED)
            raise Stopped(verdict, f"the step '{step.name}' ({step.id}) failed: {failure.message}")
    return True


async def _use_other_tool(run: Run, step_run: StepRun, failure: Failure, reflection: StepReflection) -> None:
    """Call another tool with the same arguments. If a model chooses the calls, tell it to use that tool."""
    other = reflection.alternative_tool or _alternative_tools(run, step_run)[0]
    if step_run.step.tool:
        await _retry(run, step_run, Rung.ALTERNATIVE_TOOL, "", tool=other)
        return
    note = f"{lesson(failure, reflection)} Use {other} instead of {_tool_of(step_run)}."
    await _retry(run, step_run, Rung.ALTERNATIVE_TOOL, note)


async def _retry(
    run: Run, step_run: StepRun, rung: Rung, note: str, *, parameters: dict[str, Any] | None = None, tool: str = ""
) -> None:
    await run.record(
        e.StepReset(step_id=step_run.step.id, rung=rung, note=note, parameters=parameters or {}, tool=tool),
        e.StageEntered(stage=Stage.EXECUTION, reason=rung.value),
    )


async def _repair(run: Run, step_run: StepRun, failure: Failure, reflection: StepReflection) -> bool:
    """Plan this one step again, under the same id. Returns False if that would only repeat a call that failed."""
    try:
        repaired = await repair_step(run, step_run, what_failed(step_run))
    except ModelError:
        repaired = step_run.step
    changed = repaired != step_run.step
    call = {**({} if changed else step_run.parameters), **repaired.parameters}
    if repaired.tool and fingerprint(repaired.tool, call, "") in step_run.failed_fingerprints:
        return False
    if changed:
        await run.record(e.PlanRevised(by="engine", reason=f"repair: {reflection.root_cause}", changed=(repaired,)))
    # The repair replaces the changes that earlier attempts made to the call.
    await _retry(
        run,
        step_run,
        Rung.REPAIR_STEP,
        lesson(failure, reflection),
        parameters=repaired.parameters,
        tool=repaired.tool,
    )
    return True


def what_failed(step_run: StepRun) -> str:
    """Describe the last failure for a model that plans the step differently."""
    failure, reflection = step_run.failures[-1], step_run.reflections[-1]
    cause = f"Cause: {reflection.root_cause}"
    return "\n".join([failure.message, failure.evidence[:800], cause, *step_run.notes[-3:]])


async def repair_step(run: Run, step_run: StepRun, failed: str) -> ExecutionStep:
    """Ask the model for another way to do a step. A step that is one call gets another call."""
    step = step_run.step
    if step.tool:
        call = await run.strategy.repair_call(step_run, failed)
        return step.with_(tool=call.tool, parameters=call.arguments) if call.tool in run.toolbox else step
    draft = await run.strategy.repair_step(step_run, failed)
    return changed_step(draft, step, run.not_writable)


async def _end_without_result(run: Run, step_run: StepRun, status: StepStatus, reason: str) -> None:
    """End a failed step without a result of its own: skipped, or with its declared fallback, marked as degraded."""
    step, artifact = step_run.step, None
    outputs: dict[str, Any] = {}
    if degraded := status is StepStatus.DEGRADED:
        outputs = {"result": step.fallback}
        artifact, references = run.artifacts.keep(step_run, outputs)
        artifact = artifact.with_(degraded=True, summary=summarise_outputs(outputs)) if artifact else None
        # A short result is stored in the event itself, because no action has made it.
        outputs = references or outputs
    output = StepExecutionOutput(
        step_id=step.id,
        status=EXECUTION_STATUS[status],
        outputs=outputs,
        logs=(reason,),
        degraded=degraded,
    )
    await run.record(
        e.StepFinished(step_id=step.id, status=status, attempt=step_run.attempt, output=output, artifact=artifact),
        e.StageEntered(stage=Stage.EXECUTION, reason=reason),
    )
