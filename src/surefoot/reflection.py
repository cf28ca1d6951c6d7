"""Why did it fail? Rules first, from cheap evidence; pure. Where no rule fits, `recovery.py` asks the model."""

import re

from surefoot.outcome import ErrorCategory, Failure, FailureKind, StepReflection

_MISSING_MODULE = re.compile(r"No module named ['\"]?([\w.]+)")
_MISSING_FILE = re.compile(
    r"No such file or directory: ['\"]?(?P<python>[^'\"\n]+)|(?P<shell>[^\s:'\"]+)['\"]?: No such file or directory"
)
_ERROR_LINE = re.compile(r"^\s*(?:E\s+)?((?:\w+\.)*\w*(?:Error|Exception|Failure|Warning)\b.*)$", re.MULTILINE)
_CONTENT_ERRORS = re.compile(
    r"AssertionError|assert |SyntaxError|IndentationError|NameError|TypeError|ValueError|AttributeError|KeyError|"
    r"IndexError|ZeroDivisionError|RecursionError|ImportError: cannot import|FAILED|does not exist|"
    r"is empty|exit code|matches"
)
_ENDLESS = re.compile(r"no end after \d+")
_LACKING = re.compile(
    r"command not found|not found in PATH|Permission denied|No space left|cannot allocate", re.IGNORECASE
)

_BY_CHECKS = (FailureKind.CHECK_FAILED, FailureKind.REFUTED, FailureKind.MAX_ACTIONS)


def reflect_by_rules(
    failure: Failure, workspace_modules: frozenset[str] = frozenset(), own_files: frozenset[str] = frozenset()
) -> StepReflection | None:
    """A reflection, or None when the evidence does not tell. `own_files` are those that the step itself had to write:
    that they are missing is its own failure and nobody else's."""
    text = f"{failure.message}\n{failure.evidence}"
    cause = _telling_line(failure)
    match failure.kind:
        case FailureKind.TIMEOUT:
            return _because(ErrorCategory.TOOL_ERROR, cause, "it ran into a time limit", failure, 0.8)
        case FailureKind.MODEL_ERROR | FailureKind.OUT_OF_REACH:
            # Every rung but waiting needs the model, and none leads to what cannot be reached.
            fix = "the model did not answer" if failure.kind is FailureKind.MODEL_ERROR else "it has to be let there"
            return _because(ErrorCategory.ENVIRONMENT_ERROR, cause, fix, failure, 0.9).with_(recoverable=False)
        case FailureKind.UNREADABLE_ANSWER:
            return _because(ErrorCategory.PARAMETER_ERROR, cause, "the answer was not in the asked form", failure, 0.9)
        case FailureKind.MISSING_ARTIFACT:
            return _because(ErrorCategory.DEPENDENCY_ERROR, cause, "make the missing result again", failure, 1.0)
        case FailureKind.DENIED:
            return _because(ErrorCategory.PARAMETER_ERROR, cause, "do it without what was denied", failure, 1.0)
        case FailureKind.LOOP | FailureKind.NO_PROGRESS | FailureKind.MAX_ACTIONS | FailureKind.REPLAN_REQUESTED:
            return _because(ErrorCategory.DECOMPOSITION_ERROR, cause, "plan this step differently", failure, 0.7)
        case FailureKind.TOOL_ERROR if failure.temporary:
            return _because(ErrorCategory.TOOL_ERROR, cause, "try again, or with another tool", failure, 0.8)
    if missing := _missing(failure, text, workspace_modules, own_files):
        return missing
    if lacking := _LACKING.search(text):
        return _because(
            ErrorCategory.ENVIRONMENT_ERROR, _line_with(text, lacking), "use what this machine has", failure, 0.7
        )
    if failure.kind in _BY_CHECKS and (endless := _ENDLESS.search(text)):
        return _because(
            ErrorCategory.PARAMETER_ERROR, _line_with(text, endless), "make every loop and wait end", failure, 0.7
        )
    if failure.kind in _BY_CHECKS and _CONTENT_ERRORS.search(text):
        return _because(ErrorCategory.PARAMETER_ERROR, cause, "mend what the check shows", failure, 0.8)
    return None


def _missing(
    failure: Failure, text: str, workspace_modules: frozenset[str], own_files: frozenset[str]
) -> StepReflection | None:
    """Something is not there. What the step itself was to make, or its check looks for, is its own failure; anything
    else had to come from an earlier step."""
    if found := _MISSING_MODULE.search(text):
        name = found.group(1).split(".")[0]
        own = name in workspace_modules or any(name in path.removesuffix(".py").split("/") for path in own_files)
        fix = f"make {name}, or import it as it is"
    elif found := _MISSING_FILE.search(text):
        name = (found["python"] or found["shell"]).strip()
        own = any(name.endswith(path) for path in own_files)
        fix = f"make {name}"
    else:
        return None
    cause = _line_with(text, found)
    if own or (failure.kind in _BY_CHECKS and name in failure.message):
        return _because(ErrorCategory.PARAMETER_ERROR, cause, fix, failure, 0.7)
    return _because(ErrorCategory.DEPENDENCY_ERROR, cause, f"{name} has to be made first", failure, 0.6)


def says_missing(text: str) -> bool:
    """Whether what failed only says that something is not there."""
    return bool(_MISSING_MODULE.search(text) or _MISSING_FILE.search(text))


def lesson(failure: Failure, reflection: StepReflection) -> str:
    """One or two lines for the next prompt: what went wrong last time."""
    fix = f" Next time: {reflection.suggested_fix}." if reflection.suggested_fix else ""
    return f"{reflection.root_cause.rstrip('.')}.{fix}"[:400]


def _because(category: ErrorCategory, cause: str, fix: str, failure: Failure, confidence: float) -> StepReflection:
    return StepReflection(
        category=category, root_cause=cause, suggested_fix=fix, confidence=confidence, evidence=failure.evidence[:800]
    )


def _line_with(text: str, found: re.Match[str]) -> str:
    start = text.rfind("\n", 0, found.start()) + 1
    return re.sub(r"^E\s+", "", text[start:].split("\n", 1)[0].strip())[:300]


def _telling_line(failure: Failure) -> str:
    """The line of the evidence that names the error; else the message itself."""
    found = _ERROR_LINE.findall(failure.evidence)
    return (found[-1].strip() if found else failure.message)[:300]
