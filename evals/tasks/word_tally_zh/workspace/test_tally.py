import unittest

from tally import tally


class TallyTest(unittest.TestCase):
    def test_counts(self):
        self.assertEqual(tally("red blue red"), {"red": 2, "blue": 1})

    def test_case_and_punctuation(self):
        self.assertEqual(tally("Stop! stop, STOP?"), {"stop": 3})

    def test_empty(self):
        self.assertEqual(tally(""), {})
        self.assertEqual(tally("  \n "), {})

    def test_lonely_punctuation(self):
        self.assertEqual(tally("well ... yes"), {"well": 1, "yes": 1})
