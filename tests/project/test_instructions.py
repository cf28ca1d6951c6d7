"""Which AGENTS.md are quoted, and in which order."""

import os
from pathlib import Path

import pytest

from support.kit import SMALL, Bench
from support.talk import TALKING
from surefoot.engine.loop import start_run
from surefoot.models.base import ModelTraits
from surefoot.project import instructions as module
from surefoot.project.instructions import instructions, nested_instructions


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with an AGENTS.md in every folder, and one above it."""
    root = tmp_path / "repository"
    for name in ("packages/shop/api/v1", "packages/web", ".git"):
        (root / name).mkdir(parents=True)
    for name in ("..", ".", "packages", "packages/shop", "packages/shop/api"):
        folder = (root / name).resolve()
        (folder / "AGENTS.md").write_text(f"rules of {folder.name}\n")
    return root


def titles(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith(("# ", "rules"))]


def test_the_nearest_comes_first_up_to_the_root_of_the_repository(repository: Path) -> None:
    shop = repository / "packages/shop"
    text = instructions(shop, ["api/v1/prices.py"], 10_000)
    assert titles(text) == [
        *("# api/AGENTS.md says", "rules of api"),
        *("# AGENTS.md says", "rules of shop"),
        *("# ../AGENTS.md says", "rules of packages"),
        *("# ../../AGENTS.md says", "rules of repository"),
    ]
    assert "the nearest to the file that is changed counts" in text
    assert titles(instructions(repository, [], 10_000)) == ["# AGENTS.md says", "rules of repository"]


def test_without_a_repository_nothing_above_the_workspace_is_read(repository: Path) -> None:
    (repository / ".git").rmdir()
    text = instructions(repository / "packages/shop", [], 10_000)
    assert titles(text) == ["# AGENTS.md says", "rules of shop"]


def test_nothing_of_other_users_is_read_above_the_workspace(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shop = repository / "packages/shop"
    real = Path.lstat
    foreign = [repository / "packages/AGENTS.md"]

    def lstat(path: Path) -> os.stat_result:
        status = real(path)
        other = os.stat_result((*status[:4], 54_321, *status[5:10]))
        return other if path in foreign else status

    monkeypatch.setattr(Path, "lstat", lstat)
    assert titles(instructions(shop, [], 10_000))[2:] == ["# ../../AGENTS.md says", "rules of repository"]
    foreign.append(repository / ".git")
    assert titles(instructions(shop, [], 10_000)) == ["# AGENTS.md says", "rules of shop"]


def test_links_lead_nowhere_else(repository: Path, tmp_path: Path) -> None:
    (tmp_path / "outside.md").write_text("rules of elsewhere")
    shop = repository / "packages/shop"
    for folder in (shop, repository):
        (folder / "AGENTS.md").unlink()
        (folder / "AGENTS.md").symlink_to(tmp_path / "outside.md")
    assert titles(instructions(shop, [], 10_000)) == ["# ../AGENTS.md says", "rules of packages"]
    (shop / "CLAUDE.md").write_text("rules under another name")
    (shop / "AGENTS.md").unlink()
    (shop / "AGENTS.md").symlink_to("CLAUDE.md")
    assert "rules under another name" in instructions(shop, [], 10_000)


def test_the_quoted_text_is_bounded_for_all_files_together(repository: Path) -> None:
    shop = repository / "packages/shop"
    (shop / "AGENTS.md").write_text("x" * 90)
    (repository / "packages/AGENTS.md").write_text("y" * 90)
    text = instructions(shop, [], 100)
    assert "x" * 90 in text
    assert "y" * 10 + "\n(the first 10 of 90 characters)" in text
    assert "repository" not in text
    (shop / "AGENTS.md").write_text("z" * (module.MAX_FILE_CHARS + 1))
    assert "z" not in instructions(shop, [], 100)


def test_instructions_of_other_folders_are_named() -> None:
    files = ["AGENTS.md", "api/AGENTS.md", "web/AGENTS.md", "web/app.js"]
    text = nested_instructions(files, ["api/prices.py"])
    assert "read one before you change a file there: web/AGENTS.md\n" in text
    assert nested_instructions(files[:2], ["api/prices.py"]) == ""
    many = [f"p{number}/AGENTS.md" for number in range(25)]
    assert nested_instructions(many, []).endswith("p19/AGENTS.md and 5 more\n")


@pytest.mark.parametrize("traits", [SMALL, TALKING, None])
async def test_every_strategy_quotes_them(bench: Bench, traits: ModelTraits | None) -> None:
    (bench.root / "api").mkdir()
    (bench.root / "api" / "prices.py").write_text("x = 1\n")
    (bench.root / "api" / "AGENTS.md").write_text("rules of api\n")
    (bench.root / "AGENTS.md").write_text("rules of work\n")
    task = bench.task("change x in api/prices.py to 2", ())
    services = bench.services([], traits=traits) if traits else bench.services([])
    await start_run(services, task, bench.config())
    shown = "\n".join(message.content for message in bench.model.requests[0].messages)
    assert shown.index("# api/AGENTS.md says\nrules of api") < shown.index("# AGENTS.md says\nrules of work")
