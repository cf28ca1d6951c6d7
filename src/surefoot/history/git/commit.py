"""Commits the changes of a run, in one commit or one for each step, and records the commits.

Only a verified or accepted run is committed, and only if the user had not changed its files before. The user's tree and
staged changes stay as they are, even if a hook refuses the commit or changes files.
"""

import os
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from surefoot.core.outcome import Verdict
from surefoot.core.transitions import StepStatus
from surefoot.core.values import join_limited
from surefoot.errors import GitError, NothingToCommit, UsageError
from surefoot.history.git.message import account_of, message_of
from surefoot.history.restoring import user_and_command
from surefoot.history.timeline import Timeline, build_timeline, workspace_of
from surefoot.journal import events as e
from surefoot.journal.reducers import fold
from surefoot.journal.state import RunState
from surefoot.journal.store.base import Journal
from surefoot.tools.fs.tool_files import in_repository, is_cache
from surefoot.workspace.errors import as_text, printable
from surefoot.workspace.git.commit import NewCommit, Part, adopt, changed_before, commit_parts, has_all, take_back
from surefoot.workspace.git.hooks import COMMIT_HOOKS, active_hooks, changed_hook_files
from surefoot.workspace.git.repository import Repository, changes_of_user, require_identity, require_repository
from surefoot.workspace.git.staging import States, ignored, nested, staging
from surefoot.workspace.lock import WorkspaceLock
from surefoot.workspace.snapshots.manifest import Entry
from surefoot.workspace.workspace import Workspace
from surefoot.workspace.worktrees import worktree_of

_MAX_NAMED = 8


@dataclass(frozen=True, slots=True)
class Committed:
    """The commits that were made, and the files that were left out."""

    events: tuple[e.Committed, ...]
    nested: tuple[str, ...] = ()
    """Changed files that belong to a submodule or to another repository."""
    notes: tuple[str, ...] = ()


async def commit_run(
    journal: Journal,
    home: Path,
    run_id: str,
    *,
    by_step: bool = False,
    by: str = "",
    hide: Callable[[str], str] = lambda text: text,
) -> Committed:
    """Commit the changes of a run to the current branch of the repository that contains its folder.

    `hide` removes secrets from commit messages. Raises GitError or UsageError if the run cannot be committed; in that
    case nothing has changed.
    """
    records = list(journal.read(run_id))
    state, timeline = fold(records), build_timeline(records)
    require_committable(state)
    folder = _folder(state, home)
    with WorkspaceLock(folder, home, run_id):
        work = Work.of(state, records, timeline, folder, home)
        work.refuse_if_committed()
        # After a review, commits by step would contain undone changes, so there is only one commit.
        commits, notes = work.commit(by_step=by_step and not timeline.reviewed, hide=hide)
        events = tuple(
            e.Committed(
                commit=each.commit,
                branch=work.repository.branch,
                parent=each.parent,
                paths=tuple(map(as_text, each.paths)),
                step=each.step,
                by=by or user_and_command(),
            )
            for each in commits
        )
        await journal.append(run_id, events)
    return Committed(events, tuple(sorted(work.nested)), tuple(notes))


def require_committable(state: RunState, what: str = "committed", otherwise: str = "") -> None:
    """Raise UsageError unless the run is verified or accepted, and was not undone.

    `what` is the participle in the messages. `otherwise` is the remedy for a run that is not verified.
    """
    outcome = state.outcome
    if state.undone is not None:
        raise UsageError(f"the changes of run {state.run_id} were undone", remedy=f"there is nothing to be {what}")
    if outcome is None or not (outcome.verdict is Verdict.VERIFIED or outcome.accepted):
        level = f" (proof {outcome.proof.letter})" if outcome else ""
        remedy = otherwise or "to commit it all the same: git add FILE... && git commit"
        if outcome is not None and outcome.proof.letter == "B":
            remedy += f"; with --accept own-tests a run with proof B is {what}"
        raise UsageError(f"run {state.run_id} is not verified{level}, so it is not {what}", remedy=remedy)


