import unittest

from split_bill import receipt, split


class SplitTest(unittest.TestCase):
    def test_even(self):
        self.assertEqual(split(900, 3), [300, 300, 300])

    def test_rest(self):
        self.assertEqual(split(1000, 3), [334, 333, 333])
        self.assertEqual(split(1001, 3), [334, 334, 333])

    def test_nobody(self):
        with self.assertRaises(ValueError):
            split(100, 0)

    def test_receipt(self):
        self.assertEqual(receipt(1000, ["小明", "小红"]), "小明 5.00\n小红 5.00")
