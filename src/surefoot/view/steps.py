"""Makes the rows of steps and of their attempts. Pure."""

from typing import Any

from surefoot.core.outcome import decisive
from surefoot.core.plan import Check
from surefoot.core.transitions import HAS_RESULT, SETTLED, StepStatus
from surefoot.journal.state import StepRun
from surefoot.tools.fs.tool_files import is_listed
from surefoot.view.rows import Bar, CheckRow, Colour, StepRow, TryRow
from surefoot.view.state import RunView, Try

TITLE_CHARS = 100
_TITLE_ARGUMENTS = ("command", "path", "pattern", "query", "url")


def action_title(tool: str, arguments: dict[str, Any]) -> str:
    """A tool call in short: the tool and its most informative argument, or all arguments."""
    argument = next((arguments[name] for name in _TITLE_ARGUMENTS if isinstance(arguments.get(name), str)), None)
    text = argument if argument is not None else ", ".join(f"{name}={value}" for name, value in arguments.items())
    return " ".join(f"{tool} {text}".split())[:TITLE_CHARS]


def is_healed(step_run: StepRun) -> bool:
    return bool(step_run.failures) and step_run.status in HAS_RESULT


def step_row(view: RunView, step_id: str) -> StepRow:
    state, tries = view.state, view.tries.get(step_id, [])
    step_run = state.steps[step_id]
    step, limits, output = step_run.step, state.config.reflection, step_run.output
    milestones = state.plan.milestones if state.plan else ()
    needs = list(state.depends_on.get(step_id, ()))
    files = _files(step_run)
    return {
        "key": f"step:{step_id}",
        "kind": "step",
        "id": step_id,
        "sequence": step.sequence,
        "name": step.name,
        "description": step.description,
        "type": str(step.step_type),
        "status": step_run.status,
        "ready": step_run.status is StepStatus.PENDING and all(state.steps[n].status in SETTLED for n in needs),
        "needs": needs,
        "critical": step.critical,
        "priority": step.priority,
        "healed": is_healed(step_run),
        "attempt": len(tries) or step_run.attempt,
        "max_attempts": 1 + limits.max_step_retries + limits.max_single_step_repairs,
        "started_at": tries[0].started_at if tries else None,
        "ended_at": tries[-1].ended_at
        if tries and step_run.status not in (StepStatus.PENDING, StepStatus.RUNNING)
        else None,
        "reason": _reason(step_run),
        "files": [path for path in files if is_listed(path)],
        "tool_files": sum(not is_listed(path) for path in files),
        "expected_outputs": list(step.expected_outputs),
        "milestone": next((m.name for m in milestones if step_id in m.step_ids), None),
        "estimated_minutes": step.estimated_duration,
        "revision_added": view.added_in.get(step_id, 1),
        "revision_removed": None,
        "checks": _checks(step_run),
        "bars": _bars(view, step_id, tries),
        "rungs": [str(rung) for rung in step_run.rungs],
        "degraded": step_run.status is StepStatus.DEGRADED or bool(output and output.degraded),
        "proven": output.proven if output and step_run.status in HAS_RESULT else None,
    }


def _reason(step_run: StepRun) -> str:
    """The reason for the status of a step: its last failure, or why it was skipped. Empty if there is none."""
    if step_run.status in (StepStatus.SKIPPED, StepStatus.BLOCKED, StepStatus.DEGRADED):
        logs = step_run.recorded_output.logs if step_run.recorded_output else ()
        return logs[-1] if logs else (step_run.failures[-1].message if step_run.failures else "")
    if step_run.status in (StepStatus.FAILED, StepStatus.PENDING, StepStatus.RUNNING) and step_run.failures:
        return step_run.failures[-1].message
    return ""


def _files(step_run: StepRun) -> list[str]:
    output = step_run.recorded_output
    changed = (*output.generated_files, *output.modified_files, *output.deleted_files) if output else ()
    return list(changed) or sorted(step_run.touched) or list(step_run.step.writes)


def _checks(step_run: StepRun) -> list[CheckRow]:
    before = {result.check.key: result.passed for result in step_run.results_before}
    now = {result.check.key: result.passed for result in step_run.results}
    known: dict[str, Check] = {check.key: check for check in step_run.step.checks}
    known |= {result.check.key: result.check for result in (*step_run.results_before, *step_run.results)}
    deciding = {result.check.key for result in decisive(step_run.newest_results)}
    return [
        {
            "label": check.label,
            "before": _colour(before.get(key)),
            "now": _colour(now.get(key)),
            "decisive": key in deciding or not (now or before),
        }
        for key, check in known.items()
    ]


def _colour(passed: bool | None) -> Colour | None:
    return None if passed is None else "green" if passed else "red"


def _bars(view: RunView, step_id: str, tries: list[Try]) -> list[Bar]:
    bars: list[Bar] = []
    for tried in tries:
        if tried.ended_at is None:
            bars.append({"from": tried.started_at, "to": None, "outcome": "running"})
        else:
            good = tried.status in HAS_RESULT | {StepStatus.SKIPPED}
            bars.append({"from": tried.started_at, "to": tried.ended_at, "outcome": "ok" if good else "failed"})
    bars += [{"from": wait.began, "to": wait.ended, "outcome": "waiting"} for wait in view.waits.get(step_id, ())]
    return sorted(bars, key=lambda bar: bar["from"])


def try_row(view: RunView, step_id: str, number: str) -> TryRow:
    tried = next(tried for tried in view.tries[step_id] if tried.number == int(number))
    failure, reflection = tried.failure, tried.reflection
    return {
        "key": f"try:{step_id}:{number}",
        "kind": "try",
        "step": step_id,
        "number": tried.number,
        "status": tried.status,
        "started_at": tried.started_at,
        "ended_at": tried.ended_at,
        "failure": {"category": str(failure.kind), "message": failure.message} if failure else None,
        "reflection": {
            "category": str(reflection.category),
            "root_cause": reflection.root_cause,
            "confidence": reflection.confidence,
            "suggested_fix": reflection.suggested_fix,
        }
        if reflection
        else None,
        "rung": tried.rung,
        "rolled_back": tried.rolled_back,
        "red_looks": tried.red_looks,
        "usage": {
            "calls": tried.used.calls,
            "tokens": tried.used.tokens,
            "cost_usd": tried.used.cost,
            "recovery_seconds": round(tried.recovery_seconds, 3),
        },
    }
