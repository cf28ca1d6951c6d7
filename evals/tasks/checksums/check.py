"""Every file of the release is listed once with its digest."""

import hashlib
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from evals.checking import Submission, judge, require


def check(work: Submission) -> None:
    work.given_files_kept()
    found = {}
    for line in work.lines("SHA256SUMS"):
        digest, _, name = line.partition(" ")
        found[name[1:].removeprefix("./")] = digest.lower()
    files = [name for name in work.names() if name.startswith("release/")]
    require(len(files) == 3, "release/ was changed")
    wanted = {name: hashlib.sha256((work.root / name).read_bytes()).hexdigest() for name in files}
    require(found == wanted, f"SHA256SUMS lists {sorted(found)}")


if __name__ == "__main__":
    judge(__file__, check)
