"""Both files are there and agree with the sheet."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from evals.checking import Submission, judge, require


def check(work: Submission) -> None:
    work.given_files_kept()
    found = work.lines("late.csv")
    require(found == ["姓名,时间", "赵敏,09:01", "陈晨,10:20"], f"late.csv holds {found}")
    summary = work.json("summary.json")
    require(summary == {"total": 5, "late": 2}, f"summary.json holds {summary}")


if __name__ == "__main__":
    judge(__file__, check)
