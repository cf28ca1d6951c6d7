"""Range and midrange, also of unsorted and negative numbers."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from evals.checking import Raises, Submission, judge


def check(work: Submission) -> None:
    work.given_files_kept()
    work.answers(
        "from spread import midrange, value_range",
        {
            "value_range([10, -10, 3])": 20,
            "value_range([2.5, 2.0])": 0.5,
            "midrange([7, 1, 100, 3])": 50.5,
            "midrange([-3, -1])": -2,
            "midrange([8])": 8,
            "value_range([])": Raises("ValueError"),
            "midrange([])": Raises("ValueError"),
        },
    )


if __name__ == "__main__":
    judge(__file__, check)
