import unittest

from spread import midrange, value_range


class SpreadTest(unittest.TestCase):
    def test_value_range(self):
        self.assertEqual(value_range([3, 9, 4]), 6)
        self.assertEqual(value_range([5]), 0)

    def test_midrange(self):
        self.assertEqual(midrange([1, 2, 4]), 2.5)
        self.assertEqual(midrange([-4, 4]), 0)

    def test_empty(self):
        with self.assertRaises(ValueError):
            value_range([])
        with self.assertRaises(ValueError):
            midrange([])
