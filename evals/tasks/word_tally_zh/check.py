"""Words are counted without regard to case and to the punctuation around them."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from evals.checking import Submission, judge


def check(work: Submission) -> None:
    work.given_files_kept()
    work.answers(
        "from tally import tally",
        {
            "tally('One two; ONE: two. three')": {"one": 2, "two": 2, "three": 1},
            "tally('a\\nb\\ta')": {"a": 2, "b": 1},
            "tally('!!! ?')": {},
            "tally('!go! go;')": {"go": 2},
            "tally('')": {},
        },
    )


if __name__ == "__main__":
    judge(__file__, check)
