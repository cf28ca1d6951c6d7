"""Computes the outcome of a run: the verdict from its checks, and a diagnosis if it did not finish. Pure."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from surefoot.core.outcome import (
    IN_PART,
    NOTHING_DONE,
    CheckResult,
    CriterionResult,
    Diagnosis,
    FailureKind,
    Outcome,
    Verdict,
    count_checks,
    decisive,
    given,
)
from surefoot.core.phases import JudgedView, PhaseStatus
from surefoot.core.proof import ProofLevel, SuiteEvidence
from surefoot.core.transitions import StepStatus
from surefoot.core.values import join_limited
from surefoot.engine.planner.criteria import NOT_NAMED, REPAIRED
from surefoot.engine.verifier.left_out import left_out_checks, left_out_criteria
from surefoot.errors import CommandNotFound, NotAModelServer, SurefootError, UnknownModel
from surefoot.journal.state import RunState, StepRun
from surefoot.project.task_text import to_be_left_alone
from surefoot.tools.fs.tool_files import is_listed

MAX_LISTED = 40
"""How many files a diagnosis names."""
MAX_NAMED = 8
"""How many tests a summary names."""


@dataclass(frozen=True, slots=True)
class Observed:
    """How the workspace differs from what it was before the run."""

    added: Sequence[str] = ()
    changed: Sequence[str] = ()
    removed: Sequence[str] = ()
    not_captured: Sequence[str] = ()
    missing_parts: Sequence[str] = ()
    """What the task asks for besides code, such as tests or a change of a document, and no change provides."""
    by_others: Collection[str] = frozenset()
    """The paths among these that no action and no check of the run has touched."""

    @property
    def all(self) -> tuple[str, ...]:
        return (*self.added, *self.changed, *self.removed)

    def own(self, paths: Sequence[str]) -> tuple[str, ...]:
        """Return those of the paths that an action or a check of the run touched."""
        return tuple(path for path in paths if path not in self.by_others)


def conclude(state: RunState, observed: Observed) -> Outcome:
    """Return the outcome of a run that finished its plan."""
    output = state.validation.output if state.validation else None
    checks = output.checks if output else ()
    problem = _problem(state, observed, output.tests if output else None)
    verdict, summary = (Verdict.UNVERIFIED, problem) if problem else _judge(state, observed, checks)
    if verdict is Verdict.VERIFIED and state.validation and state.validation.status is not PhaseStatus.SUCCESS:
        verdict, summary = Verdict.UNVERIFIED, f"{summary}; but the final gate did not pass: {state.validation.error}"
    proof = ProofLevel.GIVEN_CHECK if verdict is Verdict.VERIFIED else ProofLevel.NONE
    if not problem and proof is ProofLevel.NONE and output and output.tests and output.tests.own_tests:
        proof, summary = ProofLevel.OWN_TEST, _own_test_summary(output.tests, summary)
    elif proof is ProofLevel.NONE and output and output.tests and output.tests.own_tests_problem:
        summary = f"{summary}; the tests that the run wrote prove nothing: {output.tests.own_tests_problem}"
    nothing = "" if verdict is Verdict.VERIFIED else _nothing_done(state)
    summary = f"{nothing or _missing_prefix(state, observed)}{summary}"
    return _outcome(state, observed, verdict, summary, checks, None, proof)


def _nothing_done(state: RunState) -> str:
    """Return the beginning of a summary that says why no step was carried out; empty if one was."""
    statuses = {step_run.status for step_run in state.steps.values()}
    if not statuses or statuses - {StepStatus.SKIPPED, StepStatus.BLOCKED}:
        return ""
    if StepStatus.SKIPPED not in statuses:
        return f"{NOTHING_DONE}no step could be reached; "
    blocked = " or could not be reached" if StepStatus.BLOCKED in statuses else ""
    return f"{NOTHING_DONE}every step was skipped{blocked}; "


def _missing_prefix(state: RunState, observed: Observed) -> str:
    """Return the beginning of a summary that names parts of the task that are missing; empty if none is.

    It does not change the verdict: the parts are found by the wording of the task, and only checks decide.
    """
    missing = _missing_parts(state, observed)
    verb = "are" if len(missing) > 1 or missing == ["tests"] else "is"
    listed = " and ".join([", ".join(missing[:-1]), missing[-1]] if len(missing) > 1 else missing)
    return f"{IN_PART}{listed} {verb} missing; " if missing else ""


def _problem(state: RunState, observed: Observed, tests: SuiteEvidence | None) -> str:
    """Return why passing the checks proves nothing; empty if there is no such reason."""
    if state.validation is None:
        return "the plan is made; nothing was executed"
    if touched := _left_alone_but_changed(state, observed):
        files = ", ".join(touched)
        return f"the task says to leave {files} alone, and it was modified, so passing the checks proves nothing"
    view = state.validation.output.view if state.validation.output else None
    refuted = _refuted(view) if view and (view.red or view.problem) else ""
    if tests is not None and tests.weakened:
        weakened = _listed([test.as_text() for test in tests.weakened])
        reason = f"the checks pass, but tests were weakened, and the task does not ask for it: {weakened}"
        return f"{reason}; {refuted}" if refuted else reason
    if refuted:
        return refuted
    if tests is not None and tests.regressions:
        return f"tests of the project that passed before fail now: {_listed(tests.regressions)}"
    if tests is not None and tests.no_longer_run:
        return f"the checks pass, but tests are skipped or no longer run: {_listed(tests.no_longer_run)}"
    degraded = [s for s, r in state.steps.items() if r.status is StepStatus.DEGRADED]
    blocked = [_blocked(r) for r in state.steps.values() if r.status is StepStatus.BLOCKED]
    if degraded:
        return f"finished with fallback results for {', '.join(degraded)}"
    return f"these steps could not be reached: {', '.join(blocked)}" if blocked else ""


def _blocked(step_run: StepRun) -> str:
    logs = step_run.output.logs if step_run.output else ()
    return f"{step_run.step.name} ({logs[0]})" if logs else step_run.step.name


def _own_test_summary(tests: SuiteEvidence, otherwise: str) -> str:
    names = _listed(tests.own_tests)
    verb = "fails" if len(tests.own_tests) == 1 else "fail"
    passes = "passes" if len(tests.own_tests) == 1 else "pass"
    suite = f"; regressions: unknown, because {tests.regressions_unknown}" if tests.regressions_unknown else ""
    return f"proven by its own tests: {names} {verb} on the tree before the run and {passes} now{suite}; {otherwise}"


def _listed(names: Sequence[str]) -> str:
    return join_limited(names, MAX_NAMED)


def _judge(state: RunState, observed: Observed, checks: Sequence[CheckResult]) -> tuple[Verdict, str]:
    """Return whether the checks prove the task: one of the user or the project failed before and is not hollow."""
    from_outside = given(checks)
    if not from_outside:
        own = count_checks(checks).passed
        passing = "1 check of the plan itself passes" if own == 1 else f"{own} checks of the plan itself pass"
        weak = f"; {passing}, which is weak evidence" if own else ""
        prefix = "" if _nothing_done(state) else "done, but "
        return Verdict.UNVERIFIED, f"{prefix}no check was given or configured that could prove it{weak}"
    # Whether they pass now is not tested here: `conclude` gives this verdict only if the final gate passed.
    proving = [r for r in from_outside if r.check.key in state.red_at_start]
    if not proving:
        return (
            Verdict.UNVERIFIED,
            "the given checks pass, but they passed before too: they do not prove that this task is done",
        )
    hollow = state.validation.output.hollow if state.validation and state.validation.output else ()
    solid = [r for r in proving if r.check.key not in hollow]
    if not solid:
        label, files = proving[0].check.label, ", ".join(observed.added[:3])
        return Verdict.UNVERIFIED, (
            f"the checks pass, but {label!r} also passes with empty {files}, "
            "so it does not prove that their content is right"
        )
    return Verdict.VERIFIED, (
        f"{count_checks(checks)} on the final tree; {solid[0].check.label!r} failed before and passes now"
    )


def _refuted(view: JudgedView) -> str:
    """Return why checks that pass in the workspace prove nothing: files that decide what they do were changed."""
    files = [*view.restored, *view.left_out]
    file_list = _listed(files)
    if view.problem:
        changed = (
            f"{file_list} changed, which decides what they do, and they could not be run without that: "
            if file_list
            else ""
        )
        return f"the checks pass, but {changed}{view.problem}"
    return (
        f"{view.red[0].check.label!r} passes only because of changes to {file_list}, which the task does not ask for: "
        "it fails with what was there before the run"
    )


def stopped(
    state: RunState,
    observed: Observed,
    verdict: Verdict,
    reason: str,
    error: SurefootError | None = None,
    next_steps: tuple[str, ...] = (),
) -> Outcome:
    """Return the outcome of a run that did not finish its plan.

    `error` is what ended it; None if the ladder or a limit did. `next_steps` replace the usual advice.
    """
    output = state.validation.output if state.validation else None
    diagnosis = _diagnosis(state, observed, verdict, reason, error)
    diagnosis = diagnosis.with_(next_steps=next_steps) if next_steps else diagnosis
    return _outcome(state, observed, verdict, reason, output.checks if output else (), diagnosis)


def _diagnosis(
    state: RunState, observed: Observed, verdict: Verdict, reason: str, error: SurefootError | None
) -> Diagnosis:
    failed = state.failed_step
    last = failed.failures[-1] if failed is not None and failed.failures else None
    root_cause = evidence = cause = remedy = ""
    if error is not None:
        cause, remedy = error.cause, error.remedy
    elif verdict is Verdict.FAILED and last is not None and last.kind is FailureKind.MODEL_ERROR:
        cause, remedy = last.cause, last.remedy
    if failed is not None and last is not None and not remedy:
        evidence = last.evidence[:1500]
        root_cause = failed.reflections[-1].root_cause if failed.reflections else ""
    next_steps = _repair_set_up(state, cause, remedy) if remedy else _next_steps(state, verdict)
    return Diagnosis(
        what_failed=reason,
        cause=cause,
        root_cause=root_cause,
        evidence=evidence,
        tried=tuple(_refusals_and_attempts(state)),
        left_behind=tuple(_files_left_behind(state, observed.own(observed.all))),
        left_outside=tuple(state.left_outside.values()),
        next_steps=tuple(next_steps),
    )


def _needs_other_spec(state: RunState, cause: str) -> bool:
    """Whether the model's spec is wrong. A resumed run takes the spec from the journal unless it is given another."""
    by_address = cause == NotAModelServer.cause and bool(state.model_address)
    return by_address or cause == UnknownModel.cause


