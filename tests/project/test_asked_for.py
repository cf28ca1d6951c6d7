"""Which parts besides code a task asks for."""

import pytest

from surefoot.project.asked_for import asks_for_documents, has_new_log_entry, missing_parts, parts_asked_for


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


NAMED = [
    (
        "Add a --json flag. Mention it in doc/CHANGES-1.3.md and in the header comment of shflags.",
        ["doc/CHANGES-1.3.md"],
    ),
    ("Mention it in the header comment of shflags and in doc/CHANGES-1.3.md.", ["doc/CHANGES-1.3.md"]),
    ("Document it in doc/guide.md", ["doc/guide.md"]),
    ("Describe it in docs/usage.rst", ["docs/usage.rst"]),
    ("Fix the parser and add a line in doc/CHANGES.md", ["doc/CHANGES.md"]),
    ("Add an entry to HISTORY.md", ["HISTORY.md"]),
    ("Add an entry to NEWS.rst.", ["NEWS.rst"]),
    ("Note the change in `docs/api.md`.", ["docs/api.md"]),
    ("Update README.md and docs/usage.md.", ["README.md", "docs/usage.md"]),
    ("Update the table in README.md", ["README.md"]),
    ("Document how to use it in docs/usage.md.", ["docs/usage.md"]),
    (
        "Add a flag, document the new list command in README.md, docs/usage.md and CHANGES.rst.",
        ["README.md", "docs/usage.md", "CHANGES.rst"],
    ),
    ("Write a section about it in doc/guide.md", ["doc/guide.md"]),
    ("Record the change in NEWS", ["NEWS"]),
    ("and list it in docs/options.md", ["docs/options.md"]),
    ("Fix add; README.md should mention the flag.", ["README.md"]),
    ("In docs/usage.rst, describe the flag.", ["docs/usage.rst"]),
    ("Fix it, adding a note to HISTORY.md.", ["HISTORY.md"]),
    ("Add the flag to the parser and to the table at the end of doc/options.txt", ["doc/options.txt"]),
    ("document the type in README.rst and the release notes there", ["README.rst"]),
    ("Add an entry to the changelog section of README.rst.", ["README.rst"]),
    ("修复它，并写入 CHANGES.md。", ["CHANGES.md"]),
    ("修复解析器，把改动记录在 doc/CHANGES.md 中", ["doc/CHANGES.md"]),
    ("更新README.md和docs/usage.md", ["README.md", "docs/usage.md"]),
    ("在 docs/usage.rst 中说明用法", ["docs/usage.rst"]),
    ("添加参数，并在 `doc/guide.md` 里补充说明。", ["doc/guide.md"]),
    ("给 HISTORY.md 添加一条记录", ["HISTORY.md"]),
]
NOT_ASKED_FOR = [
    "Read doc/guide.md and fix the parser.",
    "Implement it as described in docs/usage.rst.",
    "See HISTORY.md for the style and add a flag.",
    "Fix it, but do not touch README.md.",
    "Do not mention it in README.md.",
    "Write stats.py as SPEC.md says.",
    "Implement the format described in docs/format.md",
    "Add the options listed in docs/options.md.",
    "Update the code to match the examples in README.md.",
    "Add an option to write the list to out.md.",
    "Write a script that writes a report to report.md.",
    "Add a function to calc.py.",
    "Fix the typo (see docs/style.md).",
    "Update calc.py according to docs/spec.md",
    "Write a summary of README.md",
    "What does docs/usage.rst say?",
    "Explain what README.md says.",
    "Write a parser for the grammar in docs/grammar.md",
    "Add docs/usage.md to the index.",
    "Add a check that README.md is valid.",
    "Document the functions listed in docs/api.md",
    "Fix add without updating README.md.",
    "Don't add anything to HISTORY.md",
    "阅读 doc/guide.md 并修复解析器",
    "不要修改 README.md",
    "按照 docs/usage.rst 实现",
    "参考 HISTORY.md 的写法",
    "不要在 README.md 中说明",
    "实现 docs/spec.md 中描述的格式",
    "在 docs/spec.md 中描述的格式要支持",
    "Leave README.md alone and fix calc.py",
    "Follow docs/spec.md to add a flag",
    "Make the example in docs/usage.md work.",
    "根据 docs/spec.md 更新代码",
    "Add the flag that docs/cli.md describes.",
    "Explain the terms in docs/terms.md",
    "List the functions in docs/api.md",
    "Change add to use the numbers in docs/rates.md",
    "Describe the architecture in docs/arch.md",
    "Move docs/a.md to docs/b.md",
    "Run the examples in README.md",
    "Add support for the syntax in docs/syntax.md",
    "Update the CHANGELOG.md parser",
    "Write parse.py, which reads CHANGES.md and writes NEWS.md.",
    "Create summary.py that updates README.md",
    "Include README.md in the package.",
    "Add a command that will update README.md",
]


