"""Areas and volumes, rounded to PRECISION digits."""

import math

PRECISION = 2


def circle_area(radius):
    return round(math.pi * radius**2, PRECISION)


def box_area(width, height):
    return round(width * height, PRECISION)


def ball_volume(radius):
    return round(4 / 3 * math.pi * radius**3, PRECISION)


def box_volume(width, height, depth):
    return round(box_area(width, height) * depth, PRECISION)
