"""The clone that a remote run begins with, and the copy that it is pushed from."""

from pathlib import Path

import pytest

from surefoot.errors import UsageError
from surefoot.integrations.temporal.starting import clone
from surefoot.workspace.git.remote import copy_of


@pytest.mark.parametrize("command", ["clone", "push"])
def test_a_git_in_the_current_folder_is_never_run(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted = tmp_path / "project" / "git"
    planted.parent.mkdir()
    planted.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    planted.chmod(0o755)
    monkeypatch.chdir(planted.parent)
    monkeypatch.setenv("PATH", str(planted.parent))
    (tmp_path / "copy").mkdir()
    address, copy = "https://127.0.0.1:9/x.git", tmp_path / "copy"
    with pytest.raises(UsageError, match="no git"):
        _ = clone(address, "", tmp_path) if command == "clone" else copy_of(address, "0" * 40, "main", copy)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("address", ["--upload-pack=touch x", "ext::sh -c true", "/some/folder", ""])
def test_only_addresses_are_cloned(address: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not the address"):
        clone(address, "", tmp_path)
