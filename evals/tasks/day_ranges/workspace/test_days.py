import unittest

from days import merge


class MergeTest(unittest.TestCase):
    def test_overlap(self):
        self.assertEqual(merge([(5, 9), (1, 6)]), [(1, 9)])

    def test_apart(self):
        self.assertEqual(merge([(7, 8), (1, 3)]), [(1, 3), (7, 8)])

    def test_touching(self):
        self.assertEqual(merge([(1, 3), (4, 6)]), [(1, 6)])

    def test_inside(self):
        self.assertEqual(merge([(1, 10), (2, 3), (12, 12)]), [(1, 10), (12, 12)])

    def test_backwards(self):
        with self.assertRaises(ValueError):
            merge([(3, 1)])

    def test_input_is_kept(self):
        spans = [(5, 6), (1, 2)]
        merge(spans)
        self.assertEqual(spans, [(5, 6), (1, 2)])

    def test_nothing(self):
        self.assertEqual(merge([]), [])
