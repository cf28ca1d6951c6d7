"""Why did it fail? Rules first, from cheap evidence; pure. Where no rule fits, `recovery.py` asks the model."""

import re

from surefoot.outcome import ErrorCategory, Failure, FailureKind, StepReflection

_MISSING_MODULE = re.compile(r"No module named ['\"]?([\w.]+)")
_MISSING_FILE = re.compile(r"No such file or directory: ['\"]?([^'\"\n]+)")
_ERROR_LINE = re.compile(r"^\s*(?:E\s+)?((?:\w+\.)*\w*(?:Error|Exception|Failure|Warning)\b.*)$", re.MULTILINE)
_CONTENT_ERRORS = re.compile(
    r"AssertionError|assert |SyntaxError|IndentationError|NameError|TypeError|ValueError|AttributeError|KeyError|"
    r"IndexError|ZeroDivisionError|RecursionError|ImportError: cannot import|FAILED|does not parse|exit code|matches"
)
_LACKING = re.compile(
    r"command not found|not found in PATH|Permission denied|No space left|cannot allocate", re.IGNORECASE
)


def reflect_by_rules(failure: Failure, workspace_modules: frozenset[str] = frozenset()) -> StepReflection | None:
    """A reflection, or None when the evidence does not tell."""
    text = f"{failure.message}\n{failure.evidence}"
    cause = _telling_line(failure)
    match failure.kind:
        case FailureKind.TIMEOUT:
            return _because(ErrorCategory.TOOL_ERROR, cause, "it ran into a time limit", failure, 0.8)
        case FailureKind.MODEL_ERROR:
            return _because(ErrorCategory.ENVIRONMENT_ERROR, cause, "the model did not answer", failure, 0.9)
        case FailureKind.UNREADABLE_ANSWER:
            return _because(ErrorCategory.PARAMETER_ERROR, cause, "the answer was not in the asked form", failure, 0.9)
        case FailureKind.DENIED:
            return _because(ErrorCategory.PARAMETER_ERROR, cause, "do it without what was denied", failure, 1.0)
        case FailureKind.LOOP | FailureKind.NO_PROGRESS | FailureKind.MAX_ACTIONS | FailureKind.REPLAN_REQUESTED:
            return _because(ErrorCategory.DECOMPOSITION_ERROR, cause, "plan this step differently", failure, 0.7)
        case FailureKind.TOOL_ERROR if failure.temporary:
            return _because(ErrorCategory.TOOL_ERROR, cause, "try again, or with another tool", failure, 0.8)
    if missing := _MISSING_MODULE.search(text):
        name = missing.group(1).split(".")[0]
        if name in workspace_modules:
            return _because(ErrorCategory.PARAMETER_ERROR, cause, f"check how {name} is imported", failure, 0.7)
        return _because(ErrorCategory.DEPENDENCY_ERROR, cause, f"make {name}, or do without it", failure, 0.7)
    if missing := _MISSING_FILE.search(text):
        return _because(ErrorCategory.DEPENDENCY_ERROR, cause, f"{missing.group(1)} has to be made first", failure, 0.6)
    if _LACKING.search(text):
        return _because(ErrorCategory.ENVIRONMENT_ERROR, cause, "use what this machine has", failure, 0.7)
    if failure.kind in (FailureKind.CHECK_FAILED, FailureKind.REFUTED) and _CONTENT_ERRORS.search(text):
        return _because(ErrorCategory.PARAMETER_ERROR, cause, "mend what the check shows", failure, 0.8)
    return None


def lesson(failure: Failure, reflection: StepReflection) -> str:
    """One or two lines for the next prompt: what went wrong last time."""
    fix = f" Next time: {reflection.suggested_fix}." if reflection.suggested_fix else ""
    return f"{reflection.root_cause.rstrip('.')}.{fix}"[:400]


def _because(category: ErrorCategory, cause: str, fix: str, failure: Failure, confidence: float) -> StepReflection:
    return StepReflection(
        category=category, root_cause=cause, suggested_fix=fix, confidence=confidence, evidence=failure.evidence[:800]
    )


def _telling_line(failure: Failure) -> str:
    """The line of the evidence that names the error; else the message itself."""
    found = _ERROR_LINE.findall(failure.evidence)
    return (found[-1].strip() if found else failure.message)[:300]
