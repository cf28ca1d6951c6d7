import unittest

from codes import CODES


class CodesTest(unittest.TestCase):
    def test_old(self):
        self.assertEqual(CODES[404], "not here")

    def test_teapot(self):
        self.assertEqual(CODES[418], "teapot")


if __name__ == "__main__":
    unittest.main()
