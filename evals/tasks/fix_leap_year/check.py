"""Centuries are leap years only every four hundred years."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from evals.checking import Raises, Submission, judge


def check(work: Submission) -> None:
    work.given_files_kept(but=["dates.py"])
    work.answers(
        "from dates import days_in_month, last_day",
        {
            "days_in_month(2100, 2)": 28,
            "days_in_month(2400, 2)": 29,
            "days_in_month(1600, 2)": 29,
            "days_in_month(1996, 2)": 29,
            "days_in_month(1800, 2)": 28,
            "[days_in_month(2023, m) for m in range(1, 13)]": [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31],
            "days_in_month(2023, 13)": Raises("ValueError"),
            "last_day(2100, 2)": "2100-02-28",
        },
    )


if __name__ == "__main__":
    judge(__file__, check)
