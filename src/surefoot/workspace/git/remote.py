"""Remote repositories: their addresses, a copy of one commit, and a push that never overwrites anything."""

import re
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from surefoot.errors import GitError, UsageError
from surefoot.workspace.git.program import Git, failure, said_by
from surefoot.workspace.git.repository import Repository, find_repository
from surefoot.workspace.process.programs import never_run_from

if TYPE_CHECKING:
    from subprocess import CompletedProcess

_ADDRESS = re.compile(r"(https?|ssh|git|file)://\S+|[\w.-]+@[\w.-]+:\S+")
_ACCESS = "check the address, and your access to it with your own git"
_HEAD = "refs/heads/"


def require_address(address: str) -> None:
    """Raise UsageError unless this is the address of a repository. A valid address cannot be an option of git."""
    if not _ADDRESS.fullmatch(address):
        raise UsageError(
            f"{address!r} is not the address of a git repository", remedy="write it as https://HOST/NAME.git"
        )


def without_login(address: str) -> str:
    """Return the address without a password or token, safe to store and show. The name of an SSH user is kept."""
    if "://" not in address:
        return address
    parts = urlsplit(address)
    login, at, host = parts.netloc.rpartition("@")
    user = login.partition(":")[0] if parts.scheme == "ssh" else ""
    return parts._replace(netloc=f"{user}{at}{host}" if user else host).geturl()


def copy_of(address: str, commit: str, branch: str, folder: Path) -> Repository:
    """Check out one commit of a remote repository in an empty folder, on a new branch of this name."""
    never_run_from(Path.cwd())
    git = Git.find(folder)
    if git is None:
        raise UsageError("there is no git on PATH", remedy="install git")
    process = git.act("init", "--quiet")
    if process.returncode != 0:
        raise failure("init", process)
    if branch.startswith("-") or git.ask("check-ref-format", "--branch", branch).returncode != 0:
        raise UsageError(f"{branch!r} is not a valid branch name", remedy="name another one, such as fix/login")
    if git.act("fetch", "--quiet", "--no-tags", "--depth=1", "--", address, commit).returncode != 0:
        # Some servers refuse a commit that is not the tip of a branch. Then all branches are fetched.
        process = git.act("fetch", "--quiet", "--no-tags", "--", address, f"+{_HEAD}*:refs/remotes/origin/*")
        if process.returncode != 0:
            raise GitError(
                f"git could not fetch {without_login(address)}: {said_about(process, address)}", remedy=_ACCESS
            )
    if git.ask("cat-file", "-e", f"{commit}^{{commit}}").returncode != 0:
        raise UsageError(
            f"{without_login(address)} does not have the commit {commit[:10]}, with which the run began",
            remedy="take the changes as a patch instead: surefoot diff RUN",
        )
    process = git.act("checkout", "--quiet", "-b", branch, commit)
    repository = find_repository(folder)
    if process.returncode != 0 or repository is None:
        raise failure("checkout", process)
    return repository


def tip_of(repository: Repository, address: str, branch: str) -> str:
    """Return the commit at the tip of a remote branch; empty if there is no such branch."""
    name = f"{_HEAD}{branch}"
    process = repository.git.ask("ls-remote", "--heads", "--", address, name, timeout=None)
    if process.returncode != 0:
        raise GitError(f"git could not read {without_login(address)}: {said_about(process, address)}", remedy=_ACCESS)
    lines = (line.split("\t") for line in process.stdout.decode("utf-8", "replace").splitlines())
    return next((words[0] for words in lines if words[-1] == name), "")


def push(repository: Repository, address: str, commit: str, branch: str) -> None:
    """Push a commit to a remote branch. Raises GitError unless the branch is new or can be fast-forwarded."""
    words = ("push", "--quiet", "--recurse-submodules=no", "--", address, f"{commit}:{_HEAD}{branch}")
    process = repository.git.act(*words)
    if process.returncode != 0 and b"shallow update not allowed" in process.stderr:
        # No remote branch has the first commit of this shallow copy any more: push its whole history.
        repository.git.act("fetch", "--quiet", "--no-tags", "--unshallow", "--", address, repository.head)
        process = repository.git.act(*words)
    if process.returncode != 0:
        raise GitError(
            f"git did not push to {branch} of {without_login(address)}: {said_about(process, address)}",
            remedy="nothing was changed there. If the branch has moved, push to a new one: leave out --branch",
        )


def said_about(process: "CompletedProcess[bytes]", address: str) -> str:
    """Return the output of git, with the address in it shown without its token."""
    return said_by(process).replace(address, without_login(address))
