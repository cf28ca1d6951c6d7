"""Which parts besides code a task asks for."""

import pytest

from surefoot.project.asked_for import missing_parts, parts_asked_for


@pytest.mark.parametrize(
    ("task", "parts"),
    [
        ("Fix add in calc.py, and add tests.", ["tests"]),
        ("Add a --json flag to report.py with tests and update the README.", ["tests", "documentation"]),
        ("Update the type stub, add tests, and add an entry to the changelog.", ["tests", "a changelog entry"]),
        ("Give the parser a timeout. Add unit tests for it and mention it in the docs.", ["tests", "documentation"]),
        ("Add a regression test.", ["tests"]),
        ("修复解析器，并添加测试，更新文档。", ["tests", "documentation"]),
        ("给 report.py 加一个参数，补充单元测试和更新日志。", ["tests", "a changelog entry"]),
        ("给 chunked 加一个参数。要有测试、类型存根（.pyi）和文档字符串。", ["tests"]),
        ("改用新接口，必须包含单元测试。", ["tests"]),
        ("实现缓存，需要测试和文档。", ["tests", "documentation"]),
        ("修复它，带上回归测试。", ["tests"]),
        ("修复它，需要通过测试。", []),
        ("修复它，不需要测试。", []),
        ("改完需要测试一下。", []),
        ("Make the failing tests pass.", []),
        ("Fix calc.py and tests must pass.", []),
        ("Change the code, and do not add tests.", []),
        ("Refactor without tests.", []),
        ("Write stats.py as SPEC.md says.", []),
        ("不要添加测试，只修改代码。", []),
        ("Fix the bug so that the tests in tests/ pass and update nothing else.", []),
    ],
)
def test_parts_that_a_task_asks_for(task: str, parts: list[str]) -> None:
    assert parts_asked_for(task) == parts


LOOKS = [
    "Read the module and its test",
    "Read the module with its tests",
    "Look at calc.py and test_calc.py, and the tests for it",
    "Understand the parser and the existing tests",
    "Inspect the failing code plus its unit tests",
    "Run the linter and the tests",
    "Review the code, the docs and the tests",
    "Explore the repository and locate tests",
    "Check that calc.py works with the test data",
    "Fix the parser and run its tests",
    "Update calc.py to pass the tests",
    "Create calc.py that passes the tests",
    "Write a summary of the tests",
    "Add logging to the test runner",
    "阅读模块及其测试",
    "阅读代码并了解测试",
    "查看并运行现有测试",
    "修改代码以通过测试",
    "写一份现有测试的总结",
    "补全实现，使测试通过",
    "写完代码后运行测试",
]
MAKES = [
    "Write new tests",
    "Read the module and write its test",
    "Add a test for the empty list",
    "Implement median with tests",
    "Implement median and its unit tests",
    "Fix the parser plus a regression test",
    "Create test cases covering negative numbers",
    "Extend the existing test suite",
    "Update the tests",
    "Cover the new flag with a test",
    "Fix add, with a test that fails before",
    "Read the spec, then add unit and integration tests",
    "Write a couple of tests",
    "编写测试",
    "阅读模块并编写其测试",
    "实现中位数函数并补充单元测试",
    "为 calc.py 添加三个测试用例",
    "更新现有测试",
]


@pytest.mark.parametrize("name", LOOKS)
def test_tests_that_are_only_looked_at_or_run_are_not_asked_for(name: str) -> None:
    assert "tests" not in parts_asked_for(name)


@pytest.mark.parametrize("name", MAKES)
def test_tests_that_are_to_be_written_are_asked_for(name: str) -> None:
    assert "tests" in parts_asked_for(name)


def test_documents_that_are_only_read_are_not_asked_for() -> None:
    assert parts_asked_for("Read the code and the README") == []
    assert parts_asked_for("Compare the code with the documentation and the changelog") == []
    assert parts_asked_for("Implement the flag and its documentation") == ["documentation"]


def test_a_part_is_there_if_a_changed_file_can_be_it() -> None:
    task = "Fix it. Add tests, update the documentation and add an entry to the changelog."
    assert missing_parts(task, ["a.py"]) == ["tests", "documentation", "a changelog entry"]
    assert missing_parts(task, ["a.py", "tests/test_a.py"]) == ["documentation", "a changelog entry"]
    assert missing_parts(task, ["tests/test_a.py", "docs/use.md", "docs/versions.rst"]) == []
