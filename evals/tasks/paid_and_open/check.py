"""Both files are there and right."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from evals.checking import Submission, judge, require, same


def check(work: Submission) -> None:
    work.given_files_kept()
    found = work.json("totals.json")
    require(same(found, {"Bo": 19.75, "Ada": 7.4, "Cy": 100.0}), f"totals.json holds {found}")
    require(work.lines("unpaid.txt") == ["21", "18"], f"unpaid.txt says {work.lines('unpaid.txt')}")


if __name__ == "__main__":
    judge(__file__, check)
