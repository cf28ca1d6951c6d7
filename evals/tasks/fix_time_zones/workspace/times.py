"""Times like 2025-03-01T10:00, 2025-03-01T10:00Z or 2025-03-01T10:00+02:00."""

from datetime import datetime


def read(text):
    return datetime.strptime(text[:16], "%Y-%m-%dT%H:%M")


def minutes_between(start, end):
    """Whole minutes from start to end; negative when end is earlier."""
    return (read(end) - read(start)).seconds // 60
