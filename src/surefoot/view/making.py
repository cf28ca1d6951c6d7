"""Makes the rows of a run from its view. Pure."""

from typing import Any, cast

from surefoot.core.phases import PhaseResult, PhaseStatus
from surefoot.core.transitions import PHASE_NAMES, RunStatus, Stage, StepStatus
from surefoot.journal.run_status import status_of
from surefoot.journal.state import RunState
from surefoot.view.questions import question_row
from surefoot.view.rows import (
    Counters,
    DiagnosisRow,
    PhaseRow,
    Row,
    RunRow,
    StepCounts,
)
from surefoot.view.state import RunView
from surefoot.view.steps import is_healed, step_row, try_row


def build(view: RunView, key: str) -> Row:
    kind, _, name = key.partition(":")
    match kind:
        case "run":
            return run_row(view)
        case "phase":
            return phase_row(view, name)
        case "step":
            return view.gone[name] if name in view.gone else step_row(view, name)
        case "try":
            return try_row(view, *name.rsplit(":", 1))
        case "question":
            return question_row(view.state, name)
        case "revision":
            return view.revisions[int(name) - 1]
    return view.actions[key]


def reason_for_plan(view: RunView) -> str:
    return "the first plan" if not view.revisions else view.state.stage_reason or "the task was planned again"


# -- the run --------------------------------------------------------------------------------------------------------


def run_row(view: RunView) -> RunRow:
    state = view.state
    outcome, task, budget = state.outcome, state.task, state.config.budget
    diagnosis = outcome.diagnosis if outcome else None
    tokens = (state.prompt_tokens, state.output_tokens, state.cached_tokens)
    status = run_status(view)
    return {
        "key": "run",
        "kind": "run",
        "id": state.run_id,
        "title": _first_line(task.text if task else ""),
        "task": task.text if task else "",
        "folder": task.workspace if task else "",
        "model": state.model,
        "strategy": "conversation" if state.conversations else None,
        "stage": str(state.stage),
        "state": state.orchestration,
        "status": status,
        "verdict": str(outcome.verdict) if outcome else None,
        "exit_code": (0 if status == "plan" else outcome.exit_code) if outcome else None,
        "proof": outcome.proof.letter if outcome else None,
        "summary": outcome.summary if outcome else "",
        "reason": state.stage_reason,
        "started_at": state.started_at,
        "updated_at": state.updated_at,
        "ended_at": view.ended_at,
        "active_seconds": round(state.active_seconds, 3),
        "tokens": {"prompt": tokens[0], "output": tokens[1], "cached": tokens[2]},
        "cost_usd": None if state.unpriced_calls else round(state.cost_usd, 6),
        "limits": {
            "tokens": budget.max_tokens,
            "cost_usd": budget.max_cost_usd,
            "seconds": budget.max_seconds,
            "tool_calls": budget.max_tool_calls,
        },
        "calls": {"model": state.model_calls, "tool": state.tool_calls},
        "counters": _counters(state),
        "revisions": len(view.revisions),
        "open_questions": len(state.open_questions),
        "steps": step_counts(state),
        "now": view.now if view.live or not state.in_progress else None,
        "next_try": view.next_try if view.live or not state.in_progress else None,
        "live": view.live,
        "diagnosis": cast(DiagnosisRow, diagnosis.model_dump(mode="json")) if diagnosis else None,
        "forked_from": view.based_on or None,
        "warnings": [*state.warnings[-20:], *view.refusals[-5:]],
        "seq": state.seq,
    }


def run_status(view: RunView) -> RunStatus:
    return status_of(view.state, live=view.live)


def _counters(state: RunState) -> Counters:
    limits, step_run = state.config.reflection, state.steps.get(state.recovering)
    return {
        "step_retry_count": {"value": step_run.step_retry_count if step_run else 0, "max": limits.max_step_retries},
        "single_step_repair_count": {
            "value": step_run.single_step_repair_count if step_run else 0,
            "max": limits.max_single_step_repairs,
        },
        "task_replan_count": {"value": state.task_replan_count, "max": limits.max_task_replanning_attempts},
        "consecutive_failures": {"value": state.consecutive_failures, "max": limits.max_consecutive_failures},
    }


