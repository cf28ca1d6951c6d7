import csv
import unittest


class LateTest(unittest.TestCase):
    def test_late(self):
        with open("late.csv", encoding="utf-8", newline="") as source:
            rows = list(csv.reader(source))
        self.assertEqual(rows[0], ["order", "name", "days"])
        self.assertEqual(rows[1], ["12", "?", "19"])
        self.assertIn(["31", "Femi Ode", "5"], rows)
        days = [int(row[2]) for row in rows[1:]]
        self.assertEqual(days, sorted(days, reverse=True))
        self.assertEqual([len(row) for row in rows], [3] * len(rows))
