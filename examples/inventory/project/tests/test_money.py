import unittest

from inventory.money import format_price, parse_price


class Money(unittest.TestCase):
    def test_prices_are_whole_cents(self):
        self.assertEqual(parse_price("2.50"), 250)
        self.assertEqual(parse_price("7"), 700)

    def test_no_cent_is_lost(self):
        """Reported by the shop: the lamp costs 19.99 and is listed with 19.98."""
        self.assertEqual(parse_price("19.99"), 1999)
        self.assertEqual(parse_price("1.15"), 115)

    def test_prices_are_written_with_two_digits(self):
        self.assertEqual(format_price(250), "2.50")
        self.assertEqual(format_price(5), "0.05")
