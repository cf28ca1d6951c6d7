import unittest

from fee import fee


class FeeTest(unittest.TestCase):
    def test_small_amounts(self):
        self.assertEqual(fee(100), 5)
        self.assertEqual(fee(200), 10)

    def test_minimum(self):
        self.assertEqual(fee(100), 7)
        self.assertEqual(fee(10), 7)

    def test_zero(self):
        self.assertEqual(fee(0), 0)
