import unittest

from text import shorten


class ShortenTest(unittest.TestCase):
    def test_short(self):
        self.assertEqual(shorten("tea", 5), "tea")

    def test_long(self):
        self.assertEqual(shorten("a cup of tea", 6), "a cup…")

    def test_width(self):
        with self.assertRaises(ValueError):
            shorten("tea", 0)
