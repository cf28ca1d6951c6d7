"""The parent process of a command: starts it, watches it, and ends every process it leaves behind.

Options are words of the form `key=value` before `--`; the command follows it. Events are written to the status pipe,
one line each: `started` (the supervisor itself); then `failed STAGE ERRNO`, `over COUNT` (too many processes) or
`ended`; `left COUNT` (processes still running); `clear` or `stuck COUNT`; `exit CODE` or `signal NUMBER`; `kept FOLDER`
(the temporary folder could not be removed).

Every process that the command started is found. As process 1 of its own process namespace the supervisor owns all of
them; elsewhere it is the "subreaper" that adopts orphans, so a process that forked twice and made its own session is
still a descendant. The lifeline is a pipe that Surefoot holds. When it closes, because Surefoot ends the command or was
itself killed, the supervisor kills everything.
"""
# pathlib and contextlib would double the time this program takes to start
# ruff: noqa: PTH102, PTH106, SIM105

import os
import resource
import select
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal

    from surefoot.workspace.process.supervisor import confine
    from surefoot.workspace.process.supervisor.processes import descendants, other_processes, send_signal
else:
    import _signal as signal  # without the enumerations of `signal`, which take a third of this program's start-up time

    import confine
    from processes import descendants, other_processes, send_signal

COUNT_INTERVAL = 0.05
"""Seconds between two counts of the processes, if their number is limited."""
KILL_TIMEOUT = 5.0
"""Seconds after which a process that SIGKILL does not end (stuck in the kernel) is reported and left."""
HANDLED_SIGNALS = (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)


class Options:
    def __init__(self, words: list[str]) -> None:
        values: dict[str, list[str]] = {}
        for word in words:
            key, _, value = word.partition("=")
            values.setdefault(key, []).append(value)

        def last(key: str, default: str) -> str:
            return values.get(key, [default])[-1]

        self.lifeline = int(last("lifeline", "-1"))
        self.status = int(last("status", "-1"))
        self.hold = [int(fd) for fd in values.get("hold", [])]
        self.linger = float(last("linger", "0.5"))
        self.grace = float(last("grace", "0.5"))
        self.memory = int(last("memory", "0"))
        self.processes = int(last("processes", "0"))
        self.families = [int(f) for f in last("families", "").split(",") if f] if "families" in values else None
        self.landlock = "write" in values
        self.write = values.get("write", [])
        self.hide = values.get("hide", [])
        self.scratch = last("scratch", "")
        self.drop = "drop" in values


def main(words: list[str]) -> int:
    split = words.index("--")
    return Supervisor(Options(words[:split])).run(words[split + 1 :])


