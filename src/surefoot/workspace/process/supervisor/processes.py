"""The supervisor's view of its descendants: listing and signalling them."""
# pathlib and contextlib would double the time this program takes to start
# ruff: noqa: PTH123, PTH208, SIM105

import os


def other_processes() -> list[int]:
    """Return the ids of all visible processes except this one."""
    return [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()]


def descendants() -> list[tuple[int, int]]:
    """Return every process below this one, with its process group."""
    children: dict[int, list[tuple[int, int]]] = {}
    for pid in other_processes():
        try:
            with open(f"/proc/{pid}/stat", "rb") as file:
                state, parent, group = file.read().rpartition(b")")[2].split()[:3]
        except OSError:
            continue
        if state != b"X":
            children.setdefault(int(parent), []).append((pid, int(group)))
    processes: list[tuple[int, int]] = []
    pending = [os.getpid()]
    while pending:
        below = children.get(pending.pop(), [])
        processes += below
        pending += [pid for pid, _ in below]
    return processes


def send_signal(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        pass  # already gone, or a set-user-id program that we may not signal: reported as stuck
