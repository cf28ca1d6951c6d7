import unittest
from decimal import Decimal

from price import format_price


class PriceTest(unittest.TestCase):
    def test_plain(self):
        self.assertEqual(format_price(12), "¥12.00")
        self.assertEqual(format_price(Decimal("1234.5")), "¥1,234.50")

    def test_rounding(self):
        self.assertEqual(format_price(Decimal("0.005")), "¥0.01")
        self.assertEqual(format_price(Decimal("2.675")), "¥2.68")

    def test_negative(self):
        self.assertEqual(format_price(-12), "-¥12.00")

    def test_float_is_refused(self):
        with self.assertRaises(TypeError):
            format_price(1.5)
