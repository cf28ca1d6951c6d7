"""Finds the files that are protected in a run: existing tests, scripts of checks, and files to be left alone.

The task says which files to leave alone. No tool may change protected files, except that tests may be extended where
the strategy allows it (`Run.not_writable`). All files of the workspace are considered, also by the names under which
symlinks lead to them.
"""

from collections.abc import Iterable

from surefoot.core.plan import CommandCheck
from surefoot.core.task import Task
from surefoot.engine.verifier.deciding.decide import Tree, links_inside
from surefoot.engine.verifier.deciding.scripts import scripts_of
from surefoot.project.asked_changes import asks_to_change
from surefoot.project.folder import files_before_folders, list_files, protected_files
from surefoot.project.task_text import is_named_in
from surefoot.tools.fs.tool_files import SKIPPED_FOLDERS
from surefoot.workspace.workspace import Workspace


def files_to_protect(workspace: Workspace, snapshot: str, task: Task) -> tuple[str, ...]:
    entries = workspace.manifest(snapshot).entries
    tree = Tree(entries, lambda entry: workspace.blobs.get(entry.digest))
    commands = [check for check in task.checks if isinstance(check, CommandCheck)]
    links = [(link, target) for link, target in links_inside(entries, str(workspace.root)) if not _is_skipped(link)]
    files = [path for path in tree.files if path.isprintable() and not _is_skipped(path)]
    # Links to folders and dangling links are not files. Files that snapshots exclude are considered too.
    known = {*(path for path in files if (workspace.root / path).is_file()), *list_files(task.folder)}
    ordered = sorted(known, key=files_before_folders)
    aliases = {link + path[len(target) :]: path for link, target in links for path in ordered if _is_at(path, target)}
    protected = {
        *protected_files(ordered, commands, task.text),
        *(aliases[name] for name in protected_files(aliases, commands, task.text)),
        *_scripts(tree, commands, task.text),
    }
    return tuple(path for path in ordered if path in protected)


def _scripts(tree: Tree, commands: Iterable[CommandCheck], task: str) -> Iterable[str]:
    scripts = scripts_of([check.command for check in commands], tree.files, tree.folders, tree.read)
    return [path for path in scripts if not asks_to_change(path, task) and not is_named_in(path, task)]


def _is_skipped(path: str) -> bool:
    return not SKIPPED_FOLDERS.isdisjoint(path.split("/")[:-1])


def _is_at(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder}/")
