"""How a run ends: the verdict, computed from what was checked, and a diagnosis where it did not get there. Pure."""

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from surefoot.gates import decisive
from surefoot.machine import StepStatus
from surefoot.outcome import CheckResult, Diagnosis, FailureKind, Outcome, Verdict
from surefoot.state import RunState, StepRun

_ENDS_WELL = (Verdict.VERIFIED, Verdict.UNVERIFIED)


MOST_LEFT = 40
"""Files that a diagnosis names; more would bury what it is for."""


@dataclass(frozen=True, slots=True)
class Observed:
    """The workspace now against the workspace before the run."""

    added: Sequence[str] = ()
    changed: Sequence[str] = ()
    removed: Sequence[str] = ()
    not_captured: Sequence[str] = ()

    @property
    def all(self) -> tuple[str, ...]:
        return (*self.added, *self.changed, *self.removed)


def conclude(state: RunState, seen: Observed, red_at_start: Iterable[str]) -> Outcome:
    """The outcome of a run that came to the end of its plan. `red_at_start`: keys of checks that failed before it."""
    output = state.validation.output if state.validation else None
    checks = output.checks if output else ()
    verdict, summary = _judged(state, seen, checks, set(red_at_start))
    return _outcome(state, seen, verdict, summary, checks, None)


def _judged(
    state: RunState, seen: Observed, checks: Sequence[CheckResult], red_at_start: set[str]
) -> tuple[Verdict, str]:
    if state.validation is None:
        return Verdict.UNVERIFIED, "the plan is made; nothing was executed"
    strong = [r for r in checks if r.check.origin in ("user", "project")]
    touched = _protected(state, seen)
    degraded = [s for s, r in state.steps.items() if r.status is StepStatus.DEGRADED]
    blocked = [r.step.name for r in state.steps.values() if r.status is StepStatus.BLOCKED]
    if touched:
        return (
            Verdict.UNVERIFIED,
            f"what was to stay as it is was changed ({', '.join(touched)}), so passing the checks proves nothing",
        )
    if meddling := _could_meddle(state, seen):
        said = f"{', '.join(meddling)} can change what the tests do, and the task does not ask for it"
        return Verdict.UNVERIFIED, f"the checks pass, but {said}"
    if degraded:
        return Verdict.UNVERIFIED, f"finished with stand-in results for {', '.join(degraded)}"
    if blocked:
        return Verdict.UNVERIFIED, f"these steps could not be reached: {', '.join(blocked)}"
    if not strong:
        own = len([r for r in checks if r.passed])
        passing = "1 check of the plan itself passes" if own == 1 else f"{own} checks of the plan itself pass"
        said = f"; {passing}, which is weak evidence" if own else ""
        return Verdict.UNVERIFIED, f"done, but neither you nor the project gave a check that could prove it{said}"
    proving = [r for r in strong if r.check.key in red_at_start]
    if not proving:
        return (
            Verdict.UNVERIFIED,
            "the checks pass, but they passed before too: they do not prove that this task is done",
        )
    hollow = state.validation.output.hollow if state.validation.output else ()
    solid = [r for r in proving if r.check.key not in hollow]
    if not solid:
        label, files = proving[0].check.label, ", ".join(seen.added[:3])
        return Verdict.UNVERIFIED, (
            f"the checks pass, but {label!r} also passes when nothing is in {files}: it cannot tell a right result"
        )
    count = len(decisive(checks))
    return Verdict.VERIFIED, (
        f"{count} check{'s pass' if count != 1 else ' passes'} on the final tree; "
        f"{solid[0].check.label!r} failed before and passes now"
    )


def _could_meddle(state: RunState, seen: Observed) -> list[str]:
    """New files that Python or a test runner takes up by their name alone: `unittest.py` hides the real one."""
    task = state.task.text if state.task else ""
    names = {path: path.removesuffix("/__init__.py").rsplit("/", 1)[-1] for path in seen.added if path.endswith(".py")}
    return [
        path
        for path, name in names.items()
        if name not in task and (name.removesuffix(".py") in sys.stdlib_module_names or name in _TAKEN_UP)
    ]


_TAKEN_UP = frozenset({"conftest.py", "sitecustomize.py", "usercustomize.py", "pytest.py", "pytest", "_pytest"})


