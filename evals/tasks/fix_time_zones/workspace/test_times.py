import unittest

from times import minutes_between


class TimesTest(unittest.TestCase):
    def test_same_day(self):
        self.assertEqual(minutes_between("2025-03-01T10:00", "2025-03-01T11:30"), 90)

    def test_days(self):
        self.assertEqual(minutes_between("2025-03-01T10:00", "2025-03-03T10:00"), 2880)

    def test_backwards(self):
        self.assertEqual(minutes_between("2025-03-01T10:00", "2025-03-01T09:00"), -60)

    def test_offsets(self):
        self.assertEqual(minutes_between("2025-03-01T10:00+02:00", "2025-03-01T10:00Z"), 120)
        self.assertEqual(minutes_between("2025-03-01T10:00", "2025-03-01T10:00-05:30"), 330)
