"""Seat ranges are expanded in order, once each, and nothing malformed gets through."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from evals.checking import Raises, Submission, judge


def check(work: Submission) -> None:
    work.given_files_kept()
    refused = [",", "A1,", "-A2", "A1--A2", "AA", "1A", "A1 B2", "A1.5", "B2-A3"]
    work.answers(
        "from seats import expand",
        {
            "expand('C3')": ["C3"],
            "expand('D5-D5')": ["D5"],
            "expand('A1-A2, A2-A3 ,A1')": ["A1", "A2", "A3"],
            "expand('Z98-Z101')": ["Z98", "Z99", "Z100", "Z101"],
            "expand('B1,A1')": ["B1", "A1"],
            **{f"expand({text!r})": Raises("ValueError") for text in refused},
        },
    )


if __name__ == "__main__":
    judge(__file__, check)
