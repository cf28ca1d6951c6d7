"""Parses the reports of test runners: counts, and the result of each test that is named. Pure.

Runners are recognised by their output, because `npm test` or `make test` does not say what it runs.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal
from xml.etree import ElementTree

from surefoot.core.proof import SuiteCounts

Result = Literal["passed", "failed", "skipped"]


@dataclass(frozen=True, slots=True)
class SuiteReport:
    """The report of one run of a test command."""

    counts: SuiteCounts | None = None
    """None: the output has no counts."""
    tests: Mapping[str, Result] = field(default_factory=dict)
    """The results by the name of the test. It may lack tests that passed, see `names_all`."""
    names_all: bool = False
    """Whether every test is in `tests`. Many runners name only those that failed."""

    def names(self, result: Result) -> set[str]:
        return {name for name, test_result in self.tests.items() if test_result == result}


@dataclass(frozen=True, slots=True)
class SuiteRun:
    """One run of a test command on one tree."""

    report: SuiteReport
    exit_code: int | None
    output: str
    problem: str = ""
    """Why the run says nothing about the tests: it timed out, or could not be started. Empty otherwise."""

    @property
    def green(self) -> bool:
        return (
            self.exit_code == 0 and not self.problem and (self.report.counts is None or not self.report.counts.failed)
        )


def read_report(output: str) -> SuiteReport:
    """Read the output of a command. The reports of several runners in one output are added up."""
    output = re.sub(r"\x1b\[[0-9;]*m", "", output)
    for group in _READERS:
        reports = [report for reader in group if (report := reader(output)) is not None]
        if reports:
            return _added_up(reports)
    return SuiteReport()


def read_junit(text: str) -> SuiteReport | None:
    """Read a report in JUnit XML; None if it is not XML. Names are `class::test`; a file that does not load has one."""
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError:
        return None
    tests: dict[str, Result] = {}
    for case in root.iter("testcase"):
        where, name = case.get("classname") or "", case.get("name") or ""
        kinds = {child.tag for child in case}
        result: Result = "failed" if kinds & {"failure", "error"} else "skipped" if "skipped" in kinds else "passed"
        full = f"{where}::{name}" if where else name
        # A test has two cases if its teardown fails too.
        tests[full] = "failed" if tests.get(full) == "failed" else result
    return SuiteReport(_count(tests.values()), tests, names_all=True)


def _count(results: Iterable[Result], *, extra_skips: int = 0) -> SuiteCounts:
    all_results = list(results)
    passed, failed, skipped = (all_results.count(kind) for kind in ("passed", "failed", "skipped"))
    skipped += extra_skips
    return SuiteCounts(collected=passed + failed + skipped, passed=passed, failed=failed, skipped=skipped)


def _counts(passed: int, failed: int, skipped: int) -> SuiteCounts:
    return SuiteCounts(collected=passed + failed + skipped, passed=passed, failed=failed, skipped=skipped)


def _added_up(reports: list[SuiteReport]) -> SuiteReport:
    counts = [report.counts for report in reports if report.counts is not None]
    tests = {name: result for report in reports for name, result in report.tests.items()}
    total = _counts(*(sum(getattr(c, kind) for c in counts) for kind in ("passed", "failed", "skipped")))
    return SuiteReport(total if counts else None, tests, all(report.names_all for report in reports))


def _named_counts(text: str) -> dict[str, int]:
    """`2 failed, 1 passed` as a dictionary."""
    return {word.lower(): int(number) for number, word in re.findall(r"(\d+) (\w+)", text)}


def _assigned_counts(text: str) -> dict[str, int]:
    """`failures=1, skipped=2` or `Tests: 3, Failures: 1` as a dictionary."""
    return {name.strip().lower(): int(number) for name, number in re.findall(r"([A-Za-z ]+?)\s*[=:]\s*(\d+)", text)}


# -- one reader for each runner --------------------------------------------------------------------------------------

_RESULTS: dict[str, Result] = {
    "passed": "passed", "ok": "passed", "pass": "passed", "xpass": "passed",
    "failed": "failed", "fail": "failed", "error": "failed", "unexpected success": "failed", "not run": "failed",
    "skipped": "skipped", "skip": "skipped", "xfail": "skipped", "expected failure": "skipped", "ignored": "skipped",
}  # fmt: skip
_PYTEST_END = re.compile(
    r"^(?:=+ )?((?:\d+ (?:failed|passed|skipped|deselected|xfailed|xpassed|errors?|warnings?|rerun)(?:, )?)+)"
    r" in [\d.]+s",
    re.MULTILINE,
)


def _pytest(output: str) -> SuiteReport | None:
    ends = _PYTEST_END.findall(output)
    if not ends:
        return None
    # Only the last one: those before it may be output of tests that run pytest themselves.
    named_counts = _named_counts(ends[-1])
    failed = named_counts.get("failed", 0) + named_counts.get("error", 0) + named_counts.get("errors", 0)
    skipped = named_counts.get("skipped", 0) + named_counts.get("xfailed", 0) + named_counts.get("deselected", 0)
    tests: dict[str, Result] = {
        match[1]: _RESULTS[match[2].lower()]
        for match in re.finditer(r"^(\S+::.+?) (PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS)\b", output, re.MULTILINE)
    }
    counts = _counts(named_counts.get("passed", 0) + named_counts.get("xpassed", 0), failed, skipped)
    names_all = len(tests) >= counts.ran > 0
    tests |= {match[1]: "failed" for match in re.finditer(r"^(?:FAILED|ERROR) (\S+(?:\[.*?\])?)", output, re.MULTILINE)}
    return SuiteReport(counts, tests, names_all)


def _unittest(output: str) -> SuiteReport | None:
    ends = list(re.finditer(r"^Ran (\d+) tests? in [\d.]+s$", output, re.MULTILINE))
    if not ends:
        return None
    ran = sum(int(end[1]) for end in ends)
    numbers: dict[str, int] = {}
    for line in re.findall(r"^(?:OK|FAILED|NO TESTS RAN)(?: \((.*)\))?$", output, re.MULTILINE):
        for name, number in _assigned_counts(line).items():
            numbers[name] = numbers.get(name, 0) + number
    failed = sum(numbers.get(name, 0) for name in ("failures", "errors", "unexpected successes"))
    skipped = numbers.get("skipped", 0) + numbers.get("expected failures", 0)
    lines = re.finditer(
        r"^(\w+) \(([\w.]+)\)(?:\n[^\n]*?)? \.\.\. (ok|FAIL|ERROR|skipped|expected failure|unexpected success)",
        output,
        re.MULTILINE,
    )
    tests = {_unittest_name(line[1], line[2]): _RESULTS[line[3].lower()] for line in lines}
    names_all = len(tests) >= ran
    for heading in re.finditer(r"^(?:FAIL|ERROR): (?!setUp|tearDown)(\w+) \(([\w.]+)\)", output, re.MULTILINE):
        tests[_unittest_name(heading[1], heading[2])] = "failed"
    # Subtests may fail more often than tests ran, and a broken class counts as an error but not as a test.
    return SuiteReport(_counts(max(ran - failed - skipped, 0), failed, skipped), tests, names_all)


def _unittest_name(test: str, where: str) -> str:
    """`test_a` in `mod.C.test_a` (Python 3.11 on) or `mod.C`: `mod.C.test_a`."""
    return where if where.rpartition(".")[2] == test else f"{where}.{test}"


def _go(output: str) -> SuiteReport | None:
    tests: dict[str, Result] = {}
    for match in re.finditer(r"^\s*--- (PASS|FAIL|SKIP): (\S+)", output, re.MULTILINE):
        tests[match[2]] = _RESULTS[match[1].lower()]
    for line in re.findall(r'^\{.*"Action":"(?:pass|fail|skip)".*\}$', output, re.MULTILINE):
        fields = dict(re.findall(r'"(Action|Package|Test)":"([^"]*)"', line))
        if "Test" in fields:
            tests[f"{fields.get('Package', '')}.{fields['Test']}"] = _RESULTS[fields["Action"]]
    packages = re.findall(r"^(ok|FAIL)\s+\S+\s+(?:[\d.]+s|\(cached\)|\[)", output, re.MULTILINE)
    if not tests and not packages:
        return None
    names_all = any(result != "failed" for result in tests.values())
    return SuiteReport(_count(tests.values()) if names_all else None, tests, names_all)


def _cargo(output: str) -> SuiteReport | None:
    ends = re.findall(r"^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored; .*?(\d+) filtered", output, re.M)
    if not ends:
        return None
    passed, failed, ignored, filtered = (sum(int(end[i]) for end in ends) for i in range(4))
    lines = re.finditer(r"^test (.+?) \.\.\. (ok|FAILED|ignored)", output, re.MULTILINE)
    tests = {line[1].removesuffix(" - should panic"): _RESULTS[line[2].lower()] for line in lines}
    names_all = len(tests) >= passed + failed
    tests |= dict.fromkeys(re.findall(r"^---- (\S+) stdout ----", output, re.MULTILINE), "failed")
    return SuiteReport(_counts(passed, failed, ignored + filtered), tests, names_all)


def _jest(output: str) -> SuiteReport | None:
    """jest (`Tests: 1 failed, 2 passed, 3 total`) and vitest (`Tests  1 failed | 2 passed (3)`)."""
    ends = re.findall(r"^\s*Tests:? +((?:\d+ \w+(?:, | \| )?)+)", output, re.MULTILINE)
    if not ends:
        return None
    all_counts = [_named_counts(end) for end in ends]
    passed, failed = (sum(counts.get(kind, 0) for counts in all_counts) for kind in ("passed", "failed"))
    skipped = sum(counts.get(kind, 0) for counts in all_counts for kind in ("skipped", "todo", "pending"))
    return SuiteReport(_counts(passed, failed, skipped), *_marked(output, passed + failed))


def _mocha(output: str) -> SuiteReport | None:
    passing = re.findall(r"^\s*(\d+) passing \(", output, re.MULTILINE)
    if not passing:
        return None
    failing, pending = (
        sum(map(int, re.findall(rf"^\s*(\d+) {word}$", output, re.MULTILINE))) for word in ("failing", "pending")
    )
    passed = sum(map(int, passing))
    return SuiteReport(_counts(passed, failing, pending), *_marked(output, passed + failing))


def _node(output: str) -> SuiteReport | None:
    """Node's own runner: `# tests 3` in TAP, `ℹ tests 3` in its other format."""
    matches = re.findall(r"^(?:#|\u2139) (tests|pass|fail|cancelled|skipped|todo) (\d+)$", output, re.MULTILINE)
    numbers = {name: int(number) for name, number in matches}
    if not {"tests", "pass", "fail"} <= numbers.keys():
        return None
    failed = numbers["fail"] + numbers.get("cancelled", 0)
    counts = _counts(numbers["pass"], failed, numbers.get("skipped", 0) + numbers.get("todo", 0))
    tests, names_all = _marked(output, counts.ran)
    lines = _tap_lines(output)
    return SuiteReport(counts, lines or tests, len(lines) >= counts.ran if lines else names_all)