def _repair_set_up(state: RunState, cause: str, remedy: str) -> Iterable[str]:
    """Yield the error's own remedy, and how to continue after it. A stronger model or another step would not help."""
    yield remedy
    if cause == CommandNotFound.cause:
        yield f"a corrected check needs a new run; once the command is installed: surefoot resume {state.run_id}"
        return
    other = " -m MODEL" if _needs_other_spec(state, cause) else ""
    yield f"then continue from here: surefoot resume {state.run_id}{other}"


def _files_left_behind(state: RunState, paths: Sequence[str]) -> Iterable[str]:
    yield from paths[:MAX_LISTED]
    if len(paths) > MAX_LISTED:
        yield f"and {len(paths) - MAX_LISTED} more: surefoot show {state.run_id} --diff"


def _refusals_and_attempts(state: RunState) -> Iterable[str]:
    for phase, messages in state.refusals.items():
        yield f"{phase}: refused by its gate ({'; '.join(messages)})"
    yield from state.tried


def _next_steps(state: RunState, verdict: Verdict) -> Iterable[str]:
    failed = state.failed_step
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
            yield "make sure that the inputs of the task exist: in the folder, or on the network (--network)"
        case Verdict.FAILED:
            yield "use a stronger model (-m), make the task smaller, or add what is missing"
    if failed is not None:
        step_id = failed.step.id
        yield f"do that step with other parameters: surefoot retry {state.run_id} {step_id} --tool NAME --set KEY=VALUE"
    yield f"look at it: surefoot show {state.run_id}"
    yield f"continue from here: surefoot resume {state.run_id}"


