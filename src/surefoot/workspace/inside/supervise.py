"""The parent of a command: starts it, watches it, and leaves nothing of it behind.

Orders come as words `key=value` before `--`, the command after it. What happened goes down the status pipe, one
line each: `started` (this program); `failed STAGE ERRNO`, or `over COUNT` (too many processes), or `ended`; `left
COUNT` (were still running); `clear` or `stuck COUNT`; `exit CODE` or `signal NUMBER`; `kept FOLDER` (not removed).

Everything the command ever started is found again: as process 1 of its own process namespace this program owns all
there is in it; elsewhere it is the "subreaper" to which orphans fall, so a process that forked twice and made its own
session is still a descendant. The lifeline is a pipe that Surefoot holds: when it closes, because Surefoot wants the
command to end or because Surefoot itself was killed, everything here dies.
"""
# pathlib and contextlib would double the time this program takes to start
# ruff: noqa: PTH102, PTH106, PTH123, PTH208, SIM105

import os
import resource
import select
import signal
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from surefoot.workspace.inside import confine
else:
    import confine

LOOK_EVERY = 0.05
"""Seconds between two counts of the processes, where their number is limited."""
GIVE_UP = 5.0
"""Seconds after which a process that SIGKILL does not end (stuck in the kernel) is reported and left."""


class Orders:
    def __init__(self, words: list[str]) -> None:
        given: dict[str, list[str]] = {}
        for word in words:
            key, _, value = word.partition("=")
            given.setdefault(key, []).append(value)

        def last(key: str, default: str) -> str:
            return given.get(key, [default])[-1]

        self.lifeline = int(last("lifeline", "-1"))
        self.status = int(last("status", "-1"))
        self.hold = [int(fd) for fd in given.get("hold", [])]
        self.linger = float(last("linger", "0.5"))
        self.mercy = float(last("mercy", "0.5"))
        self.memory = int(last("memory", "0"))
        self.processes = int(last("processes", "0"))
        self.families = [int(f) for f in last("families", "").split(",") if f] if "families" in given else None
        self.landlock = "write" in given
        self.write = given.get("write", [])
        self.hide = given.get("hide", [])
        self.scratch = last("scratch", "")
        self.drop = "drop" in given


def main(words: list[str]) -> int:
    split = words.index("--")
    orders = Orders(words[:split])
    return Supervisor(orders).run(words[split + 1 :])


