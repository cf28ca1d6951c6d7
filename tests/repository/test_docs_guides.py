"""The guides are correct: their snippets run in order, their links resolve, and their tables match the code."""

import json
import os
import re
import shlex
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from surefoot.config.paths import journal_file
from surefoot.journal.store.sqlite import SqliteJournal
from surefoot.models.local.weights import DEFAULT, KNOWN
from surefoot.models.providers.catalog import PROVIDERS

DOCS = Path(__file__).parents[2] / "docs"
UNDERSTANDING = {
    "understanding": "Write adder.py with a function that adds two numbers",
    "requirements": ["add(a, b) gives the sum"],
    "files": ["adder.py"],
    "task_type": "write_code",
    "complexity": "simple",
    "risks": [],
    "questions": [],
}


def page(name: str) -> str:
    return (DOCS / name).read_text("utf-8")


def snippets(name: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", page(name), re.DOTALL | re.MULTILINE)


def test_the_snippets_of_the_library_guide_run(tmp_path: Path) -> None:
    code = snippets("guides/library.md", "python")
    assert len(code) >= 10
    folder, state = tmp_path / "reader", tmp_path / "state"
    folder.mkdir()
    script = tmp_path / "script.json"
    script.write_text(json.dumps([UNDERSTANDING, "```python\ndef add(a, b):\n    return a + b\n```"]))
    (folder / "page.py").write_text("\n".join(code), "utf-8")
    # `create_model()` uses the model in this variable, so the page's first snippet can look like a real program.
    environ = {**os.environ, "SUREFOOT_HOME": str(state), "SUREFOOT_MODEL": f"scripted:{script}"}
    command = [sys.executable, "page.py"]
    process = subprocess.run(command, cwd=folder, env=environ, text=True, capture_output=True, check=False)
    assert process.returncode == 0, process.stderr[-3000:]
    journal = SqliteJournal(journal_file(state), read_only=True)
    assert [Path(run.workspace).name for run in journal.summaries()] == ["shared"], (
        "the other runs are not in the shared journal"
    )
    journal.close()


@pytest.mark.parametrize(
    "name", ["guides/library.md", "guides/recovery.md", "concepts/ladder.md", "models.md", "tools.md"]
)
def test_links_and_anchors_resolve(name: str) -> None:
    for target in re.findall(r"\]\(([^)]+)\)", page(name)):
        file, _, anchor = target.partition("#")
        text = ((DOCS / name).parent / file).read_text("utf-8") if file else page(name)
        titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
        anchors = {re.sub(r"[^a-z0-9 _-]", "", title.lower()).replace(" ", "-") for title in titles}
        assert not anchor or anchor in anchors, target


@pytest.mark.parametrize("number", [0, 1], ids=["in order", "by rules"])
def test_the_scripts_in_the_models_page_work_with_its_command(tmp_path: Path, number: int) -> None:
    (line,) = [line for text in snippets("models.md", "sh") for line in text.splitlines() if "scripted:" in line]
    (tmp_path / "answers.json").write_text(snippets("models.md", "json")[number])
    folder = tmp_path / "work"
    folder.mkdir()
    program = Path(sysconfig.get_path("scripts")) / "surefoot"
    environ = {**os.environ, "SUREFOOT_HOME": str(tmp_path / "state")}
    command = [str(program), *shlex.split(line)[1:]]
    process = subprocess.run(command, cwd=folder, env=environ, text=True, capture_output=True, check=False)
    assert process.returncode == 0, process.stderr
    assert "return a + b" in (folder / "adder.py").read_text()
    assert "its checks" in process.stderr or "AssertionError" in process.stderr, (
        "the wrong answer failed its check first"
    )


def test_the_models_page_lists_every_provider() -> None:
    kinds = re.findall(r"^\| `([a-z]+)[/:]", page("models.md"), re.MULTILINE)
    assert sorted({*kinds, "local"} - {"http"}) == sorted({*PROVIDERS, "local", "scripted", "cassette"})
    for kind, provider in PROVIDERS.items():
        (row,) = re.findall(rf"^\| `{kind}/NAME` \|.*$", page("models.md"), re.MULTILINE)
        assert provider.key_variable in row


def test_the_size_of_the_weights_is_the_same_everywhere() -> None:
    size = f"{KNOWN[DEFAULT].size / 1e9:.1f} GB"
    root = DOCS.parent
    for file in (*DOCS.rglob("*.md"), root / "README.md", root / "Makefile", *(root / "src").rglob("*.py")):
        assert set(re.findall(r"\b1\.\d+ GB", file.read_text("utf-8"))) <= {size}, file
