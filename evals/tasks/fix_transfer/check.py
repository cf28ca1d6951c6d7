"""A transfer is made whole or not at all."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from evals.checking import Raises, Submission, judge


def check(work: Submission) -> None:
    work.given_files_kept(but=["bank.py"])
    work.answers(
        "from bank import Bank, Refused\nb = Bank()\nb.open('x', 50)\nb.open('y', 5)",
        [
            ("b.transfer('x', 'x', 20)", None),
            ("b.accounts", {"x": 50, "y": 5}),
            ("b.transfer('y', 'x', 6)", Raises("Refused")),
            ("b.transfer('x', 'z', 1)", Raises("Refused")),
            ("b.transfer('z', 'x', 1)", Raises("Refused")),
            ("b.transfer('z', 'q', 1)", Raises("Refused")),
            ("b.transfer('x', 'y', -1)", Raises("Refused")),
            ("b.accounts", {"x": 50, "y": 5}),
            ("b.transfer('x', 'y', 50)", None),
            ("b.accounts", {"x": 0, "y": 55}),
        ],
    )


if __name__ == "__main__":
    judge(__file__, check)
