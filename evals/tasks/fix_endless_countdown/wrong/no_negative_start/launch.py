"""Count down to a launch."""


def calls(start, step):
    """How often the speaker calls out a number, from start down to 1: calls(5, 2) is 3 (5, 3, 1)."""
    if step < 1:
        raise ValueError("step must be at least 1")
    count = 0
    while start > 0 or (start < 0 and count == 0):
        count += 1
        start = start - step
    return count
