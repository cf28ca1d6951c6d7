"""Copies of the workspace, for what must not touch the workspace itself: candidates that are judged, and commands that
a model has put into its plan as checks."""

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from surefoot.run import Run
from surefoot.workspace.sandbox import choose_sandbox

if TYPE_CHECKING:
    from surefoot.workspace.sandbox import Sandbox

MOST_FILES, MOST_BYTES = 5_000, 200_000_000
"""A workspace with more bytes is not copied at all, one with more files not again and again."""


class Place(NamedTuple):
    """Where checks look: the workspace, or a copy of it with a sandbox of its own."""

    root: Path
    sandbox: "Sandbox | None"


@asynccontextmanager
async def a_copy(run: Run, name: str, snapshot: str = "") -> AsyncIterator[Place]:
    """Of the workspace as it is now, or was at the snapshot; gone afterwards. No two at a time with the same name."""
    home = run.services.home
    folder = home / "copies" / f"{run.state.run_id}.{name}"
    copy = folder / run.root.name
    try:
        await asyncio.to_thread(_fill, run, folder, copy, snapshot or await run.snapshot())
        sandbox, _ = choose_sandbox(run.config.sandbox, copy, state_folders=[home])
        yield Place(copy, sandbox)
    finally:
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)


def can_be_copied(run: Run, *, often: bool) -> bool:
    """By what was there at the beginning."""
    files = run.files_before()
    return sum(file.size for file in files.values()) <= MOST_BYTES and not (often and len(files) > MOST_FILES)


def _fill(run: Run, folder: Path, copy: Path, snapshot: str) -> None:
    shutil.rmtree(folder, ignore_errors=True)  # of a process that was killed
    run.workspace.copy_to(snapshot, copy)
    # What snapshots leave out is too large to copy, and checks may need it.
    for path in run.workspace.manifest(snapshot).excluded:
        (copy / path).parent.mkdir(parents=True, exist_ok=True)
        (copy / path).symlink_to(run.root.resolve() / path)
