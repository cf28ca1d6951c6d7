import json
import unittest


class RatesTest(unittest.TestCase):
    def test_complete(self):
        with open("rates.json") as source:
            answer = json.load(source)
        self.assertIs(answer["complete"], True)
        self.assertEqual(len(answer["rates"]), 5)
