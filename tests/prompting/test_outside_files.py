"""No file outside the workspace reaches a prompt, whatever path a model names."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from support.kit import SMALL, Bench, act, done, fenced, steps
from surefoot.core.plan import ExecutionStep
from surefoot.models.base import ModelTraits
from surefoot.models.testing.scripted import Rule
from surefoot.prompting.context import quoted_files
from surefoot.tools.fs.fileio import reader

SECRET = "token-of-the-user-4711"


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "private"
    folder.mkdir()
    (folder / "credentials").write_text(f"{SECRET}\n")
    with closing(sqlite3.connect(folder / "logins.db")) as database, database:
        database.execute("CREATE TABLE logins (token)")
        database.execute("INSERT INTO logins VALUES (?)", (SECRET,))
    (folder / "logins.csv").write_text("user,token\n" + f"me,{SECRET}\n" * 20_000)
    return folder


@pytest.mark.parametrize("tool", ["edit_file", "write_file"])
@pytest.mark.parametrize("spelling", ["absolute", "dots", "through a linked folder", "link"])
@pytest.mark.parametrize("inline", [True, False])
@pytest.mark.attack("read")
async def test_a_file_tool_without_a_body_shows_no_outside_file(
    bench: Bench, outside: Path, tool: str, spelling: str, inline: bool
) -> None:
    (bench.root / "folder").symlink_to(outside)
    (bench.root / "link").symlink_to(outside / "credentials")
    path = {
        "absolute": str(outside / "credentials"),
        "dots": "../private/credentials",
        "through a linked folder": "folder/credentials",
        "link": "link",
    }[spelling]
    step = ExecutionStep(id="s1", name="Look", description="Do what is right.")
    answers = [act(tool, path=path), Rule("Write the complete", fenced("x")), Rule("Change `", fenced("x")), done()]
    await bench.run_plan(steps(step), answers, traits=ModelTraits(inline_bodies=inline))
    assert bench.prompts()
    assert not any(SECRET in prompt for prompt in bench.prompts())


@pytest.mark.parametrize("folder", ["../private", "folder", "{outside}"], ids=["dots", "linked folder", "absolute"])
@pytest.mark.parametrize("name", ["credentials", "logins.db", "logins.csv"])
@pytest.mark.parametrize("traits", [ModelTraits(inline_bodies=False), SMALL])
@pytest.mark.attack("read")
async def test_a_step_that_names_an_outside_file_does_not_show_it(
    bench: Bench, outside: Path, folder: str, name: str, traits: ModelTraits
) -> None:
    (bench.root / "folder").symlink_to(outside)
    path = f"{folder.format(outside=outside)}/{name}"
    step = ExecutionStep(id="s1", name="Write it", description="Write the file.", writes=(path,))
    await bench.run_plan(steps(step), [Rule("", fenced("x"))], traits=traits)
    assert bench.prompts()
    assert not any(SECRET in prompt for prompt in bench.prompts())
    assert (outside / "credentials").read_text() == f"{SECRET}\n"


@pytest.mark.parametrize("name", ["credentials", "logins.db", "logins.csv"])
@pytest.mark.attack("read")
def test_no_kind_of_quotation_shows_an_outside_file(bench: Bench, outside: Path, name: str) -> None:
    (bench.root / "folder").symlink_to(outside)
    (bench.root / name).symlink_to(outside / name)
    for path in (f"../private/{name}", f"folder/{name}", str(outside / name), name):
        assert quoted_files(bench.root, [path], 1_000_000) == ""
    (bench.root / name).unlink()
    (outside / name).rename(bench.root / name)
    assert SECRET in quoted_files(bench.root, [name], 1_000_000), "inside the workspace it is shown"


@pytest.mark.attack("read")
def test_no_secret_database_is_shown(bench: Bench, outside: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The workspace may contain the user's home."""
    monkeypatch.setenv("HOME", str(bench.root))
    profile = bench.root / ".mozilla"
    profile.mkdir()
    (outside / "logins.db").rename(profile / "logins.db")
    assert quoted_files(bench.root, [".mozilla/logins.db"], 1_000_000) == ""


@pytest.mark.attack("read")
def test_reader_of_listed_files_refuses_secrets_and_links(
    bench: Bench, outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The map of a repository reads many files that were just listed. A link may be made in between."""
    monkeypatch.setenv("HOME", str(bench.root))
    bench.write(a__py="x = 1\n")
    (bench.root / ".aws").mkdir()
    (bench.root / ".aws" / "config.py").write_text(SECRET)
    (bench.root / ".netrc").write_text(SECRET)
    (bench.root / "folder").symlink_to(outside)
    (bench.root / "link.py").symlink_to(outside / "credentials")
    os.mkfifo(bench.root / "pipe.py")
    read = reader(bench.root, 100_000)
    assert read("a.py") == "x = 1\n"
    for path in (".aws/config.py", ".netrc", "folder/credentials", "link.py", "pipe.py", "../private/credentials"):
        assert read(path) is None, path
