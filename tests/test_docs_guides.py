"""The guides are true: their snippets run in order as a reader would type them, and their links lead somewhere."""

import json
import os
import re
import shlex
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from surefoot.models.choose import PROVIDERS
from surefoot.models.weights import DEFAULT, KNOWN
from surefoot.paths import journal_file
from surefoot.store.sqlite import SqliteJournal

DOCS = Path(__file__).parents[1] / "docs"
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


def test_every_snippet_of_the_library_s_page_runs(tmp_path: Path) -> None:
    found = snippets("guides/library.md", "python")
    assert len(found) >= 10
    folder, state = tmp_path / "reader", tmp_path / "state"
    folder.mkdir()
    script = tmp_path / "script.json"
    script.write_text(json.dumps([UNDERSTANDING, "```python\ndef add(a, b):\n    return a + b\n```"]))
    (folder / "page.py").write_text("\n".join(found), "utf-8")
    # `create_model()` takes the model that this variable names, so the page itself need not say "scripted" first.
    environ = {**os.environ, "SUREFOOT_HOME": str(state), "SUREFOOT_MODEL": f"scripted:{script}"}
    command = [sys.executable, "page.py"]
    ran = subprocess.run(command, cwd=folder, env=environ, text=True, capture_output=True, check=False)
    assert ran.returncode == 0, ran.stderr[-3000:]
    journal = SqliteJournal(journal_file(state), read_only=True)
    assert [Path(run.workspace).name for run in journal.summaries()] == ["shared"], "only where the page says so"
    journal.close()


@pytest.mark.parametrize(
    "name", ["guides/library.md", "guides/recovery.md", "concepts/ladder.md", "models.md", "tools.md"]
)
def test_every_link_leads_somewhere(name: str) -> None:
    for target in re.findall(r"\]\(([^)]+)\)", page(name)):
        file, _, anchor = target.partition("#")
        text = ((DOCS / name).parent / file).read_text("utf-8") if file else page(name)
        titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
        anchors = {re.sub(r"[^a-z0-9 _-]", "", title.lower()).replace(" ", "-") for title in titles}
        assert not anchor or anchor in anchors, target


@pytest.mark.parametrize("number", [0, 1], ids=["in order", "by rules"])
def test_the_page_s_scripts_carry_out_the_page_s_command(tmp_path: Path, number: int) -> None:
    (line,) = [line for text in snippets("models.md", "sh") for line in text.splitlines() if "scripted:" in line]
    (tmp_path / "answers.json").write_text(snippets("models.md", "json")[number])
    folder = tmp_path / "work"
    folder.mkdir()
    program = Path(sysconfig.get_path("scripts")) / "surefoot"
    environ = {**os.environ, "SUREFOOT_HOME": str(tmp_path / "state")}
    command = [str(program), *shlex.split(line)[1:]]
    ran = subprocess.run(command, cwd=folder, env=environ, text=True, capture_output=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert "return a + b" in (folder / "adder.py").read_text()
    assert "its checks" in ran.stderr or "AssertionError" in ran.stderr, "the wrong answer was found out first"


def test_every_kind_of_model_is_in_the_table() -> None:
    kinds = re.findall(r"^\| `([a-z]+)[/:]", page("models.md"), re.MULTILINE)
    assert sorted({*kinds, "local"} - {"http"}) == sorted({*PROVIDERS, "local", "scripted", "cassette"})
    for kind, provider in PROVIDERS.items():
        (row,) = re.findall(rf"^\| `{kind}/NAME` \|.*$", page("models.md"), re.MULTILINE)
        assert provider.key_variable in row


def test_the_size_of_the_weights_is_told_alike_everywhere() -> None:
    told = f"{KNOWN[DEFAULT].size / 1e9:.1f} GB"
    root = DOCS.parent
    for file in (*DOCS.rglob("*.md"), root / "README.md", root / "Makefile", *(root / "src").rglob("*.py")):
        assert set(re.findall(r"\b1\.\d+ GB", file.read_text("utf-8"))) <= {told}, file
