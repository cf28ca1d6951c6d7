"""The facts of a report that are folded from the events: proof, recoveries, usage, environment. Pure."""

from collections.abc import Iterable
from typing import Any

from surefoot.config.flat_price import FlatRates, recorded_cost
from surefoot.core.outcome import CheckResult, Outcome
from surefoot.core.transitions import HAS_RESULT
from surefoot.journal import events as e
from surefoot.journal.redact import Redactor
from surefoot.journal.state import RunState
from surefoot.report.document import ChangedFiles, Environment, FinalCheck, Push, Recovery, SuiteRow, Usage
from surefoot.tools.fs.tool_files import is_listed
from surefoot.view.details import proof_row
from surefoot.view.questions import open_points, other_warnings
from surefoot.view.rows import Colour
from surefoot.view.state import RunView, Try, Used

_ALWAYS = ("approve", "network", "sandbox")
"""Settings that are always listed."""


# -- proof ----------------------------------------------------------------------------------------------------------


def final_checks(state: RunState, redactor: Redactor) -> list[FinalCheck]:
    """The checks on the final tree. If there are none, the checks of the task with their results before the run."""
    before = _before(state)
    if state.outcome is not None and state.outcome.checks:
        checks = [_final(result, before.get(result.check.key), redactor) for result in state.outcome.checks]
        # After an undo, their current results are not known.
        return [{**row, "now": None} for row in checks] if state.is_outdated else checks
    pending: list[FinalCheck] = []
    for result in state.results_before:
        row = _final(result, "green" if result.passed else "red", redactor)
        pending.append({**row, "now": None})
    return pending


def _final(result: CheckResult, before: Colour | None, redactor: Redactor) -> FinalCheck:
    now: Colour = "green" if result.passed else "red"
    row = proof_row(result, before == "red", redactor)
    return {**row, "before": before, "now": now, "origin": str(result.check.origin)}


def _before(state: RunState) -> dict[str, Colour]:
    """By key of a check: its first known result."""
    results: list[CheckResult] = [*state.results_before]
    for step_run in state.steps.values():
        results += step_run.results_before
    colours: dict[str, Colour] = dict.fromkeys(state.red_at_start, "red")
    for result in results:
        colours.setdefault(result.check.key, "green" if result.passed else "red")
    return colours


def suite(state: RunState) -> SuiteRow | None:
    tests = state.outcome.tests if state.outcome else None
    if tests is None:
        return None
    return {
        "command": tests.command,
        "before": tests.before.as_text() if tests.before else "",
        "after": tests.after.as_text() + tests.counted if tests.after and not state.is_outdated else "",
        "regressions": list(tests.regressions),
        "no_longer_run": list(tests.no_longer_run),
        "altered": [test.as_text() for test in tests.altered],
        "own_tests": list(tests.own_tests),
        "problems": [text for text in (tests.regressions_unknown, tests.own_tests_problem) if text],
    }


def pushes(state: RunState) -> list[Push]:
    return [{"commit": each.commit, "branch": each.branch, "address": each.address} for each in state.pushes]


def changed_files(outcome: Outcome | None) -> ChangedFiles:
    """The files that the run changed. Those of version control and of tools are only counted."""
    if outcome is None:
        return {"added": [], "modified": [], "deleted": [], "tool_files": 0}
    return {
        "added": [path for path in outcome.generated_files if is_listed(path)],
        "modified": [path for path in outcome.modified_files if is_listed(path)],
        "deleted": [path for path in outcome.deleted_files if is_listed(path)],
        "tool_files": sum(not is_listed(path) for path in outcome.changed_files),
    }


def notes(state: RunState) -> list[str]:
    """Remarks on the outcome, in addition to its summary and its diagnosis."""
    outcome = state.outcome
    continues = [f"continues run {state.context.run}: {state.context.title}"] if state.context else []
    points = [f"open question of the model: {point}" for point in open_points(state) if point.answer is None]
    if outcome is None:
        return [*continues, *points, *other_warnings(state, state.warnings)]
    return [
        *continues,
        *points,
        *(f"protected file was modified: {path}" for path in outcome.protected_changes),
        *(f"left outside the workspace: {item}" for item in (() if outcome.diagnosis else outcome.left_outside)),
        *(f"not in snapshots, so no undo restores it: {path}" for path in outcome.not_captured),
        *other_warnings(state, outcome.warnings),
    ]


# -- cost -----------------------------------------------------------------------------------------------------------


def recoveries(view: RunView) -> list[Recovery]:
    """Every attempt that failed, in order."""
    failed = [(step_id, tried) for step_id, tries in view.tries.items() for tried in tries if tried.failure]
    return [_recovery(view, step_id, tried) for step_id, tried in sorted(failed, key=lambda item: item[1].started_at)]


def _recovery(view: RunView, step_id: str, tried: Try) -> Recovery:
    failure, step_run = tried.failure, view.state.steps.get(step_id)
    assert failure is not None
    ended = tried.ended_at if tried.ended_at is not None else tried.started_at
    return {
        "step": step_id,
        "name": step_run.step.name if step_run else view.gone[step_id]["name"],
        "attempt": tried.number,
        "category": str(failure.kind),
        "message": failure.message,
        "root_cause": tried.reflection.root_cause if tried.reflection else "",
        "rung": tried.rung,
        "rolled_back": tried.rolled_back,
        "healed": step_run is not None and step_run.status in HAS_RESULT,
        "seconds": round(ended - tried.started_at + tried.recovery_seconds, 3),
        "calls": tried.used.calls,
        "tokens": tried.used.tokens,
        "cost_usd": tried.used.cost,
    }


def usage(records: Iterable[e.Record]) -> list[Usage]:
    """The use of the model by purpose, in the order of the first calls."""
    used: dict[str, Used] = {}
    flat: FlatRates | None = None
    for record in records:
        match record.event:
            case e.RunCreated(config=config) | e.RunResumed(config=config) if config is not None:
                flat = config.budget.flat_rates
            case e.ModelAnswered() as call:
                cost = recorded_cost(call.cost_usd, call.prompt_tokens, call.output_tokens, flat)
                used.setdefault(str(call.purpose), Used()).add(call, cost)
    return [
        {
            "purpose": purpose,
            "calls": each.calls,
            "tokens": each.tokens,
            "cost_usd": each.cost,
            "seconds": round(each.seconds, 3),
        }
        for purpose, each in used.items()
    ]


# -- environment ----------------------------------------------------------------------------------------------------


def environment(state: RunState, records: Iterable[e.Record]) -> Environment:
    starts = [record.event for record in records if isinstance(record.event, e.RunCreated | e.RunResumed)]
    return {
        "surefoot": _distinct(start.surefoot for start in starts),
        "system": _distinct(start.system for start in starts),
        "model": _distinct(start.model for start in starts),
        "traits": dict(starts[-1].model_traits) if starts else {},
        "sandbox": _distinct(start.isolation for start in starts),
        "starts": len(starts),
        "settings": _settings(state),
    }


def _distinct(values: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(value for value in values if value))


def _settings(state: RunState) -> dict[str, Any]:
    config = state.config
    listed: dict[str, Any] = {name: getattr(config, name) for name in _ALWAYS}
    for name, value in config.model_dump(mode="json", exclude_defaults=True).items():
        if isinstance(value, dict):
            listed |= {f"{name}.{key}": item for key, item in value.items()}
        else:
            listed[name] = value
    return listed