def _folder(state: RunState, home: Path) -> Path:
    assert state.task is not None
    if state.applied:
        return Path(state.applied[-1].folder).resolve()
    if state.remote or worktree_of(home, state.run_id) is not None:
        raise UsageError(
            f"run {state.run_id} worked in a copy, and its changes are not in your folder",
            remedy=f"bring them there first: surefoot apply {state.run_id}",
        )
    return state.task.folder.resolve()


@dataclass(slots=True)
class Work:
    """The changes of a run, and the repository to commit them to."""

    state: RunState
    records: list[e.Record]
    timeline: Timeline
    repository: Repository
    workspace: Workspace
    prefix: str
    """The path of the workspace in the repository, with a trailing slash; empty if it is the top folder."""
    before: Mapping[str, Entry]
    after: Mapping[str, Entry]
    paths: list[str]
    """The changed files to commit, relative to the workspace."""
    nested: set[str]

    @classmethod
    def of(
        cls,
        state: RunState,
        records: list[e.Record],
        timeline: Timeline,
        folder: Path,
        home: Path,
        hooks: Collection[str] = COMMIT_HOOKS,
    ) -> "Work":
        """Collect the changes of a run in a folder of a repository. `hooks` are the git hooks that will run.

        Raises UsageError or GitError if the changes cannot be committed.
        """
        repository = require_repository(folder, "a commit")
        require_identity(repository)
        if state.branch and not state.applied and state.branch != repository.branch:
            raise UsageError(
                f"run {state.run_id} began on the branch {state.branch}, and {repository.branch} is checked out now",
                remedy=f"go back to it: git switch {state.branch}; then: surefoot commit {state.run_id}",
            )
        workspace = workspace_of(state, home, folder)
        start, end = timeline.start.resolve(workspace), timeline.end.resolve(workspace)
        is_own = timeline.touched_since(0)
        changed = [change for change in workspace.changes(start, end) if is_own(change.path)]
        relative = os.path.relpath(folder, repository.top)
        prefix = "" if relative == "." else f"{relative}/"
        touched = {*(c.path for c in changed), *timeline.touched}
        _refuse_changed_hooks(state, repository, folder, touched, active_hooks(repository, hooks))
        files = [
            change.path
            for change in changed
            if not _is_folder(change.before, change.after)
            and not in_repository(change.path)
            and not is_cache(change.path)
        ]
        places = {prefix + path: path for path in files}
        inner = nested(repository, places)
        left_out = inner | ignored(repository, [place for place in places if place not in inner])
        return cls(
            state=state,
            records=records,
            timeline=timeline,
            repository=repository,
            workspace=workspace,
            prefix=prefix,
            before=workspace.manifest(start).entries,
            after=workspace.manifest(end).entries,
            paths=[path for place, path in places.items() if place not in left_out],
            nested=inner,
        )

    def refuse_if_committed(self) -> None:
        for event in reversed(self.state.commits):
            result = self.repository.git.ask("merge-base", "--is-ancestor", event.commit, "HEAD")
            if result.returncode == 0:
                raise UsageError(
                    f"run {self.state.run_id} is committed already, as {event.commit[:10]}",
                    remedy=f"see it: git show {event.commit[:10]}",
                )

    def commit(self, *, by_step: bool, hide: Callable[[str], str]) -> tuple[list[NewCommit], list[str]]:
        with staging(self.repository, self.workspace.blobs.get) as stage:
            if has_all(self.repository, stage, self._states(self.after)):
                raise NothingToCommit(
                    f"nothing to commit: what run {self.state.run_id} changed is in the last commit, or git ignores it",
                    remedy=f"see what it changed: surefoot diff {self.state.run_id}",
                )
            mixed = changed_before(self.repository, stage, self._states(self.before))
            if mixed:
                raise GitError(
                    f"you had changed {_listed(mixed)} before the run, and the run changed it too: "
                    "a commit would have both, so nothing was committed",
                    remedy="commit it yourself, part by part: git add -p && git commit; "
                    "next time, commit or stash your changes first",
                )
            parts = self._parts(by_step, hide)
            commits = self._undoing_hook_changes(lambda: commit_parts(self.repository, stage, parts))
        problem = adopt(self.repository, commits)
        return commits, [problem] if problem else []

    def _states(self, entries: Mapping[str, Entry]) -> States:
        return {self.prefix + path: entries.get(path) for path in self.paths}

    def _parts(self, by_step: bool, hide: Callable[[str], str]) -> Iterator[Part]:
        own = set(self._states(self.after))
        others = {change.path for change in changes_of_user(self.repository, self.repository.top, all_files=True)}
        also = sorted(path for path in others - own if not is_cache(path))
        account = account_of(self.state, self.records, hide)
        if not by_step:
            yield Part(hide(message_of(self.state, account, also_changed=also)), self._states(self.after))
            return
        ended = [
            (step_id, timeline.after)
            for step_id, timeline in self.timeline.steps.items()
            if timeline.after is not None and self.state.steps[step_id].status is StepStatus.SUCCEEDED
        ]
        for number, (step_id, state) in enumerate(ended, 1):
            # Changes after the last step, such as those by a check, belong to its commit.
            snapshot = state.resolve(self.workspace) if number < len(ended) else None
            entries = self.workspace.manifest(snapshot).entries if snapshot else self.after
            yield Part(
                hide(message_of(self.state, account, step=step_id, also_changed=also)), self._states(entries), step_id
            )

    def _undoing_hook_changes(self, commit: Callable[[], list[NewCommit]]) -> list[NewCommit]:
        """Call `commit`, and put back files that hooks changed in the user's tree. In that case, raises GitError."""
        if not active_hooks(self.repository):
            return commit()
        top = self.workspace
        if self.prefix:
            top = Workspace(self.repository.top, top.home, excludes=top.excludes.patterns, quota_bytes=top.quota_bytes)
        before = top.capture()
        try:
            commits = commit()
        except BaseException as error:
            if changed := self._put_back(top, before):
                error.add_note(f"a hook had changed {_listed(changed)}: put back as they were")
            raise
        if changed := self._put_back(top, before):
            take_back(self.repository, commits)
            raise GitError(
                f"a hook changed {_listed(changed)} after the checks ran: the commit was reverted and "
                "the files were restored",
                remedy="nothing was committed; let the hook run before the checks, or commit yourself",
            )
        return commits

    def _put_back(self, top: Workspace, before: str) -> list[str]:
        """Undo the changes of hooks to files that git does not ignore. Returns the paths of these files."""
        changed_paths = [change.path for change in top.changes(before) if not in_repository(change.path)]
        files = [path for path in changed_paths if path != "." and not is_cache(path)]
        skipped = ignored(self.repository, files)
        paths = [path for path in files if path not in skipped]
        changed = [path for path in paths if not (top.root / path).is_dir()]
        if changed:
            current = top.capture([before])
            top.restore(top.with_paths_from(current, before, paths), known=current, unrecorded=True)
        return changed


def _refuse_changed_hooks(
    state: RunState, repository: Repository, folder: Path, changed: set[str], hooks: list[Path]
) -> None:
    found = changed_hook_files(repository, folder, changed, hooks)
    if found:
        raise GitError(
            f"the run changed {_listed(found)}, which your git hooks execute or read, outside the sandbox: "
            "nothing was committed",
            remedy=f"look at it first: surefoot diff {state.run_id}; then commit yourself: git add FILE && git commit",
        )


def _is_folder(before: Entry | None, after: Entry | None) -> bool:
    return not any(entry is not None and entry.kind in ("file", "symlink") for entry in (before, after))


def _listed(paths: list[str]) -> str:
    return join_limited([printable(path) for path in paths], _MAX_NAMED)
