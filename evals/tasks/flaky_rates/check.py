"""All rates are there: a half answer was not taken for a whole one."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from evals.checking import Submission, judge, require, same


def check(work: Submission) -> None:
    work.given_files_kept()
    found = work.json("rates.json")
    rates = {"EUR": 1.0, "USD": 1.0843, "GBP": 0.8571, "JPY": 163.92, "CNY": 7.8124}
    require(same(found, {"complete": True, "rates": rates}), f"rates.json holds {found}")


if __name__ == "__main__":
    judge(__file__, check)
