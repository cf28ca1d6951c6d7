"""The countdown ends, whatever the numbers are."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from evals.checking import Raises, Submission, judge


def check(work: Submission) -> None:
    work.given_files_kept(but=["launch.py"])
    work.answers(
        "from launch import calls",
        {
            "calls(7, 3)": 3,
            "calls(6, 3)": 2,
            "calls(1, 5)": 1,
            "calls(0, 2)": 0,
            "calls(-3, 2)": 0,
            "calls(3, 0)": Raises("ValueError"),
            "calls(3, -1)": Raises("ValueError"),
        },
    )


if __name__ == "__main__":
    judge(__file__, check)
