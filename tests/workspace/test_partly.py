from pathlib import Path

import pytest

from surefoot.workspace.snapshot import Workspace


@pytest.mark.req("P13", "O8")
def test_some_paths_are_undone_and_the_rest_stays(tmp_path: Path) -> None:
    root = tmp_path / "work"
    (root / "kept").mkdir(parents=True)
    (root / "mine.txt").write_text("before")
    (root / "gone.txt").write_text("was here")
    workspace = Workspace(root, tmp_path / "home")
    before = workspace.snapshot()
    (root / "mine.txt").write_text("after")
    (root / "gone.txt").unlink()
    (root / "new").mkdir()
    (root / "new" / "mine.txt").write_text("new")
    (root / "theirs.txt").write_text("of another step")
    after = workspace.snapshot()
    wanted = workspace.with_paths_from(after, before, ["mine.txt", "gone.txt", "new/mine.txt"])
    workspace.restore(wanted, known=after)
    found = {p.relative_to(root).as_posix(): p.read_text() if p.is_file() else "" for p in root.rglob("*")}
    assert found == {"mine.txt": "before", "gone.txt": "was here", "theirs.txt": "of another step", "kept": ""}
