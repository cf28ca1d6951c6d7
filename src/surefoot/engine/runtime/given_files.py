"""The files that were in the workspace before the run: what a run may do with them."""

from collections.abc import Mapping
from pathlib import Path

from surefoot.core.task import Task
from surefoot.engine.verifier.suite.test_policy import refusal_to_weaken
from surefoot.journal.state import RunState
from surefoot.project.folder import is_test
from surefoot.project.task_text import is_named_in, to_be_left_alone
from surefoot.workspace.snapshots.manifest import Entry
from surefoot.workspace.workspace import Workspace


class GivenFiles:
    def __init__(self, state: RunState, task: Task, root: Path, workspace: Workspace) -> None:
        self._state, self._task, self._root, self._workspace = state, task, root, workspace
        self._names: tuple[tuple[object, ...], str] | None = None

    def entries(self) -> Mapping[str, Entry]:
        return self._workspace.manifest(self._state.snapshot).entries if self._state.snapshot else {}

    def names(self) -> str:
        """Return the paths given by the user or the plan: the workspace, its files before the run, the plan's files.

        They are not redacted, even if a part looks like a token. Files that a command made during the run are not
        included, because their names may be secrets that the command has read.
        """
        state = self._state
        sources = (state.snapshot, state.understanding, state.plan)
        if self._names is None or any(a is not b for a, b in zip(sources, self._names[0], strict=True)):
            understood = state.understanding.output if state.understanding else None
            targets = understood.target_files if understood else ()
            written = [path for step in state.plan.steps for path in step.writes] if state.plan else []
            paths = [str(self._root), *self.entries(), *targets, *written]
            # Text of a task or a check that looks like a token was refused at the start, unless it is part of a path.
            paths += [self._task.text, *(check.label for check in self._task.checks)]
            self._names = (sources, "\n".join(paths))
        return self._names[1]

    def not_writable(self, *, tests_read_only: bool) -> frozenset[str]:
        """Return the files that the run may not write: check scripts and files that the task says to leave alone.

        `tests_read_only` adds all existing tests. Otherwise they may be extended, and `refusal` refuses other changes.
        """
        protected = self._state.protected
        if tests_read_only:
            return frozenset(protected)
        left_alone = to_be_left_alone(self._task.text, protected)
        return frozenset(path for path in protected if path in left_alone or not is_test(path))

    def refusal(self, path: str, content: bytes | None, moved_to: str) -> str:
        """Return why a write is refused that would weaken tests from before the run; empty if it weakens none.

        `content` is None if the file is deleted.
        """
        entry = self.entries().get(path)
        if entry is None or entry.kind != "file" or not is_test(path):
            return ""
        before = self._workspace.blobs.get(entry.digest)
        return refusal_to_weaken(path, before, content, self._task.text, moved_to=moved_to)

    def may_rewrite(self, path: str) -> bool:
        """Whether a generated file may be rewritten: the task names it, or this run made it."""
        return is_named_in(path, self._task.text) or path not in self.entries()
