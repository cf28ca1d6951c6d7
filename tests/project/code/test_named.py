"""The code that a task names is quoted once, and the most telling part of it first."""

import re

import pytest

from surefoot.project.code.named import NAMED_CHARS, ONE_NAME_CHARS
from surefoot.project.code.repo_map import repo_map

SIGNER = (
    "class Signer:\n"
    '    """Signs."""\n'
    "\n"
    "    def unsign(self, value, max_age=None):\n"
    "        return value\n"
    "\n"
    "    def validate(self, value):\n"
    "        return self.unsign(value)\n"
)


def quotes(shown: str) -> list[tuple[str, int, int]]:
    return [(path, int(a), int(b)) for path, a, b in re.findall(r"^# (\S+), lines (\d+) to (\d+) of", shown, re.M)]


@pytest.mark.req("X10")
def test_a_class_and_its_methods_are_quoted_once() -> None:
    shown = repo_map(["a.py"], "Let `Signer.unsign` and `Signer` take a timedelta.", {"a.py": SIGNER}.get)
    assert quotes(shown) == [("a.py", 1, 8)]
    assert shown.count("    def unsign(self, value, max_age=None):\n") == 1


@pytest.mark.req("X10")
def test_of_a_long_class_its_head_and_the_methods_that_the_task_names_are_quoted() -> None:
    filler = "".join(f"    def other_{n}(self):\n        return {n} * {'1' * 60}\n\n" for n in range(150))
    text = (
        SIGNER.replace("    def validate", f"{filler}    def validate") + "\n    def after(self):\n        return 1\n"
    )
    shown = repo_map(["a.py"], "Let `Signer.validate` and `Signer.unsign` of `Signer` be strict.", {"a.py": text}.get)
    quoted = shown[shown.index("```") :]
    assert 'class Signer:\n    """Signs."""' in quoted
    assert "    def unsign(self, value, max_age=None):\n" in quoted
    assert "    def validate(self, value):\n" in quoted
    assert "def other_100" not in quoted
    assert "def after" not in quoted


@pytest.mark.req("X10")
def test_methods_of_other_classes_than_the_one_that_is_meant_are_not_quoted() -> None:
    long = "".join(f"        x = {n} * {'1' * 60}\n" for n in range(90))
    texts = {
        f"m{n}.py": f"# unsign {'x ' * n}\nclass Other{n}:\n    def unsign(self):\n{long}" for n in range(1, 5)
    } | {"signer.py": SIGNER}
    shown = repo_map(sorted(texts), "Let Signer.unsign take a timedelta.", texts.get)
    assert "    def unsign(self, value, max_age=None):\n" in shown
    assert [path for path, *_ in quotes(shown)] == ["signer.py"]


@pytest.mark.req("X10")
@pytest.mark.parametrize("count", [1, 5, 30])
def test_quotes_are_never_empty_and_never_more_than_the_limit(count: int) -> None:
    body = "".join(f"    x = {n} * {'1' * 60}\n" for n in range(200))
    text = "".join(f"def back_off_{n}():\n{body}\n\n" for n in range(count))
    task = "Change " + ", ".join(f"back_off_{n}" for n in range(count)) + "."
    shown = repo_map(["a.py"], task, {"a.py": text}.get)
    code = "".join(re.findall(r"```\n(.*?)\n```", shown, re.S))
    assert ONE_NAME_CHARS * 0.9 < len(code) <= NAMED_CHARS
    assert "```\n\n```" not in shown


@pytest.mark.req("X10")
def test_uses_inside_of_quotes_are_left_out_and_code_comes_before_comments() -> None:
    texts = {
        "a.py": SIGNER,
        "b.py": "# unsign is slow\nfrom a import Signer\n\nvalue = Signer().unsign('x')\n",
    }
    shown = repo_map(sorted(texts), "Rename `unsign` to verify.", texts.get)
    uses = shown[shown.index("# Uses of unsign") :].splitlines()[1:]
    assert uses == [
        "a.py:8: return self.unsign(value)",
        "b.py:4: value = Signer().unsign('x')",
        "b.py:1: # unsign is slow",
    ]
    shown = repo_map(sorted(texts), "Rename `unsign` of `Signer` to verify.", texts.get)
    assert "a.py:8" not in shown


@pytest.mark.req("X10")
def test_the_imports_of_a_file_come_with_its_definitions() -> None:
    filler = "def other():\n    return 1\n\n\n" * 20
    text = f"# Copyright of somebody\n\nimport os\nimport sys\n\n\n{filler}{SIGNER}"
    shown = repo_map(["a.py"], "Change `Signer`.", {"a.py": text}.get)
    assert quotes(shown) == [("a.py", 3, 6), ("a.py", 87, 94)]
    assert "```\nimport os\nimport sys\n```" in shown


@pytest.mark.req("X10")
def test_documents_that_mention_a_name_are_listed_and_the_best_is_quoted_if_documentation_is_asked_for() -> None:
    texts = {
        "a.py": SIGNER,
        "docs/signer.rst": "Call unsign with max_age.\n",
        "README.md": "It has unsign, and unsign again.\n",
        "docs/other.md": "unsigned integers\n",
        "CHANGES.md": "unsign was added\n",
        "docs/changes.rst": "unsign was added\n",
    }
    listed = "# Documents that mention names of the task\ndocs/signer.rst, README.md\n"
    shown = repo_map(sorted(texts), "Let max_age of `unsign` be a timedelta.", texts.get)
    assert listed in shown
    assert "Call unsign with max_age." not in shown
    shown = repo_map(sorted(texts), "Let max_age of `unsign` be a timedelta, and update the docs.", texts.get)
    assert f"{listed}\n# docs/signer.rst, lines 1 to 1 of 1\n```\nCall unsign with max_age.\n```" in shown
    assert "# Documents" not in repo_map(sorted(texts), "Make it faster.", texts.get)


@pytest.mark.req("X10")
def test_a_document_that_the_task_names_is_quoted_with_the_named_files_only() -> None:
    texts = {"a.py": SIGNER, "readme.md": "It has unsign.\n"}
    assert "readme.md" not in repo_map(sorted(texts), "Document `unsign` in readme.md.", texts.get).split("\n", 2)[2]


@pytest.mark.req("X10")
def test_of_a_long_document_the_parts_about_the_task_are_quoted() -> None:
    text = "Title\n" + "filler\n" * 2_000 + "Here is max_age.\n" + "filler\n" * 2_000
    shown = repo_map(["a.py", "d.md"], "Document max_age in the docs.", {"a.py": SIGNER, "d.md": text}.get)
    assert "Here is max_age." in shown
    assert len(shown) < 3_000


@pytest.mark.req("X10")
def test_a_small_file_of_which_most_is_quoted_is_quoted_whole() -> None:
    before, after = "import os\n\n\ndef small():\n    return 1\n\n\nx = 1\n\n\n", "\n\n\n\n\n\n\ny = 2\n"
    text = before + SIGNER.replace("        return value\n", "        return value\n" * 20) + after
    shown = repo_map(["a.py"], "Change `Signer`.", {"a.py": text}.get)
    assert quotes(shown) == [("a.py", 1, text.count("\n"))]
