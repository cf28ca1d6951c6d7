"""State of git that would run programs outside the sandbox later: the user's next `git status` must run none of it."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from support.sandboxes import KINDS, sandbox_of, shell
from surefoot.errors import PathProtected
from surefoot.tools.fs.paths import resolve
from surefoot.workspace.sandbox import git_state
from surefoot.workspace.sandbox.git_config import Setting, format_settings, is_harmless, parse

pytestmark = pytest.mark.skipif(not shutil.which("git"), reason="git is not installed")


@pytest.fixture
def repository(workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with one commit, and a home without settings."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{name}_NAME", "n")
        monkeypatch.setenv(f"GIT_{name}_EMAIL", "e")
    (workspace / "file").write_text("one\n")
    git(workspace, "init", "-q", "-b", "main")
    git(workspace, "add", "-A")
    git(workspace, "commit", "-qm", "one")
    return workspace


def git(folder: Path, *arguments: str) -> str:
    """Git as the user runs it: without a sandbox."""
    done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, check=False)
    return (done.stdout + done.stderr).decode(errors="replace")


def bash(script: str, folder: Path) -> None:
    """Run a script without a sandbox."""
    subprocess.run(["bash", "-c", script], cwd=folder, capture_output=True, check=False)


def use_git(root: Path) -> None:
    """What a user does after a run: look at the differences, also in every subfolder, and commit."""
    folders = [root, *(path for path in root.rglob("*") if path.is_dir() and ".git" not in path.parts)]
    for folder in folders:
        for words in ("status", "diff", "diff HEAD", "log -p -3", "add -A", "stash list", "rebase --continue", "st"):
            git(folder, *words.split())
    git(root, "commit", "-qam", "after")
    git(root, "submodule", "status", "--recursive")


INIT = "git init -q sub; cd sub; echo x > x; git add x; git -c user.name=n -c user.email=e commit -qm x; cd ..; "
MONITOR = "core.fsmonitor 'touch $CANARY'; "
EVIL = INIT + f"git -C sub config {MONITOR}"
"""A nested repository that runs a program on `git status`."""
DRIVER = "echo '* diff=x filter=x' > sub/.gitattributes; echo y > sub/x; git -C sub config "
HOOK = "mkdir -p h; printf '#!/bin/sh\ntouch $CANARY' > h/post-index-change; chmod +x h/*; "
ATTACKS = {
    "fsmonitor in a gitlink": EVIL + "git add sub",
    "fsmonitor by hand": INIT + "printf '[core] fsmonitor = \"touch $CANARY\"' >> sub/.git/config; git add sub",
    "strange spelling": INIT + "printf '[CORE]\nFsMonitor=\\\\\n\"touch $CANARY\" # x\n' > sub/.git/config",
    "include": INIT + f"git config -f evil {MONITOR} git -C sub config include.path ../../evil",
    "conditional include": INIT + f"git config -f evil {MONITOR} git -C sub config includeIf.gitdir:**.path ../../evil",
    "diff driver": INIT + DRIVER + "diff.x.command 'touch $CANARY'",
    "text conversion": INIT + DRIVER + "diff.x.textconv 'touch $CANARY'",
    "filter": INIT + DRIVER + "filter.x.clean 'touch $CANARY'",
    "external diff": INIT + DRIVER + "diff.external 'touch $CANARY'",
    "alias": INIT + "git -C sub config alias.st '!touch $CANARY'",
    "hook": INIT + HOOK + "cp h/* sub/.git/hooks/",
    "hooks path": INIT + HOOK + "git -C sub config core.hooksPath ../h",
    "hooks folder as a link": INIT + HOOK + "rm -rf sub/.git/hooks; ln -s ../../h sub/.git/hooks",
    "git file": EVIL + "mv sub/.git hidden; echo 'gitdir: ../hidden' > sub/.git; git add sub",
    "git file to a place in objects": EVIL
    + "mv sub/.git .git/objects/zz; echo 'gitdir: ../.git/objects/zz' > sub/.git; git add sub",
    "git link": EVIL + "mv sub/.git hidden; ln -s ../hidden sub/.git; git add sub",
    "common folder elsewhere": EVIL
    + "cp -r sub/.git o; rm o/HEAD; git -C sub config --unset core.fsmonitor; echo ../../o > sub/.git/commondir",
    "common folder through a link": EVIL
    + "cp -r sub/.git o; rm o/HEAD; git -C sub config --unset core.fsmonitor; echo ../../o > c; "
    "ln -s ../../c sub/.git/commondir",
    "settings of a worktree": INIT
    + f"git -C sub config extensions.worktreeConfig true; git config -f sub/.git/config.worktree {MONITOR}",
    "settings as a link": EVIL + "mv sub/.git/config c; ln -s ../../c sub/.git/config",
    "bare repository": "git init -q --bare b; git config -f b/config core.bare false; "
    f"git config -f b/config core.worktree ..; git config -f b/config {MONITOR}",
    "in an ignored folder": "mkdir -p node_modules/a; echo node_modules > .gitignore; cd node_modules/a; " + EVIL,
    "folder that cannot be listed": EVIL + "git add sub; chmod 311 sub",
    "modules": EVIL + "mkdir -p .git/modules; mv sub/.git .git/modules/sub; "
    "echo 'gitdir: ../.git/modules/sub' > sub/.git; git add sub",
    "worktrees": f"git worktree add -q wt; mkdir -p o; cp -r .git/. o; git config -f o/config {MONITOR}"
    "echo $PWD/o > .git/worktrees/wt/commondir",
    "rebase": "git checkout -qb b; mkdir -p .git/rebase-merge; cd .git/rebase-merge; git rev-parse HEAD > onto; "
    "cp onto orig-head; echo refs/heads/b > head-name; echo 'exec touch $CANARY' > git-rebase-todo; "
    "touch interactive done; echo 1 > msgnum; echo 1 > end",
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.attack("persist")
async def test_git_runs_nothing_that_a_command_left(attack: str, kind: str, repository: Path, tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    script = ATTACKS[attack].replace("$CANARY", str(canary))
    result = await shell(script, sandbox_of(kind, repository), repository)
    use_git(repository)
    assert not canary.exists()
    assert any("git" in warning for warning in result.warnings), result.output


@pytest.mark.slow
@pytest.mark.parametrize("attack", ATTACKS)
def test_git_would_run_it(attack: str, repository: Path, tmp_path: Path) -> None:
    """Without a sandbox the attacks work: otherwise the tests above would prove nothing."""
    canary = tmp_path / "canary"
    bash(ATTACKS[attack].replace("$CANARY", str(canary)), repository)
    use_git(repository)
    assert canary.exists()


# --- what stays -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
async def test_harmless_repository_is_kept_and_reported(kind: str, repository: Path) -> None:
    sandbox = sandbox_of(kind, repository)
    script = INIT + "git -C sub config user.name me; git -C sub remote add origin https://example.org/x.git"
    result = await shell(script, sandbox, repository)
    assert [warning for warning in result.warnings if "made a git repository" in warning and "sub" in warning]
    assert not [warning for warning in result.warnings if "removed" in warning], result.warnings
    assert git(repository / "sub", "log", "--format=%s") == "x\n"
    assert git(repository / "sub", "config", "remote.origin.url") == "https://example.org/x.git\n"
    again = await shell("cd sub; echo y > y; git add y; git commit -qm y; git log --format=%s", sandbox, repository)
    assert again.warnings == ()


@pytest.mark.parametrize("kind", KINDS)
async def test_settings_of_an_existing_nested_repository_stay(kind: str, repository: Path) -> None:
    nested = repository / "sub"
    nested.mkdir()
    git(nested, "init", "-q")
    git(nested, "config", "core.pager", "less -S")
    (nested / ".git/hooks/pre-commit").write_text("mine")
    script = (
        "git -C sub config user.name me; git -C sub config core.editor evil; echo evil > sub/.git/hooks/pre-commit; "
    )
    result = await shell(
        script + "echo evil > sub/.git/hooks/post-merge; mv sub moved", sandbox_of(kind, repository), repository
    )
    nested = repository / "moved"
    assert git(nested, "config", "core.pager") == "less -S\n"
    assert git(nested, "config", "user.name") == "me\n"
    assert git(nested, "config", "core.editor") == ""
    assert (nested / ".git/hooks/pre-commit").read_text() == "mine"
    assert not (nested / ".git/hooks/post-merge").exists()
    assert [w for w in result.warnings if "core.editor" in w and "hooks/pre-commit" in w and "hooks/post-merge" in w]


@pytest.mark.parametrize("kind", KINDS)
async def test_rebase_with_a_conflict_can_be_continued(kind: str, repository: Path) -> None:
    sandbox = sandbox_of(kind, repository)
    script = """
        export GIT_AUTHOR_NAME=n GIT_AUTHOR_EMAIL=e GIT_COMMITTER_NAME=n GIT_COMMITTER_EMAIL=e
        git checkout -qb b; echo b > file; git commit -qam b; git checkout -q main; echo m > file; git commit -qam m
        git checkout -q b; git rebase main
    """
    result = await shell(script, sandbox, repository)
    assert [warning for warning in result.warnings if "unfinished" in warning and "rebase-merge" in warning]
    identity = "git -c user.name=n -c user.email=e"
    done = await shell(f"echo both > file; git add file; {identity} rebase --continue", sandbox, repository)
    assert done.ok, done.output
    assert not (repository / ".git/rebase-merge").exists()


async def test_files_outside_are_not_touched_through_links(repository: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "git-rebase-todo").write_text("exec mine\n")
    (outside / "strategy").write_text("mine")
    (outside / "pre-commit").write_text("mine")
    script = f"{INIT} ln -s {outside} .git/rebase-merge; ln -s {outside} sub/.git/rebase-merge; "
    script += f"rm -rf sub/.git/hooks; ln -s {outside} sub/.git/hooks; ln -s {outside}/strategy sub/.git/commondir"
    await shell(script, sandbox_of("bubblewrap", repository), repository)
    assert {file.name: file.read_text() for file in outside.iterdir()} == {
        "git-rebase-todo": "exec mine\n",
        "strategy": "mine",
        "pre-commit": "mine",
    }
    assert not os.path.lexists(repository / ".git/rebase-merge")
    assert not os.path.lexists(repository / "sub/.git/hooks")


async def test_opened_repository_is_left_alone(workspace: Path) -> None:
    sandbox = sandbox_of("bubblewrap", workspace, writable=(workspace / "sub",))
    (workspace / "sub").mkdir()
    await shell("git init -q sub; git -C sub config core.pager less", sandbox, workspace)
    assert git(workspace / "sub", "config", "core.pager") == "less\n"


def test_unchanged_folders_are_not_listed_again(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (repository / "a/b").mkdir(parents=True)
    monkeypatch.setattr(git_state, "_TRUSTED_AFTER_NS", -(10**12))
    git_state.look(repository)
    listed: list[str] = []
    names = git_state._names

    def record(path: str) -> dict[str, bool]:
        listed.append(path)
        return names(path)

    monkeypatch.setattr(git_state, "_names", record)
    git_state.look(repository)
    assert listed == []
    (repository / "a/new").touch()
    git_state.look(repository)
    assert listed == [f"{repository}/a"]


# --- files that the user's own settings name ------------------------------------------------------------------

NAMED = {
    "included file": ("git config include.path ../shared.gitconfig", "shared.gitconfig"),
    "file that an included one includes": (
        "git config include.path ../one; git config -f one include.path shared.gitconfig",
        "shared.gitconfig",
    ),
    "filter": ("git config filter.x.clean 'sh tools/clean.sh %f'", "tools/clean.sh"),
    "diff driver": ("git config diff.x.textconv ./tools/clean.sh", "tools/clean.sh"),
    "husky": ("git config core.hooksPath .husky/_; mkdir -p .husky/_", ".husky/pre-commit"),
    "husky without its setting": ("mkdir .husky", ".husky/pre-commit"),
    "global hooks path": ("git config --global core.hooksPath .hooks", ".hooks/pre-commit"),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("named", NAMED)
@pytest.mark.attack("persist")
async def test_file_that_settings_name_is_guarded(named: str, kind: str, repository: Path, tmp_path: Path) -> None:
    setup, file = NAMED[named]
    (tmp_path / "home").mkdir()
    (repository / "tools").mkdir()
    (repository / "tools/clean.sh").write_text("mine\n")
    bash(setup, repository)
    before = (repository / file).read_text() if (repository / file).exists() else None
    with pytest.raises(PathProtected):
        resolve(repository, file, for_writing=True)
    await shell(f"mkdir -p $(dirname {file}); echo evil > {file}", sandbox_of(kind, repository), repository)
    assert ((repository / file).read_text() if (repository / file).exists() else None) == before


def test_hooks_of_the_repository_around_the_workspace_are_guarded(repository: Path) -> None:
    git(repository, "config", "core.hooksPath", "sub/hooks")
    (repository / "sub").mkdir()
    with pytest.raises(PathProtected):
        resolve(repository / "sub", "hooks/pre-commit", for_writing=True)


def test_plain_words_of_settings_guard_nothing(repository: Path) -> None:
    git(repository, "config", "core.pager", "less")
    git(repository, "config", "alias.st", "status file")
    (repository / "less").mkdir()
    assert resolve(repository, "less/main.less", for_writing=True)
    assert resolve(repository, "file", for_writing=True)


@pytest.mark.parametrize("last", ["HEAD", "objects/x", "refs/x", "config", "hooks/pre-commit"])
@pytest.mark.attack("persist")
def test_file_tools_make_no_repository(last: str, workspace: Path) -> None:
    for name in ("HEAD", "objects/a", "refs/a"):
        if name.split("/")[0] != last.split("/")[0]:
            file = workspace / "sub" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.touch()
    with pytest.raises(PathProtected):
        resolve(workspace, f"sub/{last}", for_writing=True)
    assert resolve(workspace, "other/HEAD", for_writing=True)


# --- the reading of settings ----------------------------------------------------------------------------------

TEXTS = [
    "[core]\n\tbare = false\n[remote \"o\"]\n\turl = https://x/y.git ; c\n\tfetch = +refs/*:refs/*\n",
    "[a]b=1\n[a \"B.c\"]\nx\ny = \n[a.B]z=\"q # r\" # s\n",
    "# c\n; d\n[core] fsmonitor = \"a b\"  \n",
    "[alias]\nx = !sh -c \\\"a\\\" \\\\ \\t end\n y = one \\\n  two\n",
    "\ufeff[x]\r\ny = 1\r\n",
    "[s \"a\\\"b\\\\c\"]\nk=v\n",
    "[a]\nk = a\"b c\"d  e # x\n",
]  # fmt: skip


@pytest.mark.parametrize("text", TEXTS)
def test_settings_are_read_as_git_reads_them(text: str, tmp_path: Path) -> None:
    file = tmp_path / "config"
    for content in (text, format_settings(parse(text))):
        file.write_bytes(content.encode())
        listed = git(tmp_path, "config", "--list", "-z", "-f", str(file))
        expected = [entry.partition("\n") for entry in listed.split("\0") if entry]
        assert [(s.name, s.value) for s in parse(text)] == [
            (name, value if mark else None) for name, mark, value in expected
        ]


@pytest.mark.parametrize("text", ["[a\nb=1\n", "[a]\n1x = 2\n", '[a]\nx = "open\n', "[a]\nx = \\q\n"])
def test_settings_that_git_refuses_are_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "config").write_text(text)
    assert "bad config" in git(tmp_path, "config", "--list", "-f", "config")
    with pytest.raises(ValueError, match=r"."):
        parse(text)


@pytest.mark.parametrize(
    ("setting", "harmless"),
    [
        (Setting("core", None, "bare", "false"), True),
        (Setting("core", None, "fsmonitor", "x"), False),
        (Setting("core", "x", "bare", "false"), False),
        (Setting("remote", "origin", "url", "https://example.org/x"), True),
        (Setting("remote", "origin", "url", "ext::sh -c evil"), False),
        (Setting("remote", "origin", "uploadpack", "evil"), False),
        (Setting("diff", "x", "textconv", "evil"), False),
        (Setting("diff", None, "external", "evil"), False),
        (Setting("include", None, "path", "evil"), False),
        (Setting("alias", None, "st", "!evil"), False),
        (Setting("credential", None, "helper", "!evil"), False),
        (Setting("unknown", None, "key", "x"), False),
    ],
)
def test_only_known_settings_are_harmless(setting: Setting, harmless: bool) -> None:
    assert is_harmless(setting) is harmless