def _outcome(
    state: RunState,
    observed: Observed,
    verdict: Verdict,
    summary: str,
    checks: Sequence[CheckResult],
    diagnosis: Diagnosis | None,
    proof: ProofLevel = ProofLevel.NONE,
) -> Outcome:
    advisory = [r for r in checks if not r.passed and r not in decisive(checks)]
    return Outcome(
        verdict=verdict,
        summary=summary,
        proof=proof,
        accepted=proof is ProofLevel.OWN_TEST and state.config.accept == "own-tests",
        tests=state.validation.output.tests if state.validation and state.validation.output else None,
        checks=tuple(checks),
        generated_files=observed.own(observed.added),
        modified_files=observed.own(observed.changed),
        deleted_files=observed.own(observed.removed),
        protected_changes=_left_alone_but_changed(state, observed),
        degraded_steps=tuple(s for s, r in state.steps.items() if r.status is StepStatus.DEGRADED),
        unproven_steps=tuple(s for s, r in state.steps.items() if r.recorded_output and r.recorded_output.unproven),
        not_captured=tuple(observed.not_captured),
        left_outside=tuple(state.left_outside.values()),
        warnings=(
            *_new_git_state(observed),
            *_changed_by_others(state, observed),
            *state.warnings,
            *_view_warnings(state),
            *_checks_dropped_by_review(state),
            *_regressions_unknown(state),
            *(f"a check of the plan itself fails: {r.check.label}" for r in advisory),
            *(f"not met: {c.criterion} ({c.because})" for c in _unmet_criteria(state)),
            *_not_named(state, observed),
            *(f"the task asks for {part}, and no such file was changed" for part in _missing_parts(state, observed)),
        ),
        diagnosis=diagnosis,
    )


