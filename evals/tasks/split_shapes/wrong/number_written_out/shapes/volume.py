import math

from shapes.area import box_area


def ball_volume(radius):
    return round(4 / 3 * math.pi * radius**3, 2)


def box_volume(width, height, depth):
    return round(box_area(width, height) * depth, 2)
