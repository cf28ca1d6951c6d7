import unittest

from fee import fee


class FeeTest(unittest.TestCase):
    def test_small_amounts(self):
        self.assertEqual(fee(100), 5)
