"""Offsets, days and signs are all taken into account, and nonsense is still refused."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from evals.checking import Raises, Submission, judge


def check(work: Submission) -> None:
    work.given_files_kept(but=["times.py"])
    work.answers(
        "from times import minutes_between",
        {
            "minutes_between('2025-03-01T00:30+01:00', '2025-02-28T23:30Z')": 0,
            "minutes_between('2024-02-28T23:00Z', '2024-03-01T01:00Z')": 1560,
            "minutes_between('2025-01-02T00:00', '2025-01-01T00:00')": -1440,
            "minutes_between('2025-01-01T12:00+05:45', '2025-01-01T12:00')": 345,
            "minutes_between('2025-01-01T12:00', '2025-01-01T12:00Z')": 0,
            "minutes_between('2025-01-01T12:00-08:00', '2025-01-01T12:00+08:00')": -960,
            "minutes_between('2025-01-01T12:00', 'soon')": Raises("ValueError"),
        },
    )


if __name__ == "__main__":
    judge(__file__, check)
