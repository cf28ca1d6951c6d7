"""Extracting one file from an answer, in the forms that models use."""

import pytest

from surefoot.models.parsing.answer import find_body, read_fenced

CODE = "def double(x):\n    return 2 * x\n"
TESTS = "from double import double\n\n\ndef test_double():\n    assert double(2) == 4\n"
README = "# Double\n\n```python\nimport double\n```\n\nThat is all.\n"

ONE_FILE = {
    "a fence": f"```python\n{CODE}```",
    "a fence without a language": f"```\n{CODE}```",
    "tildes": f"~~~python\n{CODE}~~~",
    "prose around": f"Here it is:\n\n```python\n{CODE}```\n\nIt doubles.",
    "the path in the fence": f"```python path=src/double.py\n{CODE}```",
    "the path as the language": f"```src/double.py\n{CODE}```",
    "the path behind a colon": f"```python:src/double.py\n{CODE}```",
    "the path as a title": f'```python title="double.py"\n{CODE}```',
    "the path in a comment": f"```python\n# src/double.py\n{CODE}```",
    "the path in a decorated comment": f"```python\n# --- File: double.py ---\n\n{CODE}```",
    "the path in bold above": f"**src/double.py**\n\n```python\n{CODE}```",
    "the path in a heading above": f"### `double.py`:\n```python\n{CODE}```",
    "no closing fence": f"```python\n{CODE}",
    "the closing fence glued on": "```python\ndef double(x):\n    return 2 * x```\nDone.",
    "the opening fence glued on": f"Sure: ```python\n{CODE}```",
    "an indented fence": "1. The file:\n   ```python\n   def double(x):\n       return 2 * x\n   ```\n",
    "Windows line ends": f"```python\n{CODE}```".replace("\n", "\r\n"),
    "no fence at all": CODE,
    "only the fence at the end": f"{CODE}```",
    "thinking before": f"<think>```python\npass\n```</think>\n```python\n{CODE}```",
    "a longer fence": f"````python\n{CODE}````",
    "how to run it": f"```python\n{CODE}```\nRun it:\n```bash\npython -m pytest -q -k double --maxfail=1 -x\n```",
    "an example of use": f"```python\n{CODE}```\nExample:\n```python\ndouble(2)\n```",
    "an example that is no Python": f"```python\n{CODE}```\nIt prints:\n```\n>>> double(2), and it is 4 there\n```",
    "a decision before it": f'```json\n{{"action": "write", "path": "src/double.py", "n": 1}}\n```\n```python\n{CODE}```',  # noqa: E501
    "a draft before it": f"```python\n# double.py\nx = 1\n```\nCorrected:\n```python\n# double.py\n{CODE}```",
    "tests after it": f"**double.py**\n```python\n{CODE}```\n**test_double.py**\n```python\n{TESTS}```",
    "tests before it": f"**test_double.py**\n```python\n{TESTS}```\n**double.py**\n```python\n{CODE}```",
    "tests with a label, it without": f"```python\n# test_double.py\n{TESTS}```\n```python\n{CODE}```",
    "both in one block": f"```python\n# double.py\n{CODE}\n# test_double.py\n{TESTS}```",
    "both in one block, tests first": f"```python\n# test_double.py\n{TESTS}\n# double.py\n{CODE}```",
    "both in one block, the first without a label": f"```python\n{CODE}\n# test_double.py\n{TESTS}```",
    "the fence forgotten between two": f"```python\n# double.py\n{CODE}```python\n# test_double.py\n{TESTS}```",
}


@pytest.mark.req("O2", "X5")
@pytest.mark.parametrize("answer", ONE_FILE.values(), ids=ONE_FILE)
def test_the_file_is_found_in_every_form(answer: str) -> None:
    assert read_fenced(answer, "src/double.py") == CODE


