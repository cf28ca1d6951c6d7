"""The old name is gone in code and README, its longer neighbour stays, and everything works."""

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from evals.checking import Submission, judge, require


def check(work: Submission) -> None:
    work.given_files_kept(but=["shop/", "README.md"])
    for name in [name for name in work.names() if name.startswith("shop/") and name.endswith(".py")] + ["README.md"]:
        require(not re.search(r"\bcalc\b", work.text(name)), f"the old name is still in {name}")
    readme = work.text("README.md")
    require(
        "shop.order_total(lines)" in readme and "shop.calc_shipping(grams)" in readme, "README.md is not up to date"
    )
    work.answers(
        "import shop, shop.cli, shop.prices, shop.report",
        {
            "shop.order_total([(3, 5)])": 15,
            "shop.calc_shipping(2000)": 990,
            "shop.summary([(1, 7)], 1001)": "goods 7, shipping 990",
            "sorted(shop.__all__)": ["calc_shipping", "order_total", "summary"],
            "hasattr(shop, 'calc') or hasattr(shop.prices, 'calc')": False,
        },
    )
    ran = work.run("-m", "shop.cli", "2x500", "1x99")
    require(ran.out.strip() == "1099", "python3 -m shop.cli no longer prints the total")


if __name__ == "__main__":
    judge(__file__, check)
