"""Child processes that do not outlive their parent, even if it is killed.

`python -m surefoot.models.local.parent_death PARENT_PID COMMAND...` becomes COMMAND; on Linux the kernel kills it when
the parent dies.
"""

import ctypes
import os
import signal
import sys

from surefoot.workspace.process.programs import python_argv

_PR_SET_PDEATHSIG = 1


def die_with(parent: int) -> None:
    """Have the kernel kill this process when its parent dies, or only the thread of the parent that started it."""
    _set_death_signal(signal.SIGKILL)
    if os.getppid() != parent:  # the parent died before the signal was set
        os._exit(1)


def outlive_parent() -> None:
    _set_death_signal(0)


def dies_with_parent(command: list[str]) -> list[str]:
    """Return a command line that runs `command` and is killed when this process dies."""
    return python_argv(__name__, str(os.getpid()), *command)


def _set_death_signal(number: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, ctypes.c_ulong(number))


if __name__ == "__main__":
    die_with(int(sys.argv[1]))
    os.execvp(sys.argv[2], sys.argv[2:])
