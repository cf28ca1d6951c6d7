import unittest

from dial import clamp, turn


class DialTest(unittest.TestCase):
    def test_clamp(self):
        self.assertEqual(clamp(5, 0, 10), 5)
        self.assertEqual(clamp(-5, 0, 10), 0)
        self.assertEqual(clamp(15, 0, 10), 10)

    def test_clamp_limits_swapped(self):
        with self.assertRaises(ValueError):
            clamp(5, 10, 0)

    def test_turn(self):
        self.assertEqual(turn(2, 3, 10), 5)
        self.assertEqual(turn(8, 3, 10), 1)
        self.assertEqual(turn(1, -2, 10), 9)

    def test_turn_without_positions(self):
        with self.assertRaises(ValueError):
            turn(0, 1, 0)