def _marked(output: str, ran: int) -> tuple[dict[str, Result], bool]:
    """Return the tests of lists with a mark before each name, as JavaScript runners do, and whether all are named."""
    marks: dict[str, Result] = {"\u2713": "passed", "\u2714": "passed", "\u221a": "passed"}
    marks |= {"\u2715": "failed", "\u2716": "failed", "\u00d7": "failed", "\u2717": "failed"}
    marks |= {"\u25cb": "skipped", "\u2193": "skipped", "\ufe63": "skipped"}
    tests: dict[str, Result] = {}
    for match in re.finditer(rf"^\s*([{''.join(marks)}])\s+(.+?)(?:\s+\(?[\d.]+\s*m?s\)?)?$", output, re.MULTILINE):
        tests[match[2].removeprefix("skipped ").strip()] = marks[match[1]]
    return tests, len(tests) >= ran > 0


def _tap_lines(output: str) -> dict[str, Result]:
    tests: dict[str, Result] = {}
    for match in re.finditer(r"^\s*(not ok|ok)\s+(\d+)(?: -)? ?(.*?)(?: # (\w+).*)?$", output, re.MULTILINE):
        skipped = (match[4] or "").lower() in ("skip", "skipped", "todo")
        tests[match[3].strip() or match[2]] = "skipped" if skipped else "passed" if match[1] == "ok" else "failed"
    return tests


