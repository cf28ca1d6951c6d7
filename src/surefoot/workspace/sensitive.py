"""Which paths a command must not read, and which files in a workspace it must not change.

Plain lists and small look-ups; how they are enforced is the sandbox's business.
"""

import os
import pwd
import re
import stat
import sys
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

SECRETS_AT_HOME = (
    # keys and logins of the command line
    ".ssh", ".gnupg", ".password-store", ".netrc", ".authinfo", ".git-credentials", ".config/git/credentials",
    ".config/gh", ".config/hub", ".config/glab-cli", ".vault-token", ".config/op", ".config/sops", ".age",
    # clouds and clusters
    ".aws", ".azure", ".config/gcloud", ".config/doctl", ".config/rclone", ".kube", ".docker", ".oci", ".terraform.d",
    ".fly", ".config/heroku",
    # package registries
    ".npmrc", ".yarnrc.yml", ".pypirc", ".gem/credentials", ".cargo/credentials", ".cargo/credentials.toml",
    ".m2/settings.xml", ".gradle/gradle.properties", ".nuget/NuGet/NuGet.Config",
    # databases, histories (people paste keys into shells)
    ".pgpass", ".my.cnf", ".mylogin.cnf", ".bash_history", ".zsh_history", ".python_history", ".psql_history",
    ".mysql_history", ".node_repl_history", ".local/share/fish/fish_history",
    # browsers, mail, keyrings
    ".mozilla", ".thunderbird", ".config/google-chrome", ".config/chromium", ".config/BraveSoftware",
    ".config/microsoft-edge", ".config/vivaldi", ".config/opera", ".local/share/keyrings", ".local/share/kwalletd",
    "snap/firefox", "snap/chromium",
    # other agents and model providers
    ".claude", ".claude.json", ".codex", ".gemini", ".config/openai", ".config/anthropic", ".config/surefoot",
    ".cache/huggingface/token",
)  # fmt: skip

SECRETS_OF_THE_SYSTEM = (
    "/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers", "/etc/sudoers.d",
    "/etc/ssl/private", "/etc/kubernetes", "/etc/wireguard", "/etc/NetworkManager/system-connections",
    "/var/lib/kubelet", "/var/lib/docker", "/var/lib/containerd", "/var/run/secrets",
)  # fmt: skip
"""Closed to most users anyway; they matter when Surefoot runs as root."""

RC_FILES = (
    ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".zshrc", ".zshenv",
    ".zprofile", ".zlogin", ".zlogout", ".kshrc", ".cshrc", ".tcshrc", ".login",
)  # fmt: skip
"""Shell start-up files. A workspace that is not a home may hold them too: a dotfiles repository, linked from home."""

STARTUP_FILES_AT_HOME = (
    *RC_FILES, ".inputrc", ".pam_environment", ".xprofile", ".xinitrc", ".xsession", ".xsessionrc", ".gitconfig",
    ".vimrc", ".vim", ".emacs", ".emacs.d", ".tmux.conf", ".direnvrc", ".envrc", ".local/bin", "bin", ".config/fish",
    ".config/git", ".config/direnv", ".config/nvim", ".config/autostart", ".config/systemd", ".config/environment.d",
    ".config/pip",
)  # fmt: skip
"""They run, or choose what runs, the next time the user opens a shell or a session. Only a workspace that contains the
user's home can reach them; everywhere else they are outside it."""


SETTINGS_OF_AGENTS = (".cursor", ".mcp.json", ".claude", ".codex", ".gemini", ".amazonq")
"""In a project: what other agents are told to start, or may do without asking."""


@dataclass(frozen=True, slots=True)
class Guarded:
    """A path in a workspace that commands may read but not change, or make where it is not there yet."""

    path: Path
    missing: Literal["block", "remove", "ignore"]
    """What to do while it does not exist: keep it from being made; take it away after the command, where an empty
    stand-in would do harm; or nothing, where making it does nothing."""


def home_folders() -> tuple[Path, ...]:
    """The user's home by the environment and by the system's own records, which need not agree."""
    found = [os.environ.get("HOME", "")]
    with suppress(KeyError):  # a user the system does not know, as in many containers
        found.append(pwd.getpwuid(os.getuid()).pw_dir)
    return tuple(dict.fromkeys(Path(p).resolve() for p in found if p.startswith("/") and p != "/"))


def secret_paths() -> tuple[Path, ...]:
    at_home = [home / name for home in home_folders() for name in SECRETS_AT_HOME]
    return tuple(dict.fromkeys([*at_home, *map(Path, SECRETS_OF_THE_SYSTEM), *Path("/etc/ssh").glob("ssh_host_*_key")]))


def guarded_paths(root: Path) -> list[Guarded]:
    """What no command may change in this workspace, at this moment."""
    found = [Guarded(root / name, "block") for name in (".surefoot", "surefoot.toml", ".envrc", ".vscode")]
    # Stand-ins for all of these would be more than the project's own files in many a listing.
    found += [Guarded(root / name, "remove") for name in SETTINGS_OF_AGENTS]
    found += _guarded_in_git(root)
    found += [Guarded(root / name, "ignore") for name in RC_FILES]
    for home in home_folders():
        if home.is_relative_to(root):
            found += [Guarded(home / name, "block") for name in STARTUP_FILES_AT_HOME]
    # Surefoot's own code and the packages it loads, where they are installed in the workspace.
    own = (Path(sys.prefix).resolve(), Path(__file__).resolve().parents[1])
    return found + [Guarded(path, "ignore") for path in own if path.is_relative_to(root) and path != root]


def _guarded_in_git(root: Path) -> Iterable[Guarded]:
    """The parts of a repository that make git run programs, or look for its settings elsewhere."""
    git = root / ".git"
    if not git.is_dir() or git.is_symlink() or not any(git.iterdir()):
        return [Guarded(git, "block")]
    found = [
        Guarded(git / "hooks", "block"),
        Guarded(git / "config", "remove"),
        Guarded(git / "config.worktree", "remove"),
        Guarded(git / "commondir", "remove"),
        Guarded(git / "modules", "ignore"),
        Guarded(git / "worktrees", "ignore"),
    ]
    return found + [Guarded(path, "block") for path in _own_hooks_folder(root, git / "config")]


def _own_hooks_folder(root: Path, config: Path) -> Iterable[Path]:
    try:
        # Anything but a plain file of ordinary size is a trap: a pipe would keep us reading for ever.
        if not stat.S_ISREG(config.lstat().st_mode) or config.stat().st_size > 1_000_000:
            return
        text = config.read_text(errors="replace")
    except OSError:
        return
    for named in re.findall(r"(?im)^\s*hookspath\s*=\s*\"?([^\"#;\n]+)", text):
        folder = Path(os.path.normpath(root / named.strip()))
        if folder.is_relative_to(root) and folder != root:
            yield folder
