"""The owner of a run: a name for people, the machine, the process, and a part that is unique to each journal object.

A process that was killed leaves its lease behind. Processes on the same machine can see that it is gone, and take over
its runs at once. Other machines have to wait until the lease ends.
"""

import os
import secrets
import socket
from pathlib import Path

_SEPARATOR = "|"


def new_owner() -> str:
    """Return a new owner for one journal object of this process."""
    name = f"process {os.getpid()} on {socket.gethostname()}".replace(_SEPARATOR, "-")
    return _SEPARATOR.join((name, _machine(), _process(os.getpid()), secrets.token_hex(4)))


def shown_owner(owner: str) -> str:
    return owner.partition(_SEPARATOR)[0]


def is_replaceable(owner: str) -> bool:
    """Whether an owner is this process, or a process of this machine that has ended."""
    parts = owner.split(_SEPARATOR)
    return is_gone(owner) or (len(parts) == 4 and parts[1:3] == [_machine(), _process(os.getpid())])


def is_gone(owner: str) -> bool:
    """Whether an owner is a process of this machine that is gone, although its lease may not have ended yet."""
    parts = owner.split(_SEPARATOR)
    if len(parts) != 4 or not parts[1] or parts[1] != _machine():
        return False
    pid, _, _ = parts[2].partition(".")
    return pid.isdigit() and _process(int(pid)) != parts[2]


def _machine() -> str:
    """Identify this boot of the machine and its namespace of process ids; empty if they are unknown."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}.{Path('/proc/self/ns/pid').stat().st_ino}"
    except OSError:
        return ""


def _process(pid: int) -> str:
    """Identify a process by its id and start time, because ids are reused. A zombie counts as gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
    except OSError:
        return f"{pid}.gone"
    return f"{pid}.gone" if fields[0] in "ZX" else f"{pid}.{fields[19]}"
