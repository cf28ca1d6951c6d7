"""Paths cannot leave the workspace, and protected files cannot be written."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from surefoot.errors import PathOutsideWorkspace, PathProtected, ToolError
from surefoot.tools.fs.fileio import read_bytes, write_bytes
from surefoot.tools.fs.paths import not_found, resolve


@pytest.fixture
def maze(root: Path) -> Path:
    """A workspace with links inside, outside, in cycles and to nothing, and a sibling folder with the same prefix."""
    outside = root.parent / "workspace2"
    outside.mkdir()
    (outside / "secret").write_text("secret")
    (root / "src").mkdir()
    (root / "src" / "app.py").write_text("app")
    (root / "src" / "back").symlink_to("..")
    (root / "in").symlink_to("src/app.py")
    (root / "out").symlink_to(outside)
    (root / "out_file").symlink_to("../workspace2/secret")
    (root / "up").symlink_to("../..")
    (root / "loop").symlink_to("loop2")
    (root / "loop2").symlink_to("loop")
    (root / "nowhere").symlink_to("not/there")
    (root / "nowhere_out").symlink_to("../not-there")
    (root / "abs").symlink_to("/etc")
    (root / "a\\b").write_text("backslash in the name")
    return root


def test_ordinary_paths(maze: Path) -> None:
    assert resolve(maze, "src/app.py", for_writing=False) == maze / "src/app.py"
    assert resolve(maze, "./src//app.py", for_writing=True) == maze / "src/app.py"
    assert resolve(maze, str(maze / "src/app.py"), for_writing=True) == maze / "src/app.py"
    assert resolve(maze, "src/../src/app.py", for_writing=True) == maze / "src/app.py"
    assert resolve(maze, "new/deep/file.py", for_writing=True) == maze / "new/deep/file.py"
    assert resolve(maze, ".", for_writing=False) == maze


def test_links_inside_the_workspace_are_followed(maze: Path) -> None:
    assert resolve(maze, "in", for_writing=True) == maze / "src/app.py"
    assert resolve(maze, "src/back/in", for_writing=False) == maze / "src/app.py"
    assert resolve(maze, "in", for_writing=True, follow=False) == maze / "in"


@pytest.mark.parametrize(
    "path",
    [
        "..",
        "../workspace2/secret",
        "src/../../workspace2/secret",
        "new/../../workspace2/secret",
        "/etc/passwd",
        "out/secret",
        "out/new/file",
        "out_file",
        "nowhere_out",
        "up/anything",
        "abs/passwd",
        "src/back/../workspace2/secret",
        "src/back/out/secret",
        "~/x",
        "~",
        "~root/x",
        "C:\\Windows\\x",
        "..\\workspace2\\secret",
        "  ../workspace2/secret ",
        "`/etc/passwd`",
    ],
)
@pytest.mark.parametrize("for_writing", [True, False])
def test_paths_outside_the_workspace_are_refused(maze: Path, path: str, for_writing: bool) -> None:
    with pytest.raises(PathOutsideWorkspace) as caught:
        resolve(maze, path, for_writing=for_writing)
    assert caught.value.argument == "path"
    assert caught.value.remedy


def test_a_sibling_with_the_same_prefix_is_outside(maze: Path) -> None:
    with pytest.raises(PathOutsideWorkspace):
        resolve(maze, str(maze) + "2/secret", for_writing=False)


@pytest.mark.parametrize("path", ["", "  ", "a\0b", "a\nb", "x" * 300, "d/" * 3000 + "f", "\ud800", "loop", "loop/x"])
def test_malformed_paths_are_refused(maze: Path, path: str) -> None:
    with pytest.raises(ToolError) as caught:
        resolve(maze, path, for_writing=True)
    assert caught.value.remedy


def test_a_link_cycle_does_not_hide_a_link_outside(maze: Path) -> None:
    # realpath gives up at the cycle and leaves the link after it unresolved.
    with pytest.raises(ToolError):
        resolve(maze, "loop/../out/secret", for_writing=False)


def test_backslashes_and_quotes_are_removed_unless_such_a_file_exists(maze: Path) -> None:
    assert resolve(maze, "src\\app.py", for_writing=False) == maze / "src/app.py"
    assert resolve(maze, "a\\b", for_writing=False) == maze / "a\\b"
    assert resolve(maze, "`src/app.py`", for_writing=False) == maze / "src/app.py"
    assert resolve(maze, ' "src/new.py" ', for_writing=True) == maze / "src/new.py"


@pytest.mark.parametrize(
    "path",
    [
        ".git/config",
        ".git",
        "sub/.git/hooks/pre-commit",
        ".GIT/config",
        ".surefoot/journal.db",
        "surefoot.toml",
        "hooks/x",
    ],
)
def test_files_of_git_and_surefoot_are_read_only(root: Path, path: str) -> None:
    (root / ".git").mkdir()
    (root / "hooks").symlink_to(".git")
    assert resolve(root, path, for_writing=False)
    with pytest.raises(PathProtected) as caught:
        resolve(root, path, for_writing=True)
    assert caught.value.remedy


def test_similar_names_are_writable(root: Path) -> None:
    for path in (".gitignore", "git/config", ".github/workflows/ci.yml", "docs/surefoot.toml"):
        assert resolve(root, path, for_writing=True) == root / path


def test_protected_files_are_read_only_also_through_a_link(root: Path) -> None:
    (root / "tests").mkdir()
    (root / "tests/test_a.py").write_text("")
    (root / "link.py").symlink_to("tests/test_a.py")
    protected = frozenset({"tests/test_a.py"})
    assert resolve(root, "tests/test_a.py", for_writing=False, not_writable=protected)
    for path in ("tests/test_a.py", "link.py", "./tests/../tests/test_a.py"):
        with pytest.raises(PathProtected, match="a test or a script from before the run") as caught:
            resolve(root, path, for_writing=True, not_writable=protected)
        assert caught.value.remedy == "do what the task asks for in other files"
    assert resolve(root, "tests/test_b.py", for_writing=True, not_writable=protected)


def test_a_link_created_after_the_check_is_not_followed(maze: Path) -> None:
    resolved = resolve(maze, "src/app.py", for_writing=True)
    (maze / "src").rename(maze / "was_src")
    (maze / "src").symlink_to(maze.parent / "workspace2")
    (maze.parent / "workspace2/app.py").write_text("theirs")
    with pytest.raises(PathOutsideWorkspace):
        write_bytes(maze, resolved, b"ours")
    with pytest.raises(PathOutsideWorkspace):
        read_bytes(maze, resolved)
    assert (maze.parent / "workspace2/app.py").read_text() == "theirs"


def test_an_absolute_path_suggests_the_file_inside(maze: Path) -> None:
    with pytest.raises(PathOutsideWorkspace) as caught:
        resolve(maze, "/home/user/project/src/app.py", for_writing=False)
    assert "src/app.py" in caught.value.remedy


def test_a_missing_file_suggests_similar_names(maze: Path) -> None:
    (maze / "src" / "wordstats.py").write_text("")
    assert "src/wordstats.py" in not_found(maze, "wordstats.py").remedy
    assert "src/wordstats.py" in not_found(maze, "src/word_stats.py").remedy
    assert "list_files" in not_found(maze, "completely-else.xyz").remedy


NAMES = """\
src app.py .. . out up in loop abs nowhere nowhere_out back new secret workspace2 workspace out_file
~ etc a\\b \\.. ..\\out ' ` … 名前"""
names = st.sampled_from([*NAMES.split(), "", " ", "x" * 300])
paths = st.one_of(
    st.lists(names, max_size=7).map("/".join),
    st.lists(names, max_size=6).map(lambda parts: "/" + "/".join(parts)),
    st.text(max_size=40),
)


