"""Inches are right in both directions, and vendor/ is untouched."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from evals.checking import Raises, Submission, judge


def check(work: Submission) -> None:
    work.given_files_kept(but=["convert.py"])
    work.answers(
        "from convert import convert\nimport vendor.units",
        {
            "round(convert(25.4, 'cm', 'inch'), 6)": 10,
            "round(convert(1, 'foot', 'inch'), 6)": 12,
            "round(convert(1, 'm', 'inch'), 4)": 39.3701,
            "convert(3, 'inch', 'inch')": 3,
            "round(convert(100, 'inch', 'm'), 6)": 2.54,
            "convert(1, 'mile', 'm')": Raises("KeyError"),
        },
    )


if __name__ == "__main__":
    judge(__file__, check)