def step_counts(state: RunState) -> StepCounts:
    counts: StepCounts = {
        "total": len(state.steps), "done": 0, "failed": 0, "running": 0, "waiting": 0, "skipped": 0, "healed": 0,
    }  # fmt: skip
    asking = {question.step_id for question in state.open_questions}
    for step_id, step_run in state.steps.items():
        match step_run.status:
            case StepStatus.SUCCEEDED | StepStatus.PARTIAL | StepStatus.DEGRADED:
                counts["done"] += 1
            case StepStatus.FAILED:
                counts["failed"] += 1
            case StepStatus.SKIPPED | StepStatus.BLOCKED:
                counts["skipped"] += 1
            case StepStatus.RUNNING:
                counts["waiting" if step_id in asking else "running"] += 1
        counts["healed"] += is_healed(step_run)
    return counts


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0].rstrip()[:200]


# -- phases ---------------------------------------------------------------------------------------------------------


def phase_row(view: RunView, name: str) -> PhaseRow:
    state, span = view.state, view.phases.get(name)
    result = _result(state, name)
    validation = result.validation if result else None
    judged = result is not None and result.status is not PhaseStatus.SKIPPED
    refused = state.refusals.get(name, [])
    duration = result.duration_ms if result else None
    if name == "execution" and span:
        duration = round(((span.ended or state.updated_at) - span.began) * 1000)
    return {
        "key": f"phase:{name}",
        "kind": "phase",
        "name": cast(Any, name),
        "status": _phase_status(state, name, result),
        "confidence": validation.confidence if validation and judged else None,
        "messages": [*(validation.messages if validation else ()), *refused],
        "warnings": list(validation.warnings) if validation else [],
        "suggestions": list(validation.suggestions) if validation else [],
        "started_at": span.began if span else None,
        "duration_ms": duration,
        "retry_count": max(result.retry_count if result else 0, state.phase_attempts.get(name, 0)),
        "output": _output(result, name),
        "reason": (result.error or "") if result else "",
    }


def _result(state: RunState, name: str) -> PhaseResult[Any] | None:
    results: dict[str, PhaseResult[Any] | None] = {
        "understanding": state.understanding,
        "approach": state.approach,
        "planning": state.planning,
        "validation": state.validation,
    }
    return results.get(name)


def _output(result: PhaseResult[Any] | None, name: str) -> dict[str, Any] | None:
    """The output of a phase. That of planning is in the rows of the steps, and that of validation in the outcome."""
    if result is None or result.output is None or name not in ("understanding", "approach"):
        return None
    dumped: dict[str, Any] = result.output.model_dump(mode="json")
    return dumped


def current_phase(state: RunState) -> str:
    stage = state.stage
    if stage is Stage.WAITING:
        stage = state.before_waiting
    elif stage is Stage.FAILED:
        stage = state.failed_at or Stage.EXECUTION
    elif stage is Stage.COMPLETED:
        stage = Stage.VALIDATION if state.validation else Stage.PLANNING
    return "execution" if stage is Stage.RECOVERY else str(stage)


def _phase_status(state: RunState, name: str, result: PhaseResult[Any] | None) -> PhaseStatus:
    if result is not None and result.status is PhaseStatus.SKIPPED:
        return PhaseStatus.SKIPPED
    current = current_phase(state)
    position = PHASE_NAMES.index(name) - PHASE_NAMES.index(current)
    if position > 0:
        return PhaseStatus.PENDING
    if position < 0:
        # A phase before the first one of the run has neither a result nor a time.
        return PhaseStatus.SUCCESS if result is not None or name == "execution" else PhaseStatus.SKIPPED
    asked = any(not question.step_id for question in state.open_questions)
    if asked and state.stage is not Stage.FAILED:
        return PhaseStatus.AWAITING_CONFIRMATION
    ends = {Stage.FAILED: PhaseStatus.FAILED, Stage.COMPLETED: PhaseStatus.SUCCESS}
    return ends.get(state.stage, PhaseStatus.RUNNING)