def _unmet_criteria(state: RunState) -> Iterable[CriterionResult]:
    output = state.validation.output if state.validation else None
    return (criterion for criterion in (output.criteria if output else ()) if criterion.met is False)


def _not_named(state: RunState, observed: Observed) -> Iterable[str]:
    """Yield a warning about new files that the model also wanted to write, and that were left out of the plan."""
    judged = state.understanding.validation if state.understanding else None
    for warning in judged.warnings if judged else ():
        if warning.startswith(REPAIRED + NOT_NAMED):
            files = warning.removeprefix(REPAIRED + NOT_NAMED).split(", ")
            if missing := [path for path in files if path not in observed.all]:
                yield f"{NOT_NAMED}{', '.join(missing[:MAX_LISTED])}; name them in the task if you want them"


def _missing_parts(state: RunState, observed: Observed) -> list[str]:
    """Return the parts that the task asks for and no changed file provides; none before the final validation."""
    return list(observed.missing_parts) if state.validation is not None else []


def _view_warnings(state: RunState) -> Iterable[str]:
    """Yield how the judged tree differs from the workspace."""
    output = state.validation.output if state.validation else None
    if output is None or output.view is None or output.view.problem:
        return
    if restored := output.view.restored:
        yield f"checked again with these files as they were before the run: {', '.join(restored[:MAX_LISTED])}"
    if left_out := output.view.left_out:
        yield f"checked again without these new files: {', '.join(left_out[:MAX_LISTED])}"


def _checks_dropped_by_review(state: RunState) -> Iterable[str]:
    """Yield which checks and criteria do not count, because a review undid their files."""
    names = [*(check.label for check in left_out_checks(state)), *sorted(left_out_criteria(state))]
    if names:
        files = _listed(sorted(state.undone_files))
        yield f"left out, because you undid {files} in the review: {_listed(list(dict.fromkeys(names)))}"


def _new_git_state(observed: Observed) -> list[str]:
    """Return warnings about new repositories and hooks, whose settings git uses when the user next runs it."""
    warnings = []
    added = [path for path in observed.added if not path.startswith(".git/")]
    nested = {path.partition("/.git")[0] for path in added if path.endswith(("/.git", "/.git/HEAD"))}
    folders = {path.removesuffix("/HEAD") for path in added if path.endswith("/HEAD") and "/.git/" not in path}
    bare = {folder for folder in folders if any(path.startswith(f"{folder}/objects") for path in added)}
    if repositories := sorted(nested | bare):
        repository_list = join_limited(repositories, 5)
        warnings.append(
            f"new git repository in the workspace: {repository_list}; look at its config before you run git there"
        )
    if hooks := [path for path in added if path.startswith(".husky/")]:
        warnings.append(f"new git hooks, which run on your commits: {', '.join(hooks[:5])}")
    return warnings


def _changed_by_others(state: RunState, observed: Observed) -> Iterable[str]:
    """Yield a warning that names the files which changed during the run, and not by it.

    Those that changed while it had stopped are left out, because a warning at its start has named them.
    """
    others = set(observed.by_others) - state.by_others
    paths = [path for path in observed.all if path in others and is_listed(path)]
    folders = {path.rpartition("/")[0] for path in paths}
    if paths := [path for path in paths if path not in folders]:
        yield f"changed meanwhile by somebody else: {join_limited(paths, MAX_NAMED)}"


def _regressions_unknown(state: RunState) -> Iterable[str]:
    """Yield a warning if the project has tests and regressions could not be looked for."""
    tests = state.validation.output.tests if state.validation and state.validation.output else None
    if tests is not None and tests.command and tests.regressions_unknown:
        yield f"regressions: unknown, because {tests.regressions_unknown} ({tests.command})"


def _left_alone_but_changed(state: RunState, observed: Observed) -> tuple[str, ...]:
    """Return the modified files that the task says to leave alone. Tests are compared by `suite.test_policy`."""
    left_alone = to_be_left_alone(state.task.text if state.task else "", state.protected)
    return tuple(path for path in (*observed.changed, *observed.removed) if path in left_alone)