@settings(max_examples=1500, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(path=paths, follow=st.booleans())
@example(path="loop/../out/secret", follow=True)
@example(path="src/back/../workspace2/secret", follow=False)
def test_no_accepted_path_leads_outside(maze: Path, path: str, follow: bool) -> None:
    try:
        real = resolve(maze, path, for_writing=False, follow=follow)
    except ToolError:
        return
    target = _resolve_by_hand(real if follow or real == maze else real.parent)
    assert target == str(maze) or target.startswith(f"{maze}/")
    if follow and real.is_file():
        # The file that the kernel opens is inside, too.
        with real.open("rb") as opened:
            assert Path(f"/proc/self/fd/{opened.fileno()}").readlink().is_relative_to(maze)


def _resolve_by_hand(path: Path) -> str:
    """Resolve a path link by link, independently of realpath."""
    remaining = [part for part in str(path).split("/") if part][::-1]
    resolved: list[str] = []
    for _ in range(10_000):
        if not remaining:
            return "/" + "/".join(resolved)
        part = remaining.pop()
        current = Path("/" + "/".join([*resolved, part]))
        if part == "..":
            resolved = resolved[:-1]
        elif current.is_symlink():
            target = str(current.readlink())
            resolved = [] if target.startswith("/") else resolved
            remaining += [name for name in target.split("/") if name][::-1]
        else:
            resolved.append(part)
    raise AssertionError(f"{path!r} has a link cycle")
