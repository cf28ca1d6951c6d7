"""Every item is on exactly one page."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from evals.checking import Raises, Submission, judge


def check(work: Submission) -> None:
    work.given_files_kept(but=["paging.py"])
    work.answers(
        "from paging import page, page_count",
        {
            "page_count(list(range(10)), 3)": 4,
            "page_count(list(range(9)), 3)": 3,
            "page_count([1], 10)": 1,
            "page(list(range(10)), 2, 3)": [3, 4, 5],
            "page(list(range(10)), 4, 3)": [9],
            "page(list(range(9)), 4, 3)": Raises("IndexError"),
            "page([], 1, 3)": Raises("IndexError"),
            "page([7], 1, 10)": [7],
            "page([7], -1, 10)": Raises("IndexError"),
        },
    )


if __name__ == "__main__":
    judge(__file__, check)
