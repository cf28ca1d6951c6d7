"""Diagnosis by rules: category and cause from cheap evidence, or nothing where it does not decide."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefoot.config.model import ReflectionConfig
from surefoot.core.outcome import ErrorCategory, Failure, FailureKind
from surefoot.core.transitions import Rung
from surefoot.engine.reflector.diagnose import diagnose_by_rules, lesson
from surefoot.engine.reflector.ladder import Facts, next_rung

PYTEST_OUTPUT = """test_adder.py F                                     [100%]
    def test_adds():
>       assert add(2, 3) == 5
E       AssertionError: assert -1 == 5
FAILED test_adder.py::test_adds - AssertionError: assert -1 == 5"""


def failed(evidence: str = "", kind: FailureKind = FailureKind.CHECK_FAILED, **more: object) -> Failure:
    return Failure.model_validate({"kind": kind, "message": "its checks fail", "evidence": evidence, **more})


PARAMETER, TOOL, DEPENDENCY, DECOMPOSITION, ENVIRONMENT = (
    ErrorCategory.PARAMETER_ERROR,
    ErrorCategory.TOOL_ERROR,
    ErrorCategory.DEPENDENCY_ERROR,
    ErrorCategory.DECOMPOSITION_ERROR,
    ErrorCategory.ENVIRONMENT_ERROR,
)

DIAGNOSES = [
    ("a failing assertion", failed(PYTEST_OUTPUT), PARAMETER, "AssertionError: assert -1 == 5"),
    ("a syntax error", failed("  File x.py\nSyntaxError: invalid syntax"), PARAMETER, "SyntaxError: invalid syntax"),
    ("a file that does not exist", failed("sum.txt exists\nsum.txt does not exist"), PARAMETER, "checks fail"),
    ("only an exit code", failed("exit code 3, no output"), PARAMETER, "its checks fail"),
    ("a refuted step", failed("E  TypeError: f()", FailureKind.REFUTED), PARAMETER, "TypeError: f()"),
    ("a module that does not exist", failed("ModuleNotFoundError: No module named 'pandas'"), DEPENDENCY, "pandas"),
    ("a module of the workspace", failed("ModuleNotFoundError: No module named 'shop.cart'"), PARAMETER, "shop.cart"),
    ("a module that the step writes", failed("ModuleNotFoundError: No module named 'parser'"), PARAMETER, "parser"),
    ("a missing file", failed("FileNotFoundError: No such file or directory: 'clean.csv'"), DEPENDENCY, "clean.csv"),
    ("a missing file, reported by a shell", failed("cat: clean.csv: No such file or directory"), DEPENDENCY, "clean"),
    ("a file the step writes", failed("cat: out/parser.py: No such file or directory"), PARAMETER, "out/parser.py"),
    ("a file that its check reads", failed("cat: sum.txt: No such file or directory", message="failed: cat sum.txt"),
     PARAMETER, "sum.txt"),
    ("a module that its check imports", failed("No module named 'sums'", message="failed: python3 -c 'import sums'"),
     PARAMETER, "sums"),
    ("a file that a tool reads", failed("read: No such file or directory: 'a.csv'", FailureKind.TOOL_ERROR,
     message="read: No such file or directory: 'a.csv'"), DEPENDENCY, "a.csv"),
    ("an endless check", failed("python3 -m unittest\ndid not end within 120 s"), PARAMETER, "not end within 120 s"),
    ("a missing program", failed("sh: 1: docker: command not found"), ENVIRONMENT, "docker"),
    ("no rights", failed("PermissionError: [Errno 13] Permission denied: '/etc/x'"), ENVIRONMENT, "PermissionError"),
    ("a timeout", failed("", FailureKind.TIMEOUT), TOOL, "checks fail"),
    ("a tool that is down", failed("refused", FailureKind.TOOL_ERROR, temporary=True), TOOL, "checks fail"),
    ("no model", failed("", FailureKind.MODEL_ERROR, temporary=True), ENVIRONMENT, "checks fail"),
    ("an unreadable answer", failed("I like trains", FailureKind.UNREADABLE_ANSWER), PARAMETER, "checks fail"),
    ("denied by a person", failed("", FailureKind.DENIED), PARAMETER, "checks fail"),
    ("a loop", failed("", FailureKind.LOOP), DECOMPOSITION, "checks fail"),
    ("too many actions", failed("", FailureKind.MAX_ACTIONS), DECOMPOSITION, "checks fail"),
    ("the model requests another plan", failed("", FailureKind.REPLAN_REQUESTED), DECOMPOSITION, "checks fail"),
]  # fmt: skip


@pytest.mark.req("R1")
@pytest.mark.parametrize(
    ("failure", "category", "cause"), [pytest.param(f, c, cause, id=name) for name, f, c, cause in DIAGNOSES]
)
def test_rules_find_the_category_and_the_cause(failure: Failure, category: ErrorCategory, cause: str) -> None:
    reflection = diagnose_by_rules(failure, frozenset({"shop"}), frozenset({"out/parser.py"}))
    assert reflection is not None
    assert reflection.category is category
    assert cause in reflection.root_cause
    assert reflection.decided_by == "rules"
    assert reflection.evidence == failure.evidence
    assert 0.5 < reflection.confidence <= 1


@pytest.mark.req("R1")
@pytest.mark.parametrize(
    "failure",
    [
        failed("数据源不存在: ds_invalid", FailureKind.TOOL_ERROR),
        failed("it did not work", FailureKind.TOOL_ERROR),
        failed("wrong", FailureKind.CHECK_FAILED),
        failed("", FailureKind.TOOL_ERROR),
    ],
)
def test_unclear_evidence_gives_no_diagnosis(failure: Failure) -> None:
    assert diagnose_by_rules(failure) is None


@pytest.mark.req("R1", "P11")
def test_unavailable_model_ends_the_run_after_its_retries() -> None:
    """Waiting may help; every other recovery needs the model that does not answer."""
    reflection = diagnose_by_rules(failed("", FailureKind.MODEL_ERROR, temporary=True))
    assert reflection is not None
    facts = Facts(ReflectionConfig(), reflection.category, recoverable=reflection.recoverable, temporary=True)
    assert next_rung(facts)[0] is Rung.RETRY_LATER

    assert next_rung(replace(facts, temporary_retries=3))[0] is Rung.GIVE_UP


@pytest.mark.req("R8")
def test_lesson_is_short_and_names_cause_and_fix() -> None:
    failure = failed(PYTEST_OUTPUT)
    reflection = diagnose_by_rules(failure)
    assert reflection is not None
    assert lesson(failure, reflection) == "AssertionError: assert -1 == 5. Next time: mend what the check shows."
    endless = reflection.with_(root_cause="x" * 5000)
    assert len(lesson(failure, endless)) <= 400


@pytest.mark.req("R1")
@given(st.sampled_from(FailureKind), st.text(), st.text(), st.booleans())
def test_any_evidence_can_be_diagnosed(kind: FailureKind, message: str, evidence: str, temporary: bool) -> None:
    failure = Failure(kind=kind, message=message, evidence=evidence, temporary=temporary)
    reflection = diagnose_by_rules(failure, frozenset({"a"}), frozenset({"a.py"}))
    if reflection is not None:
        assert len(reflection.root_cause) <= 300
        assert len(reflection.evidence) <= 800
        assert len(lesson(failure, reflection)) <= 400
