"""Touching bookings do not overlap, and gaps lie between start and end and outside every booking."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from evals.checking import Submission, judge


def check(work: Submission) -> None:
    work.given_files_kept(but=["rooms.py"])
    work.answers(
        "from rooms import free, overlaps",
        {
            "overlaps((0, 30), (10, 20))": True,
            "overlaps((30, 40), (10, 30))": False,
            "free([], 5, 50)": [(5, 50)],
            "free([(0, 100), (10, 20), (30, 40)], 0, 150)": [(100, 150)],
            "free([(40, 60), (20, 40)], 0, 100)": [(0, 20), (60, 100)],
            "free([(0, 100)], 0, 100)": [],
            "free([(200, 300)], 0, 100)": [(0, 100)],
        },
    )


if __name__ == "__main__":
    judge(__file__, check)
