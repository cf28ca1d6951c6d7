import json
import unittest


class CountsTest(unittest.TestCase):
    def test_counts(self):
        with open("counts.json") as source:
            counts = json.load(source)
        self.assertEqual(sorted(counts), ["monday.txt", "tuesday.txt", "wednesday.txt"])
        self.assertEqual(counts["monday.txt"], 7)
        self.assertGreater(counts["tuesday.txt"], 20)
