"""All eight rows were converted, although the tool says it is done after five."""

import csv
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from evals.checking import Submission, judge, require


def check(work: Submission) -> None:
    work.given_files_kept()
    found = work.json("readings.json")
    require(isinstance(found, list), "readings.json is not a list")
    wanted = list(csv.DictReader(work.lines("readings.csv")))
    # A converter of one's own may well have made numbers of the temperatures.
    texts = [{key: str(value) for key, value in row.items()} if isinstance(row, dict) else row for row in found]
    require(texts == wanted, f"readings.json holds {len(found)} rows of {len(wanted)}, or other values")


if __name__ == "__main__":
    judge(__file__, check)
