"""Measure the CPU time of the repository map: python benchmarks/repo_map.py [FOLDER]

Without a folder, a tree of 5,000 generated files is mapped, of 8 KB each.
"""

import random
import sys
import tempfile
import time
from pathlib import Path

from surefoot.project.code.repo_map import MAX_LISTED, MAX_SOURCE_CHARS, repo_map
from surefoot.project.folder import list_files
from surefoot.tools.fs.fileio import reader

FILES = 5_000
FILE_CHARS = 8_000
TASK = (
    "Fix `compute_total_12` in pkg3/module_123.py: the retry of a failed request must back off exponentially, and the "
    "new setting `max_back_off` in the Settings class limits it. Extend the tests, the guide and the changelog."
)
FAILING = "\n".join(f"pkg{n}/module_{n}.py:{20 + n}: AssertionError" for n in range(10, 30))


def main(folder: str) -> None:
    if folder:
        measure(Path(folder))
        return
    with tempfile.TemporaryDirectory() as made:
        fill(Path(made))
        measure(Path(made))


def measure(root: Path) -> None:
    for name in ("first", "second"):
        started = time.process_time()
        files = list_files(root, gitignore=True, limit=MAX_LISTED)
        listed = time.process_time()
        text = repo_map(files, TASK, reader(root, MAX_SOURCE_CHARS), failing=FAILING)
        ended = time.process_time()
        print(
            f"{name}: {len(files):,} files, {len(text):,} characters, listing {1000 * (listed - started):.0f} ms, "
            f"map {1000 * (ended - listed):.0f} ms of CPU"
        )


def fill(root: Path) -> None:
    """Python modules in 50 packages that import each other."""
    chance = random.Random(1)
    words = [f"name_{n}" for n in range(500)]
    for number in range(FILES):
        folder = root / f"pkg{number % 50}"
        folder.mkdir(exist_ok=True)
        lines = [f"from pkg{chance.randrange(50)} import module_{chance.randrange(FILES)}" for _ in range(5)]
        while sum(map(len, lines)) < FILE_CHARS:
            name = f"compute_total_{chance.randrange(2_000)}"
            lines += ["", "", f"def {name}(first, second):", f'    """{" ".join(chance.sample(words, 12))}."""']
            lines += [f"    {chance.choice(words)} = {chance.choice(words)}(first)" for _ in range(8)]
        (folder / f"module_{number}.py").write_text("\n".join(lines))


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "")
