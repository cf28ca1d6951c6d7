import unittest

from stats import mean, median, spread


class Stats(unittest.TestCase):
    def test_mean(self):
        self.assertEqual(mean([1, 2, 3, 6]), 3)

    def test_median(self):
        self.assertEqual(median([5, 1, 3]), 3)
        self.assertEqual(median([4, 1, 3, 2]), 2.5)

    def test_spread(self):
        self.assertEqual(spread([4, -1, 3]), 5)

    def test_nothing_to_count(self):
        for function in (mean, median, spread):
            with self.assertRaises(ValueError):
                function([])
