"""Only entries of level ERROR count, by their own hour."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from evals.checking import Submission, judge, require, same


def check(work: Submission) -> None:
    work.given_files_kept()
    found = work.json("errors.json")
    wanted = {"2025-03-01 09": 2, "2025-03-01 10": 2, "2025-03-02 09": 1}
    require(same(found, wanted), f"errors.json holds {found}")
    require(work.lines("worst.txt") == ["2025-03-01 09"], "worst.txt names another hour")


if __name__ == "__main__":
    judge(__file__, check)
