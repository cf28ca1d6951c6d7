"""Nothing was wrong: shorten() works as before and the tests are as they were."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from evals.checking import Raises, Submission, judge


def check(work: Submission) -> None:
    work.given_files_kept(but=["text.py"])
    work.answers(
        "from text import shorten",
        {
            "shorten('a cup of tea', 1)": "…",
            "shorten('a cup of tea', 2)": "a…",
            "shorten('a cup of tea', 3)": "a…",
            "shorten('a cup of tea', 12)": "a cup of tea",
            "shorten('a cup of tea', 11)": "a cup of t…",
            "shorten('', 1)": "",
            "shorten('x', -1)": Raises("ValueError"),
        },
    )


if __name__ == "__main__":
    judge(__file__, check)
