import unittest

from lines import split_line


class SplitLineTest(unittest.TestCase):
    def test_plain(self):
        self.assertEqual(split_line("a,b,c"), ["a", "b", "c"])

    def test_empty_cells(self):
        self.assertEqual(split_line(",x,"), ["", "x", ""])

    def test_quoted_comma(self):
        self.assertEqual(split_line('1,"Smith, Jo",2'), ["1", "Smith, Jo", "2"])

    def test_doubled_quote(self):
        self.assertEqual(split_line('"say ""hi""",b'), ['say "hi"', "b"])

    def test_empty_line(self):
        self.assertEqual(split_line(""), [""])
