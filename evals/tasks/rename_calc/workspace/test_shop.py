import pathlib
import re
import unittest

import shop
from shop.prices import order_total


class ShopTest(unittest.TestCase):
    def test_total(self):
        self.assertEqual(order_total([(2, 500), (1, 99)]), 1099)
        self.assertIs(shop.order_total, order_total)

    def test_summary(self):
        self.assertEqual(shop.summary([(1, 100)], 500), "goods 100, shipping 490")

    def test_the_old_name_is_gone(self):
        for path in [*pathlib.Path("shop").glob("*.py"), pathlib.Path("README.md")]:
            self.assertIsNone(re.search(r"\bcalc\b", path.read_text()), f"{path} still has the old name")
