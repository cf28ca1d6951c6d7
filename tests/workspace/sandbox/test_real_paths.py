"""Many paths are followed at once, with the same result as one by one."""

import os
from pathlib import Path

import pytest

from surefoot.workspace.sandbox.real_paths import places_below, resolve_parents


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with links to folders, files and nothing, relative, absolute and in a cycle, beside a workspace."""
    home, root = tmp_path / "home", tmp_path / "root"
    for folder in (home / "plain/deep", home / "shut", root / "dotfiles/ssh"):
        folder.mkdir(parents=True)
    for file in (home / "plain/file", root / "dotfiles/profile"):
        file.write_text("")
    links: dict[str, str | Path] = {
        "folder": root / "dotfiles",
        "relative": "../root/dotfiles/ssh",
        "file": root / "dotfiles/profile",
        "dangling": root / "not/there",
        "circle": "circle",
        "plain/deep/back": "../..",
    }
    for name, target in links.items():
        (home / name).symlink_to(target)
    return home


def names() -> list[str]:
    below = ["", "/file", "/ssh", "/ssh/id", "/profile", "/deep", "/deep/back/folder/ssh", "/none/at/all", "/../file"]
    tops = ["plain", "folder", "relative", "file", "dangling", "circle", "shut", "missing"]
    return [f"{top}{rest}" for top in tops for rest in below]


def test_places_are_those_that_realpath_finds(home: Path) -> None:
    named = [home / name for name in names()] + [Path("/"), Path("/etc"), home.parent / "root", home.parent / "root/x"]
    root = str(home.parent / "root")
    expected = []
    for path in map(str, named):
        folder, _, name = path.rpartition("/")
        place = f"{os.path.realpath(folder or '/').rstrip('/')}/{name}"
        expected += [place, os.path.realpath(place)] if Path(place).is_symlink() else [place]
    found = list(places_below(root, named))
    assert found == [Path(place) for place in expected if place.startswith(f"{root}/")]
    assert home.parent / "root/dotfiles/profile" in found
    assert home.parent / "root/dotfiles/ssh/id" in found


def test_parents_are_those_that_realpath_finds(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(home)
    given = [
        *(home / name for name in names()),
        Path("~/folder/x"),
        Path("folder/x"),
        Path("x"),
        Path("/etc"),
        Path("/"),
    ]
    absolute = [path.expanduser().absolute() for path in given]
    assert resolve_parents(given) == tuple(Path(os.path.realpath(path.parent), path.name) for path in absolute)
