"""Durations are read strictly and written back shortest."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from evals.checking import Raises, Submission, judge


def check(work: Submission) -> None:
    work.given_files_kept()
    refused = ["1s1m", "m5", "1.5h", "1h30", " 5s", "5s ", "1H", "2m2m", "hms", "5ss"]
    work.answers(
        "from duration import parse, show",
        {
            "parse('1h2m3s')": 3723,
            "parse('0s')": 0,
            "parse('100s')": 100,
            "parse('10h')": 36000,
            "parse('3m07s')": 187,
            "show(3723)": "1h2m3s",
            "show(60)": "1m",
            "show(3600)": "1h",
            "show(360000)": "100h",
            "[parse(show(n)) for n in (1, 61, 3601, 86399, 90000)]": [1, 61, 3601, 86399, 90000],
            **{f"parse({text!r})": Raises("ValueError") for text in refused},
        },
    )


if __name__ == "__main__":
    judge(__file__, check)
