"""Proofs of checks: the key under which a result is kept, computed from its inputs, and when a result expires."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from surefoot.core.outcome import CheckResult
from surefoot.core.plan import CommandCheck, ExpressionCheck
from surefoot.engine.verifier.deciding.names import UNREAD_CACHE
from surefoot.engine.verifier.file_checks import see
from surefoot.workspace.snapshots.tree_state import TreeState

Proof = tuple[str, str]
"""The key of a check, and a hash of everything that its result depends on."""


def recorded_proof(result: CheckResult) -> Proof | None:
    """Return the key of a proof from an earlier process; None if the journal does not say what it depends on."""
    match result.check:
        case ExpressionCheck():
            return None
        case CommandCheck(reads=()):
            return (result.check.key, result.exact_tree) if result.exact_tree else None
    return (result.check.key, json.dumps(result.inputs)) if result.inputs else None


def depends_on(check: CommandCheck, tree_state: TreeState) -> Proof | None:
    """Return the key of a command's proof; None if something that it depends on can change unseen."""
    if check.reads:
        inputs = declared(check, tree_state)
        return (check.key, json.dumps(inputs)) if inputs is not None else None
    tree = sources(tree_state)
    return (check.key, tree) if tree is not None else None


def sources(tree_state: TreeState) -> str | None:
    """Return the hash of the tree without caches that checks do not read; None if something in it can change unseen.

    An example is the cache of a mypy that the model ran.
    """
    entries = {path: entry for path, entry in tree_state.entries.items() if not UNREAD_CACHE.search(f"{path}/")}
    return TreeState(entries, tree_state.excluded).exactly


def declared(check: CommandCheck, tree_state: TreeState) -> dict[str, str] | None:
    """Return the hash of each pattern that the check declares to read; None if one of them has no hash."""
    parts = {pattern: tree_state.part(pattern) for pattern in check.reads}
    known = {pattern: part for pattern, part in parts.items() if part is not None}
    return known if len(known) == len(parts) else None


def expired(result: CheckResult, root: Path, tree_state: TreeState) -> list[str]:
    """Return the inputs of a result that have changed since. The result holds as long as there are none."""
    match result.check:
        case CommandCheck() if result.inputs:
            return [pattern for pattern, digest in result.inputs.items() if tree_state.part(pattern) != digest]
        case CommandCheck():
            return [] if tree_state.tree == result.tree else ["the workspace"]
        case ExpressionCheck():
            return []
        case _:
            now = see(root, result.check).inputs
            return [path for path, digest in result.inputs.items() if now.get(path) != digest]


class RecordedReads(Mapping[str, Any]):
    """A mapping of step results that records which ones were read."""

    def __init__(self, outputs: Mapping[str, Any]) -> None:
        self._outputs = outputs
        self.inputs: dict[str, str] = {}

    def __getitem__(self, step_id: str) -> Any:
        value = self._outputs[step_id]
        content = json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)
        self.inputs[f"outputs.{step_id}"] = hashlib.sha256(content.encode()).hexdigest()
        return value

    def __iter__(self) -> Iterator[str]:
        return iter(self._outputs)

    def __len__(self) -> int:
        return len(self._outputs)
