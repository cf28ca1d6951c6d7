"""Only paid orders count, by customer and not by name."""

import csv
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from evals.checking import Submission, judge, require


def check(work: Submission) -> None:
    work.given_files_kept()
    found = list(csv.reader(work.lines("top.csv")))
    wanted = [["name", "spent"], ["Rosa Quint", "9000"], ["Jo Park", "7500"], ["Ike Bell", "4300"]]
    require(found == wanted, f"top.csv holds {found}")


if __name__ == "__main__":
    judge(__file__, check)
