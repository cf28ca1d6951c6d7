import unittest

from convert import convert


class ConvertTest(unittest.TestCase):
    def test_metres(self):
        self.assertAlmostEqual(convert(2, "m", "cm"), 200)

    def test_inch(self):
        self.assertAlmostEqual(convert(10, "inch", "cm"), 25.4)
        self.assertAlmostEqual(convert(25.4, "cm", "inch"), 10)

    def test_foot(self):
        self.assertAlmostEqual(convert(1, "foot", "cm"), 30.48)
