"""Copies of the workspace, for work that must not touch the workspace itself.

They are used to judge candidates, to run commands that a model has put into its plan as checks, and to run the final
checks if files that decide what they do were changed.
"""

import asyncio
import os
import shutil
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from surefoot.journal.state import RunState
from surefoot.workspace.sandbox.bubblewrap import Bubblewrap
from surefoot.workspace.sandbox.sandbox import Sandbox, choose_sandbox
from surefoot.workspace.workspace import Workspace

COPIES = "copies"
"""The folder of the copies, below the state folder."""
MAX_FILES, MAX_BYTES = 5_000, 200_000_000
"""A workspace with more bytes is not copied at all; one with more files is not copied repeatedly."""


class Place(NamedTuple):
    """Where checks run: in the workspace, or in a copy of it with a sandbox of its own."""

    root: Path
    sandbox: Sandbox | None


class Scratch:
    def __init__(self, workspace: Workspace, root: Path, state: RunState, home: Path) -> None:
        self._workspace = workspace
        self._root = root
        self._state = state
        self._home = home

    @asynccontextmanager
    async def copy(self, name: str, snapshot: str = "") -> AsyncIterator[Place]:
        """Provide a copy of the workspace as it is now, or was at the snapshot, inside the `with` block.

        Only one copy of a name may exist at a time.
        """
        async with self._folder(name) as copy:
            snapshot = snapshot or await asyncio.to_thread(self._workspace.snapshot)
            await asyncio.to_thread(self._fill, copy, snapshot)
            sandbox, _ = choose_sandbox(self._state.config.sandbox, copy, state_folders=[self._home])
            yield Place(copy, sandbox)

    @asynccontextmanager
    async def copy_in_place(
        self, name: str, snapshot: str, sandbox: Bubblewrap, keep: Sequence[str]
    ) -> AsyncIterator[tuple[Place, Path]]:
        """Provide a copy of a snapshot inside the `with` block, which commands see at the workspace's own path.

        Absolute paths therefore lead to the copy too. The second value is the path of the copy outside the sandbox. The
        folders in `keep`, and those that snapshots exclude, are not copied: commands see those of the workspace.
        """
        async with self._folder(name) as copy:
            await asyncio.to_thread(self._fill, copy, snapshot, keep, link=False)
            not_copied = (*keep, *self._workspace.manifest(snapshot).excluded)
            yield Place(self._root, replace(sandbox, shown=copy, kept=not_copied)), copy

    def can_copy(self, *, often: bool) -> bool:
        """Whether the workspace, as it was at the start of the run, is small enough to be copied once, or `often`."""
        files = self._workspace.manifest(self._state.snapshot).entries if self._state.snapshot else {}
        return sum(file.size for file in files.values()) <= MAX_BYTES and not (often and len(files) > MAX_FILES)

    def leads_out(self) -> bool:
        """Whether a command could change the user's files through a link in a copy, if no sandbox prevents it.

        Excluded folders are links to the originals. A link to an absolute path in the workspace or to a folder outside
        leads out too. A link to a file outside does not count: every virtual environment has some.
        """
        if self._state.config.snapshot_excludes:
            return True
        files = self._workspace.manifest(self._state.snapshot).entries if self._state.snapshot else {}
        root = self._root.resolve()
        for entry in files.values():
            if entry.kind == "symlink":
                target = Path(os.path.realpath(root / entry.path))
                inside = target.is_relative_to(root)
                if (inside and Path(entry.target).is_absolute()) or (not inside and target.is_dir()):
                    return True
        return False

    @asynccontextmanager
    async def _folder(self, name: str) -> AsyncIterator[Path]:
        folder = self._home / COPIES / f"{self._state.run_id}.{name}"
        try:
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)  # left by a process that was killed
            yield folder / self._root.name
        finally:
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)

    def _fill(self, copy: Path, snapshot: str, without: Collection[str] = (), *, link: bool = True) -> None:
        self._workspace.copy_to(snapshot, copy, without=without)
        # Folders that snapshots exclude are too large to copy, and checks may need them.
        for path in self._workspace.manifest(snapshot).excluded if link else ():
            (copy / path).parent.mkdir(parents=True, exist_ok=True)
            (copy / path).symlink_to(self._root.resolve() / path)
