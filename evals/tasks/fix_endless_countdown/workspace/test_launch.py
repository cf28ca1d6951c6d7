import unittest

from launch import calls


class LaunchTest(unittest.TestCase):
    def test_even(self):
        self.assertEqual(calls(4, 2), 2)

    def test_odd(self):
        self.assertEqual(calls(5, 2), 3)

    def test_nothing(self):
        self.assertEqual(calls(0, 1), 0)

    def test_step(self):
        with self.assertRaises(ValueError):
            calls(3, 0)
