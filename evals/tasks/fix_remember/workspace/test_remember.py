import unittest

from remember import remember


class RememberTest(unittest.TestCase):
    def setUp(self):
        self.calls = 0

        @remember
        def power(base, exponent=2):
            self.calls += 1
            return base**exponent

        self.power = power

    def test_once(self):
        self.assertEqual((self.power(3), self.power(3)), (9, 9))
        self.assertEqual(self.calls, 1)

    def test_keywords(self):
        self.assertEqual((self.power(2, exponent=3), self.power(2, exponent=4)), (8, 16))

    def test_false_results(self):
        self.assertEqual((self.power(0), self.power(0)), (0, 0))
        self.assertEqual(self.calls, 1)
