"""A temporary index for a commit: the last commit plus some files, with contents from snapshots.

It is built without reading or writing the user's index. The files are put in a scratch folder, so that git treats them
as `git add` does: line endings, filters, modes, symbolic links.
"""

import os
import shutil
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from surefoot.errors import GitError
from surefoot.workspace.errors import printable
from surefoot.workspace.git.program import failure
from surefoot.workspace.git.repository import Repository
from surefoot.workspace.snapshots.manifest import Entry
from surefoot.workspace.snapshots.tree import ancestors

States = Mapping[str, Entry | None]
"""The entry at each path of the repository, None if there is none. Folders and special files count as None."""


class Staging:
    """A temporary index of a repository."""

    def __init__(self, repository: Repository, read: Callable[[str], bytes], place: Path) -> None:
        self._repository, self._read = repository, read
        self.index = place / "index"
        self._tree = place / "tree"
        self._tree.mkdir()

    @property
    def variables(self) -> dict[str, str]:
        """Environment variables that make git use this index."""
        return {"GIT_INDEX_FILE": str(self.index)}

    def reset(self, tree: str) -> None:
        """Start with the files of a commit or tree; with no files if `tree` is empty."""
        self.index.unlink(missing_ok=True)
        self._repository.git.read("read-tree", tree or "--empty", variables=self.variables, timeout=None)

    def stage(self, states: States) -> None:
        """Set each of these paths to its state."""
        shutil.rmtree(self._tree)
        self._tree.mkdir()
        self._copy_attributes(states)
        for path, entry in states.items():
            if entry is not None and entry.kind in ("file", "symlink"):
                self._write(path, entry)
        removed = [path for path in states if not os.path.lexists(self._tree / path)]
        present = [path for path in states if os.path.lexists(self._tree / path)]
        variables = {**self.variables, "GIT_DIR": str(self._repository.folder), "GIT_WORK_TREE": str(self._tree)}
        git = self._repository.git.at(self._tree)
        if removed:
            git.read("update-index", "-z", "--force-remove", "--stdin", send=_list(removed), variables=variables)
        if present:
            # With the user's filters, as `git add` does.
            arguments = ("update-index", "-z", "--add", "--replace", "--stdin")
            process = git.act(*arguments, send=_list(present), variables=variables)
            if process.returncode != 0:
                raise failure("update-index", process)

    def tree(self) -> str:
        return self._repository.git.read("write-tree", variables=self.variables, timeout=None).decode().strip()

    def differences(self, commit: str) -> list[str]:
        """Return the paths at which this index differs from a commit."""
        against = commit or self._repository.git.read("hash-object", "-t", "tree", os.devnull).decode().strip()
        arguments = ("diff-index", "--cached", "--name-only", "-z", "--ignore-submodules=all", against)
        return split(self._repository.git.read(*arguments, variables=self.variables, timeout=None))

    def _write(self, path: str, entry: Entry) -> None:
        if entry.is_unstored:
            raise GitError(
                f"the content of {printable(path)} is in no snapshot, because it was too large",
                remedy="commit it yourself: git add and git commit",
            )
        place = self._tree / path
        place.parent.mkdir(parents=True, exist_ok=True)
        if entry.kind == "symlink":
            place.symlink_to(entry.target)
            return
        place.write_bytes(self._read(entry.digest))
        place.chmod(0o755 if entry.mode & 0o100 else 0o644)

    def _copy_attributes(self, paths: Iterable[str]) -> None:
        """Copy the `.gitattributes` that apply to the files. `stage` then overwrites those that are among the files."""
        folders = {"", *(folder for path in paths for folder in ancestors(path))}
        for name in (f"{folder}/.gitattributes".lstrip("/") for folder in folders):
            source = self._repository.top / name
            if source.is_file() and not source.is_symlink():
                (self._tree / name).parent.mkdir(parents=True, exist_ok=True)
                (self._tree / name).write_bytes(source.read_bytes())


@contextmanager
def staging(repository: Repository, read: Callable[[str], bytes]) -> Iterator[Staging]:
    """Yield a temporary index. `read` returns the content with a digest."""
    with tempfile.TemporaryDirectory(prefix="surefoot-git-") as place:
        yield Staging(repository, read, Path(place))


def staged_by_user(repository: Repository, paths: Collection[str]) -> list[str]:
    """Return those of the paths that differ between the user's index and the last commit."""
    against = repository.head or repository.git.read("hash-object", "-t", "tree", os.devnull).decode().strip()
    arguments = ("diff-index", "--cached", "--name-only", "-z", "--ignore-submodules=all", against)
    chosen = set(paths)
    return [path for path in split(repository.git.read(*arguments, timeout=None)) if path in chosen]


def ignored(repository: Repository, paths: Collection[str]) -> set[str]:
    """Return those of the paths that git ignores. A tracked file is never ignored."""
    if not paths:
        return set()
    # With "./" before it, no name has a special meaning.
    process = repository.git.ask("check-ignore", "-z", "--stdin", send=_list(f"./{path}" for path in paths))
    if process.returncode in (0, 1):
        return {path.removeprefix("./") for path in split(process.stdout)}
    if len(paths) == 1:
        # git cannot tell, for example if the folder of the file is a link now. Such a file counts as not ignored.
        return set()
    return {path for each in paths for path in ignored(repository, [each])}


def nested(repository: Repository, paths: Collection[str]) -> set[str]:
    """Return those of the paths that belong to a submodule, or to another repository in a subfolder."""
    listed = split(repository.git.read("ls-files", "--stage", "-z", timeout=None))
    links = {entry.partition("\t")[2] for entry in listed if entry.startswith("160000 ")}
    folders = {folder for path in paths for folder in (*ancestors(path), path)}
    inner = {folder for folder in folders if folder in links or os.path.lexists(repository.top / folder / ".git")}
    return {path for path in paths if path in inner or not inner.isdisjoint(ancestors(path))}


def take_over(repository: Repository, commit: str, paths: Collection[str]) -> None:
    """Set these paths in the user's index to their state in a commit. All other entries stay as they are."""
    listed = repository.git.read("ls-tree", "-r", "-z", "--full-tree", commit, timeout=None)
    names = {os.fsencode(path) for path in paths}
    entries = {line.partition(b"\t")[2]: line for line in listed.split(b"\0") if line}
    empty = b"0" * len(commit)
    lines = [entries.get(path) or b"0 " + empty + b"\t" + path for path in sorted(names)]
    send = b"".join(line + b"\0" for line in lines)
    repository.git.read("update-index", "-z", "--index-info", send=send, timeout=None)


def split(output: bytes) -> list[str]:
    """Return the NUL-separated names in git's output."""
    return [os.fsdecode(name) for name in output.split(b"\0") if name]


def _list(paths: Iterable[str]) -> bytes:
    return b"".join(os.fsencode(path) + b"\0" for path in paths)
