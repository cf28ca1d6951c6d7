import math

from shapes.settings import PRECISION


def circle_area(radius):
    return round(math.pi * radius**2, PRECISION)


def box_area(width, height):
    return round(width * height, PRECISION)
