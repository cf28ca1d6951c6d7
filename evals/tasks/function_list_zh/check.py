"""One line per module with its public functions, in their order; functions inside functions are no part of it."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from evals.checking import Submission, judge, require

WANTED = ["mail.py: send", "report.py: total, average", "store.py: load, save"]


def check(work: Submission) -> None:
    work.given_files_kept()
    found = [line.replace("：", ":") for line in work.lines("functions.txt")]
    inner = [line.replace("total, average", "total, amount, average") for line in WANTED]
    require(found in (WANTED, inner), f"functions.txt says {found}")


if __name__ == "__main__":
    judge(__file__, check)
