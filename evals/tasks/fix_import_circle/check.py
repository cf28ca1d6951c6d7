"""Every module can be imported first, and everything works as it was meant."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from evals.checking import Submission, judge


def check(work: Submission) -> None:
    work.given_files_kept(but=["shop/"])
    for first in ("shop", "shop.orders", "shop.customers"):
        work.answers(
            f"import {first}\nimport shop\n"
            "from shop.orders import Order, describe\nfrom shop.customers import Customer, greet",
            {
                "describe(Customer('Bo').buy(5))": "Hello Bo! Your order: 0.05",
                "shop.greet(shop.Customer('Cy'))": "Hello Cy!",
                "[c := Customer('D'), c.buy(1), c.buy(2), [o.cents for o in c.orders]][-1]": [1, 2],
                "shop.Order is Order and shop.describe is describe and shop.Customer is Customer": True,
                "type(Customer('E').buy(1)) is Order": True,
                "sorted(shop.__all__)": ["Customer", "Order", "describe", "greet"],
            },
        )


if __name__ == "__main__":
    judge(__file__, check)
