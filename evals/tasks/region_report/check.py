"""Price times quantity, without what was cancelled, sorted by the total."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from evals.checking import Submission, judge, require


def check(work: Submission) -> None:
    work.given_files_kept()
    lines = [line.strip() for line in work.lines("report.md") if line.strip().startswith("|")]
    rows = [[cell.strip().strip("*") for cell in line.strip("|").split("|")] for line in lines]
    wanted = [
        ["South", "3", "69.35"],
        ["West", "1", "62.00"],
        ["East", "1", "60.30"],
        ["North", "2", "54.95"],
        ["All", "7", "246.60"],
    ]
    require(rows[2:] == wanted, f"the rows are {rows[2:]}")


if __name__ == "__main__":
    judge(__file__, check)
