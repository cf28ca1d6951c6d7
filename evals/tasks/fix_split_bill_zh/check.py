"""No cent is lost, and amounts have two digits after the point."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from evals.checking import Raises, Submission, judge


def check(work: Submission) -> None:
    work.given_files_kept(but=["split_bill.py"])
    work.answers(
        "from split_bill import receipt, split",
        {
            "split(7, 4)": [2, 2, 2, 1],
            "split(2, 5)": [1, 1, 0, 0, 0],
            "split(0, 2)": [0, 0],
            "sum(split(99999, 7))": 99999,
            "max(split(99999, 7)) - min(split(99999, 7))": 1,
            "receipt(1005, ['a', 'b', 'c'])": "a 3.35\nb 3.35\nc 3.35",
            "receipt(611, ['甲', '乙'])": "甲 3.06\n乙 3.05",
            "receipt(9, ['x'])": "x 0.09",
            "split(5, -1)": Raises("ValueError"),
        },
    )


if __name__ == "__main__":
    judge(__file__, check)
