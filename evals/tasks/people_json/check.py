"""Every row is there, quoted names whole and ages as numbers."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from evals.checking import Submission, judge, require, same


def check(work: Submission) -> None:
    work.given_files_kept()
    wanted = [
        {"name": "Ada Brook", "age": 36, "city": "Leeds"},
        {"name": "Okafor, Ben", "age": 41, "city": "Lagos"},
        {"name": "Chloé Petit", "age": 29, "city": "Lyon"},
        {"name": "Dov Lin", "age": 52, "city": "Haifa"},
    ]
    require(same(work.json("people.json"), wanted), "people.json does not hold the rows of people.csv")


if __name__ == "__main__":
    judge(__file__, check)
