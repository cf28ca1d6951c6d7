"""What a snapshot costs in a tree of 50,000 files that has not changed: python benchmarks/snapshots.py [FILES]

Beside it, the bare scan of the same tree: every folder listed and every file looked at with lstat, and nothing else.
"""

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from surefoot.workspace.snapshot import Workspace

ROUNDS = 7
FILES_A_FOLDER = 50


def main(files: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root, home = Path(folder, "work"), Path(folder, "home")
        fill(root, files)
        workspace = Workspace(root, home)
        first = seconds(workspace.snapshot)
        workspace.snapshot()
        time.sleep(0.3)  # until what was just written is clearly past, it is read again
        workspace.snapshot()
        bare = statistics.median(seconds(lambda: scan(root)) for _ in range(ROUNDS))
        again = statistics.median(seconds(workspace.snapshot) for _ in range(ROUNDS))
        other = Workspace(root, home)
        cold = seconds(other.snapshot)
        print(f"{files:,} files: the first snapshot {first:.2f} s")
        print(f"unchanged: {again:.3f} s, in a new process's workspace {cold:.3f} s; a bare scan {bare:.3f} s")


def fill(root: Path, files: int) -> None:
    for number in range(files):
        folder = root / f"{number // 2500}" / f"{number // FILES_A_FOLDER}"
        if number % FILES_A_FOLDER == 0:
            folder.mkdir(parents=True)
        (folder / f"{number}.txt").write_text(f"file {number}\n")


def scan(root: Path) -> int:
    count = 0
    waiting = [str(root)]
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                entry.stat(follow_symlinks=False)
                count += 1
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
    return count


def seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 50_000)
