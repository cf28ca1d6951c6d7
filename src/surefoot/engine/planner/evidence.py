"""Evaluates criteria by evidence: checks, files and tests that the engine has seen. Pure.

A criterion without evidence is unknown. A word in common is no evidence, nor is a command that happens to succeed.
A precondition can be checked if it is a shell command in backquotes (or after `$ `), an expression over `outputs`, or
a sentence that says that files exist. Other preconditions are part of the prompt and block nothing.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from surefoot.core.outcome import CheckResult, CriterionResult
from surefoot.core.plan import (
    Check,
    CommandCheck,
    ExpressionCheck,
    FileCheck,
    JsonSchemaCheck,
    ParsesCheck,
    TextCheck,
)
from surefoot.engine.planner.subject import shared_words, subject_words
from surefoot.project.task_text import files_named_in

_PRESENT = re.compile(
    r"\b(?:exists?|is there|are there|is present|is available|is created|was created|"
    r"has been (?:created|written|added)|is written|was written|is generated)\b|存在|已创建|已生成|已写入|有该文件",
    re.IGNORECASE,
)
_NEGATED = re.compile(r"\b(?:not|no|never|without|gone|removed|deleted)\b|n't\b|不|未|没有|无", re.IGNORECASE)
_CHECKS_PASS = re.compile(
    r"\b(?:tests?|test suite|suite|checks?|pytest|unittest)\b[^.;]{0,40}\b(?:pass|passes|passing|green|succeeds?|ok)\b"
    r"|(?:测试|检查|用例)[^。；]{0,12}通过|通过[^。；]{0,12}(?:测试|检查|用例)",
    re.IGNORECASE,
)
_RUNS_TESTS = re.compile(r"\b(?:pytest|unittest|tox|nox|jest|vitest|mocha|rspec|ctest|test)\b|[/_]?test_|\btests?[/.]")


_PRINTS = re.compile(
    r"\b(?:prints?|printed|outputs?|shows?|displays?|reports?|stdout)\b|输出|打印|显示",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"`([^`]+)`|\"([^\"]+)\"|'([^']+)'|“([^”]+)”|「([^」]+)」")


@dataclass(frozen=True, slots=True)
class Evidence:
    """The evidence that criteria are evaluated by."""

    results: Sequence[CheckResult] = ()
    deciding: Sequence[CheckResult] = ()
    """The decisive ones of `results`. A failure among the others only makes a criterion unknown."""
    linked: Mapping[str, str] = field(default_factory=dict)
    """By criterion: the key of the check that the plan names for it."""
    files: Sequence[str] = ()
    """Files that the run has made or changed, and that exist."""
    tests: Sequence[str] = ()
    """Tests that failed before the run and pass now."""
    printed: Sequence[tuple[str, str]] = ()
    """Commands that succeeded, each with its output."""


def evaluate(criteria: Sequence[str], evidence: Evidence) -> tuple[CriterionResult, ...]:
    return tuple(_evaluate(criterion, evidence) for criterion in criteria)


def asserted_files(text: str) -> tuple[str, ...]:
    """Return the files that a sentence says exist, as in `report.html exists`; none if it says something else."""
    named = files_named_in(text)
    if not named or _NEGATED.search(text):
        return ()
    alone = re.fullmatch(r"[\s`'\"]*[\w./-]+[\s`'\".]*", text) is not None
    return tuple(named) if alone or _PRESENT.search(text) else ()


def checks_from_text(precondition: str) -> tuple[Check, ...]:
    """Return the checks of a precondition; none if it cannot be checked."""
    text = precondition.strip()
    if len(text) > 2 and text[0] == text[-1] == "`" and "`" not in text[1:-1]:
        return (CommandCheck(command=text[1:-1]),) if text[1:-1].strip() else ()
    if text.startswith("$ "):
        return (CommandCheck(command=text[2:]),)
    if text.startswith("outputs["):
        return (ExpressionCheck(expression=text),)
    return tuple(FileCheck(path=path) for path in asserted_files(text))


def files_required(precondition: str) -> tuple[str, ...]:
    """Return the files that must exist according to a precondition."""
    return tuple(check.path for check in checks_from_text(precondition) if isinstance(check, FileCheck))


def _evaluate(criterion: str, evidence: Evidence) -> CriterionResult:
    relevant = _relevant(criterion, evidence)
    red = [result for result in relevant if not result.passed]
    if deciding := [result for result in red if result in evidence.deciding]:
        return _result(criterion, False, f"failed: {deciding[0].check.label}")
    if red:
        return _result(criterion, None, f"a check of the plan itself fails: {red[0].check.label}")
    if (texts := _wanted_output(criterion)) and (command := _printed_by(texts, evidence)):
        return _result(criterion, True, f"printed by: {command}")
    # The success of a command does not show what it printed.
    relevant = [r for r in relevant if not texts or not isinstance(r.check, CommandCheck)]
    if relevant:
        return _result(criterion, True, f"passed: {relevant[0].check.label}")
    if (files := asserted_files(criterion)) and all(path in evidence.files for path in files):
        return _result(criterion, True, f"the run made or changed {', '.join(files)}")
    if test := next((test for test in evidence.tests if _is_about(criterion, test)), None):
        return _result(criterion, True, f"{test} failed before the run and passes now")
    return _result(criterion, None, "no check, file or test that was looked at can tell")


def _result(criterion: str, met: bool | None, because: str) -> CriterionResult:
    return CriterionResult(criterion=criterion, met=met, because=because)


def _relevant(criterion: str, evidence: Evidence) -> list[CheckResult]:
    """Return the results that show whether a criterion is met."""
    if key := evidence.linked.get(criterion):
        return [result for result in evidence.results if result.check.key == key]
    commands = [r for r in evidence.results if isinstance(r.check, CommandCheck | ExpressionCheck)]
    named = [result for result in commands if result.check.label in criterion]
    if not named and _CHECKS_PASS.search(criterion):
        named = [result for result in commands if _RUNS_TESTS.search(result.check.label)]
    if named:
        return named
    files = asserted_files(criterion)
    about = [result for result in evidence.results if files and _path_of(result) in files]
    about += [r for r in evidence.results if isinstance(r.check, TextCheck) and _has_pattern(criterion, r.check)]
    return about or [result for result in commands if _is_about(criterion, result.check.label)]


def _wanted_output(criterion: str) -> list[str]:
    """Return the quoted texts of a criterion that says what a command prints."""
    if _NEGATED.search(_QUOTED.sub("", criterion)) or not _PRINTS.search(_QUOTED.sub("", criterion)):
        return []
    return [text for groups in _QUOTED.findall(criterion) if (text := next(filter(None, groups), "").strip())]


def _printed_by(texts: Sequence[str], evidence: Evidence) -> str:
    """Return a command that succeeded and printed these texts; empty if none did.

    A text that quotes the command itself need not be printed.
    """
    for command, output in evidence.printed:
        expected_texts = [text for text in texts if not f"{command} ".startswith(f"{text} ")]
        if expected_texts and all(text in output for text in expected_texts):
            return command
    return ""


def _path_of(result: CheckResult) -> str:
    check = result.check
    return check.path if isinstance(check, FileCheck | ParsesCheck | TextCheck | JsonSchemaCheck) else ""


def _has_pattern(criterion: str, check: TextCheck) -> bool:
    """Whether a criterion names the file and the pattern of a text check."""
    plain = re.sub(r"\\(.)", r"\1", check.pattern).strip("^$")
    return check.path in criterion and len(plain) > 2 and plain in criterion


def _is_about(criterion: str, label: str) -> bool:
    """Whether a label has at least two words of a criterion, and at least half of them."""
    shared = shared_words(criterion, label)
    return len(shared) >= 2 and 2 * len(shared) >= len(subject_words(criterion))
