"""Formatting shared by the live view, plain lines and summaries.

Text from a model, a tool or the workspace may contain control characters. `line` and `block` make it safe to print.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from surefoot.cli.report.symbols import Marks
from surefoot.cli.report.text import block as block
from surefoot.cli.report.text import count as count
from surefoot.cli.report.text import folder as folder
from surefoot.cli.report.text import line as line
from surefoot.cli.report.text import path_line
from surefoot.cli.report.text import shorten_start as shorten_start
from surefoot.cli.report.text import timestamp as timestamp
from surefoot.config.model import ReflectionConfig
from surefoot.core.outcome import (
    NOTHING_CHANGED,
    CheckResult,
    CriterionResult,
    Outcome,
    StepReflection,
    Verdict,
    count_checks,
)
from surefoot.core.phases import PhaseResult, StepExecutionOutput
from surefoot.core.plan import ExecutionStep, Milestone
from surefoot.core.proof import ProofLevel
from surefoot.core.transitions import HAS_RESULT, SETTLED, Rung, Stage, StepStatus
from surefoot.core.values import join_limited as join_limited
from surefoot.journal import events as e
from surefoot.journal.state import RunState, StepRun
from surefoot.tools.fs.tool_files import is_listed, places_of
from surefoot.view.figures import duration as duration
from surefoot.view.labels import RUNG_LABELS as RUNG_LABELS
from surefoot.view.labels import STEP_LABELS as STEP_LABELS
from surefoot.view.labels import UNPROVEN as UNPROVEN
from surefoot.view.labels import done_label
from surefoot.workspace.errors import as_path, printable

PHASES: tuple[tuple[Stage, str], ...] = (
    (Stage.UNDERSTANDING, "Understanding"),
    (Stage.APPROACH, "Approach"),
    (Stage.PLANNING, "Planning"),
    (Stage.EXECUTION, "Execution"),
    (Stage.VALIDATION, "Validation"),
)


def verdict_label(verdict: Verdict, outcome: Outcome | None) -> str:
    """The verdict in words. Says if only the run's own tests prove it, or if something the task asks for is missing."""
    by_own_tests = outcome is not None and outcome.proof is ProofLevel.OWN_TEST
    return done_label(verdict, outcome.summary if outcome else "", by_own_tests=by_own_tests)


def step_label(status: StepStatus, output: StepExecutionOutput | None) -> str:
    """The status of a step in words. Says if no check could prove the step."""
    if status is not StepStatus.SUCCEEDED or output is None or not output.unproven:
        return STEP_LABELS[status]
    unchanged = any(criterion.because == NOTHING_CHANGED for criterion in output.criteria)
    return f"{UNPROVEN}: {NOTHING_CHANGED}" if unchanged else UNPROVEN


def last_lines(output: str, limit: int = 6) -> list[str]:
    """The last lines of a check's output that contain words or numbers: usually the reason why it failed."""
    rows = [row.rstrip() for row in block(output, 20_000).splitlines() if any(c.isalnum() for c in row)]
    return [row if len(row) <= 200 else row[:199] + "…" for row in rows[-limit:]]


def failing_rows(results: Iterable[CheckResult]) -> dict[str, list[str]]:
    """The last lines of output of each failing check, by its key. Output that an earlier check had is not repeated."""
    rows_by_check: dict[str, list[str]] = {}
    labels: dict[tuple[str, ...], str] = {}
    for result in results:
        if result.passed or not result.detail:
            continue
        rows = last_lines(result.detail)
        first = labels.setdefault(tuple(rows), line(result.check.label))
        rows_by_check[result.check.key] = (
            rows if first == line(result.check.label) else [f"for the same reason as {first}"]
        )
    return rows_by_check


def rows_of(text: str, most: int = 200) -> list[str]:
    """The lines of any text, safe to print. If some are left out, the last line tells how many."""
    rows = block(text, 100_000).splitlines()
    return rows if len(rows) <= most else [*rows[:most], f"… {len(rows) - most:,} more lines"]


# -- numbers and times ---------------------------------------------------------------------------------------------


