"""Judges the output of each phase. Pure. The confidence is the weighted share of the points that hold.

The gates of understanding, approach and plan look at the draft as the model gave it, not at its normalized form. A
mandatory point that does not hold fails the gate; other points lower the confidence. A point that is unknown or was
repaired counts half and gives a warning: a gate that refuses correct drafts costs more than it saves. Messages go into
the next prompt, so they say what is wrong and what would be right.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from surefoot.core.outcome import CheckResult, decisive, given
from surefoot.core.phases import ValidationOutput, ValidationResult
from surefoot.core.plan import CommandCheck, ExpressionCheck, FileCheck, ParsesCheck, TextCheck
from surefoot.engine.planner.subject import impossible_path, is_placeholder, same_subject
from surefoot.prompting.drafts.short import ApproachDraft, UnderstandingDraft

QUOTED_CHARS = 80
"""How much of a task is quoted in a suggestion."""
TOO_LOW = "Validation confidence too low"
REPAIRED = "repaired: "
"""The prefix of a warning about a repair that the engine made."""
NOT_NAMED = "not written, because neither the task nor the folder has them: "
"""The text, after `REPAIRED`, of a warning about new files that the model proposed and the task does not name."""


@dataclass(frozen=True, slots=True)
class Point:
    holds: bool | None
    """None: it is unknown, or was repaired."""
    message: str
    """What is wrong if it does not hold; a warning if that is unknown."""
    weight: float = 1.0
    must: bool = False
    suggestion: str = ""
    """What would make it hold, if the message does not say so."""


_SHARE = {True: 1.0, None: 0.5, False: 0.0}


def judge(
    points: Iterable[Point], threshold: float, warnings: Sequence[str] = (), suggestions: Sequence[str] = ()
) -> ValidationResult:
    """Return the verdict of a gate.

    The confidence is the weighted share of the points that hold, halved if a mandatory one does not. The gate passes if
    no mandatory point is broken and the confidence reaches the threshold.
    """
    points = list(points)
    total = sum(point.weight for point in points)
    share = sum(point.weight * _SHARE[point.holds] for point in points) / total if total else 0.0
    broken = [point for point in points if point.holds is False]
    refused = any(point.must for point in broken)
    # Whatever the average, an output that breaks a mandatory point cannot be trusted.
    confidence = round(share / 2 if refused else share, 3)
    doubtful = [point for point in points if point.holds is None and point.message]
    return ValidationResult(
        passed=confidence >= threshold and not refused,
        confidence=confidence,
        messages=tuple(point.message for point in broken),
        warnings=tuple(dict.fromkeys([*(point.message for point in doubtful), *warnings])),
        suggestions=tuple(
            dict.fromkeys([*(point.suggestion or point.message for point in (*broken, *doubtful)), *suggestions])
        ),
    )


def error_of(verdict: ValidationResult, threshold: float) -> str:
    """Return why a phase did not pass its gate."""
    error = f"{TOO_LOW} ({verdict.confidence:.2f} of {threshold:.2f})" if verdict.confidence < threshold else "Refused"
    return f"{error}: {'; '.join(verdict.messages)}" if verdict.messages else error


# -- understanding and approach --------------------------------------------------------------------------------------


def judge_understanding(
    draft: UnderstandingDraft,
    task: str,
    threshold: float,
    *,
    root: str = "",
    existing: Collection[str] = (),
    warnings: Sequence[str] = (),
    trusted: bool = False,
) -> ValidationResult:
    """Judge an understanding.

    `trusted`: the model has looked at the folder itself, so it may state a cause without using the task's words.
    """
    requirements = [text for text in draft.requirements if not is_placeholder(text)]
    statement = " ".join([draft.understanding, *draft.requirements])
    odd = [path for path in draft.files if impossible_path(path, task, root, existing)]
    shared = same_subject(task, statement)
    files_exist = trusted and any(path in existing for path in draft.files)
    if shared is False and (files_exist or same_subject(task, " ".join(draft.files))):
        shared = None  # other words for the right files
    no_word = "the understanding shares no word with the task"
    return judge(
        [
            Point(
                not is_placeholder(draft.understanding),
                "`understanding` is empty or a placeholder: say what is wanted",
                3,
                must=True,
            ),
            Point(bool(requirements), "`requirements` is empty: list what must be true at the end", 3, must=True),
            Point(
                not odd,
                f"`files` must be plain paths inside the folder; these are not: {', '.join(odd)}",
                2,
                must=True,
            ),
            Point(
                shared,
                f"{no_word}: it is about something else"
                if shared is False
                else f"{no_word} that would tell its subject",
                2,
                must=True,
                suggestion=f"say it with the words of the task: {_quoted(task)}",
            ),
        ],
        threshold,
        warnings,
        [f"answer the open question: {question}" for question in draft.questions],
    )


def _quoted(task: str) -> str:
    plain = " ".join(task.split())
    return plain if len(plain) <= QUOTED_CHARS else f"{plain[:QUOTED_CHARS]}..."


def judge_approach(draft: ApproachDraft, threshold: float) -> ValidationResult:
    outcomes = [text for text in draft.expected_outcomes if not is_placeholder(text)]
    names = [a.name.strip().lower() for a in draft.alternatives if not is_placeholder(a.name)]
    others = [name for name in names if name != draft.approach.strip().lower()]
    return judge(
        [
            Point(
                not is_placeholder(draft.approach),
                "`approach` says nothing: describe how it will be done",
                3,
                must=True,
            ),
            Point(bool(outcomes), "`expected_outcomes` is empty: what will be there at the end?", 2),
            Point(bool(others), "`alternatives` is empty: name one other way, in case this one fails", 1),
            Point(len(names) == len(set(names)), "two alternatives are the same", 1),
        ],
        threshold,
    )


# -- validation ------------------------------------------------------------------------------------------------------

_PROVEN, _OWN_TEST, _GREEN_BEFORE, _PLANNED, _FILES_ONLY = 1.0, 0.95, 0.9, 0.85, 0.5
"""How much the best evidence is worth: a given check that failed before; a test of the run that failed before; a given
check that passed before too; a command of the plan; files that exist and can be parsed."""
_UNKNOWN_CRITERIA = 0.1
"""How much confidence is lost if all criteria are unknown."""
NOT_VERIFIED = "not verified: no check was run, so nothing shows that the task is done"
GIVE_A_CHECK = "give a check that fails before the run and passes after it: --check 'COMMAND'"


def judge_validation(
    output: ValidationOutput, threshold: float, red_at_start: Collection[str] = ()
) -> ValidationResult:
    """Judge the final tree. Every decisive check must pass, and the confidence says how much that proves."""
    results = decisive(output.checks)
    unknown = [c for c in output.criteria if c.met is None]
    doubts = [f"cannot tell: {c.criterion} ({c.because})" for c in unknown]
    checks = [f"give a check for: {c.criterion}" for c in unknown]
    if not results:
        return ValidationResult(
            passed=False,
            confidence=0.0,
            messages=(NOT_VERIFIED,),
            warnings=tuple(doubts),
            suggestions=(GIVE_A_CHECK, *checks),
        )
    points = [Point(r.passed, f"{r.check.label}: {r.detail or 'failed'}", _weight(r), must=True) for r in results]
    verdict = judge(points, threshold, doubts, checks)
    unmet = [c for c in output.criteria if c.met is False]
    strength = _strength(output, results, red_at_start)
    share = (len(unmet) + _UNKNOWN_CRITERIA * len(unknown)) / len(output.criteria) if output.criteria else 0.0
    confidence = round(verdict.confidence * strength * (1 - share), 3)
    weak = [] if strength >= _OWN_TEST else [GIVE_A_CHECK]
    return verdict.with_(
        passed=verdict.passed and confidence >= threshold,
        confidence=confidence,
        messages=(*verdict.messages, *(f"not met: {c.criterion} ({c.because})" for c in unmet)),
        suggestions=(*weak, *verdict.suggestions),
    )


def _strength(output: ValidationOutput, results: Sequence[CheckResult], red_at_start: Collection[str]) -> float:
    given_results = given(results)
    if any(r.check.key in red_at_start and r.check.key not in output.hollow for r in given_results):
        return _PROVEN
    if output.tests is not None and output.tests.own_tests:
        return _OWN_TEST
    if given_results:
        return _GREEN_BEFORE
    planned = any(isinstance(r.check, CommandCheck | ExpressionCheck | TextCheck) for r in results)
    return _PLANNED if planned else _FILES_ONLY


def worth_keeping(before: Sequence[CheckResult], after: Sequence[CheckResult]) -> str:
    """Return why the work of a failed attempt should stay; empty if it should not.

    It stays if a check that failed before passes now, and none that passed before fails. Checks that a file exists or
    parses do not count.
    """
    passed = {result.check.key: result.passed for result in before}
    results = [r for r in decisive(after) if isinstance(r.check, CommandCheck | ExpressionCheck)]
    compared = [r for r in results if r.check.key in passed]
    gained = [r for r in compared if r.passed and not passed[r.check.key]]
    if not gained or any(passed[r.check.key] and not r.passed for r in compared):
        return ""
    return f"{gained[0].check.label!r} failed before and passes now"[:200]


def _weight(result: CheckResult) -> float:
    if isinstance(result.check, FileCheck | ParsesCheck):
        return 1.0
    return 3.0 if result.check.origin in ("user", "project") else 2.0
