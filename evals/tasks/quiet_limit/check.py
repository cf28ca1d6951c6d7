"""All eight rows were converted, although the tool says it is done after five."""

import csv
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from evals.checking import Submission, judge, require


def check(work: Submission) -> None:
    work.given_files_kept()
    found = work.json("readings.json")
    wanted = list(csv.DictReader(work.lines("readings.csv")))
    require(found == wanted, f"readings.json holds {len(found)} rows of {len(wanted)}, or other values")


if __name__ == "__main__":
    judge(__file__, check)