class Supervisor:
    def __init__(self, orders: Orders) -> None:
        self.orders = orders
        self.alone = os.getpid() == 1
        for fd in (orders.lifeline, orders.status, *orders.hold):
            if fd >= 0:
                os.set_inheritable(fd, False)
        # Nothing with the same user may trace this process or reach into its pipes.
        confine.prctl(confine.PR_SET_DUMPABLE, 0)
        confine.prctl(confine.PR_SET_CHILD_SUBREAPER, 1)
        self.wake, wake_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda *_: None)
        self.ears = select.poll()
        self.ears.register(self.wake, select.POLLIN)
        if orders.lifeline >= 0:
            self.ears.register(orders.lifeline, select.POLLIN | select.POLLHUP)
        self.child = 0
        self.outcome: int | None = None

    def run(self, argv: list[str]) -> int:
        if self.orders.scratch:
            self.orders.scratch = make_scratch(self.orders.scratch)
        try:
            # Before the command can strike: whoever hears this and nothing more knows that it did.
            self.tell("started")
            if problem := self.start(argv):
                self.tell("failed " + problem)
                return 127
            asked_to_stop = self.watch()
            self.clear(asked_to_stop)
        finally:
            if self.orders.scratch and not remove_tree(self.orders.scratch):
                self.tell("kept " + self.orders.scratch)
        return 137 if self.outcome is None else shell_code(self.outcome)

    def start(self, argv: list[str]) -> str:
        """Starts the command; returns why it could not ("exec 2": stage and errno), or nothing."""
        problem_read, problem_write = os.pipe2(os.O_CLOEXEC)
        self.child = os.fork()
        if self.child == 0:
            stage = "confine"
            try:
                signal.set_wakeup_fd(-1)
                for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, *signals_python_ignores()):
                    signal.signal(number, signal.SIG_DFL)
                os.setsid()
                self.limit()
                self.confine()
                stage = "exec"
                os.execvp(argv[0], argv)
            except BaseException as error:
                os.write(problem_write, f"{stage} {getattr(error, 'errno', None) or 0}".encode())
            finally:
                os._exit(127)
        os.close(problem_write)
        # Only the command itself may hold the output open: its end is how the reader knows that it is over.
        nothing = os.open(os.devnull, os.O_RDWR)
        for standard in (0, 1, 2):
            os.dup2(nothing, standard)
        problem = os.read(problem_read, 100).decode()
        os.close(problem_read)
        return problem

    def limit(self) -> None:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if self.orders.memory:
            lower(resource.RLIMIT_DATA, self.orders.memory)
        if self.orders.processes and self.alone:
            # Counted in this user namespace only; elsewhere it would count all that the user runs. Root is exempt,
            # for whom only the watch below counts.
            lower(resource.RLIMIT_NPROC, self.orders.processes + 2)

    def confine(self) -> None:
        if self.orders.scratch:
            for name in ("TMPDIR", "TEMP", "TMP", "XDG_CACHE_HOME"):
                os.environ[name] = self.orders.scratch
        if self.orders.drop:
            confine.drop_capabilities()
        if self.orders.landlock:
            scratch = [self.orders.scratch] if self.orders.scratch else []
            confine.landlock(self.orders.write + scratch, self.orders.hide)
        if self.orders.families is not None:
            confine.sockets_only(self.orders.families)

    def watch(self) -> bool:
        """Waits for the command's own end; True when it was told to stop before that."""
        limited, pause = self.orders.processes > 0, LOOK_EVERY
        while True:
            self.reap()
            if self.outcome is not None:
                self.tell("ended")
                return False
            if self.hear(pause if limited else None):
                return True
            if not limited:
                continue
            begun = time.monotonic()
            if (count := self.count()) > self.orders.processes:
                self.tell(f"over {count}")
                self.signal_all(signal.SIGKILL)
                return True
            # Without a namespace of its own, all processes of the machine have to be looked through.
            pause = max(LOOK_EVERY, 10 * (time.monotonic() - begun))

    def clear(self, asked_to_stop: bool) -> None:
        """Ends whatever is left. Children that only finish a pipe's last lines get a moment to do so."""
        if asked_to_stop:
            self.signal_all(signal.SIGTERM)
            self.wait_for_all(self.orders.mercy, listen=False)
        else:
            self.wait_for_all(self.orders.linger, listen=True)
            if left := self.count():
                self.tell(f"left {left}")
        give_up = time.monotonic() + GIVE_UP
        while self.reap() and time.monotonic() < give_up:
            self.signal_all(signal.SIGKILL)
            self.hear(0.02)
        stuck = self.count()
        self.tell(f"stuck {stuck}" if stuck else "clear")
        if not asked_to_stop and self.outcome is not None:
            code = os.waitstatus_to_exitcode(self.outcome)
            self.tell(f"exit {code}" if code >= 0 else f"signal {-code}")

    def wait_for_all(self, seconds: float, *, listen: bool) -> None:
        deadline = time.monotonic() + seconds
        while self.reap() and (left := deadline - time.monotonic()) > 0:
            if self.hear(left) and listen:
                return

    def hear(self, seconds: float | None) -> bool:
        """Sleeps until a child changes or the time is over; True when this program was told to stop."""
        stop = False
        for fd, _ in self.ears.poll(None if seconds is None else max(1, int(seconds * 1000))):
            if fd == self.orders.lifeline:
                self.ears.unregister(fd)  # a closed pipe is ready for ever; hearing it once is enough
                stop = True
            else:
                stop |= any(number != signal.SIGCHLD for number in os.read(fd, 4096))
        return stop

    def reap(self) -> bool:
        """Collects the dead; True while anyone is left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == self.child:
                self.outcome = status

    def count(self) -> int:
        return len(everyone_else()) if self.alone else len(descendants())

    def signal_all(self, number: int) -> None:
        if self.alone:
            send(-1, number)
            return
        family = descendants()
        # A process group is signalled at one stroke, so that not even a fork bomb slips through between two looks.
        for group in {group for _, group in family} - {os.getpgrp()}:
            send(-group, number)
        for pid, _ in family:
            send(pid, number)

    def tell(self, line: str) -> None:
        if self.orders.status >= 0:
            try:
                os.write(self.orders.status, line.encode() + b"\n")
            except BrokenPipeError:
                self.orders.status = -1


def signals_python_ignores() -> list[int]:
    return [signal.SIGPIPE, signal.SIGXFSZ]


def lower(limit: int, value: int) -> None:
    _, hard = resource.getrlimit(limit)
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    resource.setrlimit(limit, (value, value))


def everyone_else() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()]


def descendants() -> list[tuple[int, int]]:
    """Every process below this one, with its process group."""
    children: dict[int, list[tuple[int, int]]] = {}
    for pid in everyone_else():
        try:
            with open(f"/proc/{pid}/stat", "rb") as file:
                state, parent, group = file.read().rpartition(b")")[2].split()[:3]
        except OSError:
            continue
        if state != b"X":
            children.setdefault(int(parent), []).append((pid, int(group)))
    found: list[tuple[int, int]] = []
    unseen = [os.getpid()]
    while unseen:
        below = children.get(unseen.pop(), [])
        found += below
        unseen += [pid for pid, _ in below]
    return found


def send(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        pass  # already gone, or a set-user-id program that is not ours to signal: reported as stuck


def shell_code(status: int) -> int:
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def make_scratch(folder: str) -> str:
    # Named by the command's mark where it has one, so that Surefoot finds it if this program is killed.
    path = f"{folder}/surefoot-{os.environ.get('SUREFOOT_COMMAND') or os.urandom(16).hex()}"
    os.mkdir(path, 0o700)
    return path


def remove_tree(top: str) -> bool:
    """Removes a folder without ever following a link out of it; says whether all of it went."""
    for _, folders, files, fd in os.fwalk(top, topdown=False, onerror=lambda _: None):
        for name in files + folders:
            try:
                os.unlink(name, dir_fd=fd)
            except OSError:
                try:
                    os.rmdir(name, dir_fd=fd)
                except OSError:
                    pass
    try:
        os.rmdir(top)
    except OSError:
        return False
    return True
