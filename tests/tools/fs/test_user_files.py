"""File tools in a workspace that overlaps the user's or the system's configuration."""

from pathlib import Path

import pytest

from surefoot.errors import PathProtected, SandboxUnavailable
from surefoot.tools.builtin.files import list_files
from surefoot.tools.builtin.search import search
from surefoot.tools.context import ToolContext
from surefoot.tools.fs.paths import resolve
from surefoot.tools.invoke import call
from surefoot.workspace.sandbox.guarded_files import RC_FILES, SESSION_FOLDERS, STARTUP_AT_HOME
from surefoot.workspace.sandbox.sandbox import choose_sandbox
from surefoot.workspace.sandbox.secret_files import AT_HOME

SECRET = "canary-of-the-user"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    (folder / ".config").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(folder))
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "SUREFOOT_HOME"):
        monkeypatch.delenv(name, raising=False)
    return folder


@pytest.fixture(params=["as it is", "through a link"])
def at(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """How the workspace is named: a link to it must make no difference."""
    return str(request.param)


def workspace(folder: Path, at: str) -> Path:
    if at == "as it is":
        return folder
    link = folder.parent / f"link-to-{folder.name}"
    link.symlink_to(folder)
    return link


@pytest.mark.attack("read")
def test_secrets_in_the_workspace_are_refused(home: Path, at: str) -> None:
    root = workspace(home, at)
    for name in AT_HOME:
        for path in (name, f"{name}/below", str(home / name)):
            assert is_refused(root, path, for_writing=False), path
            assert is_refused(root, path, for_writing=True), path


def is_refused(root: Path, path: str, *, for_writing: bool) -> bool:
    try:
        resolve(root, path, for_writing=for_writing)
    except PathProtected:
        return True
    return False


@pytest.mark.attack("write")
def test_startup_files_in_the_workspace_are_not_written(home: Path, at: str) -> None:
    root = workspace(home, at)
    for name in (*STARTUP_AT_HOME, ".config/surefoot/config.toml", ".local/share/surefoot/journal.sqlite"):
        for path in (name, f"{name}/below", str(home / name)):
            assert is_refused(root, path, for_writing=True), path


@pytest.mark.parametrize(
    "name", ["surefoot/config.toml", "autostart/x.desktop", "systemd/user/x.service", "fish/config.fish", "git/config"]
)
@pytest.mark.attack("write")
def test_config_folder_as_workspace(name: str, home: Path, at: str) -> None:
    root = workspace(home / ".config", at)
    with pytest.raises(PathProtected):
        resolve(root, name, for_writing=True)
    assert resolve(root, "my-app/settings.toml", for_writing=True)


def test_moved_config_folder_as_workspace(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    moved = tmp_path / "moved"
    moved.mkdir()
    monkeypatch.setenv("XDG_CONFIG_HOME", str(moved))
    for name in ("surefoot/config.toml", "autostart/x.desktop", "systemd/user/x.service"):
        with pytest.raises(PathProtected):
            resolve(moved, name, for_writing=True)


@pytest.mark.parametrize("name", SESSION_FOLDERS)
@pytest.mark.attack("write")
def test_folder_that_programs_start_from_is_no_workspace(name: str, home: Path, at: str) -> None:
    (home / name / "user").mkdir(parents=True)
    for folder in (workspace(home / name, at), workspace(home / name / "user", at)):
        with pytest.raises(PathProtected):
            resolve(folder, "x.service", for_writing=True)
        with pytest.raises(SandboxUnavailable, match="executed automatically"):
            choose_sandbox("auto", folder, state_folders=[])


@pytest.mark.parametrize(
    "path", ["cron.d/x", "profile", "systemd/system/x.service", "ld.so.preload", "ssh/sshd_config"]
)
@pytest.mark.attack("write")
def test_system_files_are_not_written(path: str) -> None:
    with pytest.raises(PathProtected):
        resolve(Path("/etc"), path, for_writing=True)
    with pytest.raises(PathProtected):
        resolve(Path("/"), f"etc/{path}", for_writing=True)


@pytest.mark.attack("read")
def test_system_secrets_are_not_read() -> None:
    for root, path in (("/etc", "shadow"), ("/", "etc/shadow"), ("/etc", "sudoers.d/x")):
        with pytest.raises(PathProtected):
            resolve(Path(root), path, for_writing=False)


@pytest.mark.attack("write")
def test_target_of_a_linked_startup_file_is_guarded(home: Path, tmp_path: Path) -> None:
    """Homes are often links into a repository of dotfiles."""
    dotfiles = tmp_path / "dotfiles"
    (dotfiles / "systemd").mkdir(parents=True)
    for name in RC_FILES[:2]:
        (dotfiles / name[1:]).write_text("")
        (home / name).symlink_to(dotfiles / name[1:])
    (home / ".config/systemd").symlink_to(dotfiles / "systemd")
    (dotfiles / "aws").mkdir()
    (home / ".aws").symlink_to(dotfiles / "aws")
    for name in (RC_FILES[0][1:], RC_FILES[1][1:], "systemd/user/x.service", "aws/credentials"):
        with pytest.raises(PathProtected):
            resolve(dotfiles, name, for_writing=True)
    with pytest.raises(PathProtected):
        resolve(dotfiles, "aws/credentials", for_writing=False)
    assert resolve(dotfiles, "README.md", for_writing=True)


@pytest.mark.attack("read")
async def test_secrets_are_neither_listed_nor_searched(home: Path, at: str) -> None:
    for name in (".ssh/id_rsa", ".netrc", ".config/gh/hosts.yml"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(SECRET)
    (home / "note.txt").write_text(f"not {SECRET}")
    context = ToolContext(workspace(home, at))
    found = await call(search, context, {"pattern": SECRET})
    assert "note.txt" in found.summary
    assert "1 match in 1 file" in found.summary
    listed = await call(list_files, context, {})
    assert "note.txt" in listed.output
    assert not [name for name in ("id_rsa", ".netrc", "hosts.yml") if name in listed.output]


def test_secret_folder_chosen_as_workspace_is_usable(home: Path) -> None:
    """The user named it. Surefoot's own copies of a workspace are in its state folder too."""
    copy = home / ".local/share/surefoot/worktrees/r1"
    copy.mkdir(parents=True)
    assert resolve(copy, "app.py", for_writing=True) == copy / "app.py"
    assert resolve(copy, "app.py", for_writing=False) == copy / "app.py"
