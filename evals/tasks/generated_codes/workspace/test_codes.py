import csv
import unittest

from codes import CODES


class CodesTest(unittest.TestCase):
    def test_old(self):
        self.assertEqual(CODES[404], "not here")

    def test_teapot(self):
        self.assertEqual(CODES[418], "teapot")

    def test_made_from_the_source(self):
        with open("codes.csv", newline="") as source:
            self.assertEqual({int(row["code"]): row["text"] for row in csv.DictReader(source)}, CODES)
