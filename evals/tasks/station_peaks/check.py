"""The highest valid temperature of every station, with the first time it was measured."""

import csv
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from evals.checking import Submission, judge, require

WANTED = """\
station,highest,time
Ahlen,30.9,2025-02-04 03:00
Borg,31.0,2025-02-14 15:00
Cask,30.8,2025-02-16 06:00
Dune,30.9,2025-02-01 09:00
Elm,30.9,2025-02-12 00:00
Fjord,-1.0,2025-02-19 00:00
Glen,31.0,2025-02-25 06:00
Heath,31.0,2025-02-12 18:00
"""


def check(work: Submission) -> None:
    work.given_files_kept()
    found, wanted = (list(csv.reader(text.splitlines())) for text in (work.text("peaks.csv"), WANTED))
    found = [row for row in found if row]
    require(found[:1] == wanted[:1], f"the first row is {found[:1]}")
    require(len(found) == len(wanted), f"{len(found) - 1} rows")
    for row, right in zip(found[1:], wanted[1:], strict=True):
        require(len(row) == 3 and row[0] == right[0] and row[2] == right[2], f"{row}, not {right}")
        require(number(row[1]) == float(right[1]), f"{row}, not {right}")


def number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


if __name__ == "__main__":
    judge(__file__, check)
