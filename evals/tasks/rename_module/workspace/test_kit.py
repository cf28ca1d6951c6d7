import unittest

import kit
from kit.table import column
from kit.texts import pad, widest


class KitTest(unittest.TestCase):
    def test_pad(self):
        self.assertEqual(pad("ab", 4), "ab  ")
        self.assertIs(kit.pad, pad)

    def test_column(self):
        self.assertEqual(column(["a", "bcd"]), ["a  ", "bcd"])
        self.assertEqual(widest([]), 0)


if __name__ == "__main__":
    unittest.main()
