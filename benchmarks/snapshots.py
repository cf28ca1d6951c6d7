"""What a snapshot costs, beside a bare scan, `cp -a` and git with a shadow index, on the same tree in one run.

    python benchmarks/snapshots.py [number of files, 50000 unless told] [folder to work in]

The tree has 20 files a folder of 1 to 4 KB. Figures marked with * are the best of five; first snapshots and copies are
done once, because a second one would find everything stored.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from surefoot.workspace.snapshot import Workspace

CHANGED = 100


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 50_000
    folder = Path(tempfile.mkdtemp(prefix="surefoot-bench-", dir=sys.argv[2] if len(sys.argv) > 2 else None))
    try:
        root = folder / "root"
        files = make_tree(root, count)
        time.sleep(0.3)  # a file written this very moment has to be read twice: that is not what we measure
        rows = [*measure_others(folder, root, files), *measure_snapshots(folder, root, files)]
    finally:
        shutil.rmtree(folder)
    scan = rows[0][1]
    print(f"{count} files in {len({file.parent for file in files})} folders\n")
    print(f"{'':46}{'seconds':>9}{'x scan':>9}")
    for name, seconds in rows:
        print(f"{name:46}{seconds:9.3f}{seconds / scan:9.1f}")


def make_tree(root: Path, count: int) -> list[Path]:
    files = []
    for number in range(count):
        parent = root / f"part{number // 2000}" / f"folder{number // 20 % 100}"
        if number % 20 == 0:
            parent.mkdir(parents=True, exist_ok=True)
        files.append(parent / f"file{number}.py")
        files[-1].write_bytes((f"line of file {number}\n" * (50 + number % 150)).encode())
    return files


def measure_others(folder: Path, root: Path, files: list[Path]) -> list[tuple[str, float]]:
    shadow = ["git", f"--git-dir={folder / 'shadow'}", f"--work-tree={root}", "-c", "gc.auto=0"]
    subprocess.run([*shadow, "init", "-q"], check=True)

    def git(*words: str) -> Callable[[], object]:
        return lambda: subprocess.run([*shadow, *words], cwd=root, check=True)

    rows = [
        ("bare scan: scandir and lstat *", best(lambda: bare_scan(root))),
        ("cp -a", once(lambda: subprocess.run(["cp", "-a", root, folder / "copy"], check=True))),
        ("git add -A in a shadow repository, first", once(git("add", "-A"))),
        ("git add -A, nothing changed *", best(git("add", "-A"))),
    ]
    change(files)
    rows.append((f"git checkout, {CHANGED} files changed", once(git("checkout", "-q", "--", "."))))
    return rows


def measure_snapshots(folder: Path, root: Path, files: list[Path]) -> list[tuple[str, float]]:
    workspace = Workspace(root, folder / "home")
    rows = [("first snapshot", once(workspace.snapshot))]
    time.sleep(0.3)
    whole = workspace.snapshot()
    rows.append(("snapshot, nothing changed *", best(workspace.snapshot)))
    rows.append(("the same in a new process *", best(lambda: Workspace(root, folder / "home").snapshot())))
    change(files)
    rows.append((f"snapshot, {CHANGED} files changed", once(workspace.snapshot)))
    known = workspace.snapshot()
    rows.append((f"restore, {CHANGED} files changed", once(lambda: workspace.restore(whole, known=known))))
    assert workspace.snapshot() == whole
    return rows


def bare_scan(root: Path) -> int:
    count, pending = 0, [str(root)]
    while pending:
        with os.scandir(pending.pop()) as listing:
            for item in listing:
                item.stat(follow_symlinks=False)
                count += 1
                if item.is_dir(follow_symlinks=False):
                    pending.append(item.path)
    return count


def change(files: list[Path]) -> None:
    for file in files[:: max(1, len(files) // CHANGED)][:CHANGED]:
        file.write_text("changed\n")


def once(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def best(work: Callable[[], object]) -> float:
    return min(once(work) for _ in range(5))


if __name__ == "__main__":
    main()
