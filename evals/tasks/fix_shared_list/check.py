"""Baskets share nothing, neither with each other nor with the caller."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from evals.checking import Submission, judge


def check(work: Submission) -> None:
    work.given_files_kept(but=["basket.py"])
    work.answers(
        "from basket import Basket\nlines = [('a', 1)]\none, two, three = Basket(), Basket(lines), Basket(lines)",
        [
            ("one.put('x', 5)", None),
            ("two.put('y', 6)", None),
            ("one.total()", 5),
            ("two.total()", 7),
            ("three.total()", 1),
            ("lines", [("a", 1)]),
            ("lines.append(('b', 9))", None),
            ("three.total()", 1),
            ("three.lines", [("a", 1)]),
            ("Basket().lines", []),
            ("Basket([]).total()", 0),
        ],
    )


if __name__ == "__main__":
    judge(__file__, check)
