import math


def circle_area(radius):
    return round(math.pi * radius**2, 2)


def box_area(width, height):
    return round(width * height, 2)
