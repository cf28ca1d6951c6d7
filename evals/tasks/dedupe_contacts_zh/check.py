"""One row per address, and every row without one."""

import csv
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from evals.checking import Submission, judge, require


def check(work: Submission) -> None:
    work.given_files_kept()
    found = list(csv.reader(work.lines("clean.csv")))
    wanted = [
        ["姓名", "邮箱", "电话"],
        ["张伟", "zhang@example.com", "111"],
        ["李娜", "lina@example.com", "222"],
        ["王芳", "", "444"],
        ["陈, 杰", "chen@example.com", "555"],
        ["刘洋", "", "666"],
    ]
    require(found == wanted, f"clean.csv holds {found}")


if __name__ == "__main__":
    judge(__file__, check)
