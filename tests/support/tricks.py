"""Known sandbox escapes, as small programs, and an environment with canaries that detects them.

A trick changes, reads or connects to something that `World.damage` checks, or prints ESCAPED when it succeeds. None of
them harms the machine if it works.
"""

import os
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

from surefoot.workspace.sandbox import sandbox as own_module
from surefoot.workspace.sandbox.environment import command_env

SECRET = "canary-7f3a9c-secret-value"
OWN_CODE = own_module.__file__


@dataclass(frozen=True)
class Trick:
    name: str
    script: str
    gap: str = ""
    """Why Landlock does not stop it; documented in docs/security.md."""
    abi: int = 0
    """The first version of Landlock that stops it."""

    @property
    def argv(self) -> list[str]:
        script = dedent(self.script).strip()
        python = script.startswith("import ")
        return [sys.executable, "-S", "-c", script] if python else ["/bin/bash", "-c", script]


NO_ATTRIBUTES = "attributes of files outside are not protected"
WRITING_OUTSIDE = (
    Trick("dot dot", "echo pwned > ../home/outside/canary"),
    Trick("absolute path", "echo pwned > $OUT/canary"),
    Trick("new file outside", "touch $OUT/new"),
    Trick("symbolic link", "ln -s $OUT link; echo pwned > link/canary; echo pwned > link/new"),
    Trick("link found in the workspace", "echo pwned > ready-made-link/canary"),
    Trick("hard link", "ln $OUT/canary hard; echo pwned > hard"),
    Trick("moving out", "touch here; mv here $OUT/new"),
    Trick("moving away", "mv $OUT/canary ."),
    Trick("deleting", "rm -rf $OUT"),
    Trick("truncating", "import os; os.truncate(os.environ['OUT'] + '/canary', 0)"),
    Trick("truncating while reading", "import os; os.open(os.environ['OUT'] + '/canary', os.O_RDONLY | os.O_TRUNC)"),
    Trick("/proc/self/root", "echo pwned > /proc/self/root$OUT/canary"),
    Trick("/proc/<parent>/root", "echo pwned > /proc/$PARENT/root$OUT/canary"),
    Trick("/proc/<parent>/cwd", "cd /proc/$PARENT/cwd && echo pwned > $OUT/canary"),
    Trick("mode", "chmod 777 $OUT/canary", gap=NO_ATTRIBUTES),
    Trick("times", "touch -d 2001-01-01 $OUT/canary", gap=NO_ATTRIBUTES),
    Trick("shell start-up file", "echo 'touch /tmp/pwned' >> $HOME/.bashrc; echo x > $HOME/.zshenv"),
    Trick("authorized keys", "mkdir -p $HOME/.ssh; echo 'ssh-rsa AAAA' >> $HOME/.ssh/authorized_keys"),
    Trick("the user's git settings", "git config --global core.hooksPath /tmp; echo x > $HOME/.gitconfig"),
    Trick("surefoot's user settings", "mkdir -p $HOME/.config/surefoot; echo x > $HOME/.config/surefoot/config.toml"),
    Trick("surefoot's state", "mkdir -p $STATE; echo x > $STATE/journal.db; echo x >> $STATE/kept"),
    Trick("surefoot's own code", "echo 'raise SystemExit' >> $OWN_CODE"),
    Trick("bind mount", "mkdir m; mount --bind $OUT m; echo pwned > m/canary"),
    Trick("own namespaces", "unshare -Urm sh -c 'mount -o remount,bind,rw /; echo pwned > $OUT/canary'"),
    Trick("remounting", "mount -o remount,rw,bind $OUT; mount -o remount,rw /; echo pwned > $OUT/canary"),
    Trick("unmounting secrets", "umount -l $HOME/.ssh; cat $HOME/.ssh/id_rsa"),
    Trick("unmounting guards", "umount -l .git/hooks; umount -l $PWD/.git; echo x > .git/hooks/pre-commit"),
    Trick("left in shared memory", "echo x > /dev/shm/surefoot-escape-canary"),
    Trick("left in /tmp", "echo x > /tmp/surefoot-escape-canary; echo x > /var/tmp/surefoot-escape-canary"),
    Trick(
        "the kernel's settings",  # opened, never written
        """
        import os
        for name in ("kernel/core_pattern", "kernel/modprobe", "vm/drop_caches"):
            try:
                os.open("/proc/sys/" + name, os.O_WRONLY)
                print("ESCAPED", name)
            except OSError:
                pass
        """,
    ),
    Trick(
        "the disk itself",
        """
        import os
        os.mknod("disk", 0o60600, os.stat("/").st_dev)
        os.open("disk", os.O_RDONLY)
        print("ESCAPED")
        """,
    ),
)
CHANGING_GUARDED_FILES = (
    Trick("new hook", "mkdir -p .git/hooks; echo evil > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit"),
    Trick("old hook", "echo evil >> .git/hooks/post-checkout; rm -f .git/hooks/post-checkout"),
    Trick("hooks folder removed", "rm -rf .git/hooks; mkdir .git/hooks; echo evil > .git/hooks/pre-commit"),
    Trick("hooks folder moved", "mv .git/hooks .git/h; mkdir .git/hooks; echo evil > .git/hooks/pre-commit"),
    Trick("repository moved", "mv .git away; cp -r away .git; echo evil > .git/hooks/pre-commit; echo x > .git/config"),
    Trick("fsmonitor", "git config core.fsmonitor evil; echo '[core] fsmonitor = evil' >> .git/config"),
    Trick("hooksPath", "git config core.hooksPath evil; echo '[core] hooksPath = evil' > c; mv -f c .git/config"),
    Trick("git settings elsewhere", "mkdir o; echo '[core] fsmonitor=evil' > o/config; echo ../o > .git/commondir"),
    Trick("git settings of a worktree", "echo '[core] fsmonitor = evil' > .git/config.worktree"),
    Trick("hooks where the project keeps them", "echo evil >> .husky/pre-commit; echo evil > .husky/post-merge"),
    Trick("direnv", "echo evil > .envrc; rmdir .envrc; echo evil > .envrc; mv .envrc x; echo evil > .envrc"),
    Trick("editor tasks", "mkdir -p .vscode; echo evil > .vscode/tasks.json"),
    Trick("surefoot's project settings", "echo x > surefoot.toml; mkdir -p .surefoot; echo x > .surefoot/config.toml"),
    Trick("settings as a link", "mkdir evil; echo x > evil/t; ln -sfn $PWD/evil .surefoot; ln -sfT t surefoot.toml"),
    Trick("guarded link replaced", "rm -f .zshrc; echo evil > .zshrc; echo evil > linked-zshrc"),
)
READING_SECRETS = (
    Trick("environment", "env; cat /proc/self/environ"),
    Trick("parent's environment", "cat /proc/$PARENT/environ /proc/$VICTIM/environ"),
    Trick(
        "parent's memory", "import os; os.open('/proc/%s/mem' % os.environ['PARENT'], os.O_RDONLY); print('ESCAPED')"
    ),
    Trick("private key", "cat $HOME/.ssh/id_rsa $HOME/.ssh/*; cp -r $HOME/.ssh . && cat .ssh/*"),
    Trick("private key through a link", "ln -s $HOME/.ssh k; cat k/id_rsa"),
    Trick("netrc", "cat $HOME/.netrc"),
    Trick("surefoot's journal", "cat $STATE/kept; grep -r canary- $STATE"),
    Trick(
        "inherited files",
        """
        import os
        print(["ESCAPED " + fd for fd in os.listdir("/proc/self/fd") if int(fd) > 3])
        """,
    ),
)
REACHING_OUT = (
    Trick(
        "tcp",
        """
        import os, socket
        socket.create_connection(("127.0.0.1", int(os.environ["PORT"])), 2).send(b"pwned")
        """,
    ),
    Trick("tcp of the shell", "echo pwned > /dev/tcp/127.0.0.1/$PORT"),
    Trick(
        "udp",
        """
        import os, socket
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"pwned", ("127.0.0.1", int(os.environ["PORT"])))
        """,
    ),
    Trick(
        "abstract socket", "import os, socket; socket.socket(socket.AF_UNIX).connect('\\0' + os.environ['ABSTRACT'])"
    ),
    Trick(
        "socket file", "import os, socket; socket.socket(socket.AF_UNIX).connect(os.environ['HOME'] + '/service.sock')"
    ),
    Trick("socket to the hypervisor", "import socket; socket.socket(40, socket.SOCK_STREAM); print('ESCAPED')"),
    Trick(
        "io_uring",
        """
        import ctypes
        if ctypes.CDLL(None).syscall(425, 1, ctypes.byref((ctypes.c_char * 120)())) >= 0:
            print("ESCAPED")
        """,
    ),
    Trick("killing another process", "kill -9 $VICTIM", abi=6),
    Trick(
        "tracing another process",
        """
        import ctypes, os
        if ctypes.CDLL(None).ptrace(16, int(os.environ["VICTIM"]), 0, 0) == 0:
            print("ESCAPED")
        """,
    ),
    Trick(
        "capabilities",  # Landlock restricts those for files
        """
        import re
        rights = int(re.search(r"CapEff:\\s*(\\w+)", open("/proc/self/status").read())[1], 16)
        print("ESCAPED" if rights & ~0b11011 else "none")
        """,
    ),
    Trick("rights of set-user-id programs", "grep -q 'NoNewPrivs:.1' /proc/self/status || echo ESCAPED"),
    Trick("daemon left behind", "(setsid sh -c 'sleep 1; exec sleep 987' >/dev/null 2>&1 &) ; exit 0"),
)
TRICKS = (*WRITING_OUTSIDE, *CHANGING_GUARDED_FILES, *READING_SECRETS, *REACHING_OUT)


