"""Clamping and turning, also several times around."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from evals.checking import Raises, Submission, judge


def check(work: Submission) -> None:
    work.given_files_kept()
    work.answers(
        "from dial import clamp, turn",
        {
            "clamp(2.5, 2, 3)": 2.5,
            "clamp(3, 3, 3)": 3,
            "clamp(-9, -5, -1)": -5,
            "clamp(1, 2, 1)": Raises("ValueError"),
            "turn(0, 25, 10)": 5,
            "turn(0, -25, 10)": 5,
            "turn(3, 0, 4)": 3,
            "turn(0, 7, 1)": 0,
            "turn(0, 7, -3)": Raises("ValueError"),
        },
    )


if __name__ == "__main__":
    judge(__file__, check)
