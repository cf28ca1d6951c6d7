import csv
import unittest


class CleanTest(unittest.TestCase):
    def test_clean(self):
        with open("clean.csv", encoding="utf-8", newline="") as source:
            rows = list(csv.reader(source))
        self.assertEqual(rows[0], ["姓名", "邮箱", "电话"])
        self.assertEqual(rows[1], ["张伟", "zhang@example.com", "111"])
        emails = [row[1] for row in rows if row[1]]
        self.assertEqual(len(emails), len(set(emails)))
        self.assertEqual(len([row for row in rows if not row[1]]), 2)
