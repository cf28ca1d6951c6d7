"""Prices are rounded half up, exactly, and never written as minus zero."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from evals.checking import Raises, Submission, judge


def check(work: Submission) -> None:
    work.given_files_kept()
    work.answers(
        "from decimal import Decimal\nfrom price import format_price",
        {
            "format_price(0)": "¥0.00",
            "format_price(1234567)": "¥1,234,567.00",
            "format_price(Decimal('0.015'))": "¥0.02",
            "format_price(Decimal('1.005'))": "¥1.01",
            "format_price(Decimal('0.125'))": "¥0.13",
            "format_price(Decimal('-1234.565'))": "-¥1,234.57",
            "format_price(Decimal('999.995'))": "¥1,000.00",
            "format_price(Decimal('99999999999999.99'))": "¥99,999,999,999,999.99",
            "format_price(0.1)": Raises("TypeError"),
        },
    )


if __name__ == "__main__":
    judge(__file__, check)
