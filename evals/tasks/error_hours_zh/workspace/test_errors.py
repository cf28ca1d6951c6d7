import json
import unittest


class ErrorsTest(unittest.TestCase):
    def setUp(self):
        with open("errors.json", encoding="utf-8") as source:
            self.errors = json.load(source)

    def test_nine_o_clock(self):
        self.assertEqual(self.errors["2025-03-01 09"], 2)

    def test_all(self):
        self.assertEqual(sum(self.errors.values()), 5)

    def test_worst(self):
        with open("worst.txt", encoding="utf-8") as source:
            self.assertIn(source.read().strip(), self.errors)
