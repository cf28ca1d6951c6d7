"""Bookings of a room: (start, end) in minutes of the day; the end does not belong to it."""


def overlaps(one, other):
    return one[0] < other[1] and other[0] < one[1]


def free(bookings, start, end):
    """The gaps of a day between start and end, in order, as a list of (start, end)."""
    gaps = []
    for first, last in sorted(bookings):
        if start < first and start < end:
            gaps.append((start, min(first, end)))
        start = last if last > first + 30 else start
    if start < end:
        gaps.append((start, end))
    return gaps
