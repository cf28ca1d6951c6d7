"""Another rate in settings.py changes every amount."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from evals.checking import Submission, judge


def check(work: Submission) -> None:
    work.given_files_kept(but=["cart.py", "quote.py", "refund.py"])
    work.tests_pass()
    work.answers(
        "from cart import cart_total\nfrom quote import quote\nfrom refund import refund",
        {
            "cart_total([100, 300])": 500,
            "quote(100, 4)": {"net": 400, "tax": 100, "gross": 500},
            "refund(1250)": 250,
        },
        files={"settings.py": "TAX_RATE = 0.25\n"},
    )


if __name__ == "__main__":
    judge(__file__, check)
