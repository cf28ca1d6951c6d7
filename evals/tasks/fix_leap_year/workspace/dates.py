"""Small helpers for calendars."""

LENGTHS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]


def days_in_month(year, month):
    if not 1 <= month <= 12:
        raise ValueError(f"no such month: {month}")
    if month == 2 and year % 4 == 0:
        return 29
    return LENGTHS[month - 1]


def last_day(year, month):
    """The last day of a month as text, like 2023-02-28."""
    return f"{year:04}-{month:02}-{days_in_month(year, month):02}"
