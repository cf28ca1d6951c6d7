import csv
import unittest


class LateTest(unittest.TestCase):
    def test_late(self):
        with open("late.csv", encoding="utf-8", newline="") as source:
            rows = list(csv.reader(source))
        self.assertEqual(rows[0], ["order", "name", "days"])
        self.assertIn(["31", "Femi Ode", "5"], rows)
        self.assertEqual([len(row) for row in rows], [3] * len(rows))


if __name__ == "__main__":
    unittest.main()
