"""The files in a workspace that neither commands nor file tools may change, because other programs run or obey them."""

import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

from surefoot.config import paths
from surefoot.workspace.sandbox.git_config import named_files
from surefoot.workspace.sandbox.real_paths import places_below
from surefoot.workspace.sandbox.secret_files import at_home, locating_variables

RC_FILES = (
    ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".zshrc", ".zshenv",
    ".zprofile", ".zlogin", ".zlogout", ".kshrc", ".cshrc", ".tcshrc", ".login",
)  # fmt: skip
"""Shell start-up files. They also occur outside a home, in a dotfiles repository that home links to."""

STARTUP_AT_HOME = (
    *RC_FILES, ".bash_completion", ".inputrc", ".pam_environment", ".xprofile", ".xinitrc", ".xsession", ".xsessionrc",
    ".Xresources", ".direnvrc", ".envrc", ".local/bin", "bin", ".config/fish", ".config/zsh", ".config/nushell",
    ".config/elvish", ".xonshrc", ".config/xonsh", ".config/powershell", ".config/direnv", ".config/mise", ".oh-my-zsh",
    ".zplug", ".asdf", ".nvm", ".pyenv", ".rbenv", ".sdkman", ".rustup", ".cargo/bin", ".cargo/env", ".cargo/config",
    ".cargo/config.toml", "go/bin", ".npm-global", ".bun/bin", ".deno/bin",
    # version control, editors, terminals
    ".gitconfig", ".config/git", ".hgrc", ".config/hg", ".config/jj", ".vimrc", ".vim", ".gvimrc", ".config/nvim",
    ".emacs", ".emacs.d", ".config/emacs", ".config/Code", ".config/VSCodium", ".vscode-server", ".tmux.conf",
    ".config/tmux", ".screenrc", ".config/kitty", ".config/alacritty", ".config/ghostty", ".config/wezterm",
    # language runtimes
    ".local/lib", ".config/pip", ".pythonrc", ".pythonrc.py", ".ipython", ".jupyter", ".irbrc", ".pryrc", ".Rprofile",
    ".gdbinit", ".config/gdb", ".lldbinit", ".gradle/init.d", ".mvn", ".bundle",
    # desktop sessions and what they start
    ".config/autostart", ".config/systemd", ".local/share/systemd", ".config/environment.d", ".local/share/dbus-1",
    ".local/share/applications", ".config/plasma-workspace", ".kde/Autostart", ".config/i3", ".config/sway",
    ".config/hypr", ".config/awesome", ".config/openbox", ".config/mimeapps.list", ".forward", ".procmailrc",
)  # fmt: skip
"""Files that run, or choose what runs, when the user next opens a shell or a session. Outside the workspace no command
can write them. They are guarded where the workspace contains them or their link targets."""

STARTUP_IN_SYSTEM = (
    "/etc/systemd", "/usr/lib/systemd", "/etc/init.d", "/etc/rc.local", "/etc/crontab", "/etc/cron.d",
    "/etc/cron.hourly", "/etc/cron.daily", "/etc/cron.weekly", "/etc/cron.monthly", "/etc/anacrontab",
    "/var/spool/cron", "/etc/profile", "/etc/profile.d", "/etc/environment", "/etc/environment.d", "/etc/bash.bashrc",
    "/etc/bashrc", "/etc/zsh", "/etc/fish", "/etc/xdg", "/etc/X11", "/etc/dbus-1", "/etc/polkit-1", "/etc/udev",
    "/etc/pam.d", "/etc/security", "/etc/passwd", "/etc/group", "/etc/ld.so.preload", "/etc/ld.so.conf",
    "/etc/ld.so.conf.d", "/etc/ssh", "/etc/gitconfig", "/etc/apt", "/etc/dnf", "/etc/yum.repos.d", "/etc/pacman.d",
    "/etc/modprobe.d", "/etc/modules-load.d", "/etc/sysctl.conf", "/etc/sysctl.d", "/etc/hosts", "/etc/resolv.conf",
    "/etc/nsswitch.conf", "/etc/pip.conf", "/etc/npmrc", "/etc/alternatives", "/usr/local/bin", "/usr/local/sbin",
    "/usr/bin", "/usr/sbin", "/boot",
)  # fmt: skip
"""The same for the system, if the workspace contains it."""

SESSION_FOLDERS = (
    ".config/autostart", ".config/systemd", ".local/share/systemd", ".config/environment.d", ".local/share/dbus-1",
    ".config/plasma-workspace", ".kde/Autostart", ".config/surefoot",
)  # fmt: skip
"""Folders in which every file is run or obeyed automatically. They cannot be a workspace."""

AGENT_SETTINGS = (".cursor", ".mcp.json", ".claude", ".codex", ".gemini", ".amazonq")
"""Project files that tell other agents what to start, or what they may do without asking."""


