"""Times like 2025-03-01T10:00, 2025-03-01T10:00Z or 2025-03-01T10:00+02:00."""

from datetime import datetime, timezone


def read(text):
    time = datetime.fromisoformat(text.replace("Z", "+00:00"))
    return time if time.tzinfo else time.replace(tzinfo=timezone.utc)


def minutes_between(start, end):
    """Whole minutes from start to end; negative when end is earlier."""
    return int((read(end) - read(start)).total_seconds() // 60)