def _tap(output: str) -> SuiteReport | None:
    if not re.search(r"^1\.\.\d+", output, re.MULTILINE) or not (tests := _tap_lines(output)):
        return None
    return SuiteReport(_count(tests.values()), tests, names_all=True)


def _ctest(output: str) -> SuiteReport | None:
    if not re.search(r"^\d+% tests passed, \d+ tests? failed out of \d+", output, re.MULTILINE):
        return None
    lines = re.findall(r"^\s*\d+/\d+ Test +#\d+: (\S+) \.*\s*(?:\*+)?(\w+(?: Run)?)", output, re.MULTILINE)
    tests = {name: _RESULTS.get(result.lower(), "failed") for name, result in lines}
    return SuiteReport(_count(tests.values()), tests, names_all=True)


def _rspec(output: str) -> SuiteReport | None:
    ends = re.findall(r"^(\d+) examples?, (\d+) failures?(?:, (\d+) pending)?", output, re.MULTILINE)
    if not ends:
        return None
    total, failed, pending = (sum(int(end[i] or 0) for end in ends) for i in range(3))
    names = re.findall(r"^rspec (\S+) #", output, re.MULTILINE)
    return SuiteReport(_counts(total - failed - pending, failed, pending), dict.fromkeys(names, "failed"))