def stopped(state: RunState, seen: Observed, verdict: Verdict, reason: str) -> Outcome:
    """The outcome of a run that did not come to the end of its plan."""
    output = state.validation.output if state.validation else None
    return _outcome(
        state, seen, verdict, reason, output.checks if output else (), diagnose(state, seen, verdict, reason)
    )


def diagnose(state: RunState, seen: Observed, verdict: Verdict, reason: str) -> Diagnosis:
    failed = _failed_step(state)
    root_cause = evidence = ""
    if failed is not None and failed.failures:
        evidence = failed.failures[-1].evidence[:1500]
        root_cause = failed.reflections[-1].root_cause if failed.reflections else ""
    return Diagnosis(
        what_failed=reason,
        root_cause=root_cause,
        evidence=evidence,
        tried=tuple(_tried(state)),
        left_behind=tuple(_left(state, seen.all)),
        left_outside=tuple(state.left_outside.values()),
        next_steps=tuple(_next_steps(state, verdict)),
    )


def _failed_step(state: RunState) -> StepRun | None:
    """The step that recovery was about last, unless it got back up: then something else ended the run."""
    mine = state.steps.get(state.recovering)
    return mine if mine is not None and mine.status is StepStatus.FAILED else None


def _left(state: RunState, paths: Sequence[str]) -> Iterable[str]:
    yield from paths[:MOST_LEFT]
    if len(paths) > MOST_LEFT:
        yield f"and {len(paths) - MOST_LEFT} more: surefoot show {state.run_id} --diff"


def _tried(state: RunState) -> Iterable[str]:
    for phase, messages in state.refusals.items():
        yield f"{phase}: refused by its gate ({'; '.join(messages)})"
    yield from state.tried


def _next_steps(state: RunState, verdict: Verdict) -> Iterable[str]:
    failed = _failed_step(state)
    match verdict:
        case Verdict.BUDGET:
            yield "give it more: --max-tokens, --max-cost, or a smaller task"
        case Verdict.TIME if failed and failed.failures[-1].kind is FailureKind.TIMEOUT:
            yield "give its steps more time (step_timeout_seconds), or make the step smaller"
        case Verdict.TIME:
            yield "give it more time: --max-time"
        case Verdict.WAITING:
            yield f"answer: surefoot answer {state.run_id}"
            return
        case Verdict.LOOP:
            yield "use a stronger model (-m), or say in the task what was tried and does not work"
        case Verdict.FAILED if failed and failed.failures[-1].kind is FailureKind.MODEL_ERROR:
            yield "see whether the model answers: surefoot doctor"
        case Verdict.FAILED if failed and failed.failures[-1].kind is FailureKind.OUT_OF_REACH:
            yield "see that what the task asks for is there: in the folder, or on the network (--network)"
        case Verdict.FAILED:
            yield "use a stronger model (-m), make the task smaller, or add what is missing"
    if failed is not None:
        step_id = failed.step.id
        yield f"do that step in your own way: surefoot retry {state.run_id} {step_id} --tool NAME --set KEY=VALUE"
    yield f"look at it: surefoot show {state.run_id}"
    yield f"go on from here: surefoot resume {state.run_id}"


def _outcome(
    state: RunState,
    seen: Observed,
    verdict: Verdict,
    summary: str,
    checks: Sequence[CheckResult],
    diagnosis: Diagnosis | None,
) -> Outcome:
    advisory = [r for r in checks if not r.passed and r not in decisive(checks)]
    return Outcome(
        verdict=verdict,
        summary=summary,
        checks=tuple(checks),
        generated_files=tuple(seen.added),
        modified_files=tuple(seen.changed),
        deleted_files=tuple(seen.removed),
        protected_changes=_protected(state, seen),
        degraded_steps=tuple(s for s, r in state.steps.items() if r.status is StepStatus.DEGRADED),
        not_captured=tuple(seen.not_captured),
        left_outside=tuple(state.left_outside.values()),
        warnings=(*state.warnings, *(f"a check of the plan itself fails: {r.check.label}" for r in advisory)),
        diagnosis=diagnosis,
    )


def _protected(state: RunState, seen: Observed) -> tuple[str, ...]:
    protected = set(state.protected)
    return tuple(path for path in (*seen.changed, *seen.removed) if path in protected)