@pytest.mark.req("O2", "X5")
@pytest.mark.parametrize(
    "answer",
    [
        f"````markdown\n{README}````",
        f"```markdown\n{README}```",
        f"```md README.md\n{README}```\nAnd run:\n```bash\nmake\n```",
        f"```\n{README}```",
        README,
    ],
)
def test_a_markdown_file_keeps_its_own_fences(answer: str) -> None:
    assert read_fenced(answer, "README.md") == README


def test_inner_fences_without_a_language_are_kept() -> None:
    body = "# T\n\n```\nmake\n```\n\nend\n"
    assert read_fenced(f"```markdown\n{body}```\n", "README.md") == body


def test_a_fence_in_a_docstring_does_not_end_the_file() -> None:
    code = 'def f():\n    """Use:\n\n    ```python\n    f()\n    ```\n    """\n'
    assert read_fenced(f"```python\n{code}```", "f.py") == code


def test_an_ordinary_comment_does_not_start_a_file() -> None:
    code = 'import json\n\n# config.json\nCONFIG = json.load(open("config.json"))\n\n# os.path\nx = 1\n'
    assert read_fenced(f"```python\n{code}```", "app.py") == code
    assert read_fenced(f"```python\n# app.py\n{code}```", "app.py") == code


def test_a_markdown_heading_may_be_a_path() -> None:
    assert read_fenced("```markdown\n# README.md\n\nHello\n```", "README.md") == "# README.md\n\nHello\n"


@pytest.mark.parametrize(
    ("answer", "path"),
    [
        ("Done.", "a.py"),
        ("Sorry", "a.py"),
        ("I have written the file a.py, and it works.", "a.py"),
        ("42", "a.json"),
        ("", "a.py"),
        ("```\n```", "a.py"),
        ("```bash\nmake test\n```", "a.py"),
        ("```python path=other.py\nx = 1\n```", "a.py"),
        ("```python\n# other.py\nx = 1\n```", "a.py"),
        ("Just some text.", "notes.txt"),
    ],
)
def test_other_answers_are_not_mistaken_for_the_file(answer: str, path: str) -> None:
    assert read_fenced(answer, path) is None


@pytest.mark.parametrize(
    ("answer", "path", "body"),
    [
        ('{"a": 1}', "a.json", '{"a": 1}\n'),
        ('```json\n// a.json\n{"a": 1}\n```', "a.json", '{"a": 1}\n'),
        ("[tool]\nx = 1", "pyproject.toml", "[tool]\nx = 1\n"),
        ("```makefile\n# Makefile\nall:\n\techo\n```", "Makefile", "all:\n\techo\n"),
        ("`.gitignore`:\n```\n*.pyc\n```", ".gitignore", "*.pyc\n"),
        ("```\nx = 1\n\n# ...\ny = 2\n```", "a.py", "x = 1\n\n# ...\ny = 2\n"),
        ("```html\n<!-- index.html -->\n<p>hi</p>\n```", "web/index.html", "<p>hi</p>\n"),
        ("```js\n/* src/a.js */\nlet a = 1\n```", "src/a.js", "let a = 1\n"),
        ("```bash\n#!/bin/sh\necho 1\n```", "run.sh", "#!/bin/sh\necho 1\n"),
        ("```python\n# 文件：工具.py\nx = 1\n```", "工具.py", "x = 1\n"),
    ],
)
def test_other_kinds_of_files(answer: str, path: str, body: str) -> None:
    assert read_fenced(answer, path) == body


def test_code_with_a_syntax_error_is_returned() -> None:
    """The checks report the syntax error; refusing the body would hide it."""
    assert read_fenced("```python\ndef f(:\n```", "f.py") == "def f(:\n"


def test_a_truncated_body_is_marked() -> None:
    truncated = find_body("```python\ndef f():\n    return", "f.py")
    assert truncated is not None
    assert (truncated.text, truncated.closed) == ("def f():\n    return\n", False)
    complete = find_body("```python\nx = 1\n```", "f.py")
    assert complete is not None
    assert complete.closed


def test_without_a_path_the_longest_block_is_returned() -> None:
    assert read_fenced(f"```bash\nls\n```\n```python\n{CODE}```") == CODE
    assert read_fenced("no block") is None