def _surefire(output: str) -> SuiteReport | None:
    # Each class has such a line with its time; the totals have none.
    pattern = r"Tests run: (\d+), Failures: (\d+), Errors: (\d+), Skipped: (\d+)\s*$"
    ends = re.findall(pattern, output, re.MULTILINE)
    if not ends:
        return None
    total, failures, errors, skipped = (sum(int(end[i]) for end in ends) for i in range(4))
    names = re.findall(r"^\[ERROR\]\s+(\w[\w.$]*\.\w+):\d+", output, re.MULTILINE)
    failed = failures + errors
    return SuiteReport(_counts(total - failed - skipped, failed, skipped), dict.fromkeys(names, "failed"))


def _phpunit(output: str) -> SuiteReport | None:
    if whole := re.search(r"^OK \((\d+) tests?, \d+ assertions?\)", output, re.MULTILINE):
        return SuiteReport(_counts(int(whole[1]), 0, 0))
    end = re.search(r"^Tests: \d+, Assertions: \d+.*\.$", output, re.MULTILINE)
    if end is None:
        return None
    numbers = _assigned_counts(end[0])
    failed = numbers.get("failures", 0) + numbers.get("errors", 0)
    skipped = numbers.get("skipped", 0) + numbers.get("incomplete", 0) + numbers.get("risky", 0)
    names = re.findall(r"^\d+\) ([\w\\]+::\w+)", output, re.MULTILINE)
    return SuiteReport(
        _counts(max(numbers["tests"] - failed - skipped, 0), failed, skipped), dict.fromkeys(names, "failed")
    )


_READERS: tuple[tuple[Callable[[str], SuiteReport | None], ...], ...] = (
    (_pytest, _unittest, _cargo, _jest, _mocha, _node, _ctest, _rspec, _surefire, _phpunit),
    # Less specific readers, for output that no other reader understands.
    (_go,),
    (_tap,),
)
