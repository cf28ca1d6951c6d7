"""The pages for newcomers are correct: their snippets run, their messages and sources exist, and both languages agree."""

import re
import shlex
import tomllib
from pathlib import Path

import click
import pytest

from surefoot.cli.app import cli
from surefoot.config.sources import from_toml

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [
    ROOT / "README.md",
    ROOT / "README.zh.md",
    *(DOCS / name for name in ("tutorial.md", "zh/tutorial.md", "faq.md", "troubleshooting.md", "comparison.md")),
    *(DOCS / f"guides/{name}.md" for name in ("approvals", "local-models", "migrating", "teams", "testing")),
    *(DOCS / f"concepts/{name}.md" for name in ("journal", "workspace")),
]


def blocks(page: Path, language: str = r"\w+") -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text("utf-8"), re.DOTALL | re.MULTILINE)


def rows(text: str) -> list[list[str]]:
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_line_and_config_is_valid(page: Path) -> None:
    for text in (*blocks(page, "sh"), *blocks(page, "bash")):
        for line in text.replace("\\\n", " ").splitlines():
            words = shlex.split(line, comments=True)
            if words[:1] != ["surefoot"]:
                continue
            command: click.Command = cli
            words = words[1:]
            while isinstance(command, click.Group):
                command = command.commands[words.pop(0)]
            command.make_context(command.name, words)
    for text in blocks(page, "toml"):
        assert from_toml(Path("surefoot.toml"), text.encode())


@pytest.mark.parametrize("page", ["migrating", "approvals", "testing"])
def test_the_programs_of_a_guide_run(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = blocks(DOCS / f"guides/{page}.md", "python")
    assert code
    folder = tmp_path / "reader"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("SUREFOOT_HOME", str(tmp_path / "state"))
    exec(compile("\n".join(code), f"{page}.md", "exec"), {"__name__": page})
