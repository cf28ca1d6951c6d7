"""The status is counted, not a number elsewhere on the line."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from evals.checking import Submission, judge, require


def check(work: Submission) -> None:
    work.given_files_kept()
    found = [" ".join(line.split()) for line in work.lines("counts.txt")]
    require(found == ["200 5", "204 1", "301 1", "404 2", "500 1"], f"counts.txt says {found}")


if __name__ == "__main__":
    judge(__file__, check)
