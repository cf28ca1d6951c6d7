import unittest

from discount import final_price


class DiscountTest(unittest.TestCase):
    def test_member(self):
        self.assertEqual(final_price(100, True), 90)
        self.assertEqual(final_price(300, True), 252)
