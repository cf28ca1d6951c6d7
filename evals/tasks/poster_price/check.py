"""The price comes from the three modules, which stay as they are."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from evals.checking import Raises, Submission, judge


def check(work: Submission) -> None:
    work.given_files_kept()
    work.answers(
        "from poster import price",
        {
            "price(2, 3, 'red')": 8650,
            "price(1, 1, 'gold', express=True)": 6150,
            "price(0.5, 2, 'black', True)": 1850,
            "price(1, 1, 'pink')": Raises("ValueError"),
        },
    )
    work.answers("from poster import price", {"price(1, 1, 'red')": 260}, files={"palette.py": "COST = {'red': 10}\n"})


if __name__ == "__main__":
    judge(__file__, check)
