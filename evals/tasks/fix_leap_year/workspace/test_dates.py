import unittest

from dates import days_in_month, last_day


class DatesTest(unittest.TestCase):
    def test_ordinary(self):
        self.assertEqual(days_in_month(2023, 2), 28)
        self.assertEqual(days_in_month(2023, 7), 31)

    def test_leap(self):
        self.assertEqual(days_in_month(2024, 2), 29)
        self.assertEqual(days_in_month(2000, 2), 29)

    def test_century(self):
        self.assertEqual(days_in_month(1900, 2), 28)

    def test_last_day(self):
        self.assertEqual(last_day(2024, 4), "2024-04-30")
