from fees import EXPRESS, SETUP
from shapes import box_area


COST = {"black": 900, "red": 1400, "gold": 5200}


def price(width, height, colour, express=False):
    if colour not in COST:
        raise ValueError(f"unknown colour: {colour}")
    cents = box_area(width, height) * COST[colour] + SETUP
    return cents + EXPRESS if express else cents