@dataclass(frozen=True, slots=True)
class GuardedPath:
    """A path in a workspace that commands may read but neither change nor create."""

    path: Path
    missing: Literal["block", "remove", "ignore"]
    """What to do if it does not exist: prevent its creation; remove it after the command, where an empty stand-in would
    do harm; or nothing, where creating it has no effect."""


def startup_folder(root: Path) -> Path | None:
    """Return the folder from which the session or the system starts programs, if `root` is or is in one, else None."""
    session = [str(path) for path in (*at_home(SESSION_FOLDERS), paths.user_config().parent)]
    system = [path for path in STARTUP_IN_SYSTEM if os.path.isdir(path)]  # noqa: PTH112 - of many
    around = {_identity(str(path)) for path in (root, *root.parents)}
    for path in (*session, *system):
        # Device and inode rule out most folders, which is cheaper than following links. A root that does not exist has
        # neither.
        if (_identity(path) in around or None in around) and root.is_relative_to(os.path.realpath(path)):
            return Path(path)
    return None


def _identity(path: str) -> tuple[int, int] | None:
    """Return device and inode of a file, or None if it does not exist."""
    try:
        info = os.stat(path)  # noqa: PTH116 - of many
    except OSError:
        return None
    return info.st_dev, info.st_ino


def guarded_paths(root: Path, writable: Iterable[Path] = ()) -> list[GuardedPath]:
    """Return the paths that no command may change in this workspace, except those that are below `writable`."""
    opened = [path.absolute() for path in writable]
    return [item for item in _all_guarded(root) if not any(item.path.is_relative_to(path) for path in opened)]


def _all_guarded(root: Path) -> list[GuardedPath]:
    guarded = [GuardedPath(root / name, "block") for name in (".surefoot", "surefoot.toml", ".envrc", ".vscode")]
    # Not "block": stand-ins for all of these would crowd every listing.
    guarded += [GuardedPath(root / name, "remove") for name in AGENT_SETTINGS]
    guarded += _guarded_in_git(root)
    guarded += named_by_git(root)
    guarded.append(GuardedPath(root / ".husky", "ignore"))
    guarded += [GuardedPath(root / name, "ignore") for name in RC_FILES]
    guarded += [GuardedPath(path, "block") for path in _startup_below(root)]
    # Surefoot's own code and the packages it loads, if they are installed in the workspace.
    own = (Path(sys.prefix).resolve(), Path(__file__).resolve().parents[2])
    return guarded + [GuardedPath(path, "ignore") for path in own if path.is_relative_to(root) and path != root]


def _startup_below(root: Path) -> Iterable[Path]:
    """Return the start-up files of the user and the system below a folder, and the targets of links among them."""
    return places_below(str(root), _startup_files(tuple(locating_variables())))


@lru_cache(maxsize=8)
def _startup_files(environ: tuple[tuple[str, str], ...]) -> tuple[Path, ...]:
    return tuple(dict.fromkeys((*at_home(STARTUP_AT_HOME, dict(environ)), *map(Path, STARTUP_IN_SYSTEM))))


def _guarded_in_git(root: Path) -> Iterable[GuardedPath]:
    """Return the parts of a repository that make git run programs or read settings from elsewhere."""
    git = root / ".git"
    if not git.is_dir() or git.is_symlink() or not any(git.iterdir()):
        return [GuardedPath(git, "block")]
    return [
        GuardedPath(git / "hooks", "block"),
        GuardedPath(git / "config", "remove"),
        GuardedPath(git / "config.worktree", "remove"),
        GuardedPath(git / "commondir", "remove"),
        GuardedPath(git / "modules", "ignore"),
        GuardedPath(git / "worktrees", "ignore"),
    ]


def named_by_git(root: Path) -> Iterable[GuardedPath]:
    """Yield the paths in a workspace that git runs or reads because of settings of its repository or of the user."""
    for top in (root, *root.parents):
        if os.path.lexists(top / ".git"):
            break
    else:
        return
    user = [*at_home((".gitconfig", ".config/git/config")), Path("/etc/gitconfig")]
    if moved := os.environ.get("GIT_CONFIG_GLOBAL"):
        user.append(Path(moved))
    for kind, path in named_files(top, [*_configs_of(top / ".git"), *user]):
        if path == root or not path.is_relative_to(root):
            continue
        yield GuardedPath(path, "ignore" if kind == "run" else "block")
        if kind == "hooks" and path.parent.name == ".husky":
            yield GuardedPath(path.parent, "block")


def _configs_of(git: Path) -> list[Path]:
    """Return the config files of a repository. In a worktree, `.git` is a file that names the git folder."""
    try:
        if git.is_file() and git.stat().st_size < 10_000:
            git = Path(os.path.normpath(git.parent / git.read_text().partition("gitdir:")[2].strip()))
        common = git / "commondir"
        if common.is_file() and common.stat().st_size < 10_000:
            git = Path(os.path.normpath(git / common.read_text().strip()))
    except (OSError, ValueError):
        return []
    return [git / "config", git / "config.worktree"]
