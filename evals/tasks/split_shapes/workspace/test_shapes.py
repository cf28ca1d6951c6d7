import pathlib
import unittest

from shapes import PRECISION, ball_volume, box_area, box_volume, circle_area
from shapes.area import circle_area as circle_area_inside
from shapes.settings import PRECISION as precision_inside
from shapes.volume import ball_volume as ball_volume_inside


class ShapesTest(unittest.TestCase):
    def test_same(self):
        self.assertIs(circle_area, circle_area_inside)
        self.assertIs(ball_volume, ball_volume_inside)
        self.assertEqual((PRECISION, precision_inside), (2, 2))

    def test_one_place_only(self):
        self.assertFalse(pathlib.Path("shapes.py").exists())
        self.assertEqual(box_area.__module__, "shapes.area")
        self.assertEqual(box_volume.__module__, "shapes.volume")

    def test_values(self):
        self.assertEqual(circle_area(1), 3.14)
        self.assertEqual(ball_volume(1), 4.19)
        self.assertEqual(box_volume(2, 3, 4), 24)
        self.assertEqual(box_area(1.005, 2), 2.01)
