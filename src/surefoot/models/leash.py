"""A child process that must not outlive its parent, also when the parent is killed without a word.

`python -m surefoot.models.leash PARENT_PID COMMAND...` becomes COMMAND; the kernel kills it when the parent is gone.
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def tie_to(parent: int) -> None:
    """For work that a thread of the parent waits for: the kernel goes by the thread, not by the process."""
    _kill_me_with_parent(signal.SIGKILL)
    if os.getppid() != parent:  # it was gone before the kernel knew
        os._exit(1)


def untie() -> None:
    _kill_me_with_parent(0)


def leashed(command: list[str]) -> list[str]:
    return [sys.executable, "-m", __name__, str(os.getpid()), *command]


def _kill_me_with_parent(with_signal: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, ctypes.c_ulong(with_signal))


if __name__ == "__main__":
    tie_to(int(sys.argv[1]))
    os.execvp(sys.argv[2], sys.argv[2:])
