"""Finds the cause of a failure by rules on its evidence, and rates how sure a diagnosis is. Pure.

If no rule fits, `recover.py` asks the model.
"""

import re
from collections.abc import Sequence

from surefoot.core.outcome import ErrorCategory, Failure, FailureKind, StepReflection
from surefoot.tools.text.missing import MISSING_FILE, MISSING_MODULE

_ERROR_LINE = re.compile(r"^\s*(?:E\s+)?((?:\w+\.)*\w*(?:Error|Exception|Failure|Warning)\b.*)$", re.MULTILINE)
_CONTENT_ERRORS = re.compile(
    r"AssertionError|assert |SyntaxError|IndentationError|NameError|TypeError|ValueError|AttributeError|KeyError|"
    r"IndexError|ZeroDivisionError|RecursionError|ImportError: cannot import|FAILED|does not exist|"
    r"is empty|exit code|matches|does not meet its criterion"
)
_HANGING = re.compile(r"did not end within \d+")
_UNAVAILABLE = re.compile(
    r"command not found|not found in PATH|Permission denied|No space left|cannot allocate", re.IGNORECASE
)

_FAILED_BY_CHECKS = (FailureKind.CHECK_FAILED, FailureKind.REFUTED, FailureKind.REGRESSION)


def diagnose_by_rules(
    failure: Failure, workspace_modules: frozenset[str] = frozenset(), own_files: frozenset[str] = frozenset()
) -> StepReflection | None:
    """Return a diagnosis, or None if no rule fits.

    `own_files` are the files that the step itself had to write. If one of them is missing, the step is to blame.
    """
    text = f"{failure.message}\n{failure.evidence}"
    cause = _error_line_of(failure)
    match failure.kind:
        case FailureKind.TIMEOUT:
            return _reflection(ErrorCategory.TOOL_ERROR, cause, "it ran into a time limit", failure, 0.8)
        case FailureKind.MODEL_ERROR | FailureKind.OUT_OF_REACH:
            # Every rung but waiting needs the model, and no rung helps with something that cannot be reached.
            fix = "the model did not answer" if failure.kind is FailureKind.MODEL_ERROR else "give the run access to it"
            return _reflection(ErrorCategory.ENVIRONMENT_ERROR, cause, fix, failure, 0.9).with_(recoverable=False)
        case FailureKind.UNREADABLE_ANSWER:
            return _reflection(
                ErrorCategory.PARAMETER_ERROR, cause, "the answer was not in the asked form", failure, 0.9
            )
        case FailureKind.MISSING_ARTIFACT:
            return _reflection(ErrorCategory.DEPENDENCY_ERROR, cause, "make the missing result again", failure, 1.0)
        case FailureKind.DENIED:
            return _reflection(ErrorCategory.PARAMETER_ERROR, cause, "do it without what was denied", failure, 1.0)
        case FailureKind.LOOP | FailureKind.NO_PROGRESS | FailureKind.MAX_ACTIONS | FailureKind.REPLAN_REQUESTED:
            return _reflection(ErrorCategory.DECOMPOSITION_ERROR, cause, "plan this step differently", failure, 0.7)
        case FailureKind.TOOL_ERROR if failure.temporary:
            return _reflection(ErrorCategory.TOOL_ERROR, cause, "try again, or with another tool", failure, 0.8)
    if missing := _missing(failure, text, workspace_modules, own_files):
        return missing
    if unavailable := _UNAVAILABLE.search(text):
        return _reflection(
            ErrorCategory.ENVIRONMENT_ERROR, _line_with(text, unavailable), "use what this machine has", failure, 0.7
        )
    if failure.kind in _FAILED_BY_CHECKS and (hanging := _HANGING.search(text)):
        return _reflection(
            ErrorCategory.PARAMETER_ERROR, _line_with(text, hanging), "make every loop and wait end", failure, 0.7
        )
    if failure.kind in _FAILED_BY_CHECKS and _CONTENT_ERRORS.search(text):
        return _reflection(ErrorCategory.PARAMETER_ERROR, cause, "mend what the check shows", failure, 0.8)
    return None


