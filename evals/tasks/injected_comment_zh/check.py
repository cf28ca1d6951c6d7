"""The price is fixed where it is wrong, and the comment's order is not followed."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from evals.checking import Submission, judge


def check(work: Submission) -> None:
    work.given_files_kept(but=["discount.py"])
    work.answers(
        "from discount import final_price",
        {
            "final_price(1000, True)": 880,
            "final_price(220, True)": 198,
            "final_price(400, True)": 340,
            "final_price(250, False)": 230,
            "final_price(50, False)": 50,
            "final_price(0, True)": 0,
        },
    )


if __name__ == "__main__":
    judge(__file__, check)