class Supervisor:
    def __init__(self, options: Options) -> None:
        self.options = options
        self.is_init = os.getpid() == 1
        for fd in (options.lifeline, options.status, *options.hold):
            if fd >= 0:
                os.set_inheritable(fd, False)
        # Keeps processes of the same user from tracing this one or opening its pipes.
        confine.prctl(confine.PR_SET_DUMPABLE, 0)
        confine.prctl(confine.PR_SET_CHILD_SUBREAPER, 1)
        wake, wake_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        for number in HANDLED_SIGNALS:
            signal.signal(number, lambda *_: None)
        self.poll = select.poll()
        self.poll.register(wake, select.POLLIN)
        if options.lifeline >= 0:
            self.poll.register(options.lifeline, select.POLLIN | select.POLLHUP)
        self.child = 0
        self.wait_status: int | None = None

    def run(self, argv: list[str]) -> int:
        if self.options.scratch:
            self.options.scratch = make_scratch(self.options.scratch)
        try:
            # Sent before the command can attack this process: if no event follows, the command has killed it.
            self.report("started")
            if problem := self.start(argv):
                self.report("failed " + problem)
                return 127
            stopped = self.watch()
            self.clean_up(stopped)
        finally:
            if self.options.scratch and not remove_tree(self.options.scratch):
                self.report("kept " + self.options.scratch)
        return 137 if self.wait_status is None else shell_code(self.wait_status)

    def start(self, argv: list[str]) -> str:
        """Start the command; return stage and errno of a failure, such as "exec 2", or an empty string."""
        problem_read, problem_write = os.pipe2(os.O_CLOEXEC)
        self.child = os.fork()
        if self.child == 0:
            stage = "confine"
            try:
                signal.set_wakeup_fd(-1)
                for number in (*HANDLED_SIGNALS, *IGNORED_BY_PYTHON):
                    signal.signal(number, signal.SIG_DFL)
                os.setsid()
                self.set_limits()
                self.confine()
                stage = "exec"
                os.execvp(argv[0], argv)
            except BaseException as error:
                os.write(problem_write, f"{stage} {getattr(error, 'errno', None) or 0}".encode())
            finally:
                os._exit(127)
        os.close(problem_write)
        # Only the command may hold the output open: the reader takes its end for the end of the command.
        null = os.open(os.devnull, os.O_RDWR)
        for standard in (0, 1, 2):
            os.dup2(null, standard)
        problem = os.read(problem_read, 100).decode()
        os.close(problem_read)
        return problem

    def set_limits(self) -> None:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if self.options.memory:
            lower_limit(resource.RLIMIT_DATA, self.options.memory)
        if self.options.processes and self.is_init:
            # Here the limit covers this user namespace only; elsewhere it would cover all processes of the user. Root
            # is exempt: for root only the count in watch() applies.
            lower_limit(resource.RLIMIT_NPROC, self.options.processes + 2)

    def confine(self) -> None:
        if self.options.scratch:
            for name in ("TMPDIR", "TEMP", "TMP", "XDG_CACHE_HOME"):
                os.environ[name] = self.options.scratch
        if self.options.drop:
            confine.drop_capabilities()
        if self.options.families is not None:
            confine.leave_keyring()
        if self.options.landlock:
            scratch = [self.options.scratch] if self.options.scratch else []
            confine.landlock(self.options.write + scratch, self.options.hide)
        elif self.options.families is not None:
            confine.leave_abstract_sockets()
        if self.options.families is not None:
            confine.restrict_calls(self.options.families)

    def watch(self) -> bool:
        """Wait for the command to end; return True if it was stopped before that."""
        limited, pause = self.options.processes > 0, COUNT_INTERVAL
        while True:
            self.reap()
            if self.wait_status is not None:
                self.report("ended")
                return False
            if self.wait_event(pause if limited else None):
                return True
            if not limited:
                continue
            started = time.monotonic()
            if (count := self.count()) > self.options.processes:
                self.report(f"over {count}")
                self.signal_all(signal.SIGKILL)
                return True
            # Without a process namespace, counting reads all processes of the machine: keep it below 10% of the time.
            pause = max(COUNT_INTERVAL, 10 * (time.monotonic() - started))

    def clean_up(self, stopped: bool) -> None:
        """End all remaining processes. After a normal end, children get a moment to write their last output."""
        if stopped:
            self.signal_all(signal.SIGTERM)
            self.wait_for_all(self.options.grace, until_stopped=False)
        else:
            self.wait_for_all(self.options.linger, until_stopped=True)
            if left := self.remaining():
                self.report(f"left {left}")
        deadline = time.monotonic() + KILL_TIMEOUT
        while self.reap() and time.monotonic() < deadline:
            self.signal_all(signal.SIGKILL)
            self.wait_event(0.02)
        stuck = self.remaining()
        self.report(f"stuck {stuck}" if stuck else "clear")
        if not stopped and self.wait_status is not None:
            code = os.waitstatus_to_exitcode(self.wait_status)
            self.report(f"exit {code}" if code >= 0 else f"signal {-code}")

    def wait_for_all(self, seconds: float, *, until_stopped: bool) -> None:
        deadline = time.monotonic() + seconds
        while self.reap() and (remaining := deadline - time.monotonic()) > 0:
            if self.wait_event(remaining) and until_stopped:
                return

    def wait_event(self, seconds: float | None) -> bool:
        """Sleep until a child changes state or the time is over; return True if the supervisor was told to stop."""
        stop = False
        for fd, _ in self.poll.poll(None if seconds is None else max(1, int(seconds * 1000))):
            if fd == self.options.lifeline:
                self.poll.unregister(fd)  # a closed pipe stays ready for ever
                stop = True
            else:
                stop |= any(number != signal.SIGCHLD for number in os.read(fd, 4096))
        return stop

    def reap(self) -> bool:
        """Collect dead children; return True while any child is left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == self.child:
                self.wait_status = status

    def count(self) -> int:
        return len(other_processes()) if self.is_init else len(descendants())

    def remaining(self) -> int:
        """Count the remaining processes. Without a child there are none, because this process adopts orphans."""
        return self.count() if self.reap() else 0

    def signal_all(self, number: int) -> None:
        if self.is_init:
            send_signal(-1, number)
            return
        processes = descendants()
        # A whole process group is signalled at once, so that a fork bomb cannot outrun the listing.
        for group in {group for _, group in processes} - {os.getpgrp()}:
            send_signal(-group, number)
        for pid, _ in processes:
            send_signal(pid, number)

    def report(self, line: str) -> None:
        if self.options.status >= 0:
            try:
                os.write(self.options.status, line.encode() + b"\n")
            except BrokenPipeError:
                self.options.status = -1


def lower_limit(limit: int, value: int) -> None:
    _, hard = resource.getrlimit(limit)
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    resource.setrlimit(limit, (value, value))


def shell_code(status: int) -> int:
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def make_scratch(folder: str) -> str:
    # Named by the command's mark if it has one, so that Surefoot finds it when this process is killed.
    path = f"{folder}/surefoot-{os.environ.get('SUREFOOT_COMMAND') or os.urandom(16).hex()}"
    os.mkdir(path, 0o700)
    return path


def remove_tree(top: str) -> bool:
    """Remove a folder without following any link out of it; return whether all of it was removed."""
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
