from shapes.area import box_area, circle_area
from shapes.settings import PRECISION
from shapes.volume import ball_volume, box_volume
