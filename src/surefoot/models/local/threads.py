"""The default number of threads: the physical cores that this process may use."""

import os
from pathlib import Path

MAX_THREADS = 8
"""Generating tokens is limited by memory bandwidth; more threads only wait for each other."""


def default_threads() -> int:
    allowed = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
    # Hyperthreads share the arithmetic units of a core, which are the bottleneck: count cores.
    cores = {_siblings(cpu) for cpu in allowed}
    return max(1, min(len(cores), _cpu_quota(), MAX_THREADS))


def _siblings(cpu: int) -> str:
    try:
        return Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list").read_text()
    except OSError:
        return str(cpu)


def _cpu_quota() -> int:
    """Whole CPUs granted by the control groups, which limit containers; all CPUs if there is no limit."""
    limits = [float(os.cpu_count() or 1)]
    try:
        name = Path("/proc/self/cgroup").read_text().rpartition("0::/")[2].strip()
    except OSError:
        name = ""
    group = Path("/sys/fs/cgroup") / name
    for folder in (group, *group.parents):
        if folder.is_relative_to("/sys/fs/cgroup"):
            limits += _read_limit(folder / "cpu.max")
    return int(min(limits))


def _read_limit(file: Path) -> list[float]:
    try:
        quota, period = file.read_text().split()
        return [int(quota) / int(period)]
    except (OSError, ValueError):  # no such file, or "max"
        return []
