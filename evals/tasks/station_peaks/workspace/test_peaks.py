import csv
import unittest


class PeaksTest(unittest.TestCase):
    def test_peaks(self):
        with open("peaks.csv", encoding="utf-8", newline="") as source:
            rows = list(csv.reader(source))
        self.assertEqual(rows[0], ["station", "highest", "time"])
        self.assertEqual([row[0] for row in rows[1:]], ["Ahlen", "Borg", "Cask", "Dune", "Elm", "Fjord", "Glen", "Heath"])
        by_name = {row[0]: (float(row[1]), row[2]) for row in rows[1:]}
        self.assertEqual(by_name["Ahlen"], (30.9, "2025-02-04 03:00"))
        self.assertEqual(by_name["Dune"], (30.9, "2025-02-01 09:00"))
