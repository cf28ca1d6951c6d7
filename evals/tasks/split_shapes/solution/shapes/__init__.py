"""Areas and volumes, rounded to PRECISION digits."""

from shapes.area import box_area, circle_area
from shapes.settings import PRECISION
from shapes.volume import ball_volume, box_volume

__all__ = ["PRECISION", "ball_volume", "box_area", "box_volume", "circle_area"]
