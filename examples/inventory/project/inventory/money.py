"""Prices are whole cents inside the program, and text outside."""


def parse_price(text: str) -> int:
    """Return the price in cents: parse_price("2.50") is 250."""
    return int(float(text) * 100)


def format_price(cents: int) -> str:
    """Return the price as text: format_price(250) is "2.50"."""
    return f"{cents // 100}.{cents % 100:02}"