class World:
    """A home, a workspace, a state folder and services, all with canaries."""

    def __init__(self, base: Path) -> None:
        self.workspace, self.home = base / "workspace", base / "home"
        # In the home folder, which commands see; the rest of /tmp is not visible to them.
        self.outside, self.state = self.home / "outside", self.home / ".local/state/surefoot"
        for folder in (self.workspace, self.outside, self.home / ".ssh", self.state):
            folder.mkdir(parents=True)
        (self.outside / "canary").write_text("alive")
        (self.home / ".bashrc").write_text("# original")
        for secret in (self.home / ".ssh/id_rsa", self.home / ".netrc", self.state / "kept"):
            secret.write_text(SECRET)
        self._fill_workspace()
        self._open_services()
        self.victim = subprocess.Popen(["sleep", "600"], env={"TOKEN": SECRET})
        self.before = self.state_of_canaries()

    def _fill_workspace(self) -> None:
        ws = self.workspace
        (ws / "ready-made-link").symlink_to(self.outside)
        for part in ("hooks", "objects", "refs/heads"):  # by hand, since not every machine has git
            (ws / ".git" / part).mkdir(parents=True)
        (ws / ".git/HEAD").write_text("ref: refs/heads/main\n")
        (ws / ".git/config").write_text("[core]\n\trepositoryformatversion = 0\n\thooksPath = .husky\n")
        (ws / ".git/hooks/post-checkout").write_text("original")
        (ws / ".husky").mkdir()
        (ws / ".husky/pre-commit").write_text("original")
        (ws / "linked-zshrc").write_text("original")
        (ws / ".zshrc").symlink_to("linked-zshrc")

    def _open_services(self) -> None:
        self.tcp = socket.create_server(("127.0.0.1", 0))
        self.port = self.tcp.getsockname()[1]
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind(("127.0.0.1", self.port))
        self.abstract = f"surefoot-test-{os.getpid()}-{time.monotonic_ns()}"
        self.unnamed, self.named = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
        self.unnamed.bind("\0" + self.abstract)
        self.named.bind(str(self.home / "service.sock"))
        for server in (self.unnamed, self.named):
            server.listen()
        for server in (self.tcp, self.udp, self.unnamed, self.named):
            server.setblocking(False)

    @property
    def env(self) -> dict[str, str]:
        return {
            **command_env(),
            "OUT": str(self.outside),
            "STATE": str(self.state),
            "PARENT": str(os.getpid()),
            "VICTIM": str(self.victim.pid),
            "PORT": str(self.port),
            "ABSTRACT": self.abstract,
            "OWN_CODE": OWN_CODE,
        }

    def state_of_canaries(self) -> dict[str, object]:
        """Read everything that a command must not be able to change."""
        guarded = [
            *(".git/hooks", ".git/config", ".git/config.worktree", ".git/commondir", ".husky", ".envrc", ".vscode"),
            *(".cursor", ".mcp.json", ".claude", ".codex", ".gemini", ".amazonq"),
            *("surefoot.toml", ".surefoot", ".zshrc", "linked-zshrc"),
        ]
        state: dict[str, object] = {"own code": Path(OWN_CODE).read_text()}
        for top in (self.home, *(self.workspace / name for name in guarded)):
            state[str(top)] = os.path.lexists(top)
            for path in [top, *sorted(top.rglob("*"))] if os.path.lexists(top) else []:
                info = path.lstat()
                content: object = path.readlink() if path.is_symlink() else None
                if path.is_file() and not path.is_symlink():
                    content = (path.read_text(), info.st_mtime_ns if path.is_relative_to(self.outside) else 0)
                state[str(path)] = (info.st_mode, content)
        for folder in ("/dev/shm", "/tmp", "/var/tmp"):
            state[folder] = os.path.lexists(f"{folder}/surefoot-escape-canary")
        return state

    def damage(self, output: str) -> list[str]:
        """Describe what the trick achieved; an empty list if nothing."""
        after = self.state_of_canaries()
        found = [
            f"changed {key}" for key in self.before.keys() | after.keys() if self.before.get(key) != after.get(key)
        ]
        found += [f"reached {service}" for service in self._reached_services()]
        if self._victim_is_killed():
            found.append("killed another process")
        if SECRET in output:
            found.append("read a secret")
        if "ESCAPED" in output:
            found.append(output)
        if left := processes_like(b"sleep\x00987"):
            found.append(f"left processes {left}")
        return found

    def _victim_is_killed(self) -> bool:
        """Whether it has ended, or will: on a busy machine a killed process may still have to be scheduled."""
        if self.victim.poll() is not None:
            return True
        fields = dict(line.split(":\t", 1) for line in Path(f"/proc/{self.victim.pid}/status").read_text().splitlines())
        pending = int(fields["SigPnd"], 16) | int(fields["ShdPnd"], 16)
        return bool(pending >> (signal.SIGKILL - 1) & 1) or fields["State"][0] in "ZX"

    def _reached_services(self) -> list[str]:
        reached = []
        for name, server in (("tcp", self.tcp), ("abstract socket", self.unnamed), ("socket file", self.named)):
            try:
                server.accept()
                reached.append(name)
            except BlockingIOError:
                continue
        try:
            self.udp.recv(100)
            reached.append("udp")
        except BlockingIOError:
            return reached
        return reached

    def close(self) -> None:
        for server in (self.tcp, self.udp, self.unnamed, self.named):
            server.close()
        self.victim.kill()
        self.victim.wait()


def processes_like(words: bytes) -> list[int]:
    """Return the processes that have these words on their command line."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and words in (folder / "cmdline").read_bytes():
                found.append(int(folder.name))
        except OSError:
            continue
    return found
