import unittest

from seats import expand


class SeatsTest(unittest.TestCase):
    def test_ranges(self):
        self.assertEqual(expand("A1-A4,C2"), ["A1", "A2", "A3", "A4", "C2"])
        self.assertEqual(expand("B9-B11"), ["B9", "B10", "B11"])

    def test_spaces(self):
        self.assertEqual(expand("A1 , B2"), ["A1", "B2"])

    def test_once(self):
        self.assertEqual(expand("A2,A1-A3"), ["A2", "A1", "A3"])

    def test_empty(self):
        self.assertEqual(expand(""), [])

    def test_refused(self):
        for text in ["A1-B2", "A4-A1", "A", "7", "A1,,B2", "A1-", "A1-A2-A3", "A1 B2"]:
            with self.subTest(text), self.assertRaises(ValueError):
                expand(text)
