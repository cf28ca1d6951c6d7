"""Spans of days are merged when they overlap or touch, and only then."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from evals.checking import Raises, Submission, judge


def check(work: Submission) -> None:
    work.given_files_kept()
    work.answers(
        "from days import merge",
        {
            "merge([(1, 1), (3, 3)])": [(1, 1), (3, 3)],
            "merge([(1, 1), (2, 2), (3, 3)])": [(1, 3)],
            "merge([(1, 20), (2, 3), (5, 6), (21, 22)])": [(1, 22)],
            "merge([(4, 4), (4, 4)])": [(4, 4)],
            "merge([(-5, -3), (-2, 0)])": [(-5, 0)],
            "merge([(1, 2), (9, 8)])": Raises("ValueError"),
            "merge([(10, 12), (1, 2), (11, 15), (3, 3)])": [(1, 3), (10, 15)],
        },
    )


if __name__ == "__main__":
    judge(__file__, check)