@pytest.mark.parametrize(("task", "files"), NAMED)
def test_documents_that_are_named_as_the_place_to_write_to_are_parts(task: str, files: list[str]) -> None:
    assert parts_asked_for(task) == [f"a change of {path}" for path in files]
    assert asks_for_documents(task)
    assert missing_parts(task, ["calc.py", "docs/other.md"]) == [f"a change of {path}" for path in files]
    assert missing_parts(task, files) == []


@pytest.mark.parametrize("task", NOT_ASKED_FOR)
def test_documents_that_are_only_read_or_named_are_no_parts(task: str) -> None:
    assert parts_asked_for(task) == []


def test_a_named_document_is_a_part_beside_the_others() -> None:
    task = "Add a flag with tests, update the docs and add an entry to HISTORY.md."
    assert parts_asked_for(task) == ["tests", "documentation", "a change of HISTORY.md"]
    assert parts_asked_for("Implement the flag with README.md.") == ["a change of README.md"]
    assert parts_asked_for("Add tests for the examples in README.md.") == ["tests"]


@pytest.mark.parametrize(
    ("name", "changed", "is_there"),
    [
        ("doc/guide.md", "lib/doc/guide.md", True),
        ("guide.md", "doc/guide.md", True),
        ("Changes.md", "CHANGES.md", True),
        ("NEWS", "NEWS.rst", True),
        ("doc/guide.md", "guide.md", False),
        ("guide.md", "doc/new-guide.md", False),
    ],
)
def test_only_the_named_document_is_the_part(name: str, changed: str, is_there: bool) -> None:
    assert missing_parts(f"Mention it in {name}.", [changed]) == ([] if is_there else [f"a change of {name}"])


def test_a_changelog_is_documentation_only_if_the_project_has_no_other() -> None:
    task = "Fix it and mention it in the docs."
    assert missing_parts(task, ["CHANGELOG.md"], existing=["a.py", "README.md", "CHANGELOG.md"]) == ["documentation"]
    assert missing_parts(task, ["doc/HISTORY-1.3.rst"], existing=["doc/use.rst"]) == ["documentation"]
    assert missing_parts(task, ["CHANGELOG.md", "README.md"], existing=["README.md", "CHANGELOG.md"]) == []
    assert missing_parts(task, ["CHANGELOG.md"], existing=["a.py", "LICENSE.md", "data.txt", "CHANGELOG.md"]) == []
    assert missing_parts(task, ["docs/release-process.md"], existing=["README.md"]) == []


README = "Tool\n====\n\nUse it.\n\n{heading}\n\n- 1.0: first\n"


@pytest.mark.parametrize(
    "heading", ["Changelog\n---------", "## Changelog", "# Release Notes", "== History", "What's new\n~~~~~~~~~~"]
)
def test_an_entry_in_the_changelog_section_of_a_document_counts(heading: str) -> None:
    before = README.format(heading=heading)
    assert has_new_log_entry(before, before.replace("- 1.0", "- 1.1: second\n- 1.0"))
    assert has_new_log_entry("Tool\n====\n", before)
    assert not has_new_log_entry(before, before.replace("Use it.", "Use it well."))
    assert not has_new_log_entry("a", "The history of it.\n")
    task = "Fix it and add it to the release notes."
    assert missing_parts(task, ["README.rst"]) == ["a changelog entry"]
    assert missing_parts(task, ["README.rst"], logged=["README.rst"]) == []
