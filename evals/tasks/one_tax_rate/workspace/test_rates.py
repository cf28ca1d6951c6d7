import pathlib
import unittest

import settings
from cart import cart_total
from quote import quote
from refund import refund


class RatesTest(unittest.TestCase):
    def test_setting(self):
        self.assertEqual(settings.TAX_RATE, 0.19)

    def test_amounts(self):
        self.assertEqual(cart_total([100, 200]), 357)
        self.assertEqual(quote(100, 2), {"net": 200, "tax": 38, "gross": 238})
        self.assertEqual(refund(1190), 190)

    def test_written_once(self):
        for name in ("cart.py", "quote.py", "refund.py"):
            self.assertNotIn(".19", pathlib.Path(name).read_text(), f"{name} still has the rate in it")
