import csv
import json
import unittest


class ReadingsTest(unittest.TestCase):
    def test_all_rows(self):
        with open("readings.csv", newline="") as source:
            rows = list(csv.DictReader(source))
        with open("readings.json") as source:
            self.assertEqual(len(json.load(source)), len(rows))
