"""Days are counted over the ends of months, unknown customers stay in, and the order is by days, then number."""

import csv
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from evals.checking import Submission, judge, require


def check(work: Submission) -> None:
    work.given_files_kept()
    found = list(csv.reader(work.lines("late.csv")))
    wanted = [
        ["order", "name", "days"],
        ["12", "?", "19"],
        ["7", "Marlow, Ida", "5"],
        ["31", "Femi Ode", "5"],
        ["100", "Marlow, Ida", "5"],
        ["15", "Sun Li", "4"],
    ]
    require(found == wanted, f"late.csv holds {found}")


if __name__ == "__main__":
    judge(__file__, check)
