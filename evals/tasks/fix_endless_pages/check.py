"""Both functions end, and fetch no page twice and none too many."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from evals.checking import Submission, judge

SETUP = """
from pages import collect, collect_until
asked = []
def fetch(page):
    asked.append(page)
    return [[1, 2], [3], [4, 5, 6]][page - 1] if page < 4 else []
def pages(function, *more):
    asked.clear()
    return function(fetch, *more), list(asked)
"""


def check(work: Submission) -> None:
    work.given_files_kept(but=["pages.py"])
    work.answers(
        SETUP,
        {
            "pages(collect)": ([1, 2, 3, 4, 5, 6], [1, 2, 3, 4]),
            "pages(collect_until, 2)": ([1, 2], [1]),
            "pages(collect_until, 4)": ([1, 2, 3, 4], [1, 2, 3]),
            "pages(collect_until, 0)": ([], []),
            "pages(collect_until, 9)": ([1, 2, 3, 4, 5, 6], [1, 2, 3, 4]),
            "collect(lambda page: [])": [],
        },
    )


if __name__ == "__main__":
    judge(__file__, check)
