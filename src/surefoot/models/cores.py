"""How many threads a model may use: the physical cores that this process may run on."""

import os
from pathlib import Path

MOST = 8
"""Writing tokens waits for memory, not for cores; more threads than this only wait for each other."""


def default_threads() -> int:
    allowed = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
    # Two threads of one core share its arithmetic units, which this work keeps busy: count cores.
    cores = {_siblings(cpu) for cpu in allowed}
    return max(1, min(len(cores), _quota(), MOST))


def _siblings(cpu: int) -> str:
    try:
        return Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list").read_text()
    except OSError:
        return str(cpu)


def _quota() -> int:
    """Whole CPUs that the control group grants (containers are limited this way); a lot when there is no limit."""
    granted = [float(os.cpu_count() or 1)]
    try:
        own = Path("/proc/self/cgroup").read_text().rpartition("0::/")[2].strip()
    except OSError:
        own = ""
    group = Path("/sys/fs/cgroup") / own
    for folder in (group, *group.parents):
        if folder.is_relative_to("/sys/fs/cgroup"):
            granted += _limit(folder / "cpu.max")
    return int(min(granted))


def _limit(file: Path) -> list[float]:
    try:
        quota, period = file.read_text().split()
        return [int(quota) / int(period)]
    except (OSError, ValueError):  # not there, or "max"
        return []
