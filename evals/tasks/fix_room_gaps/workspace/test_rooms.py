import unittest

from rooms import free, overlaps


class RoomsTest(unittest.TestCase):
    def test_overlaps(self):
        self.assertTrue(overlaps((0, 10), (5, 20)))
        self.assertFalse(overlaps((0, 10), (10, 20)))
        self.assertFalse(overlaps((10, 20), (0, 10)))

    def test_free(self):
        self.assertEqual(free([(60, 120)], 0, 240), [(0, 60), (120, 240)])

    def test_inside(self):
        self.assertEqual(free([(60, 180), (90, 120)], 0, 240), [(0, 60), (180, 240)])

    def test_after_the_end(self):
        self.assertEqual(free([(60, 120), (300, 360)], 0, 240), [(0, 60), (120, 240)])
