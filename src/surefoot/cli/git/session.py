"""`run` in a git repository: the state of the tree, a new branch, and at the end the review and the commit."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import click

from surefoot.cli.git.reviewing import require_terminal, review_run
from surefoot.cli.report import formatting as fmt
from surefoot.cli.report.hiding import redactor, safe
from surefoot.cli.report.stdout import print_lines, stdout_marks
from surefoot.cli.report.summary import verdict_lines
from surefoot.cli.session.foreground import EndedRun, PreparedRun
from surefoot.cli.session.resources import open_journal
from surefoot.config import paths
from surefoot.core.outcome import Verdict
from surefoot.engine.runtime.services import Services
from surefoot.errors import GitError, NothingToCommit, SurefootError, UsageError
from surefoot.history.git.commit import commit_run
from surefoot.history.restoring import user_and_command
from surefoot.journal import events as e
from surefoot.journal.reducers import fold
from surefoot.journal.state import RunState
from surefoot.journal.store.base import Journal
from surefoot.workspace.git.repository import (
    Repository,
    branch_name,
    changes_of_user,
    count_changes,
    find_repository,
    make_branch,
    require_identity,
    require_new_branch,
    require_repository,
)


def with_git(prepared: PreparedRun, options: Mapping[str, Any]) -> PreparedRun:
    """The run with the branch, review and commit that the options ask for. Raises UsageError if one is impossible."""
    wants_branch, wants_commit = options.get("branch") is not None, options.get("commit") is not None
    for name in ("branch", "commit"):
        if options.get("worktree") and options.get(name) is not None:
            raise UsageError(
                f"--{name} is not possible with --worktree: your folder changes only with `surefoot apply`",
                remedy=f"leave one of them out; after `surefoot apply {prepared.run_id}`, `surefoot commit` commits it",
            )
    if options.get("review"):
        require_terminal(options["as_json"])
    session = _Session(prepared, commit=options.get("commit") or "", review=options.get("review", False))
    if wants_branch or wants_commit:
        option = "--branch" if wants_branch else "--commit"
        repository = require_repository(prepared.folder, option)
        if wants_commit:
            require_identity(repository)
        if wants_branch:
            return session.on_branch(repository, options["branch"] or _branch_name(prepared))
    if not options.get("worktree"):
        _print_changes(prepared.folder, commits=wants_commit)
    return session.prepared_run() if wants_commit or options.get("review") else prepared


def _branch_name(prepared: PreparedRun) -> str:
    return branch_name(prepared.task.text if prepared.task else "", prepared.run_id)


def describe_changes(folder: Path) -> str:
    """The user's own changes and what a run does with them; empty if there are none, or if git cannot tell."""
    try:
        repository = find_repository(folder)
        changes = count_changes(changes_of_user(repository, folder)) if repository else None
    except GitError:
        return ""
    return f"{changes.as_text()}: your changes stay, and undo restores the state that has them" if changes else ""


def _print_changes(folder: Path, *, commits: bool) -> None:
    if changes := describe_changes(folder):
        only = "; --commit commits only what the run changes" if commits else ""
        click.echo(f"git: {changes}{only}", err=True)


@dataclass(frozen=True)
class _Session:
    prepared: PreparedRun
    commit: str
    review: bool
    branch: tuple[str, str] = ("", "")

    def on_branch(self, repository: Repository, name: str) -> PreparedRun:
        """The run on a new branch, which is made as soon as there is a model."""
        require_new_branch(repository, name)
        _print_changes(self.prepared.folder, commits=bool(self.commit))
        session = replace(self, branch=(name, repository.place))

        click.echo(f"git: the run works on a new branch, {fmt.line(name)}", err=True)
        return replace(
            session.prepared_run(),
            drive=session.drive,
            before=partial(make_branch, repository, name),
            after=None if self.prepared.display.as_json else session.print_way_back,
        )

    def prepared_run(self) -> PreparedRun:
        return replace(self.prepared, review_and_commit=self.review_and_commit)

    async def drive(self, services: Services) -> RunState:
        try:
            return await self.prepared.drive(services, branch=self.branch)
        except SurefootError as error:
            error.add_note(f"the branch {self.branch[0]} was made; {self._way_back()}")
            raise

    def print_way_back(self) -> None:
        with _opened_journal(read_only=True) as journal:
            state = fold(list(journal.read(self.prepared.run_id)))
        if state.outcome is None or not (state.outcome.verdict is Verdict.VERIFIED or state.outcome.accepted):
            click.echo(f"git: you are on the branch {fmt.line(self.branch[0])}; {fmt.line(self._way_back())}", err=True)

    def _way_back(self) -> str:
        name, origin = self.branch
        return f"back to where you were: git switch {origin} && git branch -d {name}"

    async def review_and_commit(self, state: RunState) -> EndedRun:
        """Review, then commit. If either fails, the result of the run stays as it is."""
        seq, code = state.seq, 0
        with _opened_journal() as journal:
            if self.review and state.outcome is not None:
                print_lines(verdict_lines(state, stdout_marks()))
                try:
                    await review_run(journal, paths.state_home(), state.run_id)
                except SurefootError as error:
                    code = await _warn(journal, state.run_id, "not reviewed", error)
            if self.commit and not code:
                code = await self._commit(journal, state)
            records = list(journal.read(state.run_id))
        return EndedRun(fold(records), [record for record in records if record.seq > seq], code)

    async def _commit(self, journal: Journal, state: RunState) -> int:
        if state.outcome is None:
            click.echo(f"git: nothing is committed yet; when it has ended: surefoot commit {state.run_id}", err=True)
            return 0
        by, hide = user_and_command(f"surefoot run --commit={self.commit}"), redactor().redact
        try:
            result = await commit_run(
                journal, paths.state_home(), state.run_id, by_step=self.commit == "step", by=by, hide=hide
            )
        except SurefootError as error:
            code = await _warn(journal, state.run_id, "not committed", error)
            return 0 if isinstance(error, NothingToCommit) else code
        for line in left_out_lines(result.nested, result.notes):
            click.echo(line, err=True)
        return 0


def left_out_lines(nested: tuple[str, ...], notes: tuple[str, ...]) -> list[str]:
    """The notes on a commit, and the files that it leaves out."""
    lines = [f"git: {fmt.line(note, 400)}" for note in notes]
    if nested:
        named = fmt.join_limited([fmt.path(path) for path in nested])
        lines.append(f"git: not committed, because they belong to another repository: {named}")
    return lines


async def _warn(journal: Journal, run_id: str, problem: str, error: SurefootError) -> int:
    """Record why the review or the commit failed; the summary of the run shows it. Returns the exit code."""
    remedy = "; ".join(part for part in (error.remedy, *error.notes) if part)
    message = f"{problem}: {error}" + (f" ({remedy})" if remedy else "")
    await journal.append(run_id, [e.Warned(message=safe(redactor().redact(message)))])
    return 1


@contextmanager
def _opened_journal(*, read_only: bool = False) -> Iterator[Journal]:
    """Open the journal, which the run itself has closed."""
    journal = open_journal(read_only=read_only)
    try:
        yield journal
    finally:
        sys.stdout.flush()
        journal.close()
