"""Areas in square metres."""


def box_area(width, height):
    return width * height


def round_area(diameter):
    return 3.14159 * diameter * diameter / 4
