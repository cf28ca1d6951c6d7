"""A stock keeps its counts, refuses bad ones in both directions, and forgets what ran out."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from evals.checking import Raises, Submission, judge


def check(work: Submission) -> None:
    work.given_files_kept()
    setup = "from stock import Stock\na, b = Stock(), Stock()"
    work.answers(
        setup,
        [
            ("a.add('pin', 2)", None),
            ("a.add('cap', 1)", None),
            ("a.items()", ["cap", "pin"]),
            ("b.items()", []),
            ("b.count('pin')", 0),
            ("b.items()", []),
            ("a.take('ghost', 1)", Raises("ValueError")),
            ("a.items()", ["cap", "pin"]),
            ("a.take('pin', 0)", Raises("ValueError")),
            ("a.take('pin', -1)", Raises("ValueError")),
            ("a.take('pin', 0.5)", Raises("ValueError")),
            ("a.take('pin', 1.5)", Raises("ValueError")),
            ("a.count('pin')", 2),
            ("a.take('pin', 2)", None),
            ("a.items()", ["cap"]),
            ("a.count('pin')", 0),
            ("a.total()", 1),
        ],
    )


if __name__ == "__main__":
    judge(__file__, check)