def elapsed(seconds: float) -> str:
    """A clock: 0:07, 12:30, 1:02:03."""
    hours, rest = divmod(max(int(seconds), 0), 3600)
    minutes, rest = divmod(rest, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


# -- files ---------------------------------------------------------------------------------------------------------


def path(recorded: str) -> str:
    """A path from the journal, which may not be valid UTF-8."""
    real = as_path(recorded)
    return path_line(recorded if real == recorded else printable(real))


class ChangedFiles(NamedTuple):
    listed: list[tuple[str, str]]
    """A sign (+ new, ~ modified, - deleted) and the path."""
    hidden: str
    """How many files of version control and of tools are not listed; empty if there are none."""


def changed_files(result: Outcome | StepExecutionOutput) -> ChangedFiles:
    """The changed files with their signs. Files of version control and of tools are only counted."""
    by_sign = (("+", result.generated_files), ("~", result.modified_files), ("-", result.deleted_files))
    files = [(sign, name) for sign, names in by_sign for name in names]
    listed = [(sign, path(name)) for sign, name in files if is_listed(name)]
    others = [name for _, name in files if not is_listed(name)]
    return ChangedFiles(listed, f"{len(others):,} in {places_of(others)}" if others else "")


def changed_files_line(result: Outcome | StepExecutionOutput, limit: int = 6) -> str:
    """The changed files on one line, such as `+ report.py, ~ cli.py and 3 in .git and caches`."""
    changed = changed_files(result)
    listed = join_limited([f"{sign} {name}" for sign, name in changed.listed], limit)
    return " and ".join(filter(None, (listed, changed.hidden)))


def before_lines(results: Sequence[CheckResult], marks: Marks) -> list[str]:
    """The results of the task's checks before the run, with the last line of output of each failing one."""
    lines, failing = [], failing_rows(results)
    if own := [result.check.label for result in results if result.check.origin == "project"]:
        lines.append(f"no --check was given: using the project's tests, {line(', '.join(own))}")
    for result in results:
        label, mark = line(result.check.label), marks.of_check(result.passed)[0]
        if result.passed:
            lines.append(f"{mark} {label} passes before the run: it can detect a regression, but cannot prove the task")
            continue
        lines.append(f"{mark} {label} fails before the run and must pass at the end")
        lines += [f"    {row}" for row in [row for row in failing.get(result.check.key, ()) if row.strip()][-1:]]
    return lines


# -- steps and recovery --------------------------------------------------------------------------------------------


def action(tool: str, arguments: dict[str, Any], limit: int = 100) -> str:
    """A tool call in short: the tool and its most telling argument."""
    for name in ("command", "path", "pattern", "query", "url"):
        if isinstance(arguments.get(name), str):
            return line(f"{tool} {arguments[name]}", limit)
    joined = ", ".join(
        f"{key}={value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)}"
        for key, value in arguments.items()
    )
    return line(f"{tool} {joined}", limit)


def step_type(step: ExecutionStep) -> str:
    """The type of a step in words, such as `code generation`."""
    return step.step_type.replace("_", " ")


def skip_reason(result: PhaseResult[Any]) -> str:
    messages = result.validation.messages if result.validation else ()
    return line(result.error or "; ".join(messages) or "not needed", 300)


def plan_facts(state: RunState) -> list[str]:
    """The duration, the resources and the milestones of a plan, if it has them."""
    plan = state.plan
    if plan is None:
        return []
    lines = [f"about {plan.estimated_duration} min"] if plan.estimated_duration else []
    lines += [f"needs: {line(', '.join(plan.required_resources), 300)}"] if plan.required_resources else []
    for milestone in plan.milestones:
        reached = "reached" if is_reached(milestone, state) else "not reached"
        lines.append(f"milestone: {line(milestone.name)} ({reached})")
    return lines


def milestones_at(step_id: str, state: RunState) -> list[str]:
    """The milestones of which this is the last step in the order of the plan."""
    milestones = state.plan.milestones if state.plan else ()
    if not milestones:
        return []
    order = list(state.steps)
    known = [(m.name, [s for s in m.step_ids if s in state.steps]) for m in milestones]
    return [name for name, steps in known if steps and max(steps, key=order.index) == step_id]


def is_reached(milestone: Milestone, state: RunState) -> bool:
    """Whether all steps of a milestone are done."""
    steps = [state.steps[step_id] for step_id in milestone.step_ids if step_id in state.steps]
    return bool(steps) and all(step_run.status in HAS_RESULT for step_run in steps)


def step_facts(step_run: StepRun) -> list[str]:
    """The facts about a step in the plan besides its description, and why the step did not run."""
    step = step_run.step
    facts = [f"about {step.estimated_duration} min"] if step.estimated_duration else []
    facts += [f"priority {step.priority}"] if step.priority else []
    facts += ["asks before it starts"] if step.requires_confirmation else []
    facts += ["may fail"] if step.allow_failure else []
    facts += [] if step.critical else ["not critical"]
    facts += [f"expected tools: {line(', '.join(step.expected_tools))}"] if step.expected_tools else []
    rows = [", ".join(facts)] if facts else []
    rows += [f"only if {line(step.when, 200)}"] if step.when else []
    rows += [f"needs: {line(text, 200)}" for text in step.preconditions]
    judged = {c.criterion: c for c in step_run.recorded_output.criteria} if step_run.recorded_output else {}
    rows += [f"criterion: {line(text, 200)}" for text in step.validation_criteria if text not in judged]
    rows += map(criterion, judged.values())
    if step_run.status in (StepStatus.SKIPPED, StepStatus.BLOCKED) and step_run.output and step_run.output.logs:
        rows.append(f"because {line(step_run.output.logs[0], 300)}")
    return rows


def criterion(result: CriterionResult) -> str:
    """A judged criterion, such as `criterion: a.txt exists: met (passed: a.txt exists)`."""
    met = {True: "met", False: "not met", None: "cannot tell"}[result.met]
    return f"criterion: {line(result.criterion, 200)}: {met} ({line(result.because, 200)})"


def recovery(chosen: e.RungChosen, state: RunState) -> str:
    """The chosen rung with its counter and the reason: `retry, adjusted (retry 2 of 3): another attempt, ...`."""
    step_run, limits = state.steps.get(chosen.step_id), state.config.reflection
    counter = ""
    match chosen.rung:
        case Rung.RETRY_LATER if step_run:
            counter = f" ({step_run.temporary_retries} of {limits.max_temporary_retries})"
        case Rung.ADJUST_PARAMETERS | Rung.ALTERNATIVE_TOOL | Rung.CANDIDATES if step_run:
            counter = f" (retry {step_run.step_retry_count} of {_retries(step_run, limits)})"
        case Rung.REPAIR_STEP if step_run:
            repairs = step_run.single_step_repair_count
            counter = f" (repair {repairs} of {limits.max_single_step_repairs})"
        case Rung.REPLAN_TASK:
            counter = f" (new plan {state.task_replan_count} of {limits.max_task_replanning_attempts})"
    return f"{RUNG_LABELS[chosen.rung]}{counter}: {line(chosen.why, 300)}"


def _retries(step_run: StepRun, limits: ReflectionConfig) -> int:
    own = step_run.step.max_retries
    return limits.max_step_retries if own is None else own


def step_counters(step_run: StepRun) -> list[str]:
    """The counters of a step's recovery that are not 0."""
    retries = (step_run.step_retry_count, "retry", "retries")
    return _counted(retries, (step_run.single_step_repair_count, "repair", "repairs"))


def counters(state: RunState) -> str:
    """The counters of the run's recovery that are not 0."""
    failures = (state.consecutive_failures, "failure in a row", "failures in a row")
    return ", ".join(_counted((state.task_replan_count, "new plan", "new plans"), failures))


def _counted(*counters: tuple[int, str, str]) -> list[str]:
    return [f"{value} {one if value == 1 else more}" for value, one, more in counters if value]


def plan_difference(event: e.PlanMade, state: RunState) -> list[str]:
    """How a new plan differs: the steps that were dropped, those that are done and kept, and the new ones."""
    steps = event.result.output.steps if event.result.output else ()
    rows = [f"  - {line(name)}" for name in event.dropped]
    for step in steps:
        step_run = state.steps.get(step.id)
        is_settled = step_run is not None and step_run.status in SETTLED
        rows.append(f"  = {line(step.name)} (done, stays)" if is_settled else f"  + {line(step.name)}")
    return rows


def reflection(result: StepReflection) -> str:
    """The root cause, its category, and whether rules or the model found it."""
    author = "rules" if result.decided_by == "rules" else "the model"
    return f"{line(result.root_cause)} ({result.category.replace('_', ' ')}, by {author})"


def candidate(tried: e.CandidateTried, mark: str) -> str:
    """A candidate and its result, such as `✗ candidate 2 of 3, temperature 0.7: 1 of 2 checks pass`."""
    result = tried.unusable or count_checks(tried.results)
    temperature = "" if tried.made_of else f", temperature {tried.temperature:g}"
    return line(f"{mark} {tried.label}{temperature}: {result}", 300)
