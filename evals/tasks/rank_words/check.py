"""Also the teens of every hundred are 'th'."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from evals.checking import Raises, Submission, judge


def check(work: Submission) -> None:
    work.given_files_kept()
    work.answers(
        "from rank import podium, rank",
        {
            "rank(101)": "101st",
            "rank(111)": "111th",
            "rank(113)": "113th",
            "rank(1012)": "1012th",
            "rank(1023)": "1023rd",
            "rank(0)": Raises("ValueError"),
            "rank(2.0)": Raises("ValueError"),
            "podium([])": [],
            "podium(['x', 'y', 'z', 'w'])": ["1st x", "2nd y", "3rd z"],
        },
    )


if __name__ == "__main__":
    judge(__file__, check)
