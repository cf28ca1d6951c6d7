"""Which parts besides code a task asks for."""

import pytest

from surefoot.prompting.project.asked_for import missing_parts, parts_asked_for


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


def test_a_part_is_there_if_a_changed_file_can_be_it() -> None:
    task = "Fix it. Add tests, update the documentation and add an entry to the changelog."
    assert missing_parts(task, ["a.py"]) == ["tests", "documentation", "a changelog entry"]
    assert missing_parts(task, ["a.py", "tests/test_a.py"]) == ["documentation", "a changelog entry"]
    assert missing_parts(task, ["tests/test_a.py", "docs/use.md", "docs/versions.rst"]) == []
