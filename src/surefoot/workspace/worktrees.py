"""Records of the runs that work in a copy of a folder. Imports little, because every list of runs needs it."""

import json
from dataclasses import dataclass
from pathlib import Path

from surefoot.config.paths import worktree_records


@dataclass(frozen=True, slots=True)
class Worktree:
    origin: str
    copy: str


def worktree_of(home: Path, run_id: str) -> Worktree | None:
    try:
        return Worktree(**json.loads(record_file(home, run_id).read_bytes()))
    except FileNotFoundError:
        return None


def worktree_origins(home: Path) -> dict[str, str]:
    """Return the copies of all runs, each with the folder that was copied."""
    run_ids = [file.stem for file in worktree_records(home).glob("*.json")]
    return {worktree.copy: worktree.origin for run_id in run_ids if (worktree := worktree_of(home, run_id))}


def record_file(home: Path, run_id: str) -> Path:
    return worktree_records(home) / f"{run_id}.json"