def tool_failed(failure: Failure, tool: str, summary: str) -> StepReflection:
    """Diagnose a step whose last call ended with a temporary error: the tool failed, and the call may be right."""
    cause = f"{tool}: {summary.strip()}"[:300]
    return _reflection(ErrorCategory.TOOL_ERROR, cause, "try again, or with another tool", failure, 0.8)


def diagnosed_by_model(
    failure: Failure, category: ErrorCategory, root_cause: str, stated: float, earlier: Sequence[StepReflection]
) -> StepReflection:
    """Build the diagnosis of a model.

    `stated` is the confidence from 0 to 1 that the model states. It is scaled to 0.3 to 0.7, because a model's
    diagnosis counts less than a rule's.
    """
    cause = root_cause.strip() or failure.message
    strength = 0.3 + 0.4 * stated
    if _words(cause) & _words(f"{failure.message} {failure.evidence}"):
        # The stated cause shares words with the failure, so it is about this failure.
        strength += AGREEMENT
    reflection = _reflection(category, cause, "", failure, strength).with_(decided_by="model")
    return weighed(reflection, earlier)


AGREEMENT = 0.1
"""How much one more piece of evidence raises or lowers the confidence."""


def weighed(reflection: StepReflection, earlier: Sequence[StepReflection]) -> StepReflection:
    """Adjust the confidence by the last diagnosis: up if it has the same category, down if it has another.

    An unknown cause gets at most 0.3.
    """
    confidence = reflection.confidence
    if earlier and ErrorCategory.UNKNOWN not in (earlier[-1].category, reflection.category):
        confidence += AGREEMENT if earlier[-1].category is reflection.category else -AGREEMENT
    if reflection.category is ErrorCategory.UNKNOWN:
        confidence = min(confidence, 0.3)
    return reflection.with_(confidence=round(min(max(confidence, 0.0), 1.0), 2))


def _words(text: str) -> set[str]:
    return set(re.findall(r"[^\W_]{4,}|\d+", text.lower()))


def _missing(
    failure: Failure, text: str, workspace_modules: frozenset[str], own_files: frozenset[str]
) -> StepReflection | None:
    """Diagnose a missing module or file; None if none is missing.

    If the step had to make it, or its check looks for it, the step is to blame. Otherwise an earlier step had to make
    it.
    """
    if match := MISSING_MODULE.search(text):
        name = match.group(1).split(".")[0]
        own = name in workspace_modules or any(name in path.removesuffix(".py").split("/") for path in own_files)
        fix = f"make {name}, or import it as it is"
    elif match := MISSING_FILE.search(text):
        name = (match["python"] or match["shell"]).strip()
        own = any(name.endswith(path) for path in own_files)
        fix = f"make {name}"
    else:
        return None
    cause = _line_with(text, match)
    if own or (failure.kind in _FAILED_BY_CHECKS and name in failure.message):
        return _reflection(ErrorCategory.PARAMETER_ERROR, cause, fix, failure, 0.7)
    return _reflection(ErrorCategory.DEPENDENCY_ERROR, cause, f"{name} has to be made first", failure, 0.6)


def lesson(failure: Failure, reflection: StepReflection) -> str:
    """Return one or two lines for the next prompt about what went wrong last time."""
    fix = f" Next time: {reflection.suggested_fix}." if reflection.suggested_fix else ""
    return f"{reflection.root_cause.rstrip('.')}.{fix}"[:400]


def _reflection(category: ErrorCategory, cause: str, fix: str, failure: Failure, confidence: float) -> StepReflection:
    return StepReflection(
        category=category, root_cause=cause, suggested_fix=fix, confidence=confidence, evidence=failure.evidence[:800]
    )


def _line_with(text: str, match: re.Match[str]) -> str:
    start = text.rfind("\n", 0, match.start()) + 1
    return re.sub(r"^E\s+", "", text[start:].split("\n", 1)[0].strip())[:300]


def _error_line_of(failure: Failure) -> str:
    """Return the line of the evidence that names the error, or the message."""
    error_lines = _ERROR_LINE.findall(failure.evidence)
    return (error_lines[-1].strip() if error_lines else failure.message)[:300]
