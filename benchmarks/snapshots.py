"""Measure a snapshot of an unchanged tree of 50,000 files: python benchmarks/snapshots.py [FILES]

It is compared with a bare scan of the same tree, which lists every folder and calls lstat on every file.
"""

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from surefoot.workspace.workspace import Workspace

ROUNDS = 7
FILES_PER_FOLDER = 50


def main(files: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root, home = Path(folder, "work"), Path(folder, "home")
        fill(root, files)
        workspace = Workspace(root, home)
        first = seconds(workspace.snapshot)
        workspace.snapshot()
        time.sleep(0.3)  # recently written files are read again until their times are clearly in the past
        workspace.snapshot()
        bare = statistics.median(seconds(lambda: scan(root)) for _ in range(ROUNDS))
        again = statistics.median(seconds(workspace.snapshot) for _ in range(ROUNDS))
        cold = seconds(Workspace(root, home).snapshot)
        print(f"{files:,} files: first snapshot {first:.2f} s")
        print(f"unchanged: {again:.3f} s, with a new Workspace object {cold:.3f} s; bare scan {bare:.3f} s")


def fill(root: Path, files: int) -> None:
    for number in range(files):
        folder = root / f"{number // 2500}" / f"{number // FILES_PER_FOLDER}"
        if number % FILES_PER_FOLDER == 0:
            folder.mkdir(parents=True)
        (folder / f"{number}.txt").write_text(f"file {number}\n")


def scan(root: Path) -> int:
    count = 0
    pending = [str(root)]
    while pending:
        with os.scandir(pending.pop()) as entries:
            for entry in entries:
                entry.stat(follow_symlinks=False)
                count += 1
                if entry.is_dir(follow_symlinks=False):
                    pending.append(entry.path)
    return count


def seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 50_000)
