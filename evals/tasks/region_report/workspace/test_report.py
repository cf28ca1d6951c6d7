import unittest


class ReportTest(unittest.TestCase):
    def test_shape(self):
        with open("report.md", encoding="utf-8") as source:
            lines = [line.strip() for line in source if line.strip().startswith("|")]
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
        self.assertEqual(rows[0], ["Region", "Orders", "Total"])
        self.assertTrue(all(set(cell) <= set("-: ") for cell in rows[1]))
        self.assertEqual(rows[-1][0], "**All**")
        self.assertEqual(len(rows), 7)
        for row in rows[2:]:
            self.assertRegex(row[1].strip("*"), r"^\d+$")
            self.assertRegex(row[2].strip("*"), r"^\d+\.\d\d$")
        self.assertIn(["West", "1", "62.00"], rows)
        totals = [float(row[2]) for row in rows[2:-1]]
        self.assertEqual(totals, sorted(totals, reverse=True))
