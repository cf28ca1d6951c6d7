import unittest

from discount import final_price


class DiscountTest(unittest.TestCase):
    def test_member(self):
        self.assertEqual(final_price(100, True), 90)
        self.assertEqual(final_price(300, True), 250)

    def test_member_under_200_after_discount(self):
        self.assertEqual(final_price(210, True), 189)

    def test_guest(self):
        self.assertEqual(final_price(200, False), 180)
        self.assertEqual(final_price(199, False), 199)
