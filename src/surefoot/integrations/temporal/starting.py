"""Creates a remote run: stores the files of a folder with the journal, records the run and hands it over to workers."""

import asyncio
import json
import os
import re
import subprocess
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from surefoot._version import __version__
from surefoot.config import paths
from surefoot.config.model import ExecutionConfig
from surefoot.config.paths import worktree_records
from surefoot.config.storage import read_storage
from surefoot.core.task import Task
from surefoot.core.transitions import Stage
from surefoot.engine.loop import config_from
from surefoot.engine.refusal import refuse_secrets
from surefoot.engine.verifier.protected import files_to_protect
from surefoot.errors import ConfigError, UsageError
from surefoot.integrations.temporal.client import hand_over, require_library
from surefoot.integrations.temporal.files import open_workspace, putting
from surefoot.journal import events as e
from surefoot.journal.redact import Redactor
from surefoot.journal.store.opening import open_journal
from surefoot.workspace.durable import durable_write
from surefoot.workspace.git.program import Git
from surefoot.workspace.git.remote import require_address, said_about, without_login
from surefoot.workspace.mirror import Mirror
from surefoot.workspace.process.programs import find_program
from surefoot.workspace.worktrees import Worktree


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteRun:
    """The description of a run that workers drive."""

    run_id: str
    task: Task
    """Its workspace is the path of a copy, which exists only where a worker makes it."""
    config: ExecutionConfig
    folder: Path
    """The folder whose files the run begins with."""
    model: str = ""
    first: Stage = Stage.UNDERSTANDING
    given: Sequence[e.Event] = ()
    based_on: str = ""
    cloned: e.Cloned | None = None
    """The origin of the folder, if it is a clone. A clone is temporary, so the result is not applied to it."""


async def start_remote(run: RemoteRun) -> None:
    """Create a run and hand it over. Nothing is left in the journal if its files cannot be stored."""
    require_library()
    await create_remote(run)
    await hand_over(run.run_id)


async def create_remote(run: RemoteRun) -> None:
    """Record a run with its files. It waits in the journal until it is handed over."""
    home = paths.state_home()
    if read_storage().database is None:
        raise ConfigError(
            "a remote run needs a journal that workers can reach",
            remedy="name it: --database postgresql://USER@HOST/NAME",
        )
    refuse_secrets(Redactor.from_environment(os.environ), run.task, run.given)
    workspace = open_workspace(run.folder, home, run.config)
    journal = open_journal(home)
    try:
        snapshot = await asyncio.to_thread(workspace.snapshot)
        mirror = Mirror(workspace, putting(journal), journal.get_blob)
        await asyncio.to_thread(mirror.upload, snapshot)
        if run.cloned is None:
            _remember_origin(home, run)
        created = e.RunCreated(
            run_id=run.run_id,
            task=run.task,
            config=config_from(run.first, run.config),
            model=run.model,
            surefoot=__version__,
            snapshot=snapshot,
            protected=await asyncio.to_thread(files_to_protect, workspace, snapshot, run.task),
            starts_at=run.first,
            based_on=run.based_on,
            remote=True,
            cloned=run.cloned,
        )
        await journal.append(run.run_id, [created, *run.given])
    finally:
        # Releases the lease, so that a worker can acquire it.
        await journal.aclose()


def _remember_origin(home: Path, run: RemoteRun) -> None:
    """Record the folder, so that `apply` and `list` find it, as for a run in a copy of it."""
    file = worktree_records(home) / f"{run.run_id}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    durable_write(file, json.dumps(asdict(Worktree(str(run.folder.resolve()), run.task.workspace))).encode())


def clone(address: str, ref: str, into: Path) -> tuple[Path, e.Cloned]:
    """Clone a repository with the user's own git. Returns the folder, and what was cloned. Raises UsageError if git
    fails."""
    require_address(address)
    name = re.sub(r"\.git$", "", address.rstrip("/")).replace(":", "/").rpartition("/")[2] or "repository"
    folder = into / name
    branch = ["--branch", ref] if ref else []
    environment = {**os.environ, "GIT_TERMINAL_PROMPT": "0"}
    git = find_program("git", Path.cwd())
    if git is None:
        raise UsageError("there is no git on PATH", remedy="install git, or run without --git")
    result = subprocess.run(
        [str(git), "clone", "--quiet", "--depth=1", *branch, "--", address, str(folder)],
        capture_output=True,
        env=environment,
        check=False,
    )
    if result.returncode != 0:
        raise UsageError(
            f"git could not clone {without_login(address)}{f' at {ref}' if ref else ''}: {said_about(result, address)}",
            remedy="check the address, the name of the branch or tag, and your access to it",
        )
    commit = Git(git, folder).read("rev-parse", "HEAD^{commit}").decode().strip()
    return folder, e.Cloned(address=without_login(address), commit=commit, ref=ref)
