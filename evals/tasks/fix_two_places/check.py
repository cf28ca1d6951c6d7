"""Tax rounds half up and a discount is a percentage; amounts stay whole cents."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from evals.checking import Submission, judge


def check(work: Submission) -> None:
    work.given_files_kept(but=["invoice.py", "tax.py"])
    work.answers(
        "from invoice import gross, net\nfrom tax import tax_on",
        {
            "tax_on(0)": 0,
            "tax_on(150)": 29,
            "tax_on(250)": 48,
            "tax_on(350)": 67,
            "tax_on(99)": 19,
            "net([(2, 1000, 25)])": 1500,
            "net([])": 0,
            "net([(1, 100, 100), (1, 100, 5)])": 95,
            "gross([(2, 1000, 50)])": 1190,
            "type(gross([(1, 200, 50)])).__name__": "int",
            "net([(1, 150, 50)])": 75,
            "net([(7, 30, 10)])": 189,
        },
    )


if __name__ == "__main__":
    judge(__file__, check)
